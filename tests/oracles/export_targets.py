"""Search engines and RankLib, one document at a time, from the rules that they document.

Each reads the text of a model and a row of float32 features, and adds up in float32 as Java does.
"""

from __future__ import annotations

import functools
import json
import math
import re

import numpy as np

f32 = np.float32
parsed = functools.lru_cache(json.loads)


def elasticsearch(text: str, row, names, *, unmatched_is_zero: bool) -> float:
    """``model/xgboost+json``: ``threshold > value`` goes to ``yes``, else to ``no``.

    A feature that does not match a document is 0 for Elasticsearch; for OpenSearch it is NaN and
    goes to ``missing``, unless the definition says ``missing_as_zero``.
    """
    definition = parsed(text)
    if isinstance(definition, list):
        definition = {"splits": definition}
    sigmoid = "objective" in definition
    # The objectives that plugins of all years take; "rank:ndcg" came late.
    assert not sigmoid or definition["objective"] == "binary:logistic"
    zero = unmatched_is_zero or definition.get("missing_as_zero", False)
    value = dict(zip(names, row, strict=True))
    total = f32(0)
    for root in definition["splits"]:
        node = root
        while "leaf" not in node:
            left, right = node["children"]
            assert (left["nodeid"], right["nodeid"]) == (node["yes"], node["no"])
            assert node["missing"] in (node["yes"], node["no"])
            assert node["depth"] >= 0
            x = f32(value[node["split"]])
            if math.isnan(x) and zero:
                x = f32(0)
            if math.isnan(x):
                node = left if node["missing"] == node["yes"] else right
            else:
                node = left if f32(node["split_condition"]) > x else right
        total = f32(total + f32(node["leaf"]))
    return 1 / (1 + math.exp(-total)) if sigmoid else float(total)


def solr(text: str, row, names) -> float:
    """MultipleAdditiveTreesModel: 1e-6 is added to a threshold when it is read."""
    model = parsed(text)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    listed = [feature["name"] for feature in model["features"]]
    value = {name: x for name, x in zip(names, row, strict=True) if name in listed}
    null_is_zero = model["params"].get("isNullSameAsZero", True)
    assert isinstance(null_is_zero, bool)
    total = f32(0)
    for tree in model["params"]["trees"]:
        node = tree["root"]
        while "feature" in node:
            assert isinstance(node["threshold"], str)
            threshold = f32(f32(node["threshold"]) + f32(1e-6))
            x = f32(value[node["feature"]])
            if math.isnan(x) and null_is_zero:
                x = f32(0)
            if math.isnan(x):
                node = node["left"] if node["missing"] == "left" else node["right"]
            else:
                node = node["left"] if x <= threshold else node["right"]
        total = f32(total + f32(f32(tree["weight"]) * f32(node["value"])))
    return float(total)


def vespa(text: str, row, names) -> float:
    """``lightgbm()``: ``f < t``, or ``!(f >= t)`` where missing goes left, all in float64."""
    model = parsed(text)
    assert model["feature_names"] == list(names)
    assert model["pandas_categorical"] == []
    total = 0.0
    for tree in model["tree_info"]:
        node = tree["tree_structure"]
        while "leaf_value" not in node:
            x, t = float(row[node["split_feature"]]), float(node["threshold"])
            left = not x >= t if node["default_left"] else x < t
            node = node["left_child"] if left else node["right_child"]
        total += node["leaf_value"]
    if model["objective"].startswith("binary"):
        return 1 / (1 + math.exp(-total))
    return math.exp(total) if model["objective"] == "poisson" else total


def ranklib(text: str, row) -> float:
    """An ensemble of LambdaMART: features count from 1, what is missing is 0."""
    lines = text.splitlines()
    assert lines[0] == "## LambdaMART"
    total, at = f32(0), 0
    tokens = [line.strip() for line in lines if line.strip() and not line.startswith("##")]
    assert tokens[0] == "<ensemble>"
    assert tokens[-1] == "</ensemble>"

    def element(name: str) -> str:
        nonlocal at
        found = re.fullmatch(rf"<{name}> (\S+) </{name}>", tokens[at])
        assert found, tokens[at]
        at += 1
        return found[1]

    def split():
        """One element per line: the reader of RankLib takes no others."""
        nonlocal at
        assert tokens[at].startswith("<split")
        at += 1
        if tokens[at].startswith("<output>"):
            result = f32(element("output"))
        else:
            feature, threshold = int(element("feature")), f32(element("threshold"))
            children = []
            for pos in ("left", "right"):
                assert tokens[at] == f'<split pos="{pos}">'
                children.append(split())
            x = f32(row[feature - 1])
            x = f32(0) if math.isnan(x) else x
            result = children[0] if x <= threshold else children[1]
        assert tokens[at] == "</split>"
        at += 1
        return result

    at = 1
    while tokens[at] != "</ensemble>":
        assert tokens[at].startswith("<tree ")
        weight = f32(re.search(r'weight="([^"]+)"', tokens[at])[1])
        at += 1
        total = f32(total + f32(split() * weight))
        assert tokens[at] == "</tree>"
        at += 1
    return float(total)


def elastic_inference(text: str, row) -> float:
    """Elastic's own learning to rank, given what eland sends: float64, ``value < threshold``.

    A value that is not finite is missing, and goes the node's default way.
    """
    model = parsed(text)["trained_model"]["ensemble"]
    assert (model["target_type"], model["aggregate_output"]) == ("regression", {"weighted_sum": {}})
    total = 0.0
    for part in model["trained_models"]:
        nodes = {node["node_index"]: node for node in part["tree"]["tree_structure"]}
        node = nodes[0]
        while "leaf_value" not in node:
            assert node["decision_type"] == "lt"
            x = float(row[node["split_feature"]])
            left = x < node["threshold"] if math.isfinite(x) else node["default_left"]
            node = nodes[node["left_child" if left else "right_child"]]
        assert isinstance(node["leaf_value"], float)
        total += node["leaf_value"]
    return total
