"""Trees of a forest with what each was seeded by, so that parts of a forest are known as such."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class SeededTrees:
    """Trees, and of each the seed of its forest and its number there."""

    ensemble: TreeEnsemble
    seeds: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]

    def followed_by(self, other: SeededTrees) -> SeededTrees:
        """Append other trees."""
        return SeededTrees(
            self.ensemble.followed_by(other.ensemble),
            np.concatenate([self.seeds, other.seeds]),
            np.concatenate([self.numbers, other.numbers]),
        )
