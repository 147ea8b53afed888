"""Export to Vespa: the JSON of LightGBM's ``dump_model``, for ``lightgbm("file.json")``.

Vespa turns ``x <= t`` into ``x < t`` in float64, so each threshold is written as the next float64
above. A missing value (NaN) goes left if the split says ``default_left``. Names of features must be
rank features of Vespa, such as ``bm25(title)`` or ``attribute(price)``. Splits on categories become
``attribute(brand) in ["a", "b"]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove.data.core.categories import Value
from rankgrove.errors import ModelError
from rankgrove.formats.category_indicators import Indicator
from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import (
    PlainTree,
    PlainTrees,
    names_or_refusal,
    nested,
    with_missing_right,
)
from rankgrove.formats.target_arithmetic import TreeRows, below_else_default, sum_of_trees

_OBJECTIVES = {"identity": "lambdarank", "sigmoid": "binary sigmoid:1", "exp": "poisson"}
_LARGEST = float(np.finfo(np.float64).max)


def _write(plain: PlainTrees) -> bytes:
    names = names_or_refusal(plain.names, "vespa")
    plain = with_missing_right(plain)
    used = sorted({int(t.feature[node]) for t in plain.trees for node in t.left_codes})
    categories = {j: _category_values(plain.categories[j], names[j]) for j in used}
    dump = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": plain.n_features - 1,
        "objective": _OBJECTIVES[plain.link],
        "average_output": False,
        "feature_names": list(names),
        "monotone_constraints": [],
        "feature_infos": {
            names[j]: {
                "min_value": 0,
                "max_value": len(values) - 1,
                "values": list(range(len(values))),
            }
            for j, values in categories.items()
        },
        "tree_info": [
            {
                "tree_index": number,
                "num_leaves": int(tree.is_leaf.sum()),
                "num_cat": len(tree.left_codes),
                "shrinkage": 1,
                "tree_structure": _structure(tree),
            }
            for number, tree in enumerate(plain.with_base_in_leaves().trees)
        ],
        "feature_importances": {},
        "pandas_categorical": list(categories.values()),
    }
    return json.dumps(dump, allow_nan=False).encode()


def _category_values(values: tuple[Value, ...], name: str) -> list[Value]:
    """Return the values of a column; Vespa writes texts between quotes as they are."""
    for value in values:
        if isinstance(value, str) and re.search(r'["\\\x00-\x1f]', value):
            raise ModelError(
                f"vespa takes no quotes, backslashes or control characters in a category, as in "
                f"{value!r:.60} of {name!r}"
            )
    return list(values)


def _structure(tree: PlainTree) -> Any:
    above = np.minimum(np.nextafter(tree.precise, np.inf), _LARGEST)

    def leaf(node: int) -> dict[str, Any]:
        return {
            "leaf_value": float(tree.value[node]),
            "leaf_count": round(tree.count[node]),
        }

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        codes = tree.left_codes.get(node)
        return {
            "split_feature": int(tree.feature[node]),
            "split_gain": float(tree.gain[node]),
            "threshold": float(above[node]) if codes is None else "||".join(map(str, codes)),
            "decision_type": "<=" if codes is None else "==",
            "default_left": bool(tree.missing_left[node]),
            "missing_type": "NaN",
            "internal_value": float(tree.value[node]),
            "internal_count": round(tree.count[node]),
            "left_child": left,
            "right_child": right,
        }

    return nested(tree, leaf, split, "vespa")


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    dump = json.loads(data)

    def describe(node: Any) -> tuple[Any, ...] | float:
        if "leaf_value" in node:
            return float(node["leaf_value"])
        condition = node["threshold"]
        if node["decision_type"] == "==":
            condition = np.array([int(code) for code in condition.split("||")])
        left, right = node["left_child"], node["right_child"]
        return node["split_feature"], condition, node["default_left"], left, right

    trees = [TreeRows().read(tree["tree_structure"], describe) for tree in dump["tree_info"]]
    total = sum_of_trees(trees, X, below_else_default, compare=np.float64, add=np.float64)
    if dump["objective"].startswith("binary"):
        return np.asarray(expit(total))
    return np.exp(total) if dump["objective"] == "poisson" else total


def _requests(
    name: str, features: tuple[str, ...], data: bytes, indicators: Sequence[Indicator]
) -> dict[str, str]:
    wanted = "\n".join(f"            {feature}" for feature in features)
    profile = f"""\
# Put the model file into the folder models/ of the application package as {name}.json, and this
# into the schema. A query asks for it by ranking.profile={name}.
rank-profile {name} inherits default {{
    first-phase {{
        expression: nativeRank
    }}
    second-phase {{
        rerank-count: 100
        expression: lightgbm("{name}.json")
    }}
    match-features {{
{wanted}
    }}
}}
"""
    query = {
        "yql": "select * from sources * where userQuery()",
        "query": "your words",
        "ranking.profile": name,
        "hits": 10,
    }
    return {"profile.sd": profile, "query.json": json.dumps(query, indent=2) + "\n"}


VESPA = Target(
    name="vespa",
    about="LightGBM's JSON as Vespa reads it",
    write=_write,
    evaluate=_evaluate,
    needs_names=True,
    carries_categories=True,
    links=frozenset(_OBJECTIVES),
    requests=_requests,
)
