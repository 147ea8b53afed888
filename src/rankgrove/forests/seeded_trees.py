"""Trees of a forest with what each was seeded by, so that parts of a forest are known as such."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class SeededTrees:
    """Trees, and of each the seed of its forest and its number there."""

    ensemble: TreeEnsemble
    seeds: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]

    def followed_by(self, *others: SeededTrees) -> SeededTrees:
        """Append other trees, all at once."""
        parts = (self, *others)
        return SeededTrees(
            self.ensemble.followed_by(*(part.ensemble for part in others)),
            np.concatenate([part.seeds for part in parts]),
            np.concatenate([part.numbers for part in parts]),
        )

    def averaged(self) -> TreeEnsemble:
        """Return the ensemble whose score is the mean of its trees."""
        n_trees = len(self.numbers)
        return replace(self.ensemble, tree_weights=np.full(n_trees, 1.0 / max(n_trees, 1)))
