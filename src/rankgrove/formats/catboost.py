"""Import of CatBoost models with symmetric trees on numeric features."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import NONSENSE, ForeignTree, to_ensemble
from rankgrove.rankers.base.imported import ImportedRanker

_MAX_DEPTH = 16


def from_catboost(model: Any) -> ImportedRanker:
    """Convert a CatBoost model; it predicts CatBoost's ``RawFormulaVal``.

    Parameters
    ----------
    model : a fitted ``CatBoost`` object or a file. Files in CatBoost's JSON are read here, others
        need catboost to be installed.
    """
    text, source = _model_json(model)
    try:
        return _from_json(json.loads(text))
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except NONSENSE as error:
        raise ModelError(f"{source}: not a CatBoost model: {error!r}") from error


def _model_json(model: Any) -> tuple[bytes, str]:
    if isinstance(model, str | os.PathLike):
        try:
            text = Path(model).read_bytes()
        except OSError as error:
            raise ModelError(f"{model}: {error}") from error
        if text.lstrip()[:1] == b"{":
            return text, str(model)
        catboost = require("catboost", "all", "a CatBoost model that is not JSON")
        loaded = catboost.CatBoost()
        try:
            loaded.load_model(str(model))
        except catboost.CatBoostError as error:
            raise ModelError(f"{model}: {error}") from error
        return _as_json(loaded), str(model)
    if not hasattr(model, "save_model") or not hasattr(model, "tree_count_"):
        raise ModelError(f"from_catboost takes a CatBoost or a file, not {type(model).__name__}")
    return _as_json(model), "CatBoost model"


def _as_json(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return path.read_bytes()


def _from_json(model: Any) -> ImportedRanker:
    if "oblivious_trees" not in model:
        raise ModelError("only symmetric trees (grow_policy='SymmetricTree') are supported")
    features = model["features_info"]
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if features.get(kind):
            raise ModelError(f"{kind} are not supported: train on numeric features")
    table = features["float_features"]
    column = np.array([f["flat_feature_index"] for f in table], np.int64)
    nan_right = np.array([f["nan_value_treatment"] == "AsTrue" for f in table])
    names = [f.get("feature_id") or "" for f in table]
    scale, (bias, *others) = model["scale_and_bias"]
    if others:
        raise ModelError("models with several outputs do not rank")
    n_features = int(column.max()) + 1 if len(column) else 0
    if len(column) and (column.min() < 0 or len(np.unique(column)) != n_features):
        raise ModelError("the features are not numbered one by one")
    trees = [
        _tree(tree, number, column, nan_right)
        for number, tree in enumerate(model["oblivious_trees"])
    ]
    by_column = [name for _, name in sorted(zip(column.tolist(), names, strict=True))]
    return ImportedRanker.from_ensemble(
        to_ensemble(trees, n_features, weights=float(scale), base_score=float(bias)),
        "CatBoost",
        feature_names=by_column if all(by_column) else None,
    )


def _tree(
    tree: Any, number: int, column: npt.NDArray[np.int64], nan_right: npt.NDArray[np.bool_]
) -> ForeignTree:
    """Unroll a symmetric tree: level d has split depth - 1 - d, so that leaves keep their order."""
    splits = (tree.get("splits") or [])[::-1]
    depth = len(splits)
    if depth > _MAX_DEPTH:
        raise ModelError(f"tree {number} has {depth} levels")
    for split in splits:
        if split.get("split_type", "FloatFeature") != "FloatFeature":
            raise ModelError(f"tree {number} has a split of type {split['split_type']!r}")
    value = np.asarray(tree["leaf_values"], np.float64)
    if value.shape != (1 << depth,):
        raise ModelError(f"tree {number} of depth {depth} has {value.size} leaf values")
    weight = np.asarray(tree.get("leaf_weights") or np.zeros(1 << depth), np.float64)
    if weight.shape != value.shape:
        raise ModelError(f"tree {number} has {weight.size} leaf weights")
    asked = np.array([split["float_feature_index"] for split in splits], np.int64)
    if depth and (asked.min() < 0 or asked.max() >= len(column)):
        raise ModelError(f"tree {number} reads feature {asked.max()} of {len(column)}")
    border = np.array([split["border"] for split in splits], np.float32)
    n_splits = (1 << depth) - 1
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    node = np.arange(n_splits)
    no_leaf = np.full(1 << depth, -1)
    counts = [weight]
    while len(counts[0]) > 1:
        counts.insert(0, counts[0].reshape(-1, 2).sum(axis=1))
    return ForeignTree(
        feature=np.r_[column[asked[level]], no_leaf],
        threshold=np.r_[border[level], np.zeros(1 << depth, np.float32)],
        left=np.r_[2 * node + 1, no_leaf],
        right=np.r_[2 * node + 2, no_leaf],
        missing_left=np.r_[~nan_right[asked[level]], np.zeros(1 << depth, bool)],
        value=np.r_[np.zeros(n_splits), value],
        count=np.concatenate(counts),
        gain=np.zeros(2 * n_splits + 1),
    )
