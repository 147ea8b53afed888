"""Metrics of a running fit: which sets are watched, their history, the best iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._native import BinnedMatrix, Bins
from rankgrove.data.features import check_columns, is_dataset
from rankgrove.errors import DataError
from rankgrove.rankers.background import Background
from rankgrove.rankers.inputs import RankingInput, ranking_input
from rankgrove.rankers.progress import History
from rankgrove.trees.binning import bin_matrix
from rankgrove.trees.growing import add_leaf_values, apply_binned

Floats = npt.NDArray[np.float64]


@dataclass
class WatchedSet:
    """One set whose metrics are recorded; ``binned`` is None for the training data itself."""

    name: str
    binned: BinnedMatrix | None
    scores: Floats
    evaluators: Mapping[str, Callable[[Floats], float]]


@dataclass
class Monitor:
    """Follows the metrics of all watched sets and finds the best iteration.

    The first metric of the first set that is not the training data decides.
    """

    sets: list[WatchedSet]
    greater_is_better: bool
    patience: int | None
    link: Callable[[Floats], Floats]
    history: History = field(default_factory=dict)
    best_iteration: int | None = None
    _best_value: float = float("nan")

    def update(self, trees: Sequence[Any], scores: Floats, n_jobs: int | None) -> bool:
        """Record the metrics after an iteration; True if training should stop."""
        stop = False
        deciding = next((watched for watched in self.sets if watched.binned is not None), None)
        for watched in self.sets:
            if watched.binned is None:
                watched.scores = scores
            else:
                rows = watched.scores.reshape(len(trees), -1)
                for output, tree in enumerate(trees):
                    leaves = apply_binned(tree, watched.binned, n_jobs)
                    add_leaf_values(rows[output], leaves, tree.value, n_jobs)
            final = self.link(watched.scores)
            for name, evaluate in watched.evaluators.items():
                value = evaluate(final)
                values = self.history.setdefault(watched.name, {}).setdefault(name, [])
                values.append(value)
                if watched is deciding and name == next(iter(watched.evaluators)):
                    stop = self._decide(value, len(values))
        return stop

    def _decide(self, value: float, iteration: int) -> bool:
        better = value > self._best_value if self.greater_is_better else value < self._best_value
        if self.best_iteration is None or better or np.isnan(self._best_value):
            self.best_iteration, self._best_value = iteration, value
        return self.patience is not None and iteration - self.best_iteration >= self.patience


def make_monitor(
    eval_set: Any,
    eval_metric: Any,
    patience: int | None,
    train: RankingInput,
    train_X: Any,
    bins: Bins,
    background: Background,
    link: Callable[[Floats], Floats],
    n_jobs: int | None,
) -> Monitor:
    """Check and prepare the watched sets: binned like the training data, at the start scores."""
    from rankgrove.metrics.metric import metric as as_metric

    if patience is not None and (not isinstance(patience, int | np.integer) or patience < 1):
        raise ValueError(f"early_stopping_rounds must be a whole number >= 1, not {patience!r}")
    names = ["ndcg@10"] if eval_metric is None else eval_metric
    metrics = [as_metric(name) for name in (names if isinstance(names, list | tuple) else [names])]
    if not metrics:
        raise ValueError("eval_metric is empty: give at least one metric")
    sets = []
    for name, entry in _named_sets(eval_set):
        what = f"eval_set {name!r}"
        is_train = _matrix_of(entry) is train_X
        data = train if is_train else _as_input(entry, what)
        check_columns(data.X.shape[1], data.feature_names, train.X.shape[1], train.feature_names)
        grouped = replace(data.groups, order=None)
        evaluators = {str(m): m.prepare(data.y, grouped, n_jobs=n_jobs) for m in metrics}
        binned, scores = None, np.empty(0)
        if not is_train:
            binned = bin_matrix(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
            scores = background.start_scores(data.X)
            if data.groups.order is not None:
                scores = np.ascontiguousarray(scores[..., data.groups.order])
        sets.append(WatchedSet(name, binned, scores, evaluators))
    if patience is not None and all(watched.binned is None for watched in sets):
        raise ValueError("early_stopping_rounds needs validation data: pass eval_set")
    return Monitor(sets, metrics[0].greater_is_better, patience, link)


def _named_sets(eval_set: Any) -> Iterable[tuple[str, Any]]:
    if eval_set is None:
        return []
    if isinstance(eval_set, Mapping):
        return [(str(name), entry) for name, entry in eval_set.items()]
    if is_dataset(eval_set) or isinstance(eval_set, tuple):
        return [("valid", eval_set)]
    if not isinstance(eval_set, list):
        raise DataError(
            "eval_set must be a Dataset, a tuple (X, y, qid), a list of those, or a dict with a "
            f"name for each, not {type(eval_set).__name__}"
        )
    numbers = [""] if len(eval_set) == 1 else [str(i + 1) for i in range(len(eval_set))]
    return [(f"valid{number}", entry) for number, entry in zip(numbers, eval_set, strict=True)]


def _matrix_of(entry: Any) -> Any:
    return entry[0] if isinstance(entry, tuple) and entry else entry


def _as_input(entry: Any, what: str) -> RankingInput:
    if is_dataset(entry):
        return ranking_input(entry, what=what)
    if not isinstance(entry, tuple) or len(entry) != 3:
        raise DataError(f"{what} must be a Dataset or a tuple (X, y, qid)")
    X, y, qid = entry
    return ranking_input(X, y, qid=qid, what=what)
