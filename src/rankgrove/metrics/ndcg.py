"""Normalised discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove.metrics.dcg import DCG
from rankgrove.metrics.registration import register_metric


@register_metric("ndcg")
@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """DCG@k divided by the largest DCG@k that the query allows."""

    divisor: ClassVar[str] = "ideal"


@register_metric("endcg")
@dataclass(frozen=True, repr=False)
class ExpectedNDCG(NDCG):
    """NDCG averaged over all orders of documents of equal score (Ibrahim and Carman, eq. 11-13).

    The name of the paper for what ``ndcg`` is by default.
    """
