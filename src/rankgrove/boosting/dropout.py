"""Dropout of trees (DART)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TreeDropout:
    """Draws the steps whose trees are left out while the next one is fitted.

    (Vinayak and Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression Trees", 2015.)

    Attributes
    ----------
    rate : chance of each earlier step to be dropped
    skip : chance that nothing is dropped
    at_most : steps that are dropped at most
    seed : each (seed, step) gives its own draw
    """

    rate: float
    skip: float
    at_most: int
    seed: int

    def draw(self, step: int) -> list[int]:
        """Return the numbers of earlier steps that are left out, ascending."""
        rng = np.random.default_rng([self.seed, step, 2])
        if rng.random() < self.skip:
            return []
        dropped = np.flatnonzero(rng.random(step) < self.rate)
        if len(dropped) > self.at_most:
            dropped = np.sort(rng.choice(dropped, self.at_most, replace=False))
        return [int(number) for number in dropped]
