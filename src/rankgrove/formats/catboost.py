"""Import of CatBoost models with symmetric trees on numeric and one-hot features."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import file_path
from rankgrove._files import local_file, reason
from rankgrove._optional import require
from rankgrove.data.core.categories import MOST_CODES, Categories
from rankgrove.data.core.category_maps import recoding, typed
from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import NONSENSE, ForeignTree, to_ensemble
from rankgrove.rankers.base.imported import ImportedRanker

_MAX_DEPTH = 16


def from_catboost(model: Any, pool: Any = None) -> ImportedRanker:
    """Convert a CatBoost model; it predicts CatBoost's ``RawFormulaVal``.

    Parameters
    ----------
    model : a fitted ``CatBoost`` object or a file. Files in CatBoost's JSON are read here, others
        need catboost to be installed.
    pool : the ``catboost.Pool`` of the training data, for a model with categorical features: it
        knows them by hash alone (JSON that was saved with ``pool=`` has them)

    Notes
    -----
    Categorical features must be one-hot (``one_hot_max_size``): counters of CatBoost, which depend
    on labels of the training data, are refused.
    """
    text, source = _model_json(model, pool)
    try:
        return _from_json(json.loads(text))
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except NONSENSE as error:
        raise ModelError(f"{source}: not a CatBoost model: {error!r}") from error


def _model_json(model: Any, pool: Any) -> tuple[bytes, str]:
    if isinstance(model, str | os.PathLike):
        file = file_path(model)
        try:
            text = file.read_bytes()
        except OSError as error:
            raise ModelError(f"{file}: {reason(error)}") from error
        if text.lstrip()[:1] == b"{":
            return text, str(file)
        catboost = require("catboost", "all", "a CatBoost model that is not JSON")
        loaded = catboost.CatBoost()
        try:
            with local_file(file, text) as name:
                loaded.load_model(name)
        except catboost.CatBoostError as error:
            raise ModelError(f"{file}: {error}") from error
        return _as_json(loaded, pool), str(file)
    if not hasattr(model, "save_model") or not hasattr(model, "tree_count_"):
        raise ModelError(f"from_catboost takes a CatBoost or a file, not {type(model).__name__}")
    return _as_json(model, pool), "CatBoost model"


def _as_json(model: Any, pool: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
        return path.read_bytes()


def _from_json(model: Any) -> ImportedRanker:
    if "oblivious_trees" not in model:
        raise ModelError("only symmetric trees (grow_policy='SymmetricTree') are supported")
    features = model["features_info"]
    for kind in ("text_features", "embedding_features"):
        if features.get(kind):
            raise ModelError(f"{kind} are not supported: train on numeric features")
    table = features.get("float_features") or []
    coded = features.get("categorical_features") or []
    categories = _categories(coded, features.get("cat_features_hash"))
    column = np.array([f["flat_feature_index"] for f in table], np.int64)
    nan_right = np.array([f["nan_value_treatment"] == "AsTrue" for f in table])
    every = [*table, *coded]
    names = {int(f["flat_feature_index"]): f.get("feature_id") or "" for f in every}
    scale, (bias, *others) = model["scale_and_bias"]
    if others:
        raise ModelError("models with several outputs do not rank")
    n_features = max(names, default=-1) + 1
    if len(every) != n_features or set(names) != set(range(n_features)):
        raise ModelError("the features are not numbered one by one")
    trees = [
        _tree(tree, number, column, nan_right, categories)
        for number, tree in enumerate(model["oblivious_trees"])
    ]
    by_column = [names[j] for j in range(n_features)]
    return ImportedRanker.from_ensemble(
        to_ensemble(trees, n_features, weights=float(scale), base_score=float(bias)),
        "CatBoost",
        feature_names=by_column if all(by_column) else None,
        categories={found.column: found.categories for found in categories},
    )


@dataclass(frozen=True)
class _CategoricalFeature:
    """A one-hot feature: its column, its categories, and the code of each hash."""

    column: int
    categories: Categories
    codes: dict[int, int]


def _categories(features: Any, hashes: Any) -> list[_CategoricalFeature]:
    """Return the categorical features; their values are hashes, of which ``hashes`` has texts."""
    texts = {int(one["hash"]): str(one["value"]) for one in hashes or ()}
    found = []
    for feature in features:
        name = feature.get("feature_id") or str(feature["flat_feature_index"])
        listed = [int(value) & 0xFFFFFFFF for value in feature.get("values") or ()]
        unknown = [value for value in listed if value not in texts]
        if unknown:
            raise ModelError(
                f"the categories of {name!r} are known by their hashes alone: give the training "
                "data, from_catboost(model, pool=...), or save JSON with pool="
            )
        loose = Categories.of([texts[value] for value in listed], limit=MOST_CODES, untyped=True)
        known = typed(loose)
        table = recoding(loose, known, f"column {name!r}")
        codes = {value: int(table[loose.code(texts[value])]) for value in listed}
        found.append(_CategoricalFeature(int(feature["flat_feature_index"]), known, codes))
    return found


def _tree(
    tree: Any,
    number: int,
    column: npt.NDArray[np.int64],
    nan_right: npt.NDArray[np.bool_],
    categories: list[_CategoricalFeature],
) -> ForeignTree:
    """Unroll a symmetric tree: level d has split depth - 1 - d, so that leaves keep their order."""
    splits = (tree.get("splits") or [])[::-1]
    depth = len(splits)
    if depth > _MAX_DEPTH:
        raise ModelError(f"tree {number} has {depth} levels")
    for split in splits:
        kind = split.get("split_type", "FloatFeature")
        if kind == "OnlineCtr":
            raise ModelError(
                f"tree {number} splits on a counter of CatBoost (OnlineCtr), which depends on "
                "training labels and is not supported: train with one_hot_max_size above the "
                "number of categories"
            )
        if kind not in ("FloatFeature", "OneHotFeature"):
            raise ModelError(f"tree {number} has a split of type {kind!r}")
    value = np.asarray(tree["leaf_values"], np.float64)
    if value.shape != (1 << depth,):
        raise ModelError(f"tree {number} of depth {depth} has {value.size} leaf values")
    weight = np.asarray(tree.get("leaf_weights") or np.zeros(1 << depth), np.float64)
    if weight.shape != value.shape:
        raise ModelError(f"tree {number} has {weight.size} leaf weights")
    asked, missing_left, border = _conditions(splits, number, column, nan_right, categories)
    n_splits = (1 << depth) - 1
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    node = np.arange(n_splits)
    no_leaf = np.full(1 << depth, -1)
    counts = [weight]
    while len(counts[0]) > 1:
        counts.insert(0, counts[0].reshape(-1, 2).sum(axis=1))
    left_codes: dict[int, npt.NDArray[np.int64]] = {}
    for d, split in enumerate(splits):
        if "cat_feature_index" in split:
            found = categories[split["cat_feature_index"]]
            one = found.codes[int(split["value"]) & 0xFFFFFFFF]
            others = np.setdiff1d(np.arange(found.categories.n_codes), one)
            left_codes |= dict.fromkeys(np.flatnonzero(level == d).tolist(), others)
    return ForeignTree(
        feature=np.r_[asked[level], no_leaf],
        threshold=np.r_[border[level], np.zeros(1 << depth, np.float32)],
        left=np.r_[2 * node + 1, no_leaf],
        right=np.r_[2 * node + 2, no_leaf],
        missing_left=np.r_[missing_left[level], np.zeros(1 << depth, bool)],
        value=np.r_[np.zeros(n_splits), value],
        count=np.concatenate(counts),
        gain=np.zeros(2 * n_splits + 1),
        left_codes=left_codes,
    )


def _conditions(
    splits: list[Any],
    number: int,
    column: npt.NDArray[np.int64],
    nan_right: npt.NDArray[np.bool_],
    categories: list[_CategoricalFeature],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
    """Return column, direction of missing values and border of each split.

    An unknown category is none of those that are asked for, and goes left.
    """
    asked, left, border = [], [], []
    for split in splits:
        coded = "cat_feature_index" in split
        index = split["cat_feature_index" if coded else "float_feature_index"]
        count = len(categories) if coded else len(column)
        if not 0 <= index < count:
            raise ModelError(f"tree {number} reads feature {index} of {count}")
        asked.append(categories[index].column if coded else int(column[index]))
        left.append(coded or not nan_right[index])
        border.append(0.0 if coded else split["border"])
    return np.array(asked, np.int64), np.array(left, bool), np.array(border, np.float32)
