"""Import of XGBoost models from a Booster or a file of XGBoost."""

from __future__ import annotations

import json
import math
import os
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import file_path
from rankgrove._files import local_file, reason
from rankgrove._optional import require
from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import (
    NONSENSE,
    ForeignCategories,
    ForeignTree,
    next_below,
    reachable,
    to_ensemble,
)
from rankgrove.rankers.base.imported import ImportedRanker

# Objective -> link that predict applies to the sum of the trees; base_score is stored after it.
_LINKS = {
    "rank:ndcg": "identity",
    "rank:map": "identity",
    "rank:pairwise": "identity",
    "reg:squarederror": "identity",
    "reg:linear": "identity",
    "reg:squaredlogerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:absoluteerror": "identity",
    "binary:logistic": "sigmoid",
    "reg:logistic": "sigmoid",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}


def from_xgboost(model: Any) -> ImportedRanker:
    """Convert an XGBoost model; it predicts what XGBoost predicts.

    Parameters
    ----------
    model : a ``Booster`` or a file (all trees count, as in ``Booster.predict``), or a fitted
        scikit-learn estimator of XGBoost (up to its best iteration, as in its ``predict``). JSON
        files are read here, those in UBJSON need xgboost to be installed.

    Notes
    -----
    XGBoost adds leaf values up in float32, rankgrove in float64. A category that training did not
    see goes left in XGBoost, and where missing values go here; XGBoost itself sends them left, too.
    """
    text, source, n_iterations, missing = _model_json(model)
    try:
        content = json.loads(text)
        if n_iterations is None:
            _warn_of_later_trees(content, source)
        return _from_json(content, n_iterations, missing)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except NONSENSE as error:
        raise ModelError(f"{source}: not an XGBoost model: {error!r}") from error


def _warn_of_later_trees(model: Any, source: str) -> None:
    """Warn of trees after the best iteration, which XGBoost's estimators ignore in predictions."""
    best = model["learner"].get("attributes", {}).get("best_iteration")
    booster = model["learner"]["gradient_booster"]
    booster = booster.get("gbtree", booster)
    if best is None or "model" not in booster:
        return
    per_iteration = int(booster["model"]["gbtree_model_param"]["num_parallel_tree"])
    n_iterations = len(booster["model"]["trees"]) // max(per_iteration, 1)
    if int(best) + 1 < n_iterations:
        warnings.warn(
            f"{source}: all {n_iterations} iterations count, as in Booster.predict, though the "
            f"best one was {int(best)} (from 0): give the estimator, or the Booster cut by "
            f"booster[:{int(best) + 1}], to count as XGBoost's estimators do",
            stacklevel=3,
        )


def _model_json(model: Any) -> tuple[str | bytes, str, int | None, float]:
    """Return the JSON, its source, the number of iterations to use, and the missing value."""
    if isinstance(model, str | os.PathLike):
        file = file_path(model)
        try:
            text = file.read_bytes()
        except OSError as error:
            raise ModelError(f"{file}: {reason(error)}") from error
        if text[:1] == b"{" and text[1:2] in b' \n\t"':
            return text, str(file), None, math.nan
        if text[:1] != b"{":
            raise ModelError(
                f"{file}: not an XGBoost model in JSON or UBJSON (it starts with {text[:9]!r})"
            )
        xgboost = require("xgboost", "all", "an XGBoost model that is not JSON")
        try:
            with local_file(file, text) as name:
                booster = xgboost.Booster(model_file=name)
        except xgboost.core.XGBoostError as error:
            raise ModelError(f"{file}: {str(error).splitlines()[0]}") from error
        return booster.save_raw("json"), str(file), None, math.nan
    n_iterations, missing = None, math.nan
    booster = model
    if hasattr(model, "get_booster"):
        booster = model.get_booster()
        missing = float(model.missing)
        best = booster.attr("best_iteration")
        n_iterations = None if best is None else int(best) + 1
    if not hasattr(booster, "save_raw"):
        raise ModelError(f"from_xgboost takes a Booster or a file, not {type(model).__name__}")
    return booster.save_raw("json"), "XGBoost model", n_iterations, missing


def _from_json(model: Any, n_iterations: int | None, missing: float) -> ImportedRanker:
    learner = model["learner"]
    param = learner["learner_model_param"]
    if int(param.get("num_class", 0)) > 1 or int(param.get("num_target", 1)) > 1:
        raise ModelError("models with several classes or targets do not rank")
    objective = learner["objective"]["name"]
    if objective not in _LINKS:
        raise ModelError(f"objective {objective!r} is not supported")
    booster = learner["gradient_booster"]
    weights = None
    if booster["name"] == "dart":
        weights = np.asarray(booster["weight_drop"], np.float64)
        booster = booster["gbtree"]
    if booster["name"] != "gbtree":
        raise ModelError(f"booster {booster['name']!r} has no trees")
    trees = booster["model"]["trees"]
    if n_iterations is not None:
        trees = trees[
            : n_iterations * int(booster["model"]["gbtree_model_param"]["num_parallel_tree"])
        ]
    n_features = int(param["num_feature"])
    names = learner.get("feature_names") or None
    categories = _categories(learner, booster["model"], trees)
    return ImportedRanker.from_ensemble(
        to_ensemble(
            [_tree(tree, number, categories) for number, tree in enumerate(trees)],
            n_features,
            weights=1.0 if weights is None else weights[: len(trees)],
            base_score=_base_margin(param["base_score"], _LINKS[objective]),
        ),
        "XGBoost",
        link=_LINKS[objective],
        feature_names=names,
        missing_up_to=_missing_up_to(missing, n_features),
        categories={j: found.categories for j, found in categories.items()},
    )


def _categories(learner: Any, model: Any, trees: Any) -> dict[int, ForeignCategories]:
    """Return the categorical columns: by the values of a frame, else whole numbers up to the last.

    To XGBoost a category that no split lists is as one that it has never seen.
    """
    types = learner.get("feature_types") or []
    coded = {j for j, kind in enumerate(types) if kind == "c"}
    largest: dict[int, int] = {}
    for tree in trees:
        parts = zip(
            tree.get("categories_nodes", []),
            tree.get("categories_segments", []),
            tree.get("categories_sizes", []),
            strict=True,
        )
        for node, first, size in parts:
            j = int(tree["split_indices"][node])
            listed = tree["categories"][first : first + size]
            largest[j] = max(largest.get(j, 0), *map(int, listed))
            coded.add(j)
    encoded = (model.get("cats") or {}).get("enc") or []
    names = learner.get("feature_names")
    found = {}
    for j in sorted(coded):
        name = names[j] if names else str(j)
        try:
            values = _values(encoded[j]) if j < len(encoded) else []
        except UnicodeDecodeError:
            raise ModelError(
                f"the model holds damaged texts for the categories of {name!r}: XGBoost cuts "
                "off categories that are not ASCII; rename them and train again"
            ) from None
        found[j] = ForeignCategories(values or range(largest.get(j, 0) + 1), name)
    return found


def _values(encoded: Any) -> list[Any]:
    """Return the categories of a column as XGBoost keeps them: bytes of texts, or numbers."""
    values = encoded["values"]
    if "offsets" not in encoded:
        return list(values)
    text = bytes(value & 255 for value in values)
    return [text[a:b].decode() for a, b in pairwise(encoded["offsets"])]


def _base_margin(text: str, link: str) -> float:
    """Return the score of a model without trees, before the link."""
    score = float(np.float32(str(text).strip("[]")))
    if link == "sigmoid":
        if not 0 < score < 1:
            raise ModelError(f"base_score {score} is not a probability")
        return math.log(score / (1 - score))
    if link == "exp":
        if not score > 0:
            raise ModelError(f"base_score {score} is not positive")
        return math.log(score)
    return score


def _tree(tree: Any, number: int, categories: dict[int, ForeignCategories]) -> ForeignTree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ModelError(f"tree {number} has vectors in its leaves")
    left = np.asarray(tree["left_children"], np.int64)
    feature = np.asarray(tree["split_indices"], np.int64)
    nodes = tree.get("categories_nodes", [])
    parts = zip(tree.get("categories_segments", []), tree.get("categories_sizes", []), strict=True)
    # The categories that are listed go right.
    left_codes = {
        int(node): categories[int(feature[node])].others(tree["categories"][first : first + size])
        for node, (first, size) in zip(nodes, parts, strict=True)
    }
    condition = np.asarray(tree["split_conditions"], np.float32)
    leaf = left < 0
    found = ForeignTree(
        feature=feature,
        threshold=next_below(condition),
        left=left,
        right=np.asarray(tree["right_children"], np.int64),
        missing_left=np.asarray(tree["default_left"]).astype(bool),
        value=np.where(leaf, condition, tree["base_weights"]).astype(np.float64),
        count=np.asarray(tree["sum_hessian"], np.float64),
        gain=np.asarray(tree["loss_changes"]),
        left_codes=left_codes,
    )
    # Pruning leaves unreachable nodes in the arrays.
    return reachable(found) if int(tree["tree_param"].get("num_deleted", 0)) else found


def _missing_up_to(missing: float, n_features: int) -> npt.NDArray[np.float32] | None:
    if math.isnan(missing):
        return None
    if missing != 0:
        raise ModelError(f"missing={missing} is not supported: mark missing values by NaN")
    return np.zeros(n_features, np.float32)
