"""Position of one worker's rows among those of all workers, and all-reduce operations over them.

A fit on one machine has one shard that holds all rows. A fit takes everything that it needs to know
of all rows (sums, extremes, distinct labels) from its shard, so that the result does not depend on
how rows are divided: real numbers are summed as integers, which give the same bits in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError
from rankgrove.workers.communicator import Communicator, reading_message

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LOW_BITS = 32
MOST_ROWS = 1 << 40  # of all workers
MOST_OWN_ROWS = (1 << 31) - 1  # of one worker, whose rows are numbered in 32 bits


@dataclass(frozen=True)
class RowShard:
    """The range of rows and queries that this worker holds; rows are in order of workers.

    Attributes
    ----------
    n_rows, n_queries : totals over all workers
    first_row, first_query : global numbers of this worker's first row and query
    n_nonempty_queries, first_nonempty_query : the same, counting only queries with documents
    communicator : connects the workers; None: there is only one
    bin_error : part of the rows by which bins of several workers may be misplaced; 0: exact bins
    given : numbers of the rows that this worker was given in the whole data set, if these are not
        in order of workers; rows whose weight is 0 are among them
    """

    n_rows: int
    n_queries: int
    first_row: int = 0
    first_query: int = 0
    n_nonempty_queries: int = 0
    first_nonempty_query: int = 0
    communicator: Communicator | None = None
    bin_error: float = 0.0
    given: Integers | None = None

    @classmethod
    def of(cls, offsets: Integers, communicator: Communicator | None = None) -> RowShard:
        """Return the shard of queries with these offsets; a collective call."""
        own = np.array([offsets[-1], len(offsets) - 1, np.count_nonzero(np.diff(offsets))])
        if communicator is None:
            _refuse_too_many(own[:1])
            return cls(int(own[0]), int(own[1]), n_nonempty_queries=int(own[2]))
        parts = _arrays_of(communicator.gather(_bytes(own)), np.int64, 3)
        counts = np.stack(parts)
        _refuse_too_many(counts[:, 0])
        n_rows, n_queries, n_nonempty = counts.sum(axis=0).tolist()
        row, query, nonempty = counts[: communicator.rank].sum(axis=0).tolist()
        return cls(n_rows, n_queries, row, query, n_nonempty, nonempty, communicator)

    @property
    def single_worker(self) -> bool:
        """Whether one worker holds all rows."""
        return self.communicator is None

    @property
    def is_first_worker(self) -> bool:
        """Whether this is worker 0, which alone shows progress and warnings."""
        return self.communicator is None or self.communicator.rank == 0

    @property
    def reducer(self) -> Any:
        """The object that kernels call for all-reduces; None if there is only one worker."""
        return None if self.communicator is None else self.communicator.reducer

    def any(self, flag: bool) -> bool:
        """Return whether the flag is set on any worker."""
        if self.communicator is None:
            return flag
        count = np.array([flag], np.int64)
        self.communicator.sum(count)
        return bool(count[0])

    def sum(self, values: npt.ArrayLike) -> Integers:
        """Return integers summed over all workers."""
        sums = np.array(values, np.int64)
        if self.communicator is not None:
            self.communicator.sum(sums.reshape(-1))
        return sums

    def maximum(self, values: Floats, least: float) -> float:
        """Return the largest value on any worker, or ``least`` if all are lower."""
        largest = max(least, float(values.max(initial=least)))
        if self.communicator is None:
            return largest
        key = np.array([_ordered_key(largest)], np.int64)
        self.communicator.maximum(key)
        return _keyed_value(int(key[0]))

    def scale_exponents(self, largest: Floats) -> Integers:
        """Return exponents e such that values times 2^e can be summed as 64-bit integers.

        ``largest`` are the greatest absolute values on this worker; the exponents are the same on
        all workers. No sum over documents or queries reaches 2^62.
        """
        bits = largest.view(np.int64).copy()  # ordered as the numbers are, as none is negative
        if self.communicator is not None:
            self.communicator.maximum(bits)
        places = 61 - max(self.n_rows, self.n_queries).bit_length()
        exponents: Integers = places - np.frexp(bits.view(np.float64))[1].astype(np.int64)
        return exponents

    def total(self, values: Floats) -> float:
        """Return the sum of values, one per document or query, over all workers."""
        return float(self.totals(values, np.zeros(len(values), np.int64), 1)[0])

    def totals(self, values: Floats, groups: npt.NDArray[Any], n_groups: int) -> Floats:
        """Return the sums over all workers by group of values (numbered from 0)."""
        exponent = int(self.scale_exponents(np.array([np.abs(values).max(initial=0.0)]))[0])
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
        """Return the weighted mean over the documents of all workers; 0 if all weights are 0."""
        if weight is None:
            return self.total(values) / max(self.n_rows, 1)
        total = self.total(weight)
        return self.total(values * weight) / total if total > 0 else 0.0

    def distinct(self, values: Floats) -> Floats:
        """Return the distinct values of all workers, ascending; -0 counts as 0."""
        different: Floats = np.unique(self.gather(np.unique(values))) + 0.0
        return different

    def range(self, values: Floats) -> tuple[float, float]:
        """Return the smallest and the largest value of all workers, which have at least one."""
        return -self.maximum(-values, -math.inf), self.maximum(values, -math.inf)

    def few_distinct(self, values: Floats, most: int) -> tuple[Floats | None, int]:
        """Return the distinct values of all workers, or None if they are more than ``most``.

        Beside it their number, or if they are too many that of one worker that has too many.
        """
        own = np.unique(values) + 0.0
        n_own = int(self.maximum(np.array([float(len(own))]), 0.0))
        if n_own > most:
            return None, n_own
        values = np.unique(self.gather(own))
        return (values, len(values)) if len(values) <= most else (None, len(values))

    def given_numbers(self, n_given: int) -> Integers:
        """Return the numbers of this worker's rows in the whole data set; a collective call."""
        if self.given is not None:
            return self.given
        before = 0.0
        if self.communicator is not None:
            before = self.gather(np.array([float(n_given)]))[: self.communicator.rank].sum()
        return np.arange(int(before), int(before) + n_given)

    def gather_given(self, values: Floats) -> Floats:
        """Return values of all rows that were given, in the order of the whole data set."""
        if self.communicator is None:
            return values
        numbers = self.gather(self.given_numbers(len(values)).astype(np.float64))
        gathered = self.gather(values)
        in_order = np.empty_like(gathered)
        in_order[numbers.astype(np.int64)] = gathered
        return in_order

    def gather(self, values: Floats) -> Floats:
        """Return the concatenated values of all workers, in order of rank."""
        if self.communicator is None:
            return values
        parts = self.communicator.gather(_bytes(np.asarray(values, np.float64)))
        return np.concatenate(_arrays_of(parts, np.float64))


def _arrays_of(
    messages: Sequence[bytes], kind: type, length: int | None = None
) -> list[npt.NDArray[Any]]:
    """Return the numbers from each worker; an error if they are not ``length``."""
    found = []
    for rank, message in enumerate(messages):
        with reading_message(rank):
            array: npt.NDArray[Any] = np.frombuffer(message, kind)
            if length is not None and len(array) != length:
                raise ValueError(f"{len(array)} numbers instead of {length}")
            found.append(array)
    return found


def _refuse_too_many(rows: Integers) -> None:
    """Refuse more rows than can be numbered, given those of each worker."""
    most = int(rows.argmax())
    if rows[most] > MOST_OWN_ROWS:
        where = f"worker {most} holds {rows[most]:,} rows" if len(rows) > 1 else None
        raise DataError(
            f"{where or f'there are {rows[most]:,} rows'}: one worker takes at most "
            f"{MOST_OWN_ROWS:,} (2^31 - 1); use more workers"
        )
    if rows.sum() > MOST_ROWS:
        raise DataError(
            f"the workers hold {rows.sum():,} rows together: at most {MOST_ROWS:,} (2^40) are "
            "taken; learn from a part of them"
        )


def _bytes(values: npt.NDArray[Any]) -> bytes:
    return np.ascontiguousarray(values).tobytes()


def _ordered_key(value: float) -> int:
    """Return an integer key that sorts like the number."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def _keyed_value(key: int) -> float:
    bits = key if key >= 0 else key ^ (2**63 - 1)
    return float(np.int64(bits).view(np.float64))
