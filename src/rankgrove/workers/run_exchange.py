"""All-to-all exchange: the owner of each column gets its values from all workers.

A worker sorts a column and sends *runs*: each different value once, as a key of the same order,
with its number of rows. So a column with few values costs few bytes, and one with many about 4 per
value. Each column has an owner, which gets its runs directly from all workers, in ascending ranges:
it holds one range at a time, whatever the number of rows.

Messages of a group of columns: every worker sends each owner samples of its keys and its frequent
values (exchange); owners tell all where ranges end, and which values may be frequent over all
workers (gather); then come the ranges, one exchange after the other, the first with the numbers of
rows of the frequent values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.workers.communicator import Communicator, reading_message

Keys = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]

_INFINITY = np.uint32(0xFF800000)  # key of +infinity
_SORTED_BYTES = 64 << 20  # of the runs that a worker holds (at least those of one column)
# Runs that an owner receives at a time, about, over all of its columns; more if the samples of all
# workers, sqrt(rows) of each, tell no finer ranges.
_RANGE_RUNS = 1 << 20
_PER_RUN = 8  # bytes of a key and a number of rows
_TYPES = [np.dtype(kind) for kind in ("u1", "u2", "u4", "i8", "u4")]
_KEYS = len(_TYPES) - 1


@dataclass(frozen=True)
class Runs:
    """The different values of a column, as ascending keys, and their numbers of rows."""

    keys: Keys
    counts: npt.NDArray[Any]
    n_missing: int

    def compressed(self, error: float) -> Runs:
        """Return fewer runs: none but the last of neighbours that make up ``error`` of the rows.

        The number of rows up to any key changes by at most ``error`` of all rows.
        """
        ends = np.cumsum(self.counts, dtype=np.int64)
        step = int(error * ends[-1]) if len(ends) else 0
        if step < 2:
            return self
        window = (ends - self.counts) // step  # where each run begins
        last = np.flatnonzero(np.r_[window[1:] != window[:-1], True])
        counts = np.diff(ends[last], prepend=0)
        return Runs(self.keys[last], counts, self.n_missing)


@dataclass(frozen=True)
class ColumnSummary:
    """Counts of a column that its owner has before the first range.

    Attributes
    ----------
    n_rows, n_missing : rows that have a value, and others, of all workers
    frequent_keys, frequent_counts : all values that at least ``1 / frequent`` of the rows have, and
        +infinity, if it occurs; maybe others
    """

    n_rows: int
    n_missing: int
    frequent_keys: Keys
    frequent_counts: Counts


class RunConsumer(ABC):
    """What the owner makes of the runs of one column."""

    @abstractmethod
    def add(self, keys: Keys, counts: Counts) -> None:
        """Take the runs of a range: in any order, equal keys among them, above earlier ranges."""


Consumer = TypeVar("Consumer", bound=RunConsumer)


@dataclass(frozen=True)
class RunExchange:
    """The exchange of the columns of a matrix.

    Attributes
    ----------
    X : this worker's rows
    fill : per column, the value that stands in for NaN
    frequent : values are frequent if at least one in this many rows has them
    finite : whether infinities count as missing
    error : 0, or the part of its rows by which each worker may misplace a value: it then sends
        about ``1 / error`` runs of a column at most
    """

    X: FeatureMatrix
    communicator: Communicator
    fill: npt.NDArray[np.float32]
    frequent: int
    finite: bool = False
    error: float = 0.0
    n_jobs: int | None = None

    def run(self, make: Callable[[int, ColumnSummary], Consumer]) -> dict[int, Consumer]:
        """Exchange all columns; return what was made of those that this worker owns, by number."""
        rows = np.array([len(self.X)], np.int64)
        self.communicator.maximum(rows)
        width = max(1, _SORTED_BYTES // (_PER_RUN * max(int(rows[0]), 1)))
        found: dict[int, Consumer] = {}
        for begin in range(0, self.X.n_columns, width):
            group = range(begin, min(begin + width, self.X.n_columns))
            found.update(self._exchange(group, make))
        return found

    def _exchange(
        self, group: range, make: Callable[[int, ColumnSummary], Consumer]
    ) -> dict[int, Consumer]:
        size, rank = self.communicator.size, self.communicator.rank
        runs = self._sorted(group)
        per_owner = -(-len(group) // size)
        interval = max(1, _RANGE_RUNS // (4 * size * per_owner), math.isqrt(len(self.X)))
        owned = [[j for j in group if j % size == owner] for owner in range(size)]
        said = self._sent(
            [[self._described(runs[j], interval) for j in columns] for columns in owned]
        )
        plans = {j: _Plan.of(said, i, size) for i, j in enumerate(owned[rank])}
        messages = self.communicator.gather(_packed([plan.arrays() for plan in plans.values()]))
        bounds: dict[int, Keys] = {}
        asked: dict[int, Keys] = {}
        for owner, (columns, message) in enumerate(zip(owned, messages, strict=True)):
            with reading_message(owner):
                for j, (ends, candidates) in zip(columns, _unpacked(message), strict=True):
                    bounds[j], asked[j] = ends, candidates
        found: dict[int, Consumer] = {}
        for number in range(1 + max(map(len, bounds.values()))):
            ranges = self._sent(
                [[_part(runs[j], bounds[j], asked[j], number) for j in own] for own in owned]
            )
            for i, j in enumerate(owned[rank]):
                if number == 0:
                    found[j] = make(j, plans[j].summary(sum(part[i][2] for part in ranges)))
                keys = np.concatenate([part[i][0] for part in ranges])
                if len(keys):
                    counts = [_whole_counts(part[i][0], part[i][1]) for part in ranges]
                    found[j].add(keys, np.concatenate(counts))
        return found

    def _sorted(self, group: range) -> dict[int, Runs]:
        block = self.X.take_columns(group.start, group.stop)
        if self.finite:
            block = np.where(np.isfinite(block), block, np.nan)
        fill = np.ascontiguousarray(self.fill[group.start : group.stop], np.float32)
        found = _native.value_runs([block], len(self.X), fill, resolve_n_jobs(self.n_jobs))
        return {j: Runs(*one).compressed(self.error) for j, one in zip(group, found, strict=True)}

    def _described(self, runs: Runs, interval: int) -> list[npt.NDArray[Any]]:
        """Return numbers of rows, samples of the keys, and the values that may be frequent."""
        n_rows = int(runs.counts.sum(dtype=np.int64))
        # A value that is frequent over all workers is so on one of them; a margin for rounding.
        often = runs.counts.astype(np.float64) * self.frequent >= n_rows * (1 - 1e-9)
        often |= runs.keys == _INFINITY
        samples = runs.keys[interval - 1 :: interval]
        return [np.array([n_rows, runs.n_missing], np.int64), samples, runs.keys[often]]

    def _sent(self, parts: list[list[list[npt.NDArray[Any]]]]) -> list[list[Any]]:
        """Send each worker its part; return what every worker has sent this one."""
        own = parts[self.communicator.rank]
        found = []
        for rank, data in enumerate(self.communicator.exchange([*map(_packed, parts)])):
            with reading_message(rank):
                arrays = _unpacked(data)
                if [*map(len, arrays)] != [*map(len, own)]:
                    raise ValueError("another number of columns than were asked for")
                found.append(arrays)
        return found


@dataclass(frozen=True)
class _Plan:
    """Ranges of one column, and values that may be frequent."""

    n_rows: int
    n_missing: int
    ends: Keys
    candidates: Keys

    @classmethod
    def of(cls, said: Sequence[Any], i: int, size: int) -> _Plan:
        """Make the plan of the i-th own column from the counts of all workers."""
        totals = np.sum([part[i][0] for part in said], axis=0)
        samples = np.sort(np.concatenate([part[i][1] for part in said]))
        ends = np.unique(samples[2 * size - 1 :: 2 * size])
        candidates = np.unique(np.concatenate([part[i][2] for part in said]))
        return cls(int(totals[0]), int(totals[1]), ends, candidates)

    def arrays(self) -> list[npt.NDArray[Any]]:
        return [self.ends, self.candidates]

    def summary(self, counts: Counts) -> ColumnSummary:
        return ColumnSummary(self.n_rows, self.n_missing, self.candidates, counts)


def _part(runs: Runs, ends: Keys, asked: Keys, number: int) -> list[npt.NDArray[Any]]:
    """Return the runs of one range; with the first one, the numbers of rows that were asked for."""
    low, high = (
        int(np.searchsorted(runs.keys, ends[n], side="right")) if 0 <= n < len(ends) else edge
        for n, edge in (
            (number - 1, 0 if number == 0 else len(runs.keys)),
            (number, len(runs.keys)),
        )
    )
    answers = np.zeros(0, np.int64)
    if number == 0:
        answers = np.zeros(len(asked), np.int64)
        places = np.minimum(np.searchsorted(runs.keys, asked), max(len(runs.keys) - 1, 0))
        if len(runs.keys):
            known = runs.keys[places] == asked
            answers[known] = runs.counts[places[known]]
    return [runs.keys[low:high], _small_counts(runs.counts[low:high]), answers]


def _small_counts(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of rows in as few bytes as they need; none if each is 1."""
    most = int(counts.max(initial=1))
    if most == 1:
        return np.zeros(0, np.uint8)
    return counts.astype(next(kind for kind in _TYPES if most <= np.iinfo(kind).max))


def _whole_counts(keys: Keys, counts: npt.NDArray[Any]) -> Counts:
    return counts.astype(np.int64) if len(counts) else np.ones(len(keys), np.int64)


def _packed(parts: Sequence[Sequence[npt.NDArray[Any]]]) -> bytes:
    """Return lists of arrays as bytes: numbers and types of the arrays, then their values."""
    head: list[int] = [len(parts)]
    for arrays in parts:
        head.append(len(arrays))
        for array in arrays:
            kind = _KEYS if array.dtype == np.uint32 else _TYPES.index(array.dtype)
            head += [kind, len(array)]
    values = [np.ascontiguousarray(array).tobytes() for arrays in parts for array in arrays]
    return b"".join([np.array([len(head), *head], np.int64).tobytes(), *values])


def _unpacked(data: bytes) -> list[list[npt.NDArray[Any]]]:
    (length,) = np.frombuffer(data, np.int64, 1)
    head = iter(np.frombuffer(data, np.int64, int(length), 8).tolist())
    place = 8 + 8 * int(length)
    parts: list[list[npt.NDArray[Any]]] = []
    for _ in range(next(head)):
        arrays: list[npt.NDArray[Any]] = []
        for _ in range(next(head)):
            kind, n = _TYPES[next(head)], next(head)
            arrays.append(np.frombuffer(data, kind, n, place))
            place += n * kind.itemsize
        parts.append(arrays)
    return parts


def key_values(keys: Keys) -> npt.NDArray[np.float32]:
    """Return the numbers that have these keys."""
    positive = keys >> np.uint32(31) == 1
    bits = np.where(positive, keys ^ np.uint32(0x80000000), ~keys)
    return bits.astype(np.uint32).view(np.float32)


def ascending(keys: Keys, counts: Counts) -> tuple[Keys, Counts]:
    """Return keys in ascending order, equal ones together, and their numbers of rows."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) != 0])
    return keys[order][starts], np.add.reduceat(counts[order], starts)
