"""Replication of all rows to every worker, for rankers that share trees instead of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.sparse import SparseMatrix, stacked
from rankgrove.distributed.arrow_bytes import (
    from_frames,
    ids_from_bytes,
    ids_to_bytes,
    rows_from_bytes,
    rows_to_bytes,
    to_frames,
)
from rankgrove.distributed.partitions import Rows
from rankgrove.workers.communicator import Communicator

_GATHERED_BYTES = 64 << 20  # of features at a time, over all workers


def replicate_rows(rows: Rows, communicator: Communicator) -> Rows:
    """All-gather: return the rows of all workers, in the order of the whole data set."""
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
    """Gather the features of all workers into row order, block by block; sparse ones at once."""
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
