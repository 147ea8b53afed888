"""Linear rankers: their parameters, and the model of the weights that they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.models.linear import LinearModel
from rankgrove.models.linear_features import NORMALISATIONS, LinearFeatures
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.parameters import Choice

Floats = npt.NDArray[np.float64]


@declared
class LinearRanker(BaseRanker):
    """Base of the linear rankers; a subclass finds the weights by ``_walk``."""

    family: ClassVar[str] = "linear"
    learns_in_steps: ClassVar[bool] = True

    missing: str = param(
        "zero",
        Choice("zero", "mean", "median"),
        "what stands in for a missing value (NaN), which a weighted sum cannot keep: 0, or the "
        "mean or median of the training data; it is part of the model and applied when predicting",
    )
    normalisation: str = param(
        "none",
        Choice(*NORMALISATIONS),
        "of each feature within its query: none, to the range 0 to 1, or to mean 0 and standard "
        "deviation 1; it is part of the model, which then needs queries to predict",
    )

    def _walk(self, fit: Fit, features: LinearFeatures, add: Callable[[Floats], bool]) -> None:
        """Find weights step by step; pass each to ``add`` and stop when it returns True."""
        raise NotImplementedError

    def _n_planned(self, fit: Fit) -> int:
        """Return the largest number of steps."""
        raise NotImplementedError

    def _features(self, fit: Fit, data: RankingInput, *, training: bool) -> LinearFeatures:
        assert fit.fill is not None
        return LinearFeatures.of(
            data.X.to_array(type(self).__name__),
            fit.fill,
            data.groups,
            self.normalisation,
            n_jobs=self.n_jobs,
            training=training,
        )

    def _learn(self, fit: Fit) -> FitResult:
        features = self._features(fit, fit.data, training=True)
        held_out = {
            eval_set.name: self._features(fit, eval_set.data, training=False)
            for eval_set in fit.evaluation.held_out
        }

        path: list[Floats] = []

        def add(weights: Floats) -> bool:
            path.append(np.array(weights))
            return loop.step_done(
                {
                    eval_set.name: held_out.get(eval_set.name, features).scores(path[-1])
                    for eval_set in fit.evaluation.sets
                }
            )

        with fit.step_loop(self, self._n_planned(fit)) as loop:
            self._walk(fit, features, add)
        return self._learnt(fit, path[: loop.n_kept], loop.interrupted)

    def _learnt(self, fit: Fit, kept: Sequence[Floats], interrupted: bool) -> FitResult:
        """Return the model of the steps that are kept; all weights are 0 if there is none."""
        n_features = fit.data.columns.count
        assert fit.fill is not None
        model = LinearModel(
            columns=fit.data.columns,
            absent=fit.data.absent,
            weights=np.array(kept[-1]) if kept else np.zeros(n_features),
            fill=fit.fill,
            normalisation=self.normalisation,
            path=np.array(kept) if kept else None,
        )
        return FitResult(model, interrupted=interrupted)

    @property
    def coef_(self) -> Floats:
        """Weight of each feature (after normalisation, if there is one)."""
        model = self.fitted_model()
        assert isinstance(model, LinearModel)
        return model.weights

    @property
    def n_iter_(self) -> int:
        """Steps that the model keeps."""
        return self.fitted_model().n_steps
