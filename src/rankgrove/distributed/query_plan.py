"""Assignment of queries to workers: worker 0 numbers the queries of all partitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Absent, concatenate_ids
from rankgrove.data.core.row_batch import OPTIONAL_SIDES
from rankgrove.distributed.arrow_bytes import from_frames, ids_from_bytes, ids_to_bytes, to_frames
from rankgrove.errors import DataError

Numbers = npt.NDArray[np.int64]
SPLIT_QUERIES = ("gather", "refuse")


@dataclass(frozen=True)
class PartitionSummary:
    """Summary of one partition for worker 0.

    ``sides`` are the optional sides that its rows have, ``sizes`` the rows of each of its queries.
    """

    worker: int
    number: int
    name: str
    names: tuple[str, ...] | None
    count: int
    absent: Absent | None
    sides: list[str]
    ids: npt.NDArray[Any]
    sizes: Numbers

    @classmethod
    def read(cls, worker: int, data: bytes) -> list[PartitionSummary]:
        """Read the summaries of one worker's partitions."""
        result = []
        frames = from_frames(data)
        for head, ids, sizes in zip(frames[::3], frames[1::3], frames[2::3], strict=True):
            values = json.loads(head)
            names = values.pop("names")
            result.append(
                cls(
                    worker,
                    names=None if names is None else tuple(names),
                    ids=ids_from_bytes(ids),
                    sizes=np.frombuffer(sizes, np.int64),
                    **values,
                )
            )
        return result


@dataclass(frozen=True)
class QueryPlan:
    """The assignment of queries to workers, as one worker receives it.

    Attributes
    ----------
    columns : those of all partitions, in the order of the first
    sides : the optional sides of all rows
    bounds : the queries of worker w are bounds[w]:bounds[w + 1]
    ids : ids of this worker's queries
    starts : for each partition of this worker, the global number of its first row
    numbers : for each partition of this worker, the global numbers of its queries
    """

    columns: Columns
    absent: Absent | None
    sides: list[str]
    bounds: Numbers
    ids: npt.NDArray[Any]
    starts: Numbers
    numbers: list[Numbers]

    def to_bytes(self) -> bytes:
        """Return the plan as bytes."""
        names = self.columns.names
        head = {
            "names": names,
            "count": self.columns.count,
            "absent": self.absent,
            "sides": self.sides,
        }
        arrays = [self.bounds, self.starts, *self.numbers]
        return to_frames(
            [json.dumps(head).encode(), ids_to_bytes(self.ids), *(a.tobytes() for a in arrays)]
        )

    @classmethod
    def read(cls, data: bytes) -> QueryPlan:
        """Read a plan from bytes."""
        head, ids, *arrays = from_frames(data)
        values = json.loads(head)
        names = values["names"]
        columns = Columns(None if names is None else tuple(names), values["count"])
        bounds, starts, *numbers = [np.frombuffer(array, np.int64) for array in arrays]
        read = (values["absent"], values["sides"])
        return cls(columns, *read, bounds, ids_from_bytes(ids), starts, numbers)


def make_plans(workers: list[list[PartitionSummary]], split_queries: str) -> list[bytes]:
    """Number all queries by first appearance, and assign neighbouring ones to each worker."""
    parts = sorted((part for own in workers for part in own), key=lambda part: part.number)
    filled = [part for part in parts if len(part.sizes)]
    if not filled:
        raise DataError("fit: there are no rows")
    refuse_unlike(filled)
    ids = concatenate_ids([part.ids for part in filled])
    unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    if split_queries == "refuse" and len(unique) < len(ids):
        _refuse_split(filled, ids, inverse)
    appearance = np.argsort(first)
    number = np.empty(len(unique), np.int64)
    number[appearance] = np.arange(len(unique))
    numbers = number[inverse]
    sizes = np.bincount(numbers, np.concatenate([part.sizes for part in filled]))
    sizes = sizes.astype(np.int64)
    holder = np.repeat([part.worker for part in filled], [len(part.ids) for part in filled])
    bounds = _bounds(holder[first[appearance]], sizes, len(workers))
    ends = np.cumsum([len(part.ids) for part in filled])
    own = {
        id(part): numbers[end - len(part.ids) : end] for part, end in zip(filled, ends, strict=True)
    }
    n_rows = np.array([part.sizes.sum() for part in parts], np.int64)
    starts = dict(zip(map(id, parts), np.cumsum(n_rows) - n_rows, strict=True))
    nothing = np.empty(0, np.int64)
    ordered = unique[appearance]
    return [
        QueryPlan(
            columns=_columns(parts, filled[0]),
            absent=filled[0].absent,
            sides=filled[0].sides,
            bounds=bounds,
            ids=ordered[bounds[w] : bounds[w + 1]],
            starts=np.array([starts[id(part)] for part in parts_of_worker], np.int64),
            numbers=[own.get(id(part), nothing) for part in parts_of_worker],
        ).to_bytes()
        for w, parts_of_worker in enumerate(workers)
    ]


def _columns(parts: list[PartitionSummary], filled: PartitionSummary) -> Columns:
    """Return the columns of a partition with rows, in the order of the first partition with them.

    That may be an empty file: ``load`` takes the order of the first file, too.
    """
    known = set(filled.names or ())
    first = next(part for part in parts if set(part.names or ()) == known)
    return Columns(first.names if known else filled.names, filled.count)


def _bounds(holder: Numbers, sizes: Numbers, n_workers: int) -> Numbers:
    """Return the bounds of neighbouring queries for each worker.

    Queries stay on the worker that holds the first of their documents if these are in order and no
    worker gets nothing or more than twice the mean; else each worker gets about as many rows.
    """
    rows = np.bincount(holder, sizes, minlength=n_workers)
    if (np.diff(holder) >= 0).all() and rows.min() > 0 and rows.max() <= 2 * rows.mean():
        bounds: Numbers = np.searchsorted(holder, np.arange(n_workers + 1)).astype(np.int64)
        return bounds
    middles = np.cumsum(sizes) - sizes / 2
    wanted = np.arange(1, n_workers) * (sizes.sum() / n_workers)
    cuts: Numbers = np.r_[0, np.searchsorted(middles, wanted), len(sizes)].astype(np.int64)
    return cuts


def refuse_unlike(parts: list[PartitionSummary]) -> None:
    """Refuse partitions whose columns or optional sides differ."""
    first = parts[0]
    for part in parts[1:]:
        pair = f"{first.name} and {part.name}"
        if part.absent != first.absent:
            raise DataError(f"{pair} were read with absent={first.absent!r} and {part.absent!r}")
        for side in set(part.sides) ^ set(first.sides):
            one, other = (first, part) if side in first.sides else (part, first)
            raise DataError(f"{one.name} has {OPTIONAL_SIDES[side]}, {other.name} has none")
        if part.count != first.count or set(part.names or ()) != set(first.names or ()):
            unlike = sorted(set(part.names or ()) ^ set(first.names or ()))
            shown = ", ".join(map(repr, unlike[:5])) + (", ..." if len(unlike) > 5 else "")
            raise DataError(
                f"{pair} have {first.count} and {part.count} features, not the same ones"
                + (f": {shown}" if shown else "")
                + (" (for text, give n_features)" if part.absent else "")
            )


def _refuse_split(parts: list[PartitionSummary], ids: npt.NDArray[Any], inverse: Numbers) -> None:
    """Raise an error that names a query in two partitions, and both of them."""
    order = np.argsort(inverse, kind="stable")
    again = order[1:][np.diff(inverse[order]) == 0].min()
    ends = np.cumsum([len(part.ids) for part in parts])
    place = int(np.flatnonzero(inverse == inverse[again])[0])
    one, other = (parts[int(np.searchsorted(ends, p, "right"))] for p in (place, again))
    raise DataError(
        f"the query {ids[again].item()!r} is in {one.name} and in {other.name}: "
        "split_queries='gather' brings its documents together"
    )
