"""Export to LightGBM's model text, and evaluation of that text by the rules of LightGBM.

LightGBM compares ``x <= threshold`` in float64, so thresholds are written as the largest float64
that rankgrove rounds to the left side: both agree on every float64 value. There is no base score in
the text; it goes into the leaves of the first tree. Values up to 1e-35 are 0 to LightGBM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove.errors import ModelError
from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.lightgbm import sections
from rankgrove.formats.plain_trees import PlainTree, PlainTrees, with_missing_right
from rankgrove.formats.target_arithmetic import TargetTree, sum_of_trees

_ZERO = float(np.float32(1e-35))
_OBJECTIVES = {"identity": "lambdarank", "sigmoid": "binary sigmoid:1", "exp": "poisson"}
_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING, _NAN_IS_MISSING = 1, 2, 1 << 2, 2 << 2


def _write(plain: PlainTrees) -> bytes:
    up_to = np.full(plain.n_features, -1.0)
    if plain.missing_up_to is not None:
        up_to = plain.missing_up_to.astype(np.float64)
    if not np.isin(up_to, (-1.0, _ZERO)).all():
        raise ModelError("lightgbm takes values up to 1e-35 for missing, or NaN alone")
    plain = with_missing_right(plain)
    names = plain.names or tuple(f"Column_{j}" for j in range(plain.n_features))
    lines = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={plain.n_features - 1}",
        f"objective={_OBJECTIVES[plain.link]}",
        f"feature_names={' '.join(_without_blanks(names))}",
        f"feature_infos={' '.join(_feature_infos(plain))}",
        "",
    ]
    for number, tree in enumerate(plain.with_base_in_leaves().trees):
        lines += [f"Tree={number}", *_tree(tree, up_to >= 0), "", ""]
    listed = [list(plain.categories[j]) for j in sorted(plain.categories)] or None
    lines += ["end of trees", "", f"pandas_categorical:{json.dumps(listed)}", ""]
    return "\n".join(lines).encode()


def _feature_infos(plain: PlainTrees) -> list[str]:
    """Return the codes of categorical columns, and the range of the values of others.

    The range is that of the training data where it is known (one that includes all thresholds: an
    earlier training may have seen more), else that of the thresholds. LightGBM does not look at
    them; JPMML takes a feature with ``none`` for one that no split uses.
    """
    infos = ["none"] * plain.n_features
    features = [tree.feature[~tree.is_leaf] for tree in plain.trees]
    feature = np.concatenate([*features, np.empty(0, np.int64)])
    cuts = [tree.precise[~tree.is_leaf] for tree in plain.trees]
    threshold = np.concatenate([*cuts, np.empty(0)])
    for column in {*np.unique(feature).tolist(), *plain.ranges}:
        own = threshold[feature == column]
        if column in plain.ranges:
            own = np.r_[plain.ranges[column], own[np.isfinite(own)]]
        if (feature == column).any() or own.min() < own.max():
            infos[column] = f"[{float(own.min())!r}:{float(own.max())!r}]"
    for column, values in plain.categories.items():
        if values:
            infos[column] = ":".join(map(str, range(len(values))))
    return infos


def _without_blanks(names: Iterable[str]) -> list[str]:
    """Spell names as LightGBM does; refuse those that its ``dump_model`` turns into broken JSON."""
    names = tuple(names)
    for name in names:
        if re.search(r'["\\]|[^\s\x20-\U0010ffff]', name):
            raise ModelError(
                f"LightGBM does not take the feature name {name!r}: it writes names into JSON as "
                "they are, so that quotes, backslashes and control characters break it; give "
                "feature_names (--feature-names)"
            )
    spelt = ["_".join(name.split()) or "_" for name in names]
    if len(set(spelt)) < len(spelt):
        raise ModelError("feature names are equal once their blanks are '_', as LightGBM wants")
    return spelt


def _tree(tree: PlainTree, zero_is_missing: npt.NDArray[np.bool_]) -> list[str]:
    leaf, split = tree.is_leaf, ~tree.is_leaf
    number = np.where(leaf, ~(np.cumsum(leaf) - 1), np.cumsum(split) - 1)
    kind = np.where(zero_is_missing[tree.feature[split]], _ZERO_IS_MISSING, _NAN_IS_MISSING)
    cover = tree.cover(1.0)
    count = np.round(cover).astype(np.int64)
    columns: dict[str, npt.NDArray[Any]] = {
        "split_feature": tree.feature[split],
        "split_gain": tree.gain[split],
        "threshold": tree.precise[split],
        "decision_type": kind + _DEFAULT_LEFT * tree.missing_left[split],
        "left_child": number[tree.left[split]],
        "right_child": number[tree.right[split]],
        "leaf_value": tree.value[leaf],
        "leaf_weight": cover[leaf],
        "leaf_count": count[leaf],
        "internal_value": tree.value[split],
        "internal_weight": cover[split],
        "internal_count": count[split],
    }
    nodes = np.flatnonzero(split).tolist()
    of_categories = [node for node in nodes if node in tree.left_codes]
    if of_categories:
        places = np.searchsorted(nodes, of_categories)
        columns["threshold"] = columns["threshold"].copy()
        columns["threshold"][places] = np.arange(len(places))
        columns["decision_type"][places] = _CATEGORICAL | _NAN_IS_MISSING
        words = [_bitset(tree.left_codes[node]) for node in of_categories]
        columns["cat_boundaries"] = np.cumsum([0, *map(len, words)])
        columns["cat_threshold"] = np.concatenate(words)
    head = [f"num_leaves={leaf.sum()}", f"num_cat={len(of_categories)}"]
    body = [f"{key}={' '.join(map(repr, column.tolist()))}" for key, column in columns.items()]
    return [*head, *body, "is_linear=0", "shrinkage=1"]


def _bitset(codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return 32-bit words with a bit for each code; at least one word."""
    bits = np.zeros(32 * (int(codes.max(initial=0)) // 32 + 1), np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.int64)


def _codes(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits)


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    header, *trees = sections(data.decode().splitlines())
    values = np.asarray(X, np.float64)
    values = np.where(np.abs(values) <= _ZERO, 0.0, values)

    def goes_left(x: Any, threshold: Any, code: Any) -> Any:
        kind, default = code >> 2, (code & _DEFAULT_LEFT) > 0
        missing = np.where(kind == 1, np.isnan(x) | (x == 0), np.isnan(x) & (kind == 2))
        return np.where(missing, default, np.nan_to_num(x, nan=0.0, posinf=np.inf) <= threshold)

    total = sum_of_trees(
        [_read(tree) for tree in trees],
        values,
        goes_left,
        compare=np.float64,
        add=np.float64,
    )
    objective = header["objective"]
    if objective.startswith("binary"):
        return np.asarray(expit(total))
    return np.exp(total) if objective == "poisson" else total


def _read(section: dict[str, str]) -> TargetTree:
    n_leaves = int(section["num_leaves"])

    def numbers(key: str, dtype: type, leaves: Any) -> npt.NDArray[Any]:
        splits: npt.NDArray[Any] = np.array(section.get(key, "").split(), np.float64).astype(dtype)
        return np.concatenate([splits, np.full(n_leaves, leaves, dtype)])

    def child(key: str) -> npt.NDArray[np.int64]:
        node = numbers(key, np.int64, -1)[: n_leaves - 1]
        node = np.where(node < 0, n_leaves - 1 + ~node, node)
        return np.concatenate([node, np.full(n_leaves, -1)])

    leaves = np.array(section["leaf_value"].split(), np.float64)
    threshold = numbers("threshold", np.float64, 0.0)
    decision = numbers("decision_type", np.int64, 0)
    bounds = np.array(section.get("cat_boundaries", "0").split(), np.int64)
    words = np.array(section.get("cat_threshold", "").split(), np.float64).astype(np.int64)
    left_codes = {}
    for node in np.flatnonzero(decision & _CATEGORICAL).tolist():
        number = int(threshold[node])
        left_codes[node] = _codes(words[bounds[number] : bounds[number + 1]])
    return TargetTree(
        feature=numbers("split_feature", np.int64, -1),
        threshold=threshold,
        left=child("left_child"),
        right=child("right_child"),
        missing_left=decision,
        value=np.r_[np.zeros(n_leaves - 1), leaves],
        left_codes=left_codes,
    )


def _library(path: Path, X: npt.NDArray[Any]) -> tuple[str, Floats] | None:
    try:
        import lightgbm
    except ImportError:
        return None
    booster = lightgbm.Booster(model_file=str(path))
    scores = booster.predict(np.asarray(X, np.float64), num_threads=1)
    return f"lightgbm {lightgbm.__version__}", np.asarray(scores, np.float64)


LIGHTGBM = Target(
    name="lightgbm",
    about="LightGBM's model text",
    write=_write,
    evaluate=_evaluate,
    links=frozenset(_OBJECTIVES),
    zero_is_missing=True,
    carries_categories=True,
    library=_library,
)
