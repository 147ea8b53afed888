"""Forests on many workers, in rounds of trees; the driver gets a record of each round.

Where each worker holds all documents, it grows a part of the trees of a round: every tree is seeded
by its number, so that it does not matter which worker grows it. After each round all workers get
all its trees, in order of their numbers, and do the rest of the fit for themselves, with the same
bits. Where workers hold shards, all of them grow every tree together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankgrove._threads import resolve_n_jobs
from rankgrove.forests.growing import Grown
from rankgrove.rankers.base.fit_key import bins_key
from rankgrove.training.journal import StepRecord
from rankgrove.trees.binning import Bins
from rankgrove.trees.growing import Tree
from rankgrove.workers.communicator import Communicator

_TREES_PER_THREAD = 2
_FEWEST_TREES = 8  # per worker and round


class CollectiveTreeSharer:
    """A tree sharer (see ``forests.growing``) whose workers are connected by a communicator.

    Parameters
    ----------
    sharded : whether workers hold shards and grow every tree together
    records : those of the rounds that an earlier attempt has finished
    on_round : called with the number of trees so far, and the record of the round
    """

    def __init__(
        self,
        communicator: Communicator,
        n_jobs: int | None,
        records: Sequence[bytes],
        on_round: Callable[[int, bytes], Any],
        *,
        sharded: bool = False,
    ) -> None:
        self._communicator = communicator
        self._sharded = sharded
        self._records = iter(records)
        self._on_round = on_round
        self._n_done = 0
        self.key: dict[str, Any] = {}  # of the fit, for the records; with its seed
        threads = np.array([resolve_n_jobs(n_jobs)], np.int64)
        communicator.maximum(threads)
        per_worker = max(_FEWEST_TREES, _TREES_PER_THREAD * int(threads[0]))
        self._per_round = communicator.size * per_worker

    def grow(
        self, first_tree: int, n_trees: int, grow_some: Callable[[int, int], Grown], bins: Bins
    ) -> Grown:
        """Return trees first_tree to first_tree + n_trees - 1."""
        trees: list[Tree] = []
        own = {**self.key, "features": bins_key(bins)} if self.key else {}
        while len(trees) < n_trees:
            first = first_tree + len(trees)
            n_round = min(self._per_round, n_trees - len(trees))
            data = next(self._records, None)
            key = {"first_tree": first, **own}
            if data is None:
                record = self._grow_round(key, first, n_round, grow_some)
                self._n_done += len(record.trees)
                self._on_round(self._n_done, record.to_bytes())
            else:
                record = StepRecord.from_bytes(data)
                record.refuse_other_fit(key, f"the round from tree {first + 1} on")
                self._n_done += len(record.trees)
            trees += record.trees
        return Grown(list(trees), list(range(first_tree, first_tree + n_trees)))

    def _grow_round(
        self,
        key: Mapping[str, Any],
        first: int,
        n_trees: int,
        grow_some: Callable[[int, int], Grown],
    ) -> StepRecord:
        """Grow this worker's trees of a round, and return a record of those of all workers."""
        if self._sharded:
            return StepRecord(key, first + n_trees, grow_some(first, n_trees).trees, {})
        size, rank = self._communicator.size, self._communicator.rank
        bounds = [n_trees * worker // size for worker in range(size + 1)]
        own = grow_some(first + bounds[rank], bounds[rank + 1] - bounds[rank])
        if own.interrupted:
            raise KeyboardInterrupt
        gathered = self._communicator.gather(StepRecord(key, 0, own.trees, {}).to_bytes())
        trees = [tree for data in gathered for tree in StepRecord.from_bytes(data).trees]
        return StepRecord(key, first + n_trees, trees, {})


def seed_of_rounds(records: Sequence[bytes]) -> int | None:
    """Return the seed of the fit that rounds belong to, if they know it."""
    seed = StepRecord.from_bytes(records[0]).key.get("seed") if records else None
    return None if seed is None else int(seed)
