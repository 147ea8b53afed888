"""Replication of all rows to every worker, for rankers that share trees instead of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.dense import DenseMatrix, as_matrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.sparse import stacked
from rankgrove.distributed.arrow_bytes import (
    from_frames,
    ids_from_bytes,
    ids_to_bytes,
    rows_from_bytes,
    rows_to_bytes,
    to_frames,
)
from rankgrove.workers.communicator import Communicator

_BYTES_PER_VALUE = 7  # float32, two layouts of codes, and a part of it twice on the way
_PART_OF_MEMORY = 0.5
_GATHERED_BYTES = 64 << 20  # of features at a time, over all workers


def share_by_memory(
    shares: Sequence[str], held: Sequence[RowBatch], communicator: Communicator
) -> str:
    """Return what to share: trees, which is quicker, if all rows fit into every worker."""
    if len(shares) == 1:
        return shares[0]
    values = np.array([sum(_stored_values(rows.X) for rows in held)], np.int64)
    communicator.sum(values)
    least = np.array([-_free_bytes()], np.int64)
    communicator.maximum(least)
    fits = _BYTES_PER_VALUE * int(values[0]) <= _PART_OF_MEMORY * -int(least[0])
    return "trees" if fits else "rows"


def _stored_values(X: FeatureMatrix) -> int:
    """Return how many values are stored; those of a sparse matrix have a column number each."""
    return len(X) * X.n_columns if X.entries is None else 2 * len(X.entries.values)


def _free_bytes() -> int:
    """Return the memory that this machine has left."""
    try:
        with Path("/proc/meminfo").open() as lines:
            known = dict(line.split(":", 1) for line in lines)
        return 1024 * int(known["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):  # not Linux
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def replicate_rows(rows: RowBatch, communicator: Communicator) -> RowBatch:
    """All-gather: return the rows of all workers, in the order of the whole data set."""
    sides = {"y": rows.y, "row_numbers": rows.row_numbers, **rows.sides}
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
    numbers = [known["row_numbers"] for known in columns]
    order = np.argsort(np.concatenate(numbers))
    joined: dict[str, Any] = {
        name: np.concatenate([known[name] for known in columns])[order] for name in columns[0]
    }
    return RowBatch(
        X=_all_features(rows.X, numbers, communicator)
        .with_names(rows.names)
        .with_categories(rows.X.categories),
        qid=np.concatenate(qid)[order],
        absent=rows.absent,
        **joined,
    )


def _all_features(
    X: FeatureMatrix, row_numbers: list[npt.NDArray[np.int64]], communicator: Communicator
) -> FeatureMatrix:
    """Gather the features of all workers into row order, block by block; sparse ones at once."""
    sparse = np.array([X.entries is not None], np.int64)
    communicator.maximum(sparse)
    if sparse[0]:
        parts = [rows_from_bytes(part)[0] for part in communicator.gather(rows_to_bytes(X, {}))]
        order = np.argsort(np.concatenate(row_numbers))
        return as_matrix(stacked(parts)).select_rows(order)
    result = np.empty((sum(map(len, row_numbers)), X.n_columns), np.float32)
    n_rows = max(1, _GATHERED_BYTES // (4 * X.n_columns * communicator.size))
    for first in range(0, max(map(len, row_numbers)), n_rows):
        own = X.slice_rows(min(first, len(X)), min(first + n_rows, len(X)))
        gathered = communicator.gather(rows_to_bytes(own, {}))
        for numbers, part in zip(row_numbers, gathered, strict=True):
            result[numbers[first : first + n_rows]] = rows_from_bytes(part)[0].to_array()
    return DenseMatrix(result)
