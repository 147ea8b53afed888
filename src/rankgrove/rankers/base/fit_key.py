"""Keys of a fit (its data, parameters and code), by which kept results are found and checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.forests.criteria import find_criterion
from rankgrove.metrics.parsing import metric
from rankgrove.models.model import Model, pack_model
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameter_encoding import encoded_params
from rankgrove.training.code_digest import code_digest, is_users
from rankgrove.trees.binning import Bins


def fit_key(ranker: BaseRanker, fit: Fit, bins: Bins) -> dict[str, Any]:
    """Return seed, parameters and sums of the data of a fit; empty if nobody keeps records.

    It is the same for any number of workers. How many steps are planned is no part of it.
    """
    if not fit.journal.used:
        return {}
    params = encoded_params(ranker)
    seed = params.pop("random_state", None)
    params.pop("n_estimators", None)
    weight = fit.data.weight
    cuts = hashlib.sha256(b"".join(array.tobytes() for array in bins.arrays()))
    return {
        "ranker": ranker.ranker_name,
        "params": hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest(),
        "functions": code_digests(ranker.get_params(deep=True)),
        "random_state": seed if isinstance(seed, int) else None,
        "seed": fit.seed,
        "rows": fit.shard.n_rows,
        "queries": fit.shard.n_queries,
        "labels": _checksum(fit.data.y, fit),
        "weights": _checksum(np.ones(len(fit.data.y)) if weight is None else weight, fit),
        "features": cuts.hexdigest(),
        "background": None if fit.background is None else model_digest(fit.background),
    }


def _checksum(values: npt.NDArray[np.float64], fit: Fit) -> int:
    """Sum the bits of the values of all workers, each times its place."""
    places = np.arange(1, len(values) + 1, dtype=np.int64) + fit.shard.first_row
    with np.errstate(over="ignore"):
        return int(fit.shard.sum([np.sum(values.view(np.int64) * places)])[0])


def model_digest(model: Model) -> str:
    """Return a digest of all that a model file would keep of a model."""
    values, arrays = pack_model(model)
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def code_digests(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each parameter that is code: a function, or a class of a user's own.

    A name of a metric or a criterion that is written in Python stands for it, and a ranker for its
    class.
    """
    code = {name: _code_of(name, value) for name, value in sorted(params.items())}
    return {name: code_digest(value) for name, value in code.items() if value is not None}


def _code_of(name: str, value: Any) -> Any:
    """Return the function or class that a parameter is or means, None if there is none."""
    if callable(value):
        return value
    if isinstance(value, BaseRanker):
        return type(value) if is_users(type(value)) else None
    if isinstance(value, str) and name.endswith("metric"):
        return _metric_class(value)
    if isinstance(value, str) and name.endswith("criterion"):
        return _criterion_function(value)
    return None


def _metric_class(text: str) -> type | None:
    try:
        family = type(metric(text))
    except ValueError:  # the fit raises the error
        return None
    return family if is_users(family) else None


def _criterion_function(name: str) -> Any:
    try:
        return find_criterion(name).function
    except ValueError:  # one of another library, or the fit will say so
        return None
