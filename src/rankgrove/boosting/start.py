"""Initial scores of a boosted fit: a constant, or the scores of an init model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Objective
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.models.sums import add_up
from rankgrove.models.trees import TreesModel
from rankgrove.trees.links import IDENTITY

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """Initial scores of one fit.

    Attributes
    ----------
    base_score : score of every document before the first tree, per output; 0 if there is a model
    model : the init model, or None
    raw : whether new trees add to the model's outputs, before the link
    training_outputs : outputs at which the training documents start in place of the model's own,
        (n_outputs, n_rows) in grouped order
    """

    base_score: Floats
    model: Model | None = None
    raw: bool = False
    training_outputs: Floats | None = None

    @classmethod
    def of(
        cls, model: Model | None, objective: Objective, owner: str, *, from_zero: bool = False
    ) -> Start:
        """Return the initial scores, and how the init model is combined with new trees."""
        base = objective.base_score()
        zero = np.zeros_like(base)
        if model is None:
            return cls(zero if from_zero else base)
        if (
            isinstance(model, TreesModel)
            and model.link == objective.link
            and model.ensemble.n_outputs == len(base)
        ):
            return cls(zero, model, raw=True)
        if objective.link != IDENTITY:
            raise ModelError(
                f"{owner} can only continue a model with the same outputs and grades, not this "
                f"{model.kind} model"
            )
        return cls(zero, model)

    def training_scores(self, data: RankingInput, n_jobs: int | None) -> Floats:
        """Return the initial outputs of the training documents, in grouped order."""
        if self.training_outputs is not None:
            return np.ascontiguousarray(self.training_outputs)
        return self.scores(data, n_jobs)

    def scores(self, data: RankingInput, n_jobs: int | None) -> Floats:
        """Return the initial outputs of documents, (n_outputs, n_rows), in grouped order."""
        if self.model is None:
            return np.repeat(self.base_score[:, None], data.groups.n_rows, axis=1)
        if self.raw and isinstance(self.model, TreesModel):
            scorer = self.model.scorer
            outputs = data.X.by_rows(lambda X: scorer.raw(X, n_jobs=n_jobs))
        else:
            outputs = scores(self.model, data, n_jobs)[:, None]
        return np.ascontiguousarray(data.groups.grouped(outputs).T)

    def followed_by(self, trees: TreesModel) -> Model:
        """Return the sum of the init model and the new trees, merged into one if possible."""
        if self.model is None:
            return trees
        if self.raw and isinstance(self.model, TreesModel):
            whole = self.model.followed_by(trees)
            if whole is not None:
                return whole
            if trees.link != IDENTITY:
                raise ModelError("trees that treat missing values differently do not add up")
        return add_up([self.model, trees])
