"""The steps of a boosted fit: watched, recorded, and resumed where an earlier attempt ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.boosting.loop import Boosting, Followed
from rankgrove.models.model import Model, pack_model
from rankgrove.rankers.base.code_digest import code_digests
from rankgrove.rankers.base.state import encoded_params
from rankgrove.training.steps import Outcome
from rankgrove.training.watch import WatchedSet
from rankgrove.trees.binning import Bins

if TYPE_CHECKING:
    from rankgrove.rankers.base.estimator import BaseRanker
    from rankgrove.rankers.base.fitting import Fit


def take_steps(
    ranker: Any, fit: Fit, boosting: Boosting, followed: Mapping[str, Followed], bins: Bins
) -> Outcome:
    """Take the steps of a fit, after those that its journal has.

    Parameters
    ----------
    followed : watched sets by name; others are the training data, whose outputs boosting has
    bins : of the training data
    """
    fit.journal.open(_fit_key(ranker, fit, bins), lambda: boosting.trees[-1])
    boosting.replay(fit.journal.trees)
    n_steps, n_threads = ranker.n_estimators, resolve_n_jobs(ranker.n_jobs)

    def scores_of(watched: WatchedSet) -> npt.NDArray[np.float64]:
        keeper = followed.get(watched.name, boosting)
        return boosting.objective.link.apply(keeper.outputs, n_threads)

    return fit.steps(ranker, n_steps).follow(boosting.steps(n_steps), scores_of)


def _fit_key(ranker: BaseRanker, fit: Fit, bins: Bins) -> dict[str, Any]:
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
