"""Growing of trees on rows that are sharded over workers, to the bits of one worker.

Native code (``native/forests/sharded/``) plans rounds, the same on every worker; here what one
worker says in a round is carried to the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove import _native
from rankgrove.forests.sampling import TreeSample
from rankgrove.workers.row_shard import RowShard

MOST_MOVED_ROWS = 1 << 16  # nodes with more rows are split where their rows are

_TREES_AT_ONCE = 64
_BYTES_OF_SAMPLES = 256 << 20  # of the trees at once, on each worker
_BYTES_PER_ROW = 12
_BYTES_OF_MOVED_CODES = 64 << 20  # of one node


class ShardedGrower:
    """Grows trees together with the other workers; every method is a collective call.

    Parameters
    ----------
    features : codes of this worker's rows
    shape : their numbers of rows and columns
    shard : their position among the rows of all workers
    """

    def __init__(
        self,
        features: _native.ForestFeatures,
        shape: tuple[int, int],
        shard: RowShard,
        n_threads: int,
    ) -> None:
        self._features = features
        self._n_rows, self._n_features = shape
        self._shard = shard
        self._n_threads = n_threads

    def largest_sample(
        self,
        drawn: _native.ForestSample,
        sample: TreeSample,
        seed: int,
        first_tree: int,
        n_trees: int,
    ) -> int:
        """Return the most documents that the sample of one of the trees has."""
        if sample.sampling != "bootstrap-queries":
            return sample.most_documents(self._shard.n_rows, 0)
        own = _native.sampled_documents(
            self._features, drawn, seed=seed, first_tree=first_tree, n_trees=n_trees
        )
        return int(self._shard.sum(own).max(initial=0))

    def grow(
        self,
        targets: _native.ForestTargets,
        options: _native.ForestOptions,
        sample: _native.ForestSample,
        seed: int,
        numbers: tuple[int, ...],
        largest_sample: int,
    ) -> list[Any]:
        """Return trees; ``numbers`` are the number of the first one and how many to grow."""
        first, n_trees = numbers
        at_once = self._trees_at_once()
        trees: list[Any] = []
        while len(trees) < n_trees:
            forest = _native.ShardedForest(
                targets,
                options,
                sample,
                seed=seed,
                first_tree=first + len(trees),
                n_trees=min(at_once, n_trees - len(trees)),
                rank=self._communicator.rank,
                size=self._communicator.size,
                largest_sample=largest_sample,
                most_moved_rows=self._most_moved_rows(),
                n_threads=self._n_threads,
            )
            self._grow_all(forest)
            trees += forest.trees()
        return trees

    @property
    def _communicator(self) -> Any:
        assert self._shard.communicator is not None
        return self._shard.communicator

    def _grow_all(self, forest: _native.ShardedForest) -> None:
        workers = self._communicator
        while True:
            sums, maxima = forest.summaries()
            if len(sums):
                workers.sum(sums)
            if len(maxima):
                workers.maximum(maxima)
            forest.open(sums, maxima)
            if not forest.plan():
                return
            if forest.searches:
                cells = forest.histograms()
                workers.sum_scatter(cells, forest.bounds(), np.empty(0, np.int64))
                forest.split(workers.gather(forest.search(cells)))
            if forest.moves:
                received = workers.exchange(forest.pack())
                forest.graft(workers.gather(forest.grow(received)))

    def _trees_at_once(self) -> int:
        """Return how many trees grow side by side: their samples are in memory."""
        own = np.array([float(self._n_rows)])
        most = max(1.0, self._shard.maximum(own, 0.0))
        return int(np.clip(_BYTES_OF_SAMPLES // (_BYTES_PER_ROW * most), 1, _TREES_AT_ONCE))

    def _most_moved_rows(self) -> int:
        code_bytes = max(1, 2 * self._n_features)
        return max(16, min(MOST_MOVED_ROWS, _BYTES_OF_MOVED_CODES // code_bytes))
