"""Whole columns of a matrix whose rows are shared out: each comes together at one worker, once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.share import Share

_ROUND_BYTES = 16 << 20  # of the columns that a worker gets at a time, unless one has more


def whole_columns(X: Any, share: Share) -> Iterator[tuple[slice, Any]]:
    """Yield columns with the rows of all workers, and their numbers, to the worker that owns them.

    Every column goes to one worker. All workers take part in every round, also those that get no
    column in it, which get an empty slice. One worker alone gets X as it is.
    """
    assert share.communicator is not None
    size, rank, n_features = share.communicator.size, share.communicator.rank, X.shape[1]
    if size == 1:
        yield slice(0, n_features), X
        return
    width = max(1, min(_ROUND_BYTES // (4 * max(share.n_rows, 1)), -(-n_features // size)))
    for first in range(0, n_features, width * size):
        ends = [min(first + r * width, n_features) for r in range(size + 1)]
        parts = [
            np.ascontiguousarray(_columns(X, begin, end).T, np.float32)
            for begin, end in itertools.pairwise(ends)
        ]
        sent = [b"" if r == rank else part.tobytes() for r, part in enumerate(parts)]
        received = [
            parts[rank] if r == rank else np.frombuffer(part, np.float32)
            for r, part in enumerate(share.communicator.exchange(sent))
        ]
        own = slice(ends[rank], ends[rank + 1])
        if own.start == own.stop:
            yield own, np.empty((share.n_rows, 0), np.float32)
        else:
            whole = [part.reshape(own.stop - own.start, -1) for part in received]
            yield own, np.concatenate(whole, axis=1).T


def _columns(X: Any, begin: int, end: int) -> npt.NDArray[Any]:
    """Return some columns as an array, of SparseMatrix, too."""
    if isinstance(X, SparseMatrix):
        return X.dense(columns=np.arange(begin, end))
    columns: npt.NDArray[Any] = X[:, begin:end]
    return columns
