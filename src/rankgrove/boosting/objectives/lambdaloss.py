"""LambdaLoss: pair weights that bound NDCG or the average relevant position."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.metric_pairs import MetricPairs, warn_of_many_pairs
from rankgrove.metrics.arithmetic import Gain, gains_over_ideal, label_gains

LOSSES = ("ndcg-loss1", "ndcg-loss2", "ndcg-loss2++", "arp-loss1", "arp-loss2")


class LambdaLossGradients(MetricPairs):
    r"""Metric-driven pair losses at the current ranking; ``rankers.lambdaloss`` has the formulas.

    Pairs are computed in single precision (relative error about 1e-6).

    Parameters
    ----------
    loss : one of ``LOSSES``
    mu : weight of the distance of ranks in ``"ndcg-loss2++"``
    truncation : pairs need one document above this rank; None keeps all pairs
    sigma : steepness of the pair probability
    gain : ``"exp"``, ``"linear"`` or a table of gains, of the NDCG losses
    """

    def __init__(
        self,
        data: TrainingData,
        loss: str = "ndcg-loss2++",
        mu: float = 10.0,
        truncation: int | None = None,
        sigma: float = 1.0,
        gain: Gain = "exp",
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {loss!r}")
        self.data = data
        if truncation is None:
            warn_of_many_pairs(data)
        every_rank = max(1, data.n_documents)
        self.options = _native.LambdaOptions(
            metric=loss,
            k=every_rank,
            truncation=truncation or every_rank,
            sigma=sigma,
            query_norm=False,
            difference_norm=False,
            mu=mu,
        )
        if loss.startswith("ndcg"):
            value = gains_over_ideal(data.offsets, label_gains(data.y, gain))
        else:
            value = label_gains(data.y, "linear")
        self.value = value.astype(np.float32)
