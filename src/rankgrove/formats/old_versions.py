"""Migration of the states of older model files to the newest version.

Version 3 is version 4 without categorical features, and still written for models without them.
Versions 1 and 2 (they differ in the types of node arrays only) had no kinds of model: what the
model was stood in the ranker's ``fitted`` values, arrays had no prefixes, and an init model
that was not one ensemble with the new trees was stored whole under ``background``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import ModelError
from rankgrove.models.model import with_prefix, without_prefix

Arrays = dict[str, npt.NDArray[Any]]

_RENAMED: dict[str, str] = {
    "depth": "k",
    "split_by": "criterion",
    "subsample_unit": "sampling",
}
_VALUES = {
    ("sampling", "query"): "queries",
    ("sampling", "document"): "documents",
}
_FORESTS = ("rf-point", "rf-list", "rf-hybrid", "rf-rand", "rf-pair", "extra-trees", "rf")
_LIMITS = {"min_samples_leaf", "min_child_weight"}
_GONE = ("n_jobs", "verbose")


def upgraded(state: dict[str, Any], arrays: Arrays, version: int) -> tuple[dict[str, Any], Arrays]:
    """Migrate a state to the newest version."""
    if version >= 3:
        return state, arrays
    fitted, own = state["fitted"], dict(arrays)
    model, model_arrays = _model(state["ranker"], fitted, own)
    background = fitted.get("background")
    if background is not None:
        inner = without_prefix("background", arrays)
        before, before_arrays = upgraded(dict(background), inner, version)
        model = {
            **{key: model[key] for key in ("n_features", "feature_names", "absent")},
            "kind": "sum",
            "parts": [before["model"], model],
            "weights": [1.0, 1.0],
        }
        model_arrays = {
            **with_prefix("part0", without_prefix("model", before_arrays)),
            **with_prefix("part1", model_arrays),
        }
        _same_columns(model)
    kept = ("tree_seeds", "tree_numbers", "oob_sum", "oob_count")
    return {
        "ranker": state["ranker"],
        "params": _params(state["ranker"], state["params"]),
        "fitted": {
            key: fitted[key]
            for key in ("evals_result", "best_iteration", "oob_score", "source")
            if key in fitted
        },
        "model": model,
    }, {
        **with_prefix("model", model_arrays),
        **with_prefix("fitted", {name: own[name] for name in kept if name in own}),
    }


def _model(ranker: str, fitted: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    link: Any = fitted.get("link", "identity")
    kept = {name: a for name, a in arrays.items() if name.startswith("trees/")}
    for name in ("fill", "missing_up_to"):
        if name in arrays:
            kept[name] = arrays[name]
    if "grades" in arrays:
        link = {"expected_gain": "ordinal" if fitted["ordinal"] else "multiclass"}
        kept["grades"] = arrays["grades"]
        kept["grade_gains"] = arrays.get("grade_gains", arrays["grades"])
    n_outputs = len(np.atleast_1d(arrays["trees/base_score"]))
    return {
        "kind": "pairs" if ranker == "rf-pair" else "trees",
        "n_features": fitted["n_features"],
        "feature_names": fitted["feature_names"],
        "absent": None,
        "link": link,
        "n_background_trees": fitted.get("n_background_trees", 0),
        "trees_per_step": max(1, n_outputs),
        "averaged": ranker in _FORESTS,
    }, kept


def _params(ranker: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(params, dict):
        raise ModelError("the parameters are not a table")
    result: dict[str, Any] = {}
    for key, given in params.items():
        old, value = str(key), given
        name = _RENAMED.get(old, old)
        if isinstance(value, str):
            value = _VALUES.get((name, value), value)
        if name == "sampling" and value == "documents" and ranker in _FORESTS:
            value = "bootstrap"
        if old not in _GONE:
            result[name] = value
    if result.get("tree") == "oblivious":  # older versions ignored these limits
        result.update(dict.fromkeys(_LIMITS & result.keys()))
    return result


def _same_columns(model: dict[str, Any]) -> None:
    """Give all parts the column names of the sum: older versions compared columns by number."""
    for part in model["parts"]:
        part["feature_names"] = model["feature_names"]
