"""Parts of a fold's training data: fewer queries, fewer features, or both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from rankgrove._arguments import require_number
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.cache import CacheEntry, TemporaryCacheEntry
from rankgrove.data.reading.folds import Fold

# Whose splits rank the features: those of a LambdaMART model, or those of all models of the study.
FEATURE_ORDERS = ("lambdamart", "study")


@dataclass(frozen=True)
class View:
    """The part of a fold that a cell uses, and what it keeps of its model.

    Attributes
    ----------
    train_share : keep so much of the training queries, the same ones for every ranker, and those of
        a smaller share among those of a larger; None: all
    sample : keep other queries for each number, and the scores of the test part; None: those that
        every ranker sees
    n_features : number of features to keep: those on which a LambdaMART model of the rest of the
        training part splits most often; None: all
    features : keep the features of these numbers; None: as ``n_features`` says
    curve : keep the metric after every step of a model that validation does not cut
        (``"convergence"``), or the strength of single trees (``"strength"``)
    """

    train_share: float | None = None
    sample: int | None = None
    n_features: float | None = None
    features: tuple[int, ...] | None = None
    curve: Literal["convergence", "strength"] | None = None

    def facts(self) -> dict[str, Any]:
        """Return the fields that are set, for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


WHOLE = View()


def viewed(
    fold: Fold, view: View, kept: CacheEntry | None = None, n_jobs: int | None = None
) -> Fold:
    """Return the part of the fold that a view selects.

    Parameters
    ----------
    kept : where the order of the features is kept for other cells of the fold
    """
    if view.train_share is not None:
        fold = fold._replace(train=_share(fold.train, view.train_share, view.sample))
    if view.features is not None:
        return Fold(*(_with_columns(part, view.features) for part in fold))
    if view.n_features is not None:
        chosen = _leading_features(fold, view, kept or TemporaryCacheEntry(), n_jobs)
        fold = Fold(*(_with_columns(part, chosen) for part in fold))
    return fold


def check_share(share: float) -> None:
    """Refuse a share of the training queries that is none."""
    words = "above 0 and up to 1"
    require_number(share, "a share of the training queries", words, lambda x: 0 < x <= 1)


def leading(order: Any, n_features: float) -> list[int]:
    """Return the numbers of the first features of an order, ascending."""
    if not 1 <= n_features <= len(order) or n_features != int(n_features):
        raise ValueError(f"the data has {len(order)} features, not {n_features:g}")
    return sorted(int(column) for column in order[: int(n_features)])


def _share(train: Dataset, share: float, sample: int | None) -> Dataset:
    check_share(share)
    n_kept = max(1, round(share * train.n_queries))
    seed = 0 if sample is None else (1, sample)
    order = np.random.default_rng(seed).permutation(train.n_queries)
    return train.select_queries(order[:n_kept])


def _leading_features(fold: Fold, view: View, kept: CacheEntry, n_jobs: int | None) -> list[int]:
    """Return the features on which a model of the selected training part splits most often."""
    which = "" if view.train_share is None else f"-{view.train_share!r}-{view.sample}"
    found = kept.arrays(
        f"feature-order{which}", lambda: {"order": _most_split_first(fold.train, n_jobs)}
    )
    return leading(found["order"], float(view.n_features or 0))


def _most_split_first(train: Dataset, n_jobs: int | None) -> Any:
    from rankgrove.rankers.base.registry import make_ranker

    ranker = make_ranker("lambdamart", n_estimators=50, random_state=0, n_jobs=n_jobs)
    ranker.fit(train)
    return np.argsort(-ranker.importances("split"), kind="stable")


def _with_columns(data: Dataset, columns: Any) -> Dataset:
    names = [data.feature_names[column] for column in columns]
    return data.with_features(data.matrix.select_columns(columns), names)
