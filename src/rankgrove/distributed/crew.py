"""Forests on many workers: each has all documents and grows a part of the trees.

Every tree is seeded by its number, so that it does not matter who grows it. Trees are grown in
rounds; after each, all workers get all its trees, in order of their numbers, and the driver its
record. What else a fit does, every worker does for itself, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.matrix.sparse import SparseMatrix, stacked
from rankgrove.distributed.arrow_bytes import (
    from_frames,
    ids_from_bytes,
    ids_to_bytes,
    rows_from_bytes,
    rows_to_bytes,
    to_frames,
)
from rankgrove.distributed.parts import Rows
from rankgrove.errors import ModelError
from rankgrove.forests.growing import Grown
from rankgrove.trees.ensemble import NODE_TYPES
from rankgrove.workers.communicator import Communicator

_GATHERED_BYTES = 64 << 20  # of features at a time, of all workers
_TREES_PER_THREAD = 2
_FEWEST_TREES = 8  # per worker and round


def all_rows(rows: Rows, communicator: Communicator) -> Rows:
    """Give every worker the rows of all, in the order of the whole data set."""
    sides = {"y": rows.y, "weight": rows.weight, "place": rows.place}
    starts = np.flatnonzero(np.r_[len(rows.y) > 0, rows.qid[1:] != rows.qid[:-1]])
    sizes = np.diff(np.r_[starts, len(rows.y)]).astype(np.int64)
    ids = ids_to_bytes(rows.qid[starts]) if len(rows.y) else b""
    own = to_frames([rows_to_bytes(None, sides), ids, sizes.tobytes()])
    qid, columns = [], []
    for message in communicator.gather(own):
        packed, ids, sizes_of_ids = from_frames(message)
        columns.append(rows_from_bytes(packed)[1])
        if ids:
            qid.append(np.repeat(ids_from_bytes(ids), np.frombuffer(sizes_of_ids, np.int64)))
    places = [known["place"] for known in columns]
    order = np.argsort(np.concatenate(places))
    joined = {
        name: np.concatenate([known[name] for known in columns])[order] for name in columns[0]
    }
    return Rows(
        X=_all_features(rows.X, places, communicator),
        y=joined["y"],
        qid=np.concatenate(qid)[order],
        weight=joined.get("weight"),
        names=rows.names,
        absent=rows.absent,
    )


def _all_features(X: Any, places: list[npt.NDArray[np.int64]], communicator: Communicator) -> Any:
    """Put the features of all workers in their places, block by block; sparse ones at once."""
    sparse = np.array([isinstance(X, SparseMatrix)], np.int64)
    communicator.maximum(sparse)
    if sparse[0]:
        parts = [rows_from_bytes(part)[0] for part in communicator.gather(rows_to_bytes(X, {}))]
        return stacked(parts)[np.argsort(np.concatenate(places))]
    result = np.empty((sum(map(len, places)), X.shape[1]), np.float32)
    n_rows = max(1, _GATHERED_BYTES // (4 * X.shape[1] * communicator.size))
    for first in range(0, max(map(len, places)), n_rows):
        block = rows_to_bytes(X[first : first + n_rows], {})
        for place, part in zip(places, communicator.gather(block), strict=True):
            result[place[first : first + n_rows]] = rows_from_bytes(part)[0]
    return result


@dataclass(frozen=True)
class ReceivedTree:
    """A tree that some worker has grown, with the arrays of a native one."""

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int32]
    missing_left: npt.NDArray[np.uint8]
    value: npt.NDArray[np.float64]
    count: npt.NDArray[np.uint32]
    gain: npt.NDArray[np.float32]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.feature)


class TreeSharing:
    """A crew (see ``forests.growing``) over a communicator.

    Parameters
    ----------
    records : of the rounds that an earlier attempt has finished
    on_round : called with the number of trees so far, and the record of a round
    """

    def __init__(
        self,
        communicator: Communicator,
        n_jobs: int | None,
        records: Sequence[bytes],
        on_round: Callable[[int, bytes], Any],
    ) -> None:
        self._communicator = communicator
        self._records = iter(records)
        self._on_round = on_round
        self._n_done = 0
        threads = np.array([resolve_n_jobs(n_jobs)], np.int64)
        communicator.maximum(threads)
        per_worker = max(_FEWEST_TREES, _TREES_PER_THREAD * int(threads[0]))
        self._per_round = communicator.size * per_worker

    def grow(self, first_tree: int, n_trees: int, grow_some: Callable[[int, int], Grown]) -> Grown:
        """Return trees first_tree to first_tree + n_trees - 1."""
        trees: list[Any] = []
        while len(trees) < n_trees:
            first = first_tree + len(trees)
            n_round = min(self._per_round, n_trees - len(trees))
            record = next(self._records, None)
            if record is None:
                record = self._round(first, n_round, grow_some)
                self._n_done += n_round
                self._on_round(self._n_done, record)
                trees += _unpacked(record, first)
            else:
                known = _unpacked(record, first)
                self._n_done += len(known)
                trees += known
        return Grown(trees, list(range(first_tree, first_tree + n_trees)))

    def _round(self, first: int, n_trees: int, grow_some: Callable[[int, int], Grown]) -> bytes:
        size, rank = self._communicator.size, self._communicator.rank
        bounds = [n_trees * worker // size for worker in range(size + 1)]
        own = grow_some(first + bounds[rank], bounds[rank + 1] - bounds[rank])
        if own.interrupted:
            raise KeyboardInterrupt
        parts = self._communicator.gather(_packed(own.trees))
        return to_frames([first.to_bytes(8, "little"), *parts])


def _packed(trees: list[Any]) -> bytes:
    nodes = np.array([tree.n_nodes for tree in trees], np.int64)
    arrays = [np.concatenate([getattr(t, name) for t in trees]) for name in NODE_TYPES if trees]
    return to_frames([nodes.tobytes(), *(array.tobytes() for array in arrays)])


def _unpacked(record: bytes, first_tree: int) -> list[ReceivedTree]:
    """Read the trees of a round."""
    first, *parts = from_frames(record)
    if int.from_bytes(first, "little") != first_tree:
        raise ModelError("the record of a round is of another fit")
    trees = []
    for part in parts:
        nodes, *arrays = from_frames(part)
        ends = np.cumsum(np.frombuffer(nodes, np.int64))[:-1]
        if not arrays:
            continue
        kinds = [kinds[-1] for kinds in NODE_TYPES.values()]
        columns = [
            np.split(np.frombuffer(array, kind), ends)
            for array, kind in zip(arrays, kinds, strict=True)
        ]
        trees += [
            ReceivedTree(**dict(zip(NODE_TYPES, tree, strict=True)))
            for tree in zip(*columns, strict=True)
        ]
    return trees
