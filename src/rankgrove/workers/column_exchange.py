"""All-to-all exchange of columns: the rows of all workers meet on the worker that owns a column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.workers.row_shard import RowShard

_ROUND_BYTES = 16 << 20  # of the columns that a worker receives per round, but at least one column


def whole_columns(
    X: FeatureMatrix, shard: RowShard
) -> Iterator[tuple[slice, FeatureMatrix | Array]]:
    """Yield the columns that this worker owns, with the rows of all workers, and their numbers.

    One worker owns each column. All workers must take part in every round, also those that own no
    column of it: they get an empty slice. A single worker gets X as it is.
    """
    assert shard.communicator is not None
    size, rank, n_features = shard.communicator.size, shard.communicator.rank, X.shape[1]
    if size == 1:
        yield slice(0, n_features), X
        return
    width = max(1, min(_ROUND_BYTES // (4 * max(shard.n_rows, 1)), -(-n_features // size)))
    for first in range(0, n_features, width * size):
        ends = [min(first + r * width, n_features) for r in range(size + 1)]
        blocks = [
            np.ascontiguousarray(X.take_columns(begin, end).T, np.float32)
            for begin, end in itertools.pairwise(ends)
        ]
        sent = [b"" if r == rank else block.tobytes() for r, block in enumerate(blocks)]
        received = [
            blocks[rank] if r == rank else np.frombuffer(block, np.float32)
            for r, block in enumerate(shard.communicator.exchange(sent))
        ]
        own = slice(ends[rank], ends[rank + 1])
        if own.start == own.stop:
            yield own, np.empty((shard.n_rows, 0), np.float32)
        else:
            whole = [block.reshape(own.stop - own.start, -1) for block in received]
            yield own, np.concatenate(whole, axis=1).T
