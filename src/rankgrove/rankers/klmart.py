"""KLMART: the distribution of gains against the softmax of the scores."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.klmart import KullbackLeibler
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.paper_settings import (
    PLAIN_TREES,
    XIA_SIZES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Flag
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "systems 8 and 9 (c-KLMART: consistent=True)",
        {
            **PLAIN_TREES,
            **XIA_SIZES,
        },
    ),
}


@register_ranker(
    "klmart",
    paper="Ravikumar, Tewari and Yang 2011; Xia, Zhai and Wang 2019",
    optimises="cross entropy of gains and softmax",
    variants={"c-KLMART": {"consistent": True}},
    papers=PAPERS,
)
class KLMART(BoostedRanker):
    r"""Boosted cross entropy of a query's gains, a listwise ranker.

    The loss of a query is :math:`-\sum_i t_i \log p_i` with p the softmax of its scores. The target
    t is the gains divided by their sum (then the loss is the Kullback-Leibler divergence, up to a
    constant), or by the ideal DCG if ``consistent`` (c-KLMART). With :math:`T = \sum_i t_i`,

    .. math:: g_i = T p_i - t_i, \qquad h_i = T p_i (1 - p_i).

    Ravikumar, Tewari and Yang, "On NDCG Consistency of Listwise Ranking Methods", 2011; boosted by
    Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    consistent: bool = param(False, Flag(), "divide by the ideal DCG: consistent with NDCG")
    gain: Any = param("exp", GAIN, GAIN_MEANING)

    def _objective(self, data: TrainingData) -> Objective:
        return KullbackLeibler(data, consistent=self.consistent, gain=self.gain)
