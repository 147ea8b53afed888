"""Export to the learning-to-rank plugins of Elasticsearch and OpenSearch.

Both read ``model/xgboost+json``: an array of trees as XGBoost dumps them, compared by
``threshold > value`` and added up in float32. The plugin of Elasticsearch gives 0 to a feature that
does not match a document; newer ones of OpenSearch send it the way of ``missing``. Neither has a
place for a base score: it goes into the leaves of the first tree. Scores of Lucene must not be
negative: a last tree of one leaf lifts them.

An object around the trees is written only where it says something: ``missing_as_zero``, which
OpenSearch knows from 3.6 on, or ``binary:logistic`` for a score that is a probability. Older
plugins refuse an object with the objective ``rank:ndcg``, and every version reads an array.

A set of categories is a feature: a query for documents whose field has one of its values
(``terms``), with the constant score 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove.errors import ModelError
from rankgrove.formats.category_indicators import Indicator
from rankgrove.formats.exporting import Floats, LinearWeights, Target
from rankgrove.formats.feature_templates import template_of
from rankgrove.formats.plain_trees import (
    PlainTree,
    PlainTrees,
    float32_values,
    names_or_refusal,
    nested,
    strictly_below,
)
from rankgrove.formats.target_arithmetic import (
    TreeRows,
    below_else_default,
    below_missing_zero,
    sum_of_trees,
)

_OBJECTIVES = {"identity": "rank:ndcg", "sigmoid": "binary:logistic"}


def _write(target: str, plain: PlainTrees) -> bytes:
    names = names_or_refusal(plain.names, target)
    plain = plain.with_base_in_leaves()
    float32_values(plain, target)
    options: dict[str, Any] = {}
    if plain.link != "identity":
        options["objective"] = _OBJECTIVES[plain.link]
    if plain.says_missing_is_zero and target == "opensearch":
        options["missing_as_zero"] = True
    trees = [_split_tree(tree, names, target) for tree in plain.trees]
    definition = {**options, "splits": trees} if options else trees
    return json.dumps(definition, allow_nan=False).encode()


def _split_tree(tree: PlainTree, names: tuple[str, ...], target: str) -> Any:
    condition = strictly_below(tree.threshold)
    depth = np.zeros(len(tree.left), np.int64)
    for node in np.flatnonzero(~tree.is_leaf):
        depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1

    def leaf(node: int) -> dict[str, Any]:
        return {"nodeid": node, "leaf": float(np.float32(tree.value[node]))}

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        return {
            "nodeid": node,
            "depth": int(depth[node]),
            "split": names[tree.feature[node]],
            "split_condition": float(condition[node]),
            "yes": left["nodeid"],
            "no": right["nodeid"],
            "missing": (left if tree.missing_left[node] else right)["nodeid"],
            "children": [left, right],
        }

    return nested(tree, leaf, split, target)


def _evaluate(missing_is_zero: bool, data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    found = json.loads(data)
    definition = {"splits": found} if isinstance(found, list) else found
    place = {name: j for j, name in enumerate(names)}

    def describe(node: Any) -> tuple[Any, ...] | float:
        if "leaf" in node:
            return float(node["leaf"])
        left, right = node["children"]
        if (node["yes"], node["no"]) != (left["nodeid"], right["nodeid"]):
            raise ValueError(f"node {node['nodeid']} does not name its children in order")
        to_left = node["missing"] == left["nodeid"]
        return place[node["split"]], node["split_condition"], to_left, left, right

    trees = [TreeRows().read(tree, describe) for tree in definition["splits"]]
    zero = missing_is_zero or definition.get("missing_as_zero", False)
    rule = below_missing_zero if zero else below_else_default
    total = sum_of_trees(trees, X, rule, compare=np.float32, add=np.float32)
    return np.asarray(expit(total)) if definition.get("objective") == "binary:logistic" else total


def _write_linear(target: str, model: LinearWeights) -> bytes:
    names = names_or_refusal(model.names, target)
    weights = {
        name: float(np.float32(weight))
        for name, weight in zip(names, model.weights.tolist(), strict=True)
        if weight != 0
    }
    return json.dumps(weights, allow_nan=False).encode()


def _evaluate_linear(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    weights = json.loads(data)
    total = np.zeros(len(X), np.float32)
    for j, name in enumerate(names):
        column = np.nan_to_num(np.asarray(X[:, j], np.float32))
        total = total + np.float32(weights.get(name, 0)) * column
    return total.astype(np.float64)


def _terms(one: Indicator) -> dict[str, Any]:
    """Return the definition of a set of categories: a query for documents that have one of them."""
    # Templates are mustache: braces of a value must not be read as one of theirs.
    if any("{{" in value for value in one.values if isinstance(value, str)):
        raise ModelError(
            f"a category of {one.field!r} contains '{{{{', which search engines take for a part of "
            "their template: rename it"
        )
    return {
        "name": one.name,
        "params": [],
        "template_language": "mustache",
        "template": {"constant_score": {"filter": {"terms": {one.field: list(one.values)}}}},
    }


def _requests(
    name: str, features: tuple[str, ...], data: bytes, indicators: Sequence[Indicator]
) -> dict[str, str]:
    definition = json.loads(data)
    linear = isinstance(definition, dict) and "splits" not in definition
    sets = {one.name: one for one in indicators}
    templates = [
        _terms(sets[feature]) if feature in sets else template_of(feature).for_ltr_plugin()
        for feature in features
    ]
    feature_set = {"featureset": {"features": templates}}
    kind = "model/linear" if linear else "model/xgboost+json"
    model = {"model": {"name": name, "model": {"type": kind, "definition": data.decode()}}}
    asked = {"params": {"keywords": "your words"}, "model": name}
    query = {
        "query": {"multi_match": {"query": "your words"}},  # in all fields
        "rescore": {
            "window_size": 100,
            "query": {
                "rescore_query": {"sltr": asked},
                "query_weight": 0,
            },
        },
        "ext": {"ltr_log": {"log_specs": {"name": "features", "rescore_index": 0}}},
    }
    return {
        "featureset.json": json.dumps(feature_set, indent=2) + "\n",
        "createmodel.json": json.dumps(model, indent=2) + "\n",
        "query.json": json.dumps(query, indent=2) + "\n",
    }


def _target(name: str, product: str, missing_since: str = "") -> Target:
    return Target(
        name=name,
        about=f"model definition for the learning-to-rank plugin of {product}",
        write=partial(_write, name),
        evaluate=partial(_evaluate, not missing_since),
        carries_missing=bool(missing_since),
        missing_since=missing_since,
        absent_is_zero=True,
        at_least_zero=True,
        needs_names=True,
        links=frozenset(_OBJECTIVES),
        category_indicators=True,
        write_linear=partial(_write_linear, name),
        evaluate_linear=_evaluate_linear,
        requests=_requests,
    )


ELASTICSEARCH = _target("elasticsearch", "Elasticsearch")
OPENSEARCH = _target("opensearch", "OpenSearch", missing_since="OpenSearch 3.6")
