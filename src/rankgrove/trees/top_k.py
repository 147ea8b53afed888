"""The best k documents of a query without scoring the others to the end.

Trees are added in stages. After each stage, documents that cannot reach the first k places any more
are dropped: certainly so by the bounds of the remaining leaf values (the answer is exact), or very
likely so by what judged queries taught (``EarlyExit``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError, ModelError

if TYPE_CHECKING:
    from rankgrove.trees.ensemble import TreeEnsemble
    from rankgrove.trees.scorer import Scorer

Floats = npt.NDArray[np.float64]

_EXACT_STAGES = (0.5, 0.75, 0.875, 0.95)  # bounds say little before most trees are added
_LEARNT_STAGES = (0.1, 0.25, 0.5)
_ROUNDING = 1e-9  # of all leaf values together: far above the error of adding them


@dataclass(frozen=True)
class EarlyExit:
    """When to drop a document, learnt from judged queries.

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
        """Learn from a Dataset so that a document of the first k stays with probability ``keep``.

        The loss in NDCG@k on ``data`` is measured and kept beside; give data that the model was not
        trained on.
        """
        from rankgrove.data.ranking_input import ranking_input
        from rankgrove.metrics.metric import metric

        if not 0 < keep <= 1:
            raise ValueError(f"keep must be above 0 and at most 1, not {keep!r}")
        scorer: Scorer = model.compile()
        _check(scorer, k)
        stages = _stages(scorer.ensemble, _LEARNT_STAGES)
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


def top_k(
    scorer: Scorer, X: npt.NDArray[Any], k: int, early_exit: EarlyExit | None
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Rows of the k best documents, best first, and their scores (see ``Scorer.top_k``)."""
    _check(scorer, k)
    ensemble = scorer.ensemble
    if early_exit is None:
        stages = _stages(ensemble, _EXACT_STAGES)
        slack = _certain_slack(ensemble, stages)
    else:
        if early_exit.k < k or any(stage > ensemble.n_trees for stage in early_exit.stages):
            raise ValueError(
                f"this early exit was learnt for the first {early_exit.k} documents of another "
                "model or a smaller k"
            )
        stages, slack = early_exit.stages, list(early_exit.slack)
    rows = np.arange(len(X), dtype=np.int64)
    scores = np.empty(len(X))
    done = 0
    for stage, room in zip((*stages, ensemble.n_trees), (*slack, None), strict=True):
        scorer.part(done, stage).add_to(scores, X if len(rows) == len(X) else X[rows], done > 0)
        done = stage
        if room is not None and len(rows) > k:
            kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k] - room
            rows, scores = rows[kept], scores[kept]
    best = np.argsort(-scores, kind="stable")[:k]
    return rows[best], scores[best]


def _check(scorer: Scorer, k: int) -> None:
    if scorer.n_outputs != 1:
        raise ModelError(f"top_k needs a model with one output, not {scorer.n_outputs}")
    if not isinstance(k, int | np.integer) or k < 1:
        raise DataError(f"k must be a whole number of at least 1, not {k!r}")


def _stages(ensemble: TreeEnsemble, shares: tuple[float, ...]) -> tuple[int, ...]:
    counts = {round(share * ensemble.n_trees) for share in shares}
    return tuple(sorted(counts - {0, ensemble.n_trees}))


def _certain_slack(ensemble: TreeEnsemble, stages: tuple[int, ...]) -> list[float]:
    """How much a document can still win over another by the trees after each stage."""
    if ensemble.n_trees == 0:
        return []
    leaf = ensemble.left < 0
    sizes = np.diff(ensemble.tree_offsets)
    value = ensemble.value * np.repeat(ensemble.tree_weights, sizes)
    starts = ensemble.tree_offsets[:-1]
    highest = np.maximum.reduceat(np.where(leaf, value, -np.inf), starts)
    lowest = np.minimum.reduceat(np.where(leaf, value, np.inf), starts)
    rounding = _ROUNDING * float(np.maximum(np.abs(highest), np.abs(lowest)).sum())
    return [float((highest[n:] - lowest[n:]).sum()) + rounding for n in stages]


def _learnt_slack(
    partial: list[Floats], offsets: npt.NDArray[np.int64], k: int, keep: float
) -> list[float]:
    """For each stage, the gap to the k-th best that the share ``keep`` of winners stays within."""
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
    """Final scores with dropped documents last, and the document-tree pairs that were scored."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    alive = np.ones(len(query), bool)
    work, before = 0, 0
    for scores, room, stage in zip(partial, [*slack, None], stages, strict=True):
        work += int(alive.sum()) * (stage - before)
        before = stage
        if room is not None:
            current = np.where(alive, scores, -np.inf)
            alive &= current >= _kth_best(current, offsets, k)[query] - room
    # Dropped documents come after all others, whatever their score.
    floor = partial[-1].min(initial=0.0) - 1.0
    return np.where(alive, partial[-1], floor), work


def _kth_best(scores: Floats, offsets: npt.NDArray[np.int64], k: int) -> Floats:
    """The k-th best score of each query (the worst, if there are fewer)."""
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
