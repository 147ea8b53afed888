"""Parameters of rankers as JSON values."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from rankgrove.metrics.metric import Metric
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.parameters import NotStored
from rankgrove.rankers.base.registry import name_of

# They decide how a fit runs, not what it learns.
MACHINE_PARAMETERS = ("n_jobs", "verbose")


def encoded_params(ranker: BaseRanker) -> dict[str, Any]:
    """Return the parameters that decide what a fit learns, as JSON values."""
    params = ranker.get_params(deep=False)
    return {k: encoded_param(v) for k, v in params.items() if k not in MACHINE_PARAMETERS}


def encoded_param(value: Any) -> Any:
    """Return a parameter as a JSON value; what JSON cannot hold (a function) as a description."""
    if isinstance(value, BaseRanker):
        name = name_of(type(value))
        if value.__sklearn_is_fitted__():
            return {"description": f"a fitted {type(value).__name__} {encoded_params(value)}"[:500]}
        if name is not None:
            return {"ranker": name, "params": encoded_params(value)}
    if isinstance(value, list | tuple) and any(isinstance(one, BaseRanker) for one in value):
        if any(isinstance(one, BaseRanker) and one.__sklearn_is_fitted__() for one in value):
            return {"description": f"a list of {len(value)} rankers, some of which were fitted"}
        return [encoded_param(one) for one in value]
    if isinstance(value, NotStored):
        return {"description": value.description}
    if isinstance(value, Metric):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        # Memory addresses in descriptions are no part of the model.
        return {"description": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:500]}
