"""One worker's share of the documents of a fit, and what all workers know together.

A fit on one machine has one share that is everything. Whatever a fit needs to know of all documents
(sums, extremes, distinct labels) it asks of the share, so that it comes out the same however the
documents are parted: sums of real numbers are taken in integers, which add up to the same bits in
any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rankgrove.distributed.communicator import Communicator

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LOW_BITS = 32


@dataclass(frozen=True)
class Share:
    """The documents of one worker among those of all, which stand in the order of the workers.

    Attributes
    ----------
    n_rows, n_queries : of all workers
    first_row, first_query : numbers of this worker's first ones among those of all
    n_filled, first_filled : the same of queries that have documents
    communicator : to the other workers; None: there are none
    """

    n_rows: int
    n_queries: int
    first_row: int = 0
    first_query: int = 0
    n_filled: int = 0
    first_filled: int = 0
    communicator: Communicator | None = None

    @classmethod
    def of(cls, offsets: Integers, communicator: Communicator | None = None) -> Share:
        """Return the share that queries with these offsets are."""
        own = np.array([offsets[-1], len(offsets) - 1, np.count_nonzero(np.diff(offsets))])
        if communicator is None:
            return cls(int(own[0]), int(own[1]), n_filled=int(own[2]))
        gathered = b"".join(communicator.gather(_bytes(own)))
        counts = np.frombuffer(gathered, np.int64).reshape(-1, 3)
        n_rows, n_queries, n_filled = counts.sum(axis=0).tolist()
        row, query, filled = counts[: communicator.rank].sum(axis=0).tolist()
        return cls(n_rows, n_queries, row, query, n_filled, filled, communicator)

    @property
    def alone(self) -> bool:
        """Whether one worker has everything."""
        return self.communicator is None

    @property
    def first_worker(self) -> bool:
        """Whether this is the worker that speaks for all."""
        return self.communicator is None or self.communicator.rank == 0

    @property
    def engine(self) -> Any:
        """What kernels call to add up integers; None if one worker has everything."""
        return None if self.communicator is None else self.communicator.engine

    def any(self, flag: bool) -> bool:
        """Tell whether something is true of any worker."""
        if self.communicator is None:
            return flag
        count = np.array([flag], np.int64)
        self.communicator.sum(count)
        return bool(count[0])

    def sum(self, values: npt.ArrayLike) -> Integers:
        """Add up integers of all workers."""
        sums = np.array(values, np.int64)
        if self.communicator is not None:
            self.communicator.sum(sums.reshape(-1))
        return sums

    def maximum(self, values: Floats, least: float) -> float:
        """Return the largest value of all workers, or ``least`` if all are lower."""
        largest = max(least, float(values.max(initial=least)))
        if self.communicator is None:
            return largest
        key = np.array([_ordered_key(largest)], np.int64)
        self.communicator.maximum(key)
        return _keyed_value(int(key[0]))

    def headroom(self, largest: Floats) -> Integers:
        """Return the powers of two that values can be scaled by to be added up as integers.

        ``largest`` are the greatest absolute values of this worker; the powers are those of all
        workers. No sum over documents or queries reaches 2^62.
        """
        bits = largest.view(np.int64).copy()  # ordered as the numbers are, as none is negative
        if self.communicator is not None:
            self.communicator.maximum(bits)
        places = 61 - max(self.n_rows, self.n_queries).bit_length()
        exponents: Integers = places - np.frexp(bits.view(np.float64))[1].astype(np.int64)
        return exponents

    def total(self, values: Floats) -> float:
        """Return the sum of values of documents, or queries, of all workers."""
        return float(self.totals(values, np.zeros(len(values), np.int64), 1)[0])

    def totals(self, values: Floats, groups: npt.NDArray[Any], n_groups: int) -> Floats:
        """Return the sum of values by group, a number from 0 for each value."""
        exponent = int(self.headroom(np.array([np.abs(values).max(initial=0.0)]))[0])
        scaled = np.ldexp(np.asarray(values, np.float64), exponent)
        whole = np.trunc(scaled)
        sums = np.zeros((2, n_groups), np.int64)
        np.add.at(sums[0], groups, whole.astype(np.int64))
        np.add.at(sums[1], groups, np.ldexp(scaled - whole, _LOW_BITS).astype(np.int64))
        return np.array(
            [
                math.ldexp((high << _LOW_BITS) + low, -_LOW_BITS - exponent)
                for high, low in self.sum(sums).T.tolist()
            ]
        )

    def mean(self, values: Floats, weight: Floats | None) -> float:
        """Return the mean of values of documents of all workers; 0 if nothing weighs anything."""
        if weight is None:
            return self.total(values) / max(self.n_rows, 1)
        total = self.total(weight)
        return self.total(values * weight) / total if total > 0 else 0.0

    def distinct(self, values: Floats) -> Floats:
        """Return the different values of all workers, ascending; 0 and -0 are one, 0."""
        different: Floats = np.unique(self.gathered(np.unique(values))) + 0.0
        return different

    def gathered(self, values: Floats) -> Floats:
        """Return the values of all workers, in their order."""
        if self.communicator is None:
            return values
        parts = self.communicator.gather(_bytes(np.asarray(values, np.float64)))
        return np.concatenate([np.frombuffer(part, np.float64) for part in parts])


def _bytes(values: npt.NDArray[Any]) -> bytes:
    return np.ascontiguousarray(values).tobytes()


def _ordered_key(value: float) -> int:
    """Return an integer that is ordered as the number is."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def _keyed_value(key: int) -> float:
    bits = key if key >= 0 else key ^ (2**63 - 1)
    return float(np.int64(bits).view(np.float64))
