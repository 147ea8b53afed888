"""Export to XGBoost's JSON, and evaluation of that JSON by the rules of XGBoost.

XGBoost compares ``x < c`` and adds up in float32, so a threshold t becomes the next float32 above.
The JSON also serves Elasticsearch- and OpenSearch-LTR as ``model/xgboost+json+raw`` (they leave out
the base score, which moves all scores alike).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove.errors import ModelError
from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import (
    PlainTree,
    PlainTrees,
    breadth_first,
    float32_values,
    strictly_below,
    with_missing_right,
)
from rankgrove.formats.target_arithmetic import TargetTree, below_else_default, sum_of_trees

_LEAST_COVER = 1e-3  # of a leaf: SHAP values are NaN where it is 0
_NO_PARENT = 2147483647
_NOT_IN_NAMES = re.compile(r"[\[\]<\x00-\x1f]")
_OBJECTIVES: dict[str, dict[str, Any]] = {
    "identity": {
        "name": "rank:ndcg",
        "lambdarank_param": {
            "lambdarank_num_pair_per_sample": "4294967295",
            "lambdarank_pair_method": "topk",
            "lambdarank_unbiased": "0",
            "lambdarank_bias_norm": "1",
            "ndcg_exp_gain": "1",
        },
        "lambda_rank_param": {"num_pairsample": "1", "fix_list_weight": "0"},  # before XGBoost 2
    },
    "sigmoid": {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}},
    "exp": {"name": "count:poisson", "poisson_regression_param": {"max_delta_step": "0.7"}},
}


def _write(plain: PlainTrees) -> bytes:
    float32_values(plain, "xgboost")
    _check_names(plain.names or ())
    plain, start = _with_start(with_missing_right(plain))
    n_trees = len(plain.trees)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": [_tree(tree, i, plain.n_features) for i, tree in enumerate(plain.trees)],
    }
    learner = {
        "attributes": _attributes(plain),
        "feature_names": [] if plain.names is None else list(plain.names),
        "feature_types": _feature_types(plain),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": _short(start),
            "boost_from_average": "1",
            "num_class": "0",
            "num_feature": str(plain.n_features),
            "num_target": "1",
        },
        "objective": _OBJECTIVES[plain.link],
    }
    content = {"learner": learner, "version": [3, 0, 0]}
    # XGBoost's JSON reader does not support escapes of non-ASCII characters.
    return json.dumps(content, allow_nan=False, ensure_ascii=False).encode()


def _feature_types(plain: PlainTrees) -> list[str]:
    if plain.names is None and not plain.categories:
        return []
    return ["c" if j in plain.categories else "float" for j in range(plain.n_features)]


def _attributes(plain: PlainTrees) -> dict[str, str]:
    """Return the values of categorical columns, whose indices are the codes in XGBoost."""
    if not plain.categories:
        return {}
    names = plain.names or tuple(map(str, range(plain.n_features)))
    values = {names[j]: list(plain.categories[j]) for j in sorted(plain.categories)}
    return {"categories": json.dumps(values)}


def _check_names(names: tuple[str, ...]) -> None:
    """Refuse feature names that XGBoost does not accept."""
    wrong = [name for name in names if _NOT_IN_NAMES.search(name)]
    if wrong:
        raise ModelError(
            f"xgboost takes no '[', ']', '<' and no control characters in the name of a feature, "
            f"as in {wrong[0]!r}: give feature_names"
        )


def _short(value: float) -> str:
    """Return a float32 as XGBoost writes it, such as ``2.5E-1``.

    XGBoost before 3 takes 0.5 in silence for a base score of more digits than a float32 has.
    """
    text = np.format_float_scientific(np.float32(value), trim="-", exp_digits=1)
    return str(text).upper().replace("E+", "E")


def _with_start(plain: PlainTrees) -> tuple[PlainTrees, float]:
    """Return the trees, and XGBoost's base score: the link applied to ours."""
    base = plain.base_score
    if plain.link == "identity":
        return plain, base
    if abs(base) > 10:  # float32 probabilities next to 1 would lose precision
        plain, base = plain.with_base_in_leaves(), 0.0
    return plain, float(expit(base) if plain.link == "sigmoid" else np.exp(base))


def _tree(tree: PlainTree, number: int, n_features: int) -> dict[str, Any]:
    if tree.left_codes:
        tree = _with_listed_right(tree)
    leaf = tree.is_leaf
    value = tree.value.astype(np.float32)
    parent = np.full(len(leaf), _NO_PARENT)
    inner = np.flatnonzero(~leaf)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    condition = np.where(leaf, value, strictly_below(tree.threshold))
    nodes = sorted(tree.left_codes)
    sizes = [len(tree.left_codes[node]) for node in nodes]
    kind = np.zeros(len(leaf), np.int64)
    kind[nodes] = 1
    return {
        "base_weights": value.astype(np.float64).tolist(),
        "categories": [code for node in nodes for code in tree.left_codes[node].tolist()],
        "categories_nodes": nodes,
        "categories_segments": np.cumsum([0, *sizes[:-1]]).tolist() if sizes else [],
        "categories_sizes": sizes,
        "default_left": tree.missing_left.astype(int).tolist(),
        "id": number,
        "left_children": tree.left.tolist(),
        "loss_changes": tree.gain.tolist(),
        "parents": parent.tolist(),
        "right_children": tree.right.tolist(),
        "split_conditions": condition.astype(np.float64).tolist(),
        "split_indices": np.where(leaf, 0, tree.feature).tolist(),
        "split_type": kind.tolist(),
        "sum_hessian": tree.cover(_LEAST_COVER).tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(leaf)),
            "size_leaf_vector": "1",
        },
    }


def _with_listed_right(tree: PlainTree) -> PlainTree:
    """Swap the children of splits on categories.

    XGBoost lists the categories that go right; unknown ones go left, as missing ones do then. A
    right child must follow the left one.
    """
    nodes = list(tree.left_codes)
    left, right, missing_left = tree.left.copy(), tree.right.copy(), tree.missing_left.copy()
    left[nodes], right[nodes] = tree.right[nodes], tree.left[nodes]
    missing_left[nodes] = True
    return breadth_first(replace(tree, left=left, right=right, missing_left=missing_left))


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    learner = json.loads(data)["learner"]
    trees = [_read(tree) for tree in learner["gradient_booster"]["model"]["trees"]]
    start = float(np.float32(learner["learner_model_param"]["base_score"]))
    name = learner["objective"]["name"]
    if name == "binary:logistic":
        start = float(-np.log(1 / start - 1))
    elif name == "count:poisson":
        start = float(np.log(start))
    total = sum_of_trees(
        trees, X, below_else_default, compare=np.float32, add=np.float32, start=start
    )
    if name == "binary:logistic":
        return np.asarray(expit(total))
    return np.exp(total) if name == "count:poisson" else total


def _read(tree: Any) -> TargetTree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    nodes = tree["categories_nodes"]
    left[nodes], right[nodes] = right[nodes], left[nodes]
    parts = zip(tree["categories_segments"], tree["categories_sizes"], strict=True)
    listed = [np.array(tree["categories"][first : first + size]) for first, size in parts]
    return TargetTree(
        feature=np.array(tree["split_indices"]),
        threshold=np.array(tree["split_conditions"], np.float32),
        left=left,
        right=right,
        missing_left=np.array(tree["default_left"], bool),
        value=np.array(tree["split_conditions"], np.float32),
        left_codes=dict(zip(nodes, listed, strict=True)),
    )


def _library(path: Path, X: npt.NDArray[Any]) -> tuple[str, Floats] | None:
    try:
        import xgboost
    except ImportError:
        return None
    booster = xgboost.Booster(model_file=bytearray(path.read_bytes()))
    with np.errstate(over="ignore"):
        rows = np.asarray(X).astype(np.float32)
    if np.isinf(rows).any():  # XGBoost refuses infinities
        return None
    types = booster.feature_types
    coded = types is not None and "c" in types
    matrix = xgboost.DMatrix(
        rows,
        feature_names=booster.feature_names,
        feature_types=types if coded else None,
        enable_categorical=coded,
    )
    scores = booster.predict(matrix)
    return f"xgboost {xgboost.__version__}", np.asarray(scores, np.float64)


XGBOOST = Target(
    name="xgboost",
    about="the JSON that XGBoost saves",
    write=_write,
    evaluate=_evaluate,
    links=frozenset(_OBJECTIVES),
    carries_categories=True,
    other_endings=frozenset({".ubj"}),
    library=_library,
)
