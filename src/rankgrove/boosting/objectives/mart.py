"""Least squares on labels or gains: MART."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, gains_over_ideal, label_gains

TARGETS = ("label", "gain", "normalised_gain")


class SquaredError(Objective):
    r"""Loss :math:`\frac12 \sum_d w_d (s_d - t_d)^2`: gradient w (s - t), Hessian w.

    Parameters
    ----------
    target : ``"label"`` fits the label r (MART-2 of Xia, Zhai and Wang, "Plackett-Luce Model for
        Learning-to-Rank Task"), ``"gain"`` fits the gain 2^r - 1 (MART-1), ``"normalised_gain"``
        divides the gain by the ideal DCG of the query's whole list, and fits 0 in queries without
        a relevant document (c-MART-1)
    gain : ``"exp"``, ``"linear"`` or a table of gains
    """

    def __init__(self, data: TrainingData, target: str = "label", gain: Gain = "exp") -> None:
        if target not in TARGETS:
            raise ValueError(f"target must be one of {', '.join(TARGETS)}, not {target!r}")
        self.data = data
        self.constant_hessian = data.weight is None
        self.target = data.y
        if target != "label":
            self.target = label_gains(data.y, gain)
        if target == "normalised_gain":
            self.target = gains_over_ideal(data.offsets, self.target)

    def base_score(self) -> Floats:
        """Return the mean target."""
        return np.array([self.data.shard.mean(self.target, self.data.weight)])

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients, and Hessians if documents are weighted."""
        _native.squared_error_gradients(
            scores[0],
            self.target,
            self.data.weight,
            self.data.n_threads,
            gradients[0],
            None if hessians is None else hessians[0],
        )
