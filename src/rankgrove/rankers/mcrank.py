"""McRank: learn the probability of each grade, rank by the expected grade."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.errors import ModelError
from rankgrove.rankers.base import Arrays
from rankgrove.rankers.boosting import BoostedRanker
from rankgrove.rankers.declaration import param, ranker, with_default
from rankgrove.rankers.gain_parameter import GAIN, GAIN_MEANING
from rankgrove.rankers.objectives.base import Objective, TrainingData
from rankgrove.rankers.objectives.mcrank import GradeProbabilities, expected_gain
from rankgrove.rankers.parameters import Flag


@ranker
class McRank(BoostedRanker):
    r"""Boosted classification into grades; a document's score is the expected gain of its grade.

    The grades are the distinct labels of the training data, K of them. Each iteration grows one
    tree per output. The multi-class form has one output per grade, with p their softmax:

    .. math:: g_k = p_k - \mathbf{1}(y = k), \qquad h_k = \frac{K}{K - 1} p_k (1 - p_k).

    The ordinal form has one output per grade but the lowest,
    :math:`p_k = 1 / (1 + e^{-s_k}) = P(y \ge k)`:

    .. math:: g_k = p_k - \mathbf{1}(y \ge k), \qquad h_k = p_k (1 - p_k).

    The score is :math:`\sum_k P(y = k)\, T(k)` with T(k) = k, the expected grade, by default.

    Li, Wu and Burges, "McRank: Learning to Rank Using Multiple Classification and Gradient
    Boosting", 2007.
    """

    n_estimators: int = with_default(BoostedRanker, "n_estimators", 2500)
    max_leaf_nodes: int | None = with_default(BoostedRanker, "max_leaf_nodes", 30)
    ordinal: bool = param(False, Flag(), "learn cumulative probabilities P(label >= k)")
    gain: Any = param("linear", GAIN, GAIN_MEANING)

    def _objective(self, data: TrainingData) -> Objective:
        objective = GradeProbabilities(data, ordinal=self.ordinal, gain=self.gain)
        self.grade_gains_: npt.NDArray[np.float64] = objective.grade_gains
        self.grades_: npt.NDArray[np.float64] = objective.grades
        self.ordinal_ = self.ordinal
        return objective

    def _link(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        outputs = raw.reshape(len(raw), -1).T
        return expected_gain(outputs, self.grade_gains_, self.ordinal_, resolve_n_jobs(self.n_jobs))

    def _output_meaning(self) -> Hashable:
        return self.ordinal_, tuple(self.grades_)

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        arrays |= {"grades": self.grades_, "grade_gains": self.grade_gains_}
        return {**values, "ordinal": self.ordinal_}, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.grades_, self.ordinal_ = arrays["grades"], bool(values["ordinal"])
        self.grade_gains_ = arrays.get("grade_gains", self.grades_)
        n_grades = self.ensemble_.n_outputs + self.ordinal_
        for name, array in (("grades", self.grades_), ("grade_gains", self.grade_gains_)):
            if array.dtype != np.float64 or array.shape != (n_grades,):
                raise ModelError(f"{name} are not {n_grades} numbers")
