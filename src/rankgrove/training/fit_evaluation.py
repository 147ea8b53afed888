"""Evaluation during a fit: the sets, the history of their metrics, the best step.

It depends on scores and steps alone: each ranker passes the scores of every set after each step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from rankgrove.training.stopping import stopping_rule
from rankgrove.workers.row_shard import RowShard

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Metric

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EvalSet:
    """One set whose metrics are recorded.

    Attributes
    ----------
    name : as in ``evals_result_``
    data : the checked set; the training data itself if ``is_train``
    held_out : whether it may decide: False for the training data, also if they come as copies or by
        the name ``train``
    evaluators : from scores in grouped order to the value of each metric; rules that look at
        queries call their ``per_query`` and ``mean``
    """

    name: str
    data: RankingInput
    is_train: bool
    evaluators: Mapping[str, Any]
    held_out: bool = True


@dataclass
class FitEvaluation:
    """Records the metrics of all evaluation sets and finds the best step.

    The first metric of the last set that is not the training data decides, by a stopping rule.

    Attributes
    ----------
    patience : steps without progress after which training stops; None: it goes on
    rule_name : name of the stopping rule
    """

    sets: list[EvalSet]
    greater_is_better: bool
    patience: int | None
    rule_name: str = "best"
    history: History = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rule = stopping_rule(self.rule_name, self.greater_is_better)

    @property
    def best_step(self) -> int | None:
        """The number of steps to keep, None before the first one and without validation."""
        return self._rule.best_step

    @property
    def best_value(self) -> float | None:
        """The deciding metric after these steps."""
        return self._rule.best_value

    @property
    def held_out(self) -> list[EvalSet]:
        """The sets that are not the training data."""
        return [eval_set for eval_set in self.sets if eval_set.held_out]

    def restarted(self, sets: list[EvalSet], greater_is_better: bool) -> FitEvaluation:
        """Return the evaluation of other sets, with the same rules, before its first step."""
        return replace(
            self,
            sets=sets,
            greater_is_better=greater_is_better,
            history={},
        )

    def record(self, scores: Mapping[str, Floats]) -> bool:
        """Measure the scores of each set after a step; True if training should stop."""
        by_query = self.query_values(scores)
        measured = {
            eval_set.name: {
                name: evaluate(scores[eval_set.name])
                for name, evaluate in eval_set.evaluators.items()
                if by_query is None or (eval_set.name, name) != self._deciding
            }
            for eval_set in self.sets
        }
        if by_query is not None:
            name, metric = self._deciding
            value = self.held_out[-1].evaluators[metric].mean(by_query)
            measured[name] = {metric: value, **measured[name]}  # it is the first one
        return self.note(measured, by_query)

    def query_values(self, scores: Mapping[str, Floats]) -> Floats | None:
        """Return the deciding metric of each query, if the stopping rule needs it."""
        if not self._rule.needs_queries or not self.held_out:
            return None
        name, metric = self._deciding
        values: Floats = self.held_out[-1].evaluators[metric].per_query(scores[name])
        return values

    @property
    def _deciding(self) -> tuple[str, str]:
        """The names of the set and of the metric that decide."""
        deciding = self.held_out[-1]
        return deciding.name, next(iter(deciding.evaluators))

    def note(self, measured: Measured, by_query: Floats | None = None) -> bool:
        """Record metrics that were measured after a step; True if training should stop.

        ``by_query`` are the ``query_values`` of the step.
        """
        if {name: list(values) for name, values in measured.items()} != {
            eval_set.name: list(eval_set.evaluators) for eval_set in self.sets
        }:
            raise ModelError("the recorded step has other evaluation sets or metrics than this fit")
        for name, values in measured.items():
            history = self.history.setdefault(name, {})
            for metric, value in values.items():
                history.setdefault(metric, []).append(value)
        if not self.held_out:
            return False
        name, metric = self._deciding
        if self._rule.needs_queries and by_query is None:
            raise ModelError(
                f"stopping_rule={self.rule_name!r} needs the metric of each query, which this "
                "ranker's records of steps do not have"
            )
        self._rule.note(measured[name][metric], by_query)
        step = len(self.history[name][metric])
        return self.patience is not None and step - self._rule.last_progress >= self.patience


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


def make_fit_evaluation(
    eval_set: Any,
    eval_metric: Any,
    patience: int | None,
    *,
    train: RankingInput,
    given: FitData,
    shard: RowShard,
    n_jobs: int | None,
    rule: str | None = None,
) -> FitEvaluation:
    """Check the evaluation sets and prepare their metrics; ``rule`` names the stopping rule."""
    from rankgrove.metrics.parsing import distinct
    from rankgrove.metrics.parsing import metric as as_metric

    check_patience(patience)
    names = ["ndcg@10"] if eval_metric is None else eval_metric
    names = names if isinstance(names, list | tuple) else [names]
    metrics = distinct([as_metric(name) for name in names])
    if not metrics:
        raise ValueError("eval_metric is empty: give at least one metric")
    _refuse_other_kinds(eval_set)
    sets: list[EvalSet] = []
    for name, entry in named_sets(eval_set):
        if name in [known.name for known in sets]:
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
        sets.append(EvalSet(name, data, is_train, evaluators, held_out))
    if eval_metric is not None and not sets:
        raise ValueError("eval_metric has no effect without eval_set")
    evaluation = FitEvaluation(sets, metrics[0].greater_is_better, patience, rule or "best")
    if rule is not None and not evaluation.held_out:
        raise ValueError(
            "stopping_rule needs validation data: "
            + ("eval_set holds the training data alone" if sets else "pass eval_set")
        )
    if patience is not None and not evaluation.held_out:
        raise ValueError(
            "early_stopping_rounds needs validation data: "
            + ("eval_set holds the training data alone" if sets else "pass eval_set")
        )
    return evaluation


def check_patience(patience: Any) -> None:
    """Refuse what is no number of rounds."""
    if patience is not None and (
        not isinstance(patience, int | np.integer) or isinstance(patience, bool) or patience < 1
    ):
        raise ValueError(f"early_stopping_rounds must be a whole number >= 1, not {patience!r}")


def held_out_set(name: str, data: RankingInput, metric: Metric, n_jobs: int | None) -> EvalSet:
    """Return a part of the data that a fit does not see, measured by one metric."""
    grouped = replace(data.groups, order=None)
    prepared = metric.prepare(data.y, grouped, n_jobs=n_jobs, part=True)
    return EvalSet(name, data, False, {str(metric): prepared})


@dataclass(frozen=True, eq=False)
class SharedMetric:
    """A metric of queries that several workers hold, with the interface of a prepared one.

    Attributes
    ----------
    prepared : the metric of this worker's queries
    whole : the queries of all workers
    """

    metric: Metric
    prepared: Any
    shard: RowShard
    whole: QueryGroups

    def __call__(self, scores: Floats) -> float:
        """Return the mean over all queries."""
        return self.mean(self.per_query(scores))

    def per_query(self, scores: Floats) -> Floats:
        """Return the values of all queries, from the scores of this worker's documents."""
        return self.shard.gather(self.prepared.per_query(scores))

    def mean(self, values: Floats) -> float:
        """Return the mean of values of all queries."""
        return self.metric.mean(values, self.whole, None)


def _same_data(train: RankingInput, data: RankingInput, shard: RowShard) -> bool:
    """Return whether a set holds the training data, by labels, queries and some documents."""
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
        pair = isinstance(entry, tuple) and len(entry) == 2
        raise DataError(
            f"{what} must be a Dataset, a path or scan, or a tuple (X, y, qid)"
            + (": this tuple has no query ids" if pair else "")
        )
    X, y, qid = entry
    return ranking_input(X, y, qid=qid, columns=train.columns, **options)


def _evaluator(
    metric: Metric, data: RankingInput, shard: RowShard, doc_ids: Any, n_jobs: int | None
) -> Any:
    """Return the metric of grouped scores over the rows of all workers."""
    grouped = replace(data.groups, order=None)
    part = not shard.single_worker
    prepared = metric.prepare(data.y, grouped, doc_ids=doc_ids, n_jobs=n_jobs, part=part)
    if not part:
        return prepared
    sizes = shard.gather(data.groups.sizes.astype(np.float64))
    whole = QueryGroups.from_sizes(sizes.astype(np.int64))
    return SharedMetric(metric, prepared, shard, whole)
