"""LambdaLoss: pair weights that bound NDCG or the average relevant position."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.lambdaloss import LOSSES, LambdaLossGradients
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Choice, Integer, Nothing, Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "lambdaloss",
    paper="Wang et al. 2018",
    optimises="bounds of NDCG or average relevant position",
    variants={
        "NDCG-Loss1": {"loss": "ndcg-loss1"},
        "NDCG-Loss2": {"loss": "ndcg-loss2"},
        "NDCG-Loss2++": {"loss": "ndcg-loss2++"},
        "ARP-Loss1": {"loss": "arp-loss1"},
        "ARP-Loss2": {"loss": "arp-loss2"},
    },
)
class LambdaLoss(BoostedRanker):
    r"""Boosted LambdaLoss: NDCG-Loss1, NDCG-Loss2, NDCG-Loss2++, ARP-Loss1 and ARP-Loss2.

    Let document i be at rank i of the current ranking, with the gain :math:`G_i` over the
    ideal DCG of the query and :math:`D_i = \log_2(1 + i)`. A loss is
    :math:`\sum w_{ij} \log(1 + e^{-\sigma (s_i - s_j)})` with the weights

    .. math::
        w_{ij} = \begin{cases}
        G_i / D_i & \text{NDCG-Loss1} \\
        \delta_{ij} |G_i - G_j| & \text{NDCG-Loss2} \\
        (|1/D_i - 1/D_j| + \mu \, \delta_{ij}) \, |G_i - G_j| & \text{NDCG-Loss2++} \\
        y_i & \text{ARP-Loss1} \\
        |y_i - y_j| & \text{ARP-Loss2}
        \end{cases}
        \qquad \delta_{ij} = \frac{1}{D_{|i - j|}} - \frac{1}{D_{|i - j| + 1}}.

    The sum of the forms 1 runs over all ordered pairs of a query, that of the forms 2 over the
    pairs with :math:`y_i > y_j`. With :math:`\rho = 1 / (1 + e^{\sigma (s_i - s_j)})`, a pair adds
    :math:`-\sigma w \rho` to :math:`g_i`, :math:`\sigma w \rho` to :math:`g_j` and
    :math:`\sigma^2 w \rho (1 - \rho)` to both Hessians. Labels must not be negative.

    Wang, Li, Golbandi, Bendersky and Najork, "The LambdaLoss Framework for Ranking Metric
    Optimization", 2018.
    """

    loss: str = param("ndcg-loss2++", Choice(*LOSSES), "which weights the pairs have")
    mu: float = param(10.0, Real(0, 1e6), "weight of the distance of ranks in NDCG-Loss2++")
    truncation: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "a pair counts if one of its documents is among the first `truncation` ranks; None: all "
        "pairs, which takes time quadratic in the documents of a query",
    )
    sigma: float = param(1.0, Real(1e-6, 1e6), "steepness of the pair probability")
    gain: Any = param("exp", GAIN, GAIN_MEANING + "; for the NDCG losses")

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        when = f"with loss={self.loss!r}"
        unused = {} if self.loss == "ndcg-loss2++" else {"mu": when}
        if self.loss.startswith("arp"):
            unused["gain"] = when
        return {**super()._unused_parameters(data), **unused}

    def _objective(self, data: TrainingData) -> Objective:
        return LambdaLossGradients(
            data,
            loss=self.loss,
            mu=self.mu,
            truncation=self.truncation,
            sigma=self.sigma,
            gain=self.gain,
        )
