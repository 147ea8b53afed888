"""Parameters of rankers as JSON values."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np

from rankgrove.metrics.metric import Metric
from rankgrove.models.model import Model, pack_model
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.parameters import NotStored
from rankgrove.rankers.base.registry import name_of

# They decide how a fit runs, not what it learns.
MACHINE_PARAMETERS = ("n_jobs", "verbose")
_SHOWN = 500  # characters of a description


def encoded_params(ranker: BaseRanker) -> dict[str, Any]:
    """Return the parameters that decide what a fit learns, as JSON values."""
    params = ranker.get_params(deep=False)
    return {k: encoded_param(v) for k, v in params.items() if k not in MACHINE_PARAMETERS}


def encoded_param(value: Any) -> Any:
    """Return a parameter as a JSON value; what JSON cannot hold (a function) as a description.

    Two values have the same encoding only if they are equal, except for functions.
    """
    if isinstance(value, BaseRanker):
        name = name_of(type(value))
        if value.__sklearn_is_fitted__():
            text = f"a fitted {type(value).__name__} {encoded_params(value)}"
            return _description(text, model_digest(value.model_))
        if name is not None:
            return {"ranker": name, "params": encoded_params(value)}
    if isinstance(value, list | tuple) and any(isinstance(one, BaseRanker) for one in value):
        each = [encoded_param(one) for one in value]
        if any(isinstance(one, BaseRanker) and one.__sklearn_is_fitted__() for one in value):
            text = f"a list of {len(value)} rankers, some of which were fitted"
            return _description(text, json.dumps(each, sort_keys=True))
        return each
    if isinstance(value, NotStored):
        return {"description": value.description}
    if isinstance(value, Metric):
        return str(value)
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_listed))
    except (TypeError, ValueError):
        # Memory addresses in descriptions are no part of the model.
        return _description(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)))


def _listed(value: Any) -> Any:
    """Return an array, or a table or number that numpy can read, as lists."""
    if not hasattr(value, "__array__"):
        raise TypeError
    return np.asarray(value).tolist()


def _description(text: str, content: str = "") -> dict[str, str]:
    """Return a text for people, with a digest of what it does not show."""
    if content or len(text) > _SHOWN:
        digest = hashlib.sha256(f"{text}\n{content}".encode()).hexdigest()[:32]
        text = f"{text[:_SHOWN]} ({digest})"
    return {"description": text}


def model_digest(model: Model) -> str:
    """Return a digest of everything that a model file stores of a model."""
    values, arrays = pack_model(model)
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
