"""Rankers over a grid of tree sizes and learning rates, as the RCRank paper compares them.

Modry and Ferov ("Enhancing LambdaMART Using Oblivious Trees", 2016) set RCRank beside LambdaMART
for 8 to 64 leaves and learning rates of 0.11 to 0.19, each model cut where its validation NDCG@10
was best. On MSLR-WEB10K they shift the labels to start at 1, which raises every NDCG (an irrelevant
document then has a gain of 1): a label convention is therefore part of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankgrove.data.dataset import Dataset
from rankgrove.data.folds import Fold
from rankgrove.metrics.metric import metric as as_metric
from rankgrove.rankers.base.registry import make_ranker

RANKERS = ("rcrank", "lambdamart")
LEAVES = (8, 16, 32, 64)
LEARNING_RATES = (0.11, 0.13, 0.15, 0.17, 0.19)
LABEL_SHIFTS = (0, 1)


@dataclass
class Cell:
    """One setting of the grid.

    Attributes
    ----------
    values : the test metric of each fold
    n_trees : trees kept in each fold
    """

    ranker: str
    leaves: int
    learning_rate: float
    label_shift: int
    values: list[float] = field(default_factory=list)
    n_trees: list[int] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean of the test metric over the folds."""
        return float(np.mean(self.values))


def run_grid(
    folds: Iterable[Fold],
    *,
    rankers: Sequence[str] = RANKERS,
    leaves: Sequence[int] = LEAVES,
    learning_rates: Sequence[float] = LEARNING_RATES,
    label_shifts: Sequence[int] = LABEL_SHIFTS,
    metric: str = "ndcg@10",
    progress: Callable[[int, int], None] | None = None,
    early_stopping_rounds: int | None = None,
    **params: Any,
) -> list[Cell]:
    """Train and test every setting on every fold.

    Parameters
    ----------
    label_shifts : added to all labels before anything is trained or measured; 1 is the paper's
        convention on MSLR-WEB10K
    progress : called with the number of models done and to do (per fold)
    params : further parameters of the rankers, such as ``n_estimators``
    """
    cells = [
        Cell(*setting)
        for setting in itertools.product(rankers, leaves, learning_rates, label_shifts)
    ]
    measure = as_metric(metric)
    for fold in folds:
        shifted = {shift: Fold(*(_shifted(part, shift) for part in fold)) for shift in label_shifts}
        for done, cell in enumerate(cells):
            if progress:
                progress(done, len(cells))
            data = shifted[cell.label_shift]
            limits = {"max_leaf_nodes": cell.leaves, "max_depth": None}
            ranker = make_ranker(
                cell.ranker, learning_rate=cell.learning_rate, **{**params, **limits}
            )
            ranker.fit(
                data.train,
                eval_set=data.validation,
                eval_metric=measure,
                early_stopping_rounds=early_stopping_rounds,
            )
            cell.values.append(ranker.score(data.test, metric=measure))
            cell.n_trees.append(ranker.model_.n_steps)
    return cells


def best_cell(cells: Iterable[Cell], ranker: str, label_shift: int) -> Cell:
    """Return the setting with the highest mean of one ranker under one label convention."""
    chosen = [c for c in cells if c.ranker == ranker and c.label_shift == label_shift]
    return max(chosen, key=lambda cell: cell.mean)


def _shifted(data: Dataset, shift: int) -> Dataset:
    """The same documents with all labels raised; the feature matrix is shared."""
    if shift == 0:
        return data
    return Dataset(
        data.X,
        data.y + shift,
        data.qid,
        feature_names=data.feature_names,
        sample_weight=data.sample_weight,
    )
