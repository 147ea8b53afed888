"""Evaluation during a fit: the sets, the history of their metrics, the best step.

A watch depends on scores and steps alone: each ranker passes it the scores of every set after each
step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.input_checks import ranking_input
from rankgrove.data.scanning.scan import Scan
from rankgrove.errors import DataError, ModelError
from rankgrove.training.labels import naming_rows
from rankgrove.training.leakage import (
    same_documents,
    warn_of_shared_queries,
    warn_of_training_data,
)
from rankgrove.training.progress import History, Measured
from rankgrove.workers.row_shard import RowShard

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Metric

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WatchedSet:
    """One set whose metrics are recorded.

    Attributes
    ----------
    name : as in ``evals_result_``
    data : the checked set; the training data itself if ``is_train``
    held_out : whether it may decide: False for the training data, also if they come as copies or by
        the name ``train``
    evaluators : from scores in grouped order to the value of each metric
    """

    name: str
    data: RankingInput
    is_train: bool
    evaluators: Mapping[str, Callable[[Floats], float]]
    held_out: bool = True


@dataclass
class Watch:
    """Records the metrics of all watched sets and finds the best step.

    The first metric of the last set that is not the training data decides.
    """

    sets: list[WatchedSet]
    greater_is_better: bool
    patience: int | None
    history: History = field(default_factory=dict)
    best_step: int | None = None
    best_value: float | None = None

    @property
    def held_out(self) -> list[WatchedSet]:
        """The sets that are not the training data."""
        return [watched for watched in self.sets if watched.held_out]

    def record(self, scores: Mapping[str, Floats]) -> bool:
        """Measure the scores of each set after a step; True if training should stop."""
        return self.note(
            {
                watched.name: {
                    name: evaluate(scores[watched.name])
                    for name, evaluate in watched.evaluators.items()
                }
                for watched in self.sets
            }
        )

    def note(self, measured: Measured) -> bool:
        """Record metrics that were measured after a step; True if training should stop."""
        if {name: list(values) for name, values in measured.items()} != {
            watched.name: list(watched.evaluators) for watched in self.sets
        }:
            raise ModelError("the step watched other sets or metrics than this fit does")
        for name, values in measured.items():
            history = self.history.setdefault(name, {})
            for metric, value in values.items():
                history.setdefault(metric, []).append(value)
        if not self.held_out:
            return False
        deciding = self.held_out[-1]
        metric = next(iter(deciding.evaluators))
        step = len(self.history[deciding.name][metric])
        return self._decide(measured[deciding.name][metric], step)

    def _decide(self, value: float, step: int) -> bool:
        best = self.best_value
        if (
            best is None
            or np.isnan(best)
            or (value > best if self.greater_is_better else value < best)
        ):
            self.best_step, self.best_value = step, value
        return self.patience is not None and step - (self.best_step or 0) >= self.patience


TRAIN = object()
"""Sentinel for "the training data" in eval_set, for callers that cannot pass the same object."""


def is_training_data(entry: Any, given: FitData) -> bool:
    """Return whether an entry of eval_set is the training data itself."""
    if isinstance(entry, tuple) and len(entry) == 3:
        same = zip(entry, (given.X, given.y, given.qid), strict=True)
        return given.group_sizes is None and all(one is other for one, other in same)
    if entry is TRAIN:
        return True
    return isinstance(entry, Dataset | Scan) and entry is given.X


def make_watch(
    eval_set: Any,
    eval_metric: Any,
    patience: int | None,
    *,
    train: RankingInput,
    given: FitData,
    shard: RowShard,
    n_jobs: int | None,
) -> Watch:
    """Check the sets to be watched and prepare their metrics."""
    from rankgrove.metrics.parsing import distinct
    from rankgrove.metrics.parsing import metric as as_metric

    if patience is not None and (
        not isinstance(patience, int | np.integer) or isinstance(patience, bool) or patience < 1
    ):
        raise ValueError(f"early_stopping_rounds must be a whole number >= 1, not {patience!r}")
    names = ["ndcg@10"] if eval_metric is None else eval_metric
    names = names if isinstance(names, list | tuple) else [names]
    metrics = distinct([as_metric(name) for name in names])
    if not metrics:
        raise ValueError("eval_metric is empty: give at least one metric")
    _refuse_other_kinds(eval_set)
    sets: list[WatchedSet] = []
    for name, entry in named_sets(eval_set):
        if name in [watched.name for watched in sets]:
            raise ValueError(f"eval_set has two sets of the name {name!r}")
        is_train = is_training_data(entry, given)
        data = train if is_train else _as_input(entry, f"eval_set {name!r}", train, shard)
        ids = _doc_ids(entry, data) if any(m.ranks_by_doc_id for m in metrics) else None
        held_out = not (is_train or name.lower() == "train")
        if held_out and _same_data(train, data, shard):
            held_out = False
            warn_of_training_data(f"eval_set {name!r}")
        elif held_out:
            warn_of_shared_queries(train, data, f"eval_set {name!r}")
        own = shard if is_train else RowShard.of(data.groups.offsets, shard.communicator)
        if own.n_rows == 0:
            raise DataError(f"eval_set {name!r}: there are no rows")
        with naming_rows(data):
            evaluators = {str(m): _evaluator(m, data, own, ids, n_jobs) for m in metrics}
        sets.append(WatchedSet(name, data, is_train, evaluators, held_out))
    if eval_metric is not None and not sets:
        raise ValueError("eval_metric has no effect without eval_set")
    watch = Watch(sets, metrics[0].greater_is_better, patience)
    if patience is not None and not watch.held_out:
        raise ValueError(
            "early_stopping_rounds needs validation data: "
            + ("eval_set holds the training data alone" if sets else "pass eval_set")
        )
    return watch


def _same_data(train: RankingInput, data: RankingInput, shard: RowShard) -> bool:
    """Tell whether a set holds the training data, by labels, queries and some documents."""
    same = (
        np.array_equal(train.groups.offsets, data.groups.offsets)
        and np.array_equal(train.y, data.y)
        and same_documents(train, data)
    )
    return shard.maximum(np.array([float(not same)]), 0.0) == 0.0  # on every worker


def named_sets(eval_set: Any) -> list[tuple[str, Any]]:
    """Return the entries of ``eval_set`` with their names; one that has none is ``valid``."""
    if eval_set is None:
        return []
    if isinstance(eval_set, Mapping):
        return [(str(name), entry) for name, entry in eval_set.items()]
    if not isinstance(eval_set, list):
        return [("valid", eval_set)]
    numbers = [""] if len(eval_set) == 1 else [str(i + 1) for i in range(len(eval_set))]
    return [(f"valid{number}", entry) for number, entry in zip(numbers, eval_set, strict=True)]


def _refuse_other_kinds(eval_set: Any) -> None:
    if not (
        eval_set is None
        or isinstance(eval_set, Dataset | Mapping | list | tuple | str | os.PathLike | Scan)
    ):
        raise DataError(
            "eval_set must be a Dataset, a path or scan, a tuple (X, y, qid), a list of those, or "
            f"a dict with a name for each, not {type(eval_set).__name__}"
        )


def _doc_ids(entry: Any, data: RankingInput) -> npt.NDArray[Any] | None:
    """Return the document ids of a Dataset in grouped order, None if there are none."""
    ids = entry.doc_ids if isinstance(entry, Dataset) else None
    if ids is None:
        return None
    return data.groups.grouped(ids if data.counting is None else ids[data.counting])


def _as_input(entry: Any, what: str, train: RankingInput, shard: RowShard) -> RankingInput:
    options: dict[str, Any] = {"what": what, "may_be_empty": not shard.single_worker}
    if isinstance(entry, Dataset | str | os.PathLike | Scan):
        return ranking_input(entry, columns=train.columns, absent=train.absent, **options)
    if not isinstance(entry, tuple) or len(entry) != 3:
        raise DataError(f"{what} must be a Dataset, a path or scan, or a tuple (X, y, qid)")
    X, y, qid = entry
    return ranking_input(X, y, qid=qid, columns=train.columns, **options)


def _evaluator(
    metric: Metric, data: RankingInput, shard: RowShard, doc_ids: Any, n_jobs: int | None
) -> Callable[[Floats], float]:
    """Return a function from grouped scores to the metric over the rows of all workers."""
    grouped = replace(data.groups, order=None)
    part = not shard.single_worker
    prepared = metric.prepare(data.y, grouped, doc_ids=doc_ids, n_jobs=n_jobs, part=part)
    if not part:
        return prepared
    sizes = shard.gather(data.groups.sizes.astype(np.float64))
    whole = QueryGroups.from_sizes(sizes.astype(np.int64))

    def mean(scores: Floats) -> float:
        return metric.mean(shard.gather(prepared.per_query(scores)), whole, None)

    return mean
