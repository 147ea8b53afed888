"""Export to XGBoost's JSON, and evaluation of that JSON by the rules of XGBoost.

XGBoost compares ``x < c`` and adds up in float32, so a threshold t becomes the next float32 above.
The JSON also serves Elasticsearch- and OpenSearch-LTR as ``model/xgboost+json+raw`` (they leave out
the base score, which moves all scores alike).
"""

from __future__ import annotations

import json
import re
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
    float32_values,
    strictly_below,
)
from rankgrove.formats.target_arithmetic import TargetTree, below_else_default, sum_of_trees

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
    plain, start = _with_start(plain)
    n_trees = len(plain.trees)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": [_tree(tree, i, plain.n_features) for i, tree in enumerate(plain.trees)],
    }
    learner = {
        "attributes": {},
        "feature_names": [] if plain.names is None else list(plain.names),
        "feature_types": [] if plain.names is None else ["float"] * plain.n_features,
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": repr(float(np.float32(start))),
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


def _check_names(names: tuple[str, ...]) -> None:
    """Refuse feature names that XGBoost does not accept."""
    wrong = [name for name in names if _NOT_IN_NAMES.search(name)]
    if wrong:
        raise ModelError(
            f"xgboost takes no '[', ']', '<' and no control characters in the name of a feature, "
            f"as in {wrong[0]!r}: give feature_names"
        )


def _with_start(plain: PlainTrees) -> tuple[PlainTrees, float]:
    """Return the trees, and XGBoost's base score: the link applied to ours."""
    base = plain.base_score
    if plain.link == "identity":
        return plain, base
    if abs(base) > 10:  # float32 probabilities next to 1 would lose precision
        plain, base = plain.with_base_in_leaves(), 0.0
    return plain, float(expit(base) if plain.link == "sigmoid" else np.exp(base))


def _tree(tree: PlainTree, number: int, n_features: int) -> dict[str, Any]:
    leaf = tree.is_leaf
    value = tree.value.astype(np.float32)
    parent = np.full(len(leaf), _NO_PARENT)
    inner = np.flatnonzero(~leaf)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    condition = np.where(leaf, value, strictly_below(tree.threshold))
    return {
        "base_weights": value.astype(np.float64).tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": tree.missing_left.astype(int).tolist(),
        "id": number,
        "left_children": tree.left.tolist(),
        "loss_changes": tree.gain.tolist(),
        "parents": parent.tolist(),
        "right_children": tree.right.tolist(),
        "split_conditions": condition.astype(np.float64).tolist(),
        "split_indices": np.where(leaf, 0, tree.feature).tolist(),
        "split_type": [0] * len(leaf),
        "sum_hessian": tree.count.tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(leaf)),
            "size_leaf_vector": "1",
        },
    }


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    learner = json.loads(data)["learner"]
    trees = [
        TargetTree(
            feature=np.array(tree["split_indices"]),
            threshold=np.array(tree["split_conditions"], np.float32),
            left=np.array(tree["left_children"]),
            right=np.array(tree["right_children"]),
            missing_left=np.array(tree["default_left"], bool),
            value=np.array(tree["split_conditions"], np.float32),
        )
        for tree in learner["gradient_booster"]["model"]["trees"]
    ]
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
    matrix = xgboost.DMatrix(rows, feature_names=booster.feature_names)
    scores = booster.predict(matrix)
    return f"xgboost {xgboost.__version__}", np.asarray(scores, np.float64)


XGBOOST = Target(
    name="xgboost",
    about="the JSON that XGBoost saves",
    write=_write,
    evaluate=_evaluate,
    links=frozenset(_OBJECTIVES),
    library=_library,
)
