"""Normalised discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove.metrics.dcg import DCG


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    """DCG@k divided by the largest DCG@k that the query allows."""

    name: ClassVar[str] = "ndcg"
    divisor: ClassVar[str] = "ideal"


@dataclass(frozen=True, repr=False)
class ExpectedNDCG(NDCG):
    """NDCG averaged over all orders of documents of equal score (Ibrahim and Carman, eq. 11-13)."""

    name: ClassVar[str] = "endcg"

    ties: str = "average"
