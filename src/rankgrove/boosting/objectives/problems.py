"""Least squares on one target, or on a binary target per grade."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.training.ordinal import Problems


class ProblemsSquaredError(Objective):
    r"""Loss :math:`\frac12 \sum_k \sum_d w_d (s_{kd} - t_{kd})^2`: gradient w (s - t), Hessian w.

    Parameters
    ----------
    problems : the targets t, and the link that makes one score of the outputs
    """

    def __init__(self, data: TrainingData, problems: Problems) -> None:
        self.data = data
        self.targets = problems.targets
        self.link = problems.link
        self.n_outputs = len(problems.targets)
        self.constant_hessian = data.weight is None

    def base_score(self) -> Floats:
        """Return the mean of each target."""
        return np.array([self.data.shard.mean(t, self.data.weight) for t in self.targets])

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients, and Hessians if documents are weighted."""
        for output, target in enumerate(self.targets):
            _native.squared_error_gradients(
                scores[output],
                target,
                self.data.weight,
                self.data.n_threads,
                gradients[output],
                None if hessians is None else hessians[output],
            )
