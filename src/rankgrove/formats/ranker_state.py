"""Conversion of fitted rankers to plain values and arrays, for model files and pickles, and back.

A ranker's state is ``{"ranker": name, "params": {...}, "fitted": {...}, "model": {...}}`` and
arrays whose names begin with ``model/`` or ``fitted/``. Parameters that say how to work, not what
comes out (``n_jobs``, ``verbose``), are left out: the same model gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import ModelError
from rankgrove.metrics.registry import metric_class
from rankgrove.models.model import pack_model, unpack_model, with_prefix, without_prefix
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.rankers.base.parameter_encoding import encoded_params
from rankgrove.rankers.base.parameters import NotStored, check_parameters
from rankgrove.rankers.base.registry import name_of, ranker_class

Arrays = dict[str, npt.NDArray[Any]]


def pack(ranker: BaseRanker, *, named: bool = True) -> tuple[dict[str, Any], Arrays]:
    """Return the state of a fitted ranker; ``named`` requires its class to be registered."""
    model_values, model_arrays = pack_model(ranker.fitted_model())
    values, arrays = ranker._get_fitted()
    name = name_of(type(ranker))
    if name is None and named:
        raise ModelError(
            f"{type(ranker).__name__} is not registered, so that its file could not be read again: "
            f'decorate the class with @rankgrove.register_ranker("a-name")'
        )
    state = {
        "ranker": name or type(ranker).__name__,
        "params": encoded_params(ranker),
        "fitted": _encoded(values),
        "model": model_values,
    }
    return state, {**with_prefix("model", model_arrays), **with_prefix("fitted", arrays)}


def unpack(state: Mapping[str, Any], arrays: Arrays) -> Any:
    """Build the ranker that ``pack`` described, of the class that is registered by its name."""
    name = state["ranker"]
    try:
        cls = ranker_class(name)
    except (ValueError, TypeError) as error:
        if isinstance(name, str):
            raise ModelError(
                f"unknown ranker {name!r:.100}: import the module that registers it (--import "
                "MODULE on the command line)"
            ) from error
        raise ModelError(str(error)) from error
    ranker = _decoded_ranker(cls, state["params"])
    set_learnt(ranker, state, arrays)
    return ranker


def set_learnt(ranker: FittedRanker, state: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace the model and all fitted attributes of a ranker by those of a state."""
    ranker.clear_fitted()
    ranker.model_ = unpack_model(state["model"], without_prefix("model", arrays))
    ranker._set_fitted(_decoded(state["fitted"]), without_prefix("fitted", arrays))


def ranker_of_params(name: str, params: Mapping[str, Any]) -> Any:
    """Return a ranker that is not fitted, with the parameters of ``encoded_params``."""
    try:
        return _decoded_ranker(ranker_class(name), params)
    except (ValueError, TypeError) as error:
        raise ModelError(str(error)) from error


def _decoded_ranker(cls: Any, params: Mapping[str, Any]) -> Any:
    known = cls._get_param_names()
    unknown = [name for name in params if name not in known]
    if unknown:
        raise ModelError(f"{cls.__name__} has no parameter {unknown[0]!r:.100}")
    ranker = cls(**{name: _decoded_param(value) for name, value in params.items()})
    if _names_an_unknown_metric(ranker):
        what = f"the metric {ranker.metric!r}, which nobody registered here"
        ranker.set_params(metric=NotStored(what))
    values = ranker.get_params(deep=False)
    check_parameters(
        cls.__name__,
        {name: value for name, value in values.items() if not isinstance(value, NotStored)},
        {parameter.name: parameter.constraint for parameter in parameter_table(cls)},
    )
    return ranker


def _names_an_unknown_metric(ranker: Any) -> bool:
    """Return whether the ranker's metric is not registered in this process."""
    text = getattr(ranker, "metric", None)
    name = re.match(r"[\w-]{1,100}", text) if isinstance(text, str) else None
    if name is None:
        return False
    try:
        metric_class(name[0])
    except ValueError:
        return True
    return False


def _decoded_param(value: Any) -> Any:
    # Any other dict is ``monotone``, whose columns may have these names; its values are numbers.
    match value:
        case {"description": str(text), **rest} if not rest:
            return NotStored(text)
        case {"ranker": str(name), "params": dict(params), **rest} if not rest:
            return _decoded_ranker(ranker_class(name), params)
        case [*rankers] if any(isinstance(one, dict) for one in rankers):
            return [_decoded_param(one) for one in rankers]
    return value


def _encoded(value: Any) -> Any:
    """Encode NaN and infinities, which JSON lacks, as ``{"float": text}``."""
    if isinstance(value, dict):
        return {str(key): _encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    return int(value) if isinstance(value, np.integer) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"} and value["float"] in ("nan", "inf", "-inf"):
            return float(value["float"])
        return {key: _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value
