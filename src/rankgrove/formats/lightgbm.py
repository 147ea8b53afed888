"""Import of LightGBM models from a Booster or a text file of LightGBM."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import file_path
from rankgrove._files import reason
from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import (
    ForeignCategories,
    ForeignTree,
    rounded_down,
    to_ensemble,
)
from rankgrove.rankers.base.imported import ImportedRanker

_ZERO = np.float32(1e-35)  # LightGBM takes values up to this magnitude for zero
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NONE, _ZERO_MISSING, _NAN = 0, 1, 2

# Objective -> link that LightGBM's predict applies to the sum of the trees.
_LINKS = {
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
}
_IDENTITY = {
    "",
    "lambdarank",
    "rank_xendcg",
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "quantile",
    "mape",
    "custom",
}


def from_lightgbm(model: Any) -> ImportedRanker:
    """Convert a LightGBM model; it predicts what LightGBM predicts.

    Parameters
    ----------
    model : a ``Booster``, a fitted scikit-learn estimator of LightGBM, or the path of a model file.
        As in LightGBM, a Booster counts up to its best iteration if it has one.

    Notes
    -----
    float64 values are compared with LightGBM's own float64 thresholds. LightGBM writes ``_`` for
    blanks in the names of features; columns are found by their names with blanks, too.
    """
    text, source = _model_text(model)
    try:
        return _from_text(text)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except (ValueError, OverflowError, IndexError) as error:
        raise ModelError(f"{source}: not a LightGBM model: {error}") from error


def _model_text(model: Any) -> tuple[str, str]:
    if isinstance(model, str | os.PathLike):
        file = file_path(model)
        try:
            return file.read_text(encoding="utf-8"), str(file)
        except OSError as error:
            raise ModelError(f"{file}: {reason(error)}") from error
        except UnicodeDecodeError as error:
            raise ModelError(f"{file}: {error}") from error
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "model_to_string"):
        raise ModelError(f"from_lightgbm takes a Booster or a file, not {type(model).__name__}")
    return booster.model_to_string(), "LightGBM model"


def _from_text(text: str) -> ImportedRanker:
    lines = text.splitlines()
    if not lines or lines[0].strip() != "tree":
        raise ModelError("the first line of a LightGBM model is 'tree'")
    header, *trees = sections(lines)
    if int(header.get("num_tree_per_iteration", "1")) != 1 or int(header.get("num_class", "1")) > 1:
        raise ModelError(f"multi-class models (num_class={header.get('num_class')}) do not rank")
    link, scale = _link(header.get("objective", ""))
    n_features = _whole(header, "max_feature_idx") + 1
    names = header.get("feature_names", "").split()
    if all(name == f"Column_{i}" for i, name in enumerate(names)):
        names = []
    categories = _categories(header, lines, n_features)
    parsed = [_tree(section, number, categories) for number, section in enumerate(trees)]
    if "average_output" in header:
        scale /= max(len(parsed), 1)
    return ImportedRanker.from_ensemble(
        to_ensemble([tree for tree, _ in parsed], n_features, weights=scale),
        "LightGBM",
        link=link,
        feature_names=names or None,
        missing_up_to=_missing_up_to(parsed, n_features),
        categories={j: found.categories for j, found in categories.items()},
    )


def _categories(
    header: dict[str, str], lines: list[str], n_features: int
) -> dict[int, ForeignCategories]:
    """Return the categorical columns: by the values of a frame, else whole numbers."""
    infos = header.get("feature_infos", "").split()
    coded = [j for j, info in enumerate(infos) if re.fullmatch(r"-?\d+(:-?\d+)*", info)]
    text = next((s.partition(":")[2] for s in lines if s.startswith("pandas_categorical:")), "null")
    listed = json.loads(text)
    if not listed:
        return {
            j: ForeignCategories(range(max(map(int, infos[j].split(":"))) + 1), str(j))
            for j in coded
        }
    if len(listed) != len(coded):
        raise ModelError(
            f"the model has the categories of {len(listed)} columns, but {len(coded)} columns are "
            "known to be categorical: one may have had a single category. Train without it"
        )
    names = header.get("feature_names", "").split()
    return {
        j: ForeignCategories(values, names[j] if j < len(names) else str(j))
        for j, values in zip(coded, listed, strict=True)
    }


def sections(lines: list[str]) -> Iterator[dict[str, str]]:
    """Yield the header of a model text, then each of its trees, as key -> value."""
    section: dict[str, str] = {}
    for line in lines[1:]:
        if line.startswith("end of trees"):
            break
        key, _, value = line.strip().partition("=")
        if key == "Tree":
            yield section
            section = {}
        elif key:
            section[key] = value
    else:
        raise ModelError("the file is cut off: there is no line 'end of trees'")
    yield section


def _link(objective: str) -> tuple[str, float]:
    """Return the name of the link, and the factor of the sum of the trees inside it."""
    name, *options = objective.split() or [""]
    if "sqrt" in options:
        raise ModelError(f"objective {objective!r} squares its scores, which is not supported")
    if name in _IDENTITY:
        return "identity", 1.0
    if name not in _LINKS:
        raise ModelError(f"objective {name!r} is not supported")
    factor = next((float(o.partition(":")[2]) for o in options if o.startswith("sigmoid:")), 1.0)
    return _LINKS[name], factor


def _tree(
    section: dict[str, str], number: int, categories: dict[int, ForeignCategories]
) -> tuple[ForeignTree, npt.NDArray[np.int64]]:
    """Return one tree, and the missing type of each of its splits (-1: on categories)."""
    if section.get("is_linear", "0") != "0":
        raise ModelError(f"tree {number} has linear leaves, which are not supported")
    n_leaves = _whole(section, "num_leaves")
    if n_leaves < 1:
        raise ModelError(f"tree {number} has num_leaves={n_leaves}")
    n_splits = n_leaves - 1

    def numbers(key: str, count: int, default: float | None = None) -> npt.NDArray[np.float64]:
        if key not in section and default is not None:
            return np.full(count, default)
        values = np.array(section.get(key, "").split(), np.float64)
        if len(values) != count:
            raise ModelError(f"tree {number} has {len(values)} values of {key}, not {count}")
        return values

    leaf_value = numbers("leaf_value", n_leaves)
    decision = _integers(numbers("decision_type", n_splits, 0.0))
    feature = _integers(numbers("split_feature", n_splits))
    missing_type = decision >> 2 & 3
    threshold = numbers("threshold", n_splits)
    coded = (decision & _CATEGORICAL) > 0
    left_codes = _left_codes(section, number, np.where(coded, threshold, -1), feature, categories)
    missing_type[coded], threshold = -1, np.where(coded, 0.0, threshold)
    default_left = (decision & _DEFAULT_LEFT) > 0
    # With missing type None, LightGBM replaces NaN by 0.
    missing_left = np.where(missing_type == _NONE, threshold >= 0.0, default_left) & ~coded

    def with_leaves(splits: npt.NDArray[Any], leaves: npt.ArrayLike) -> npt.NDArray[Any]:
        return np.concatenate([splits, np.broadcast_to(np.asarray(leaves), n_leaves)])

    def child(key: str) -> npt.NDArray[np.int64]:
        node = _integers(numbers(key, n_splits))
        if len(node) and (node.min() < -n_leaves or node.max() >= n_splits):
            raise ModelError(f"tree {number} has a {key} outside of its {n_leaves} leaves")
        return with_leaves(np.where(node < 0, n_splits + ~node, node), -1)

    tree = ForeignTree(
        feature=with_leaves(feature, -1),
        threshold=with_leaves(_outside_zero_range(rounded_down(threshold)), 0.0).astype(np.float32),
        precise=with_leaves(_outside_zero_range(threshold), 0.0),
        left=child("left_child"),
        right=child("right_child"),
        missing_left=with_leaves(missing_left, 0),
        value=with_leaves(numbers("internal_value", n_splits, 0.0), leaf_value),
        count=with_leaves(
            numbers("internal_count", n_splits, 0.0), numbers("leaf_count", n_leaves, 0.0)
        ),
        gain=with_leaves(numbers("split_gain", n_splits, 0.0), 0.0),
        left_codes=left_codes,
    )
    return tree, missing_type


def _left_codes(
    section: dict[str, str],
    number: int,
    which: npt.NDArray[np.float64],
    feature: npt.NDArray[np.int64],
    categories: dict[int, ForeignCategories],
) -> dict[int, npt.NDArray[np.int64]]:
    """Return the codes that splits on categories send left; ``which`` is the set of each."""
    bounds = _integers(np.array(section.get("cat_boundaries", "0").split(), np.float64))
    words = np.array(section.get("cat_threshold", "").split(), np.float64)
    found = {}
    for node in np.flatnonzero(which >= 0).tolist():
        set_number = int(which[node])
        if not 0 <= set_number < len(bounds) - 1 or int(feature[node]) not in categories:
            raise ModelError(
                f"tree {number} has a split on categories of feature {feature[node]}, whose "
                "categories the model does not tell"
            )
        some = words[bounds[set_number] : bounds[set_number + 1]].astype("<u4")
        listed = np.flatnonzero(np.unpackbits(some.view(np.uint8), bitorder="little"))
        found[node] = categories[int(feature[node])].codes(listed)
    return found


def _outside_zero_range(threshold: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Move thresholds out of the range of values that LightGBM's predict reads as 0."""
    zero = threshold.dtype.type(_ZERO)
    below_zero = np.nextafter(-zero, threshold.dtype.type(-np.inf))
    threshold = np.where((threshold >= -zero) & (threshold < 0), below_zero, threshold)
    return np.where((threshold >= 0) & (threshold < zero), zero, threshold)


def _missing_up_to(
    parsed: list[tuple[ForeignTree, npt.NDArray[np.int64]]], n_features: int
) -> npt.NDArray[np.float32] | None:
    """Return each feature's magnitude up to which values are missing (zero_as_missing), or None."""
    if not any((types == _ZERO_MISSING).any() for _, types in parsed):
        return None
    feature = np.concatenate([tree.feature[: len(types)] for tree, types in parsed])
    types = np.concatenate([types for _, types in parsed])
    feature, types = feature[types >= 0], types[types >= 0]
    if len(feature) and (feature.min() < 0 or feature.max() >= n_features):
        raise ModelError(f"a split reads feature {feature.max()} of {n_features}")
    zero = np.zeros(n_features, bool)
    zero[feature[types == _ZERO_MISSING]] = True
    mixed = zero[feature] & (types != _ZERO_MISSING)
    if mixed.any():
        raise ModelError(
            f"zero is missing in some splits on feature {feature[mixed][0]} and not in others"
        )
    up_to: npt.NDArray[np.float32] = np.where(zero, _ZERO, np.float32(-1))
    return up_to


def _whole(section: dict[str, str], key: str) -> int:
    if key not in section:
        raise ModelError(f"{key} is missing")
    value = int(section[key])
    if not -1 <= value < 2**31 - 1:
        raise ModelError(f"{key} is {value}")
    return value


def _integers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    if not (np.abs(values) < 2**31).all() or (values != np.floor(values)).any():
        raise ModelError("a value that must be a whole number is not")
    return values.astype(np.int64)
