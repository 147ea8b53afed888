"""Trees of a forest with their seeds, so that parts of one forest can be recognised and merged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class SeededTrees:
    """Trees (one per output and step), and the forest seed and tree number of each step."""

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

    def next_number(self, seed: int) -> int:
        """Return the next free tree number of a seed; merged parts may be in any order."""
        return int(self.numbers[self.seeds == seed].max()) + 1

    def averaged(self) -> TreeEnsemble:
        """Return the ensemble whose outputs are the mean of their trees."""
        share = 1.0 / max(len(self.numbers), 1)
        return replace(self.ensemble, tree_weights=np.full(self.ensemble.n_trees, share))
