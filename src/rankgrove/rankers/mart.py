"""MART: boosted regression on labels or gains."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.mart import TARGETS, SquaredError
from rankgrove.boosting.start import Start
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING, START, START_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "mart",
    paper="Friedman 2001; Xia, Zhai and Wang 2019",
    optimises="squared error of label or gain",
    variants={
        "MART-1": {"target": "gain"},
        "MART-2": {"target": "label"},
        "c-MART-1": {"target": "normalised_gain"},
    },
)
class MART(BoostedRanker):
    r"""Multiple additive regression trees: least squares, one document at a time.

    The loss is :math:`\frac12 \sum_d w_d (s_d - t_d)^2` with the target :math:`t = r` for the label
    r (MART-2), :math:`t = 2^r - 1` (MART-1), or that gain divided by the ideal DCG of the query
    (c-MART-1).

    Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", 2001; the names of the
    targets are those of Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    target: str = param(
        "label",
        Choice(*TARGETS),
        "what is fitted: the label (MART-2), its gain (MART-1) or the gain over the ideal DCG of "
        "the query (c-MART-1)",
    )
    gain: Any = param("exp", GAIN, GAIN_MEANING)
    start: str = param("mean", START, START_MEANING)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        idle = {"gain": "with target='label'"} if self.target == "label" else {}
        return {**super()._unused_parameters(data), **idle}

    def _objective(self, data: TrainingData) -> Objective:
        return SquaredError(data, target=self.target, gain=self.gain)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        zero = self.start == "zero"
        return Start.of(fit.background, objective, type(self).__name__, from_zero=zero)
