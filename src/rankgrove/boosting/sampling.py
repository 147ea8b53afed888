"""Samples of the rows on which each tree is grown, and the weights that they have there.

Random numbers follow from the seed, the iteration and the number that a query or document has among
those of all workers, so that samples do not depend on how rows are shared out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.queries import QueryGroups
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]

_WHOLE_BITS = 30  # of importances as whole numbers, whose sums are exact; fewer for many rows
_DRAWN_AT_ONCE = 1 << 29  # from this many on, each is drawn independently, without a list of all


@dataclass(frozen=True)
class TreeSampler(ABC):
    """Chooses the rows of each tree.

    Attributes
    ----------
    groups : the queries of this worker
    shard : position of these queries among those of all workers
    seed : each (seed, iteration) gives its own draw
    """

    groups: QueryGroups
    shard: RowShard
    seed: int

    @property
    def weighs(self) -> bool:
        """Whether ``draw`` multiplies gradients and Hessians by weights."""
        return True

    @abstractmethod
    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Return the rows of this iteration in grouped order, ascending; None means all.

        Gradients and Hessians, (n_outputs, n_rows), are multiplied in place by weights of rows.
        """

    def _uniforms(self, iteration: int, first: int, n: int) -> Floats:
        """Return those of the numbers ``first : first + n`` of this iteration."""
        generator = np.random.PCG64([self.seed, iteration, 1])
        generator.advance(first)
        return np.random.Generator(generator).random(n)

    def _row_uniforms(self, iteration: int) -> Floats:
        return self._uniforms(iteration, self.shard.first_row, self.groups.n_rows)


@dataclass(frozen=True)
class RowSampler(TreeSampler):
    """Draws queries with all their documents, or single documents, without replacement.

    Every worker draws from the queries or documents of all, and keeps those that it has. Of 2^29 or
    more, each is drawn for itself with the chance ``part``.

    Attributes
    ----------
    part : part of the queries or documents that each tree sees; at least one
    unit : ``"queries"`` or ``"documents"``
    """

    part: float = 1.0
    unit: str = "queries"

    @property
    def weighs(self) -> bool:
        """Rows are in the sample or not."""
        return False

    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Return the rows of this iteration."""
        if self.part >= 1.0:
            return None
        shard = self.shard
        if self.unit == "documents":
            drawn = self._pick(iteration, shard.n_rows, shard.first_row, self.groups.n_rows)
            return drawn.astype(np.int32)
        filled = self._filled
        n_all, first = shard.n_nonempty_queries, shard.first_nonempty_query
        chosen = filled[self._pick(iteration, n_all, first, len(filled))]
        return _native.rows_of_queries(self.groups.offsets, chosen)

    @cached_property
    def _filled(self) -> npt.NDArray[np.int64]:
        """The queries that have documents."""
        return np.flatnonzero(self.groups.sizes)

    def _pick(self, iteration: int, total: int, first: int, n_own: int) -> npt.NDArray[Any]:
        """Sample from ``total``; return those of ``first : first + n_own``, minus ``first``."""
        if total >= _DRAWN_AT_ONCE:
            return np.flatnonzero(self._uniforms(iteration, first, n_own) < self.part)
        size = max(1, round(self.part * total))
        drawn = _native.numpy_draw(self.seed, iteration, total, size)
        if n_own == total:
            return drawn
        begin, end = np.searchsorted(drawn, [first, first + n_own])
        return drawn[begin:end] - first


@dataclass(frozen=True)
class BayesianBootstrap(TreeSampler):
    r"""Weighs documents, or queries, at random by :math:`w = (-\ln u)^T`, u uniform.

    With T = 1 the weights are those of the Bayesian bootstrap (Rubin 1981), with T = 0 all 1.

    Attributes
    ----------
    temperature : T
    unit : ``"queries"`` or ``"documents"``
    """

    temperature: float = 1.0
    unit: str = "documents"

    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Weigh all rows."""
        assert hessians is not None
        if self.unit == "documents":
            uniform = self._row_uniforms(iteration)
        else:
            drawn = self._uniforms(iteration, self.shard.first_query, self.groups.n_queries)
            uniform = np.repeat(drawn, self.groups.sizes)
        weight = ((-np.log1p(-uniform)) ** self.temperature).astype(np.float32)
        gradients *= weight
        hessians *= weight
        return None


@dataclass(frozen=True)
class GradientSampling(TreeSampler):
    r"""Gradient-based one-side sampling (GOSS).

    (Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", 2017.) Of n
    documents, the :math:`a n` with the largest :math:`|g|` are kept, with others of the same
    :math:`|g|` as the last of them; of the rest each one is kept with the probability
    :math:`b / (1 - a)` and weighs :math:`(1 - a) / b`. With several outputs, :math:`|g|` is the sum
    over them.

    Attributes
    ----------
    top_rate, other_rate : a and b
    """

    top_rate: float = 0.2
    other_rate: float = 0.1

    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Return the rows with the largest gradients, and a weighted sample of the others."""
        assert hessians is not None
        size = np.abs(gradients).sum(axis=0, dtype=np.float32)
        n_top = max(1, round(self.top_rate * self.shard.n_rows))
        least = _largest(size, n_top, self.shard)
        top = (size >= least) & (size > 0)
        chance = self.other_rate / (1.0 - self.top_rate)
        others = ~top & (self._row_uniforms(iteration) < chance)
        weight = np.where(others, np.float32(1.0 / chance), np.float32(1.0))
        gradients *= weight
        hessians *= weight
        return np.flatnonzero(top | others).astype(np.int32)


@dataclass(frozen=True)
class MinimalVariance(TreeSampler):
    r"""Minimal variance sampling (MVS).

    (Ibragimov and Gusev, "Minimal Variance Sampling in Stochastic Gradient Boosting", 2019.) A
    document is kept with the probability :math:`p = \min(1, s / \mu)`,
    :math:`s = \sqrt{g^2 + \lambda h^2}`, and weighs 1 / p; :math:`\mu` makes the expected number of
    documents ``part`` of all. :math:`\lambda` is ``regularisation`` times
    :math:`\sum g^2 / \sum h^2`; with several outputs, :math:`g^2` and :math:`h^2` are sums over
    them.

    Attributes
    ----------
    part : expected part of the documents that each tree sees
    regularisation : how much Hessians count, in units that do not depend on the loss
    """

    part: float = 0.8
    regularisation: float = 0.1

    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Return the rows of this iteration, weighted by the inverse of their chance."""
        assert hessians is not None
        squares = np.square(gradients, dtype=np.float64).sum(axis=0)
        curvatures = np.square(hessians, dtype=np.float64).sum(axis=0)
        whole = self.shard.total(curvatures)
        if whole > 0 and self.regularisation > 0:
            squares += self.regularisation * self.shard.total(squares) / whole * curvatures
        importance = np.sqrt(squares)
        greatest = self.shard.maximum(importance, 0.0)
        if greatest == 0:
            return None
        whole_number = 1 << min(_WHOLE_BITS, 62 - self.shard.n_rows.bit_length())
        counted = (importance * (whole_number / greatest)).astype(np.int64)
        chance = np.minimum(1.0, counted / self._threshold(counted, whole_number))
        kept = np.flatnonzero(self._row_uniforms(iteration) < chance).astype(np.int32)
        weight = (1.0 / chance[kept]).astype(np.float32)
        gradients[:, kept] *= weight
        hessians[:, kept] *= weight
        return kept

    def _threshold(self, importance: npt.NDArray[np.int64], greatest: int) -> int:
        """Return the largest whole μ >= 1 at which enough documents are expected."""
        ascending = np.sort(importance)
        sums = np.concatenate([[0], np.cumsum(ascending)])
        wanted = self.part * self.shard.n_rows
        low, high = 1, math.ceil(greatest / self.part)  # where all have the largest importance
        while low < high:
            middle = (low + high + 1) // 2
            below = int(np.searchsorted(ascending, middle))
            n_sure, rest = self.shard.sum([len(ascending) - below, sums[below]]).tolist()
            if n_sure + rest / middle >= wanted:
                low = middle
            else:
                high = middle - 1
        return low


def _largest(values: Floats32, rank: int, shard: RowShard) -> Floats32:
    """Return the value at this rank, counted from the largest, over all workers; none is negative.

    The bits of such floats are ordered as the values are: their upper half is found first, then the
    lower half, each by counting.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    found = 0
    for shift in (16, 0):
        among = bits if shift else bits[bits >> 16 == found >> 16]
        counts = shard.sum(np.bincount((among >> shift) & 0xFFFF, minlength=1 << 16))
        at_least = np.cumsum(counts[::-1])
        digit = 0xFFFF - int(np.searchsorted(at_least, rank))
        found |= digit << shift
        rank -= int(at_least[0xFFFF - digit] - counts[digit])
    least: Floats32 = np.array([found], np.uint32).view(np.float32)
    return least
