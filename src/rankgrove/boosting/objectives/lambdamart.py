"""LambdaMART: pairs of documents, weighted by the change of the metric if they were swapped."""

from __future__ import annotations

import warnings

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, TrainingData
from rankgrove.boosting.objectives.metric_pairs import MetricPairs, warn_of_many_pairs
from rankgrove.errors import DataWarning
from rankgrove.metrics.arithmetic import (
    Gain,
    gains_over_ideal,
    label_gains,
    label_values,
    relevance_value,
    satisfaction_value,
)

METRICS = ("ndcg", "map", "err", "mrr")


class LambdaGradients(MetricPairs):
    r"""Lambda gradients (Burges, "From RankNet to LambdaRank to LambdaMART", 2010).

    For documents i and j of a query whose labels differ, :math:`y_i > y_j`, let
    :math:`|\Delta_{ij}|` be the change of the metric when the two swap places in the current
    ranking, and :math:`\rho_{ij} = 1 / (1 + e^{\sigma (s_i - s_j)})`. The pair adds

    .. math::
        g_i \mathrel{-}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        g_j \mathrel{+}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        h_i, h_j \mathrel{+}= \sigma^2 |\Delta_{ij}| \rho_{ij} (1 - \rho_{ij}).

    The ranking sorts by descending score, ties in the order of the data. Only pairs count that have
    at least one document among the first ``truncation`` ranks: O(n truncation) work per query. The
    changes themselves are exact: ranks below the truncation keep their discounts, and only
    ``k`` makes ranks worthless. NDCG without a cut-off divides by the ideal DCG of the first
    ``truncation`` ranks: only the weight of a query against others depends on that.

    Pairs are computed in single precision (relative error about 1e-6).

    Parameters
    ----------
    metric : ``"ndcg"``, ``"map"``, ``"err"`` or ``"mrr"``
    k : the k of NDCG@k, ERR@k and MRR@k; None counts the whole list. MAP has none
    truncation : pairs need one document above this rank; None keeps all pairs
    sigma : steepness of the pair probability
    query_norm : multiply gradients and Hessians of a query by log2(1 + S) / S, where S is the sum
        over its documents of the lambdas that they take part in (each pair counts twice)
    difference_norm : divide :math:`|\Delta_{ij}|` by :math:`0.01 + |s_i - s_j|`, except in a
        query whose scores are all equal. Both together are what LightGBM calls ``lambdarank_norm``
    gain : ``"exp"``, ``"linear"`` or (NDCG only) a table of gains. "Better" means higher gain
    relevant_from : lowest label that is relevant, for MAP and MRR
    max_grade : ERR's probability of satisfaction is (2^label - 1) / 2^max_grade, or label /
        max_grade with the linear gain, as in the metric; None takes the highest label of y
    noise : scale of the logistic noise that each iteration adds to the scores before it ranks them
        and computes the lambdas; 0: none
    """

    def __init__(
        self,
        data: TrainingData,
        metric: str = "ndcg",
        k: int | None = None,
        truncation: int | None = 30,
        sigma: float = 1.0,
        query_norm: bool = True,
        difference_norm: bool = True,
        gain: Gain = "exp",
        relevant_from: float = 1.0,
        max_grade: float | None = None,
        noise: float = 0.0,
    ) -> None:
        refuse_metric(metric, k)
        self.data = data
        self.metric = metric
        self.k = k or max(1, data.n_documents)
        if truncation is None:
            warn_of_many_pairs(data)
        self.options = _native.LambdaOptions(
            metric=metric,
            k=self.k,
            truncation=truncation or max(1, data.n_documents),
            sigma=sigma,
            query_norm=query_norm,
            difference_norm=difference_norm,
            noise=noise,
        )
        self.value = metric_values(data, metric, k or truncation, gain, relevant_from, max_grade)


def refuse_metric(metric: str, k: int | None) -> None:
    """Refuse a metric without a formula for the change by a swap."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    if metric == "map" and k is not None:
        raise ValueError(f"MAP is defined on the whole list: leave out the cut-off {k}")


def metric_values(
    data: TrainingData,
    metric: str,
    ideal_k: int | None,
    gain: Gain,
    relevant_from: float,
    max_grade: float | None,
) -> Floats32:
    """Return what a metric reads of each document; ``ideal_k`` cuts the ideal DCG."""
    if metric == "ndcg":
        value = gains_over_ideal(data.offsets, label_gains(data.y, gain), ideal_k)
    elif metric == "err":
        value = _satisfaction(data, gain, max_grade)
    else:
        value = label_values(data.y, relevance_value(relevant_from))
        _warn_of_irrelevant_labels(data, value, relevant_from)
    return value.astype(np.float32)


def _warn_of_irrelevant_labels(data: TrainingData, relevance: Floats, relevant_from: float) -> None:
    if data.shard.n_rows and data.shard.maximum(relevance, 0.0) == 0.0:
        highest = data.shard.maximum(data.y, -np.inf)
        message = (
            f"no label is relevant: the highest is {highest:g}, relevant_from={relevant_from:g}; "
            "there is nothing to learn: lower relevant_from"
        )
        warnings.warn(message, DataWarning, stacklevel=4)


def _satisfaction(data: TrainingData, gain: Gain, max_grade: float | None) -> Floats:
    """Return ERR's probability of each label; ``max_grade`` defaults to the highest label."""
    top = max_grade if max_grade is not None else data.shard.maximum(data.y, 0.0)
    return label_values(data.y, satisfaction_value(gain, top)) if top > 0 else np.zeros(len(data.y))
