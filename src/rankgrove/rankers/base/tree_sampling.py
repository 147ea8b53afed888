"""The parameter ``sampling`` of boosted rankers: what it needs, and the sampler that it means."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.sampling import (
    BayesianBootstrap,
    GradientSampling,
    MinimalVariance,
    RowSampler,
    TreeSampler,
)
from rankgrove.data.core.queries import QueryGroups
from rankgrove.rankers.base.fitting import Fit
from rankgrove.workers.row_shard import RowShard

SAMPLINGS = (
    "queries",
    "documents",
    "bayesian",
    "bayesian-queries",
    "goss",
    "mvs",
    "hard-negatives",
)
_BAYESIAN = ("bayesian", "bayesian-queries")
_WITH_WEIGHTS = (*_BAYESIAN, "goss", "mvs")
_USES = {
    "subsample": ("queries", "documents", "mvs", "hard-negatives"),
    "temperature": _BAYESIAN,
    "top_rate": ("goss",),
    "other_rate": ("goss",),
    "mvs_reg": ("mvs",),
    "selection_rounds": ("hard-negatives",),
}


def unused_by_sampling(sampling: str) -> dict[str, str]:
    """Return the parameters of other kinds of sample."""
    when = f"with sampling={sampling!r}"
    return {name: when for name, kinds in _USES.items() if sampling not in kinds}


def make_sampler(ranker: Any, groups: QueryGroups, shard: RowShard, seed: int) -> TreeSampler:
    """Return the sampler of a ranker; ``sampling="hard-negatives"`` has its own."""
    whose = (groups, shard, seed)
    if ranker.sampling in _BAYESIAN:
        unit = "documents" if ranker.sampling == "bayesian" else "queries"
        return BayesianBootstrap(*whose, ranker.temperature, unit)
    if ranker.sampling == "goss":
        return GradientSampling(*whose, ranker.top_rate, ranker.other_rate)
    if ranker.sampling == "mvs":
        return MinimalVariance(*whose, ranker.subsample, ranker.mvs_reg)
    return RowSampler(*whose, ranker.subsample, ranker.sampling)


def refuse_sampling(ranker: Any, fit: Fit) -> None:
    """Refuse a kind of sample that cannot be drawn, or that draws everything."""
    owner, sampling = type(ranker).__name__, ranker.sampling
    if sampling in _WITH_WEIGHTS and ranker.criterion == "least_squares":
        raise ValueError(
            f"parameter sampling of {owner} is {sampling!r}, which weighs documents, and criterion "
            "is 'least_squares', which counts every document alike: use 'newton'"
        )
    if sampling in ("mvs", "hard-negatives") and ranker.subsample == 1.0:
        raise ValueError(
            f"parameter sampling of {owner} is {sampling!r}, but subsample=1.0 keeps everything: "
            "set subsample to the part to be kept"
        )
    if sampling == "goss" and ranker.top_rate + ranker.other_rate > 1:
        raise ValueError(
            f"parameters top_rate ({ranker.top_rate:g}) and other_rate ({ranker.other_rate:g}) of "
            f"{owner} sum to more than 1"
        )
    if sampling == "hard-negatives":
        lowest, highest = (
            -fit.shard.maximum(-fit.data.y, -1e300),
            fit.shard.maximum(fit.data.y, -1e300),
        )
        if not lowest <= 0 < highest:
            raise ValueError(
                f"parameter sampling of {owner} is 'hard-negatives', which needs documents with a "
                f"label above 0 and others: the labels are from {lowest:g} to {highest:g}"
            )
