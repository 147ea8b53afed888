"""McRank: learn the probability of each grade, rank by the expected grade."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.mcrank import GradeProbabilities
from rankgrove.boosting.start import Start
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING, START
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.paper_settings import (
    PLAIN_TREES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Flag
from rankgrove.rankers.base.registry import register_ranker

_XIA = {
    **PLAIN_TREES,
    "start": ("zero", "section 3.2.1: models are initialised to zero"),
    "n_estimators": (2500, "section 4"),
    "learning_rate": (0.1, "section 4"),
    "max_leaf_nodes": (30, "section 4"),
}
PAPERS = {
    "li-2007": PaperSettings(
        "Li, Burges and Wu, McRank: Learning to Rank Using Multiple Classification and Gradient "
        "Boosting, 2007, algorithm 1; its sizes of trees as Xia, Zhai and Wang 2019 give them",
        {**_XIA, "start": ("zero", "algorithm 1: F = 0")},
    ),
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "system 2",
        _XIA,
    ),
}


@register_ranker(
    "mcrank",
    paper="Li, Burges and Wu 2007",
    optimises="likelihood of the grades",
    papers=PAPERS,
)
class McRank(BoostedRanker):
    r"""Boosted classification into grades; a document's score is the expected gain of its grade.

    The grades are the distinct labels of the training data, K of them. Each iteration grows one
    tree per output. The multi-class form has one output per grade, with p their softmax:

    .. math:: g_k = p_k - \mathbf{1}(y = k), \qquad h_k = \frac{K}{K - 1} p_k (1 - p_k).

    The ordinal form has one output per grade but the lowest,
    :math:`p_k = 1 / (1 + e^{-s_k}) = P(y \ge k)`:

    .. math:: g_k = p_k - \mathbf{1}(y \ge k), \qquad h_k = p_k (1 - p_k).

    The score is :math:`\sum_k P(y = k)\, T(k)` with T(k) = k, the expected grade, by default.

    Li, Burges and Wu, "McRank: Learning to Rank Using Multiple Classification and Gradient
    Boosting", 2007.
    """

    n_estimators: int = with_default(BoostedRanker, "n_estimators", 2500)
    ordinal: bool = param(False, Flag(), "learn cumulative probabilities P(label >= k)")
    gain: Any = param("linear", GAIN, GAIN_MEANING)
    start: str = param(
        "mean",
        START,
        "outputs of every document before the first tree: those that give the shares of the grades "
        "in the training data, or 0 as in the paper (an init model gives them in any case)",
    )

    def _objective(self, data: TrainingData) -> Objective:
        return GradeProbabilities(data, ordinal=self.ordinal, gain=self.gain)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        zero = self.start == "zero"
        return Start.of(fit.init_model, objective, type(self).__name__, from_zero=zero)
