"""Export to Solr's MultipleAdditiveTreesModel and LinearModel.

Solr adds 1e-6 to each threshold when it loads a model, in float32, and goes left at ``x <= t``. So
the number that becomes t by this addition is written. Where there is none (thresholds far below
1e-6, say) the nearest threshold above stands in, with a warning. Missing values go the way of
``missing`` with ``isNullSameAsZero: false`` (Solr 9.2 and newer), else they are 0. Sums are in
float32. A set of categories is a feature: a query for documents whose field has one of its values.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
)
from rankgrove.formats.target_arithmetic import (
    TreeRows,
    at_most_else_default,
    at_most_missing_zero,
    sum_of_trees,
)

_CLASS = "org.apache.solr.ltr.model."
_SLACK = np.float32(1e-6)
_STEPS = 4  # number of neighbouring float32 values that are tried


def _write(plain: PlainTrees) -> bytes:
    names = names_or_refusal(plain.names, "solr")
    plain = plain.with_base_in_leaves()
    float32_values(plain, "solr")
    gaps = np.concatenate([_gaps(tree) for tree in plain.trees])
    if gaps.any():
        warnings.warn(
            f"{np.count_nonzero(gaps)} of {len(gaps)} thresholds cannot be written for Solr, which "
            f"adds 1e-6 to each: they become higher, by {gaps.max():.2g} at most",
            stacklevel=4,
        )
    params: dict[str, Any] = {} if plain.missing_is_zero else {"isNullSameAsZero": False}
    params["trees"] = [
        {"weight": "1", "root": _root(tree, names, not plain.missing_is_zero)}
        for tree in plain.trees
    ]
    return _model("MultipleAdditiveTreesModel", plain.used_names(), params)


def _model(kind: str, names: Sequence[str], params: dict[str, Any]) -> bytes:
    model = {
        "class": _CLASS + kind,
        "name": "rankgrove",
        "features": [{"name": name} for name in names],
        "params": params,
    }
    return json.dumps(model, allow_nan=False).encode()


def _root(tree: PlainTree, names: tuple[str, ...], with_missing: bool) -> Any:
    written = before_slack(tree.threshold)

    def leaf(node: int) -> dict[str, Any]:
        return {"value": _text(np.float32(tree.value[node]))}

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        missing = {"missing": "left" if tree.missing_left[node] else "right"}
        return {
            "feature": names[tree.feature[node]],
            "threshold": _text(written[node]),
            **(missing if with_missing else {}),
            "left": left,
            "right": right,
        }

    return nested(tree, leaf, split, "solr")


def _text(value: Any) -> str:
    return "Infinity" if np.isposinf(value) else repr(float(value))


def before_slack(threshold: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return u with ``float32(u + 1e-6) == threshold``, else the smallest above it."""
    with np.errstate(over="ignore"):
        low = threshold - _SLACK
        for _ in range(_STEPS):
            low = np.nextafter(low, np.float32(-np.inf))
        best = np.full(len(threshold), np.inf, np.float32)
        for _ in range(2 * _STEPS + 1):
            fits = (low + _SLACK >= threshold) & np.isinf(best)
            best = np.where(fits, low, best)
            low = np.nextafter(low, np.float32(np.inf))
    return np.where(np.isinf(best), threshold, best)


def _gaps(tree: PlainTree) -> npt.NDArray[np.float32]:
    """Return how far the thresholds move up."""
    threshold = tree.threshold[~tree.is_leaf]
    finite = threshold[np.isfinite(threshold)]
    return np.asarray(before_slack(finite) + _SLACK - finite)


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    model = json.loads(data)
    place = {name: j for j, name in enumerate(names)}

    def describe(node: Any) -> tuple[Any, ...] | float:
        if "feature" not in node:
            return float(node["value"])
        threshold = np.float32(node["threshold"]) + _SLACK
        to_left = node.get("missing") == "left"
        return place[node["feature"]], threshold, to_left, node["left"], node["right"]

    params = model["params"]
    trees = [TreeRows().read(tree["root"], describe) for tree in params["trees"]]
    rule = at_most_missing_zero if params.get("isNullSameAsZero", True) else at_most_else_default
    return sum_of_trees(trees, X, rule, compare=np.float32, add=np.float32)


def _write_linear(model: LinearWeights) -> bytes:
    names = names_or_refusal(model.names, "solr")
    all_weights = zip(names, model.weights.astype(np.float32), strict=True)
    weights = {name: _text(weight) for name, weight in all_weights if weight != 0}
    return _model("LinearModel", list(weights), {"weights": weights})


def _evaluate_linear(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    weights = json.loads(data)["params"]["weights"]
    total = np.zeros(len(X), np.float32)
    for j, name in enumerate(names):
        column = np.nan_to_num(np.asarray(X[:, j], np.float32))
        total = total + np.float32(weights.get(name, 0)) * column
    return total.astype(np.float64)


def _terms(one: Indicator) -> dict[str, Any]:
    """Return the query for documents whose field has a value of a set: a feature of 1 or 0."""
    texts = [str(v).lower() if isinstance(v, bool) else str(v) for v in one.values]
    free = [mark for mark in ",|;^~\t" if not any(mark in text for text in texts)]
    if not free or any(text != text.strip() or not text for text in texts):
        raise ModelError(
            f"the categories of {one.field!r} cannot be listed in a query of Solr: some are empty, "
            "have blanks at an end, or contain every mark that may separate them; rename them"
        )
    field = one.field.replace("\\", "\\\\").replace("'", "\\'")
    query = f"{{!terms f='{field}' separator='{free[0]}'}}" + free[0].join(texts)
    return {
        "name": one.name,
        "class": "org.apache.solr.ltr.feature.SolrFeature",
        "params": {"fq": [query]},
    }


def _requests(
    name: str, features: tuple[str, ...], data: bytes, indicators: Sequence[Indicator]
) -> dict[str, str]:
    sets = {one.name: one for one in indicators}
    model = {**json.loads(data), "name": name}
    # Without a default value, Solr reads an absent field as 0, whatever the model says.
    null = {} if model["params"].get("isNullSameAsZero", True) else {"defaultValue": "NaN"}
    store = [
        _terms(sets[feature]) if feature in sets else template_of(feature).for_solr(null)
        for feature in features
    ]
    query = (
        f"q=your words&rq={{!ltr model={name} reRankDocs=100 efi.keywords='your words'}}"
        "&fl=id,score,[features]\n"
    )
    return {
        "features.json": json.dumps(store, indent=2) + "\n",
        "model.json": json.dumps(model, indent=2) + "\n",
        "query.txt": query,
    }


SOLR = Target(
    name="solr",
    about="Solr's MultipleAdditiveTreesModel or LinearModel",
    write=_write,
    evaluate=_evaluate,
    missing_since="Solr 9.2",
    absent_is_zero=True,
    at_least_zero=True,
    needs_names=True,
    category_indicators=True,
    write_linear=_write_linear,
    evaluate_linear=_evaluate_linear,
    requests=_requests,
)
