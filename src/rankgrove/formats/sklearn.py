"""Import of scikit-learn's regression trees, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import (
    ForeignCategories,
    ForeignTree,
    rounded_down,
    to_ensemble,
)
from rankgrove.rankers.base.imported import ImportedRanker
from rankgrove.trees.ensemble import TreeEnsemble


def from_sklearn(model: Any) -> ImportedRanker:
    """Convert a fitted scikit-learn regressor; it predicts what scikit-learn predicts.

    Parameters
    ----------
    model : a fitted DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor,
        ExtraTreesRegressor, GradientBoostingRegressor or HistGradientBoostingRegressor

    Notes
    -----
    A HistGradientBoostingRegressor compares float64 values, the other estimators float32; so does
    what this returns.
    """
    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.utils.validation import check_is_fitted

    makers: dict[Any, Callable[[], TreeEnsemble]] = {
        DecisionTreeRegressor: lambda: _forest([model], model.n_features_in_),
        RandomForestRegressor: lambda: _forest(model.estimators_, model.n_features_in_),
        ExtraTreesRegressor: lambda: _forest(model.estimators_, model.n_features_in_),
        GradientBoostingRegressor: lambda: _boosting(model),
        HistGradientBoostingRegressor: lambda: _hist_boosting(model),
    }
    for cls, maker in makers.items():
        if isinstance(model, cls):
            check_is_fitted(model)
            names = getattr(model, "feature_names_in_", None)
            known = _categories(model) if cls is HistGradientBoostingRegressor else {}
            return ImportedRanker.from_ensemble(
                maker(),
                "scikit-learn",
                feature_names=names,
                categories={j: found.categories for j, found in known.items()},
            )
    raise ModelError(
        f"from_sklearn takes one of {', '.join(cls.__name__ for cls in makers)}, "
        f"not {type(model).__name__}"
    )


def _forest(estimators: Any, n_features: int) -> TreeEnsemble:
    trees = [_tree(estimator.tree_) for estimator in estimators]
    return to_ensemble(trees, n_features, weights=1.0 / len(trees))


def _boosting(model: Any) -> TreeEnsemble:
    base = 0.0
    if model.init_ != "zero":
        constant = getattr(model.init_, "constant_", None)
        if constant is None:
            raise ModelError(f"init={type(model.init_).__name__} is not a constant")
        base = float(np.ravel(constant)[0])
    trees = [_tree(estimator.tree_) for estimator in model.estimators_[:, 0]]
    return to_ensemble(trees, model.n_features_in_, weights=model.learning_rate, base_score=base)


def _tree(tree: Any) -> ForeignTree:
    if tree.n_outputs != 1:
        raise ModelError("models with several outputs do not rank")
    left = tree.children_left.astype(np.int64)
    leaf = left < 0
    impurity = tree.impurity * tree.weighted_n_node_samples
    gain = impurity - impurity[left] - impurity[tree.children_right]
    return ForeignTree(
        feature=tree.feature.astype(np.int64),
        threshold=rounded_down(tree.threshold),
        left=left,
        right=tree.children_right.astype(np.int64),
        missing_left=np.asarray(tree.missing_go_to_left).astype(bool),
        value=tree.value[:, 0, 0],
        count=tree.weighted_n_node_samples,
        gain=np.where(leaf, 0.0, gain),
    )


def _hist_boosting(model: Any) -> TreeEnsemble:
    if model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise ModelError(f"loss={model.loss!r} is not supported")
    # Categorical features come first in scikit-learn's trees, used by splits or not.
    categorical = np.zeros(model.n_features_in_, bool)
    if model.is_categorical_ is not None:
        categorical |= model.is_categorical_
    column = np.argsort(~categorical, kind="stable")
    categories = _categories(model)
    trees = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        left_codes = {}
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
            words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype("<u4")
            listed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
            feature = int(column[nodes["feature_idx"][node]])
            left_codes[node] = categories[feature].codes(listed)
        trees.append(
            ForeignTree(
                feature=column[nodes["feature_idx"]],
                threshold=rounded_down(nodes["num_threshold"]),
                precise=nodes["num_threshold"].astype(np.float64),
                left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
                right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
                missing_left=nodes["missing_go_to_left"].astype(bool),
                value=nodes["value"],
                count=nodes["count"],
                gain=np.maximum(nodes["gain"], 0),
                left_codes=left_codes,
            )
        )
    base = float(np.ravel(model._baseline_prediction)[0])
    return to_ensemble(trees, model.n_features_in_, base_score=base)


def _categories(model: Any) -> dict[int, ForeignCategories]:
    """Return the categorical columns: by the values of a frame, else whole numbers."""
    if model.is_categorical_ is None:
        return {}
    places = np.flatnonzero(model.is_categorical_).tolist()
    encoder = getattr(model, "_preprocessor", None)
    if encoder is not None:
        listed = encoder.named_transformers_["encoder"].categories_
        # A missing value that the encoder lists is missing here.
        values = [[v for v in some.tolist() if v is not None and v == v] for some in listed]
    else:
        # Raw values are their own codes, up to the largest that training saw.
        known = [model._bin_mapper.bin_thresholds_[j] for j in range(len(places))]
        values = [list(range(int(max(some, default=-1)) + 1)) for some in known]
    return {j: ForeignCategories(some, str(j)) for j, some in zip(places, values, strict=True)}
