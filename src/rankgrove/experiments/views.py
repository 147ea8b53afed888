"""Parts of a fold's training data: fewer queries, or fewer features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.cache import Entry, TemporaryEntry
from rankgrove.data.reading.folds import Fold


def viewed(
    fold: Fold, view: Mapping[str, Any], kept: Entry | None = None, n_jobs: int | None = None
) -> Fold:
    """Return the fold as a view sees it.

    Parameters
    ----------
    view : ``train_share`` keeps so much of the training queries, the same ones for every ranker,
        and those of a smaller share among those of a larger; ``n_features`` keeps the features on
        which a LambdaMART model of the training part splits most often
    kept : where the order of the features is kept for other cells of the fold
    """
    if "train_share" in view:
        fold = fold._replace(train=_share(fold.train, view["train_share"]))
    if "n_features" in view:
        chosen = _leading_features(fold, view["n_features"], kept or TemporaryEntry(), n_jobs)
        fold = Fold(*(_with_columns(part, chosen) for part in fold))
    return fold


def _share(train: Dataset, share: float) -> Dataset:
    if not 0 < share <= 1:
        raise ValueError(f"a share of the training queries lies above 0 and up to 1, not {share}")
    n_kept = max(1, round(share * train.n_queries))
    order = np.random.default_rng(0).permutation(train.n_queries)
    return train.select_queries(order[:n_kept])


def _leading_features(fold: Fold, n_features: int, kept: Entry, n_jobs: int | None) -> Any:
    if not 1 <= n_features <= fold.train.n_features:
        raise ValueError(f"the data has {fold.train.n_features} features, not {n_features}")
    found = kept.arrays("feature-order", lambda: {"order": _most_split_first(fold.train, n_jobs)})
    return np.sort(found["order"][:n_features])


def _most_split_first(train: Dataset, n_jobs: int | None) -> Any:
    from rankgrove.rankers.base.registry import make_ranker

    ranker = make_ranker("lambdamart", n_estimators=50, random_state=0, n_jobs=n_jobs)
    ranker.fit(train)
    return np.argsort(-ranker.importances("split"), kind="stable")


def _with_columns(data: Dataset, columns: Any) -> Dataset:
    names = [data.feature_names[column] for column in columns]
    return data.with_features(data.X[:, columns], names)
