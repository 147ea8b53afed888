"""CosMART: the angle between the scores and the gains of a query."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.cosmart import CosineDistance
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
        "systems 6 and 7 (c-CosMART: consistent=True)",
        {
            **PLAIN_TREES,
            **XIA_SIZES,
        },
        departures=(
            "scores start at 1, not at 0 as in the paper: the cosine has no gradient at 0",
            "queries without a relevant document have no cosine and are left out",
        ),
    ),
}


@register_ranker(
    "cosmart",
    paper="Ravikumar, Tewari and Yang 2011; Xia, Zhai and Wang 2019",
    optimises="cosine of scores and gains",
    variants={"c-CosMART": {"consistent": True}},
    papers=PAPERS,
)
class CosMART(BoostedRanker):
    r"""Boosted cosine loss, a listwise ranker.

    The loss of a query with scores s and gains G is
    :math:`\frac12 \left(1 - \frac{\langle s, G \rangle}{|s| \, N}\right)`, where N is
    :math:`|G|`, or the ideal DCG of the query if ``consistent`` (c-CosMART). With
    :math:`\hat s = s / |s|`,

    .. math::
        g_i = \frac{\langle \hat s, G \rangle \hat s_i - G_i}{2 |s| N}, \qquad
        h_i = \frac{|G|}{N} \, \frac{1 - \hat s_i^2}{2 |s|^2}.

    The Hessian is the Gauss-Newton one, which is never negative. Scores start at 1.

    Ravikumar, Tewari and Yang, "On NDCG Consistency of Listwise Ranking Methods", 2011; boosted by
    Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    consistent: bool = param(False, Flag(), "divide by the ideal DCG: consistent with NDCG")
    gain: Any = param("exp", GAIN, GAIN_MEANING)

    def _objective(self, data: TrainingData) -> Objective:
        return CosineDistance(data, consistent=self.consistent, gain=self.gain)
