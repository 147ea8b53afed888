"""Forests on many workers: each holds all documents and grows a part of the trees.

Every tree is seeded by its number, so that it does not matter which worker grows it. Trees are
grown in rounds; after each round all workers get all its trees, in order of their numbers, and the
driver gets a record of it. Every worker does the rest of the fit for itself, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankgrove._threads import resolve_n_jobs
from rankgrove.errors import ModelError
from rankgrove.forests.growing import Grown
from rankgrove.training.journal import StepRecord
from rankgrove.trees.growing import Tree
from rankgrove.workers.communicator import Communicator

_TREES_PER_THREAD = 2
_FEWEST_TREES = 8  # per worker and round


class CollectiveTreeSharer:
    """A tree sharer (see ``forests.growing``) whose workers are connected by a communicator.

    Parameters
    ----------
    records : those of the rounds that an earlier attempt has finished
    on_round : called with the number of trees so far, and the record of the round
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
        trees: list[Tree] = []
        while len(trees) < n_trees:
            first = first_tree + len(trees)
            n_round = min(self._per_round, n_trees - len(trees))
            data = next(self._records, None)
            if data is None:
                record = self._grow_round(first, n_round, grow_some)
                self._n_done += len(record.trees)
                self._on_round(self._n_done, record.to_bytes())
            else:
                record = StepRecord.from_bytes(data)
                if record.key != {"first_tree": first}:
                    raise ModelError("the record of a round is of another fit")
                self._n_done += len(record.trees)
            trees += record.trees
        return Grown(list(trees), list(range(first_tree, first_tree + n_trees)))

    def _grow_round(
        self, first: int, n_trees: int, grow_some: Callable[[int, int], Grown]
    ) -> StepRecord:
        """Grow this worker's trees of a round, and return a record of those of all workers."""
        size, rank = self._communicator.size, self._communicator.rank
        bounds = [n_trees * worker // size for worker in range(size + 1)]
        own = grow_some(first + bounds[rank], bounds[rank + 1] - bounds[rank])
        if own.interrupted:
            raise KeyboardInterrupt
        key = {"first_tree": first}
        gathered = self._communicator.gather(StepRecord(key, 0, own.trees, {}).to_bytes())
        trees = [tree for data in gathered for tree in StepRecord.from_bytes(data).trees]
        return StepRecord(key, first + n_trees, trees, {})
