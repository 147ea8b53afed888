"""Linear rankers: their parameters, and the model of the weights that they find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.sparse import as_array
from rankgrove.data.ranking_input import RankingInput
from rankgrove.models.linear import LinearModel
from rankgrove.models.linear_features import NORMALISATIONS, LinearFeatures
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, Learnt
from rankgrove.rankers.base.parameters import Choice
from rankgrove.training.steps import Outcome, RunningSteps
from rankgrove.training.watch import WatchedSet

Floats = npt.NDArray[np.float64]


@dataclass
class WeightPath:
    """The weights after each step of a fit, and the watched sets scored by the newest.

    Attributes
    ----------
    steps : what is told of each step
    path : the weights so far
    """

    steps: RunningSteps
    path: list[Floats] = field(default_factory=list)

    def add(self, weights: Floats) -> bool:
        """Take a step to new weights; True if it should be the last."""
        self.path.append(np.array(weights))
        return self.steps.done()


@declared
class LinearRanker(BaseRanker):
    """Base of the rankers that weigh features; a subclass finds the weights by ``_walk``."""

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
        """Find weights step by step, and ``add`` them; end when it says so."""
        raise NotImplementedError

    def _n_planned(self, fit: Fit) -> int:
        """Return the number of steps at most."""
        raise NotImplementedError

    def _features(self, fit: Fit, data: RankingInput, *, training: bool) -> LinearFeatures:
        assert fit.fill is not None
        return LinearFeatures.of(
            as_array(data.X, type(self).__name__),
            fit.fill,
            data.groups,
            self.normalisation,
            n_jobs=self.n_jobs,
            training=training,
        )

    def _learn(self, fit: Fit) -> Learnt:
        features = self._features(fit, fit.data, training=True)
        held_out = {
            watched.name: self._features(fit, watched.data, training=False)
            for watched in fit.watch.held_out
        }

        def scores_of(watched: WatchedSet) -> Floats:
            return held_out.get(watched.name, features).scores(found.path[-1])

        found = WeightPath(fit.steps(self, self._n_planned(fit)).start(scores_of))
        with found.steps:
            self._walk(fit, features, found.add)
        return self._learnt(fit, found.path, found.steps.outcome())

    def _learnt(self, fit: Fit, path: Sequence[Floats], outcome: Outcome) -> Learnt:
        """Return the model of the steps that are kept; all weights are 0 if there is none."""
        kept = path[: outcome.n_kept]
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
        return Learnt(model, interrupted=outcome.interrupted)

    @property
    def coef_(self) -> Floats:
        """Weight of each feature (after normalisation, if there is one)."""
        model = self._fitted()
        assert isinstance(model, LinearModel)
        return model.weights

    @property
    def n_iter_(self) -> int:
        """Steps that the model keeps."""
        return self._fitted().n_steps
