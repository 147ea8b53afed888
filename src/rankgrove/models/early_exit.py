"""Early exit of ``Scorer.top_k``, learnt from judged queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.input_checks import ranking_input
from rankgrove.metrics.parsing import metric
from rankgrove.trees.scorer import Scorer
from rankgrove.trees.top_k import check_k, stages_at

Floats = npt.NDArray[np.float64]

_LEARNT_STAGES = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class EarlyExit:
    """A rule that drops documents early in ``Scorer.top_k``, learnt from judged queries.

    Attributes
    ----------
    k : the number of documents wanted per query
    stages : number of trees after which documents are dropped
    slack : for each stage, how far below the k-th best a document may be and still stay
    ndcg : mean NDCG@k on the judged queries with all trees for all documents
    early_ndcg : the same with early exit
    share_of_work : document-tree pairs that early exit still scores, as a share of all
    """

    k: int
    stages: tuple[int, ...]
    slack: tuple[float, ...]
    ndcg: float
    early_ndcg: float
    share_of_work: float

    @classmethod
    def learn(cls, model: Any, data: Any, k: int = 10, keep: float = 0.999) -> EarlyExit:
        """Learn bounds from a Dataset: a document of the first k is kept with probability ``keep``.

        The loss in NDCG@k on ``data`` is measured and kept beside; give data that the model was not
        trained on.
        """
        if not 0 < keep <= 1:
            raise ValueError(f"keep must be above 0 and at most 1, not {keep!r}")
        scorer: Scorer = model.compile()
        check_k(scorer.n_outputs, k)
        stages = stages_at(scorer.ensemble, _LEARNT_STAGES)
        own = model.model_
        checked = ranking_input(
            data, columns=own.columns, absent=own.absent, what="EarlyExit.learn"
        )
        groups = checked.groups
        whole = np.asarray(checked.X)
        matrix = whole if groups.order is None else whole[groups.order]
        n_trees = scorer.ensemble.n_trees
        partial = [
            scorer.part(0, n).predict(matrix, n_jobs=model.n_jobs) for n in (*stages, n_trees)
        ]
        slack = _learnt_slack(partial, groups.offsets, k, keep)
        early, work = _simulate(partial, groups.offsets, k, slack, (*stages, n_trees))
        evaluate = metric(f"ndcg@{k}").prepare(checked.y, groups.offsets, n_jobs=model.n_jobs)
        return cls(
            k,
            stages,
            tuple(slack),
            float(evaluate(partial[-1])),
            float(evaluate(early)),
            work / (len(matrix) * n_trees) if len(matrix) and n_trees else 1.0,
        )


def _learnt_slack(
    partial: list[Floats], offsets: npt.NDArray[np.int64], k: int, keep: float
) -> list[float]:
    """Return, per stage, the quantile ``keep`` of the winners' gap to the k-th best score."""
    is_winner = _winners(partial[-1], offsets, k)
    if not is_winner.any():
        return [0.0] * (len(partial) - 1)
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    slack = []
    for scores in partial[:-1]:
        gap = np.maximum(_kth_best(scores, offsets, k)[query] - scores, 0.0)
        slack.append(float(np.quantile(gap[is_winner], keep, method="higher")))
    return slack


def _simulate(
    partial: list[Floats],
    offsets: npt.NDArray[np.int64],
    k: int,
    slack: list[float],
    stages: tuple[int, ...],
) -> tuple[Floats, int]:
    """Return final scores with dropped documents last, and the number of tree evaluations."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    alive = np.ones(len(query), bool)
    work, before = 0, 0
    for scores, margin, stage in zip(partial, [*slack, None], stages, strict=True):
        work += int(alive.sum()) * (stage - before)
        before = stage
        if margin is not None:
            current = np.where(alive, scores, -np.inf)
            alive &= current >= _kth_best(current, offsets, k)[query] - margin
    # Dropped documents rank below all others.
    floor = partial[-1].min(initial=0.0) - 1.0
    return np.where(alive, partial[-1], floor), work


def _kth_best(scores: Floats, offsets: npt.NDArray[np.int64], k: int) -> Floats:
    """Return the k-th best score of each query (the worst, if there are fewer)."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-scores, query))
    sizes = np.diff(offsets)
    position = np.minimum(offsets[:-1] + np.minimum(k, np.maximum(sizes, 1)) - 1, len(scores) - 1)
    return scores[order][position]


def _winners(scores: Floats, offsets: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.bool_]:
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-scores, query))
    winner = np.zeros(len(scores), bool)
    winner[order[np.arange(len(scores)) - offsets[:-1][query] < k]] = True
    return winner
