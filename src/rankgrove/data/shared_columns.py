"""Whole columns of a matrix whose rows are shared out: each comes together at one worker, once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.share import Share
from rankgrove.data.sparse import SparseFeatures

_ROUND_BYTES = 16 << 20  # of the columns that a worker gets at a time, unless one has more


def whole_columns(X: Any, share: Share) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Yield columns with the rows of all workers, and their numbers, to the worker that owns them.

    Every column goes to one worker. All workers take part in every round, also those that get no
    column in it, which get an empty slice.
    """
    assert share.communicator is not None
    size, rank, n_features = share.communicator.size, share.communicator.rank, X.shape[1]
    width = max(1, min(_ROUND_BYTES // (4 * max(share.n_rows, 1)), -(-n_features // size)))
    for first in range(0, n_features, width * size):
        ends = [min(first + r * width, n_features) for r in range(size + 1)]
        parts = [
            np.ascontiguousarray(_columns(X, begin, end).T, np.float32).tobytes()
            for begin, end in itertools.pairwise(ends)
        ]
        own = slice(ends[rank], ends[rank + 1])
        count = own.stop - own.start
        received = [
            np.frombuffer(part, np.float32).reshape(count, -1) if count else np.empty((0, 0))
            for part in share.communicator.exchange(parts)
        ]
        yield own, np.concatenate(received, axis=1).T


def _columns(X: Any, begin: int, end: int) -> npt.NDArray[Any]:
    """Return some columns as an array, of SparseFeatures, too."""
    if isinstance(X, SparseFeatures):
        return X.dense(columns=np.arange(begin, end))
    columns: npt.NDArray[Any] = X[:, begin:end]
    return columns
