"""Keys of a fit (its data, parameters and code), by which stored results are found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.criteria import find_criterion
from rankgrove.metrics.parsing import metric
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameter_encoding import encoded_params, model_digest
from rankgrove.rankers.base.ranker_text import members_of
from rankgrove.training.code_digest import code_digest, is_users
from rankgrove.trees.binning import Bins
from rankgrove.workers.row_shard import RowShard


def fit_key(ranker: BaseRanker, fit: Fit, bins: Bins) -> dict[str, Any]:
    """Return seed, parameters and checksums of the data of a fit; empty without a journal.

    It is the same for any number of workers. The number of planned steps is not part of it.
    """
    if not fit.journal.used:
        return {}
    return {
        **parameters_key(ranker),
        "seed": fit.seed,
        **data_key(fit.data, fit.shard),
        "features": bins_key(bins),
        "init_model": None if fit.init_model is None else model_digest(fit.init_model),
        "eval_sets": _eval_sets(fit),
    }


def parameters_key(ranker: BaseRanker) -> dict[str, Any]:
    """Return digests of the parameters that decide what each step of a fit learns."""
    params = encoded_params(ranker)
    seed = params.pop("random_state", None)
    params.pop("n_estimators", None)
    return {
        "ranker": ranker.ranker_name,
        "params": hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest(),
        "functions": code_digests(ranker.get_params(deep=False)),
        "random_state": seed if isinstance(seed, int) else None,
    }


def data_key(data: RankingInput, shard: RowShard) -> dict[str, int]:
    """Return the numbers of rows and queries, and checksums of what is known of each row."""
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    given = {"positions": data.position, "propensities": data.propensity}
    columns = {"labels": data.y, "weights": weight}
    columns |= {name: v.astype(np.float64) for name, v in given.items() if v is not None}
    sums = {name: _checksum(values, shard) for name, values in columns.items()}
    return {"rows": shard.n_rows, "queries": shard.n_queries, **sums}


def bins_key(bins: Bins) -> str:
    """Return a digest of the bins of all features."""
    return hashlib.sha256(b"".join(array.tobytes() for array in bins.arrays())).hexdigest()


def _eval_sets(fit: Fit) -> dict[str, list[int]]:
    """Return the rows, queries and a checksum of the labels of each evaluation set."""
    found = {}
    for one in fit.evaluation.sets:
        offsets = one.data.groups.offsets
        shard = fit.shard if one.is_train else RowShard.of(offsets, fit.shard.communicator)
        found[one.name] = [shard.n_rows, shard.n_queries, _checksum(one.data.y, shard)]
    return found


def _checksum(values: npt.NDArray[np.float64], shard: RowShard) -> int:
    """Return a checksum of the values of all workers: bits weighted by position."""
    places = np.arange(1, len(values) + 1, dtype=np.int64) + shard.first_row
    with np.errstate(over="ignore"):
        return int(shard.sum([np.sum(values.view(np.int64) * places)])[0])


def code_digests(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each parameter that is code: a function or a user's class.

    Names of Python metrics and criteria are resolved to their functions, rankers to their classes;
    parameters of rankers among them count, too.
    """
    every = dict(params)
    for place, member in members_of(params).items():
        own = member.get_params(deep=False)
        every |= {place: member, **{f"{place} {name}": value for name, value in own.items()}}
    code = {name: _code_of(name, value) for name, value in sorted(every.items())}
    return {name: code_digest(value) for name, value in code.items() if value is not None}


def _code_of(name: str, value: Any) -> Any:
    """Return the function or class of a parameter, None if it has none."""
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
    except ValueError:  # a metric of another library; if it is unknown, the fit raises the error
        return None
