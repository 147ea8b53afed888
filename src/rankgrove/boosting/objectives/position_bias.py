"""Objectives on clicks that correct for the positions at which documents were shown."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.workers.row_shard import RowShard

Table = dict[str, npt.NDArray[Any]]
# LightGBM adds this to the curvature of a Newton step of a bias.
_LEAST_CURVATURE = 0.001


@dataclass(frozen=True)
class ShownPositions:
    """The positions at which the training documents were shown, in grouped order.

    Attributes
    ----------
    place : index of each document's position in ``positions``
    positions : those that occur on any worker, ascending
    counts : documents of all workers at each position
    shard : position of these documents among those of all workers
    """

    place: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    shard: RowShard

    @classmethod
    def of(cls, position: npt.NDArray[np.int64], shard: RowShard) -> ShownPositions:
        """Number the positions that occur; a collective call."""
        positions = shard.distinct(position.astype(np.float64)).astype(np.int64)
        place = np.searchsorted(positions, position).astype(np.int64)
        counts = shard.sum(np.bincount(place, minlength=len(positions)))
        return cls(place, positions, counts, shard)

    def sums(self, values: npt.NDArray[Any]) -> Floats:
        """Add up values of the documents of all workers by position; a collective call."""
        return self.shard.totals(values.astype(np.float64), self.place, len(self.positions))

    def table(self, clicks: Floats, **estimates: Floats) -> Table:
        """Return the table of a fit: positions, documents, clicks and the estimates."""
        sums = self.sums(clicks)
        return {"position": self.positions, "documents": self.counts, "clicks": sums, **estimates}


class EstimatedBias(Objective):
    """An objective that estimates position bias while it trains.

    ``prepare`` computes the gradients of an iteration and then improves the estimates, so that an
    iteration that is taken from a record improves them, too.
    """

    def __init__(self, data: TrainingData, shown: ShownPositions) -> None:
        self.data = data
        self.shown = shown
        self._counted = shown.table(data.y)
        self._estimates: list[Table] = []
        shape = (1, data.n_documents)
        self._gradients, self._hessians = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def prepare(self, scores: Floats, iteration: int) -> None:
        """Compute gradients with the estimates so far, then improve these."""
        self._estimates.append(self._estimated())
        self._estimate(scores, iteration)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill in what ``prepare`` has computed."""
        gradients[:] = self._gradients
        if hessians is not None:
            hessians[:] = self._hessians

    def table_after(self, n_steps: int) -> Table:
        """Return the estimates after some iterations."""
        return self._counted | [*self._estimates, self._estimated()][n_steps]

    @abstractmethod
    def _estimate(self, scores: Floats, iteration: int) -> None:
        """Compute ``_gradients`` and ``_hessians``, and improve the estimates."""

    @abstractmethod
    def _estimated(self) -> Table:
        """Return the estimates so far."""


class AdditivePositionBias(EstimatedBias):
    r"""The loss of another objective at scores to which a bias of each position is added.

    With documents :math:`D_k` at position k, the loss is taken at :math:`s_d + b_{k(d)}`, in
    training alone. Each iteration takes a Newton step of the biases, shrunken by the learning rate
    :math:`\eta`, with an L2 penalty of strength :math:`\lambda` per document (as LightGBM's
    ``position``):

    .. math::
        b_k \mathrel{-}= \eta \frac{\sum_{D_k} g_d + \lambda |D_k| b_k}
            {\sum_{D_k} h_d + \lambda |D_k| + 0.001}
    """

    def __init__(
        self,
        inner: Objective,
        data: TrainingData,
        shown: ShownPositions,
        *,
        reg: float,
        learning_rate: float,
    ) -> None:
        super().__init__(data, shown)
        self.inner = inner
        self.reg, self.learning_rate = reg, learning_rate
        self.constant_hessian = inner.constant_hessian
        self.link = inner.link
        self.bias = np.zeros(len(shown.positions))

    def base_score(self) -> Floats:
        """Return the initial score of the other objective."""
        return self.inner.base_score()

    def _estimate(self, scores: Floats, iteration: int) -> None:
        biased = scores + self.bias[self.shown.place]
        hessians = None if self.constant_hessian else self._hessians
        self.inner.gradients(biased, self._gradients, hessians, iteration)
        counts = self.shown.counts
        slope = self.shown.sums(self._gradients[0]) + self.reg * counts * self.bias
        curvature = self.shown.sums(self._hessians[0]) if hessians is not None else counts
        curvature = curvature + self.reg * counts + _LEAST_CURVATURE
        self.bias = self.bias - self.learning_rate * slope / curvature

    def _estimated(self) -> Table:
        return {"bias": self.bias}


class WeightedPairs(LambdaGradients):
    """Lambda gradients whose pairs are multiplied by a factor of the better, clicked document."""

    def __init__(self, data: TrainingData, factor: Floats, **options: Any) -> None:
        super().__init__(data, **options)
        self.better, self.worse = factor, np.ones(data.n_documents)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        factors = {"better": self.better, "worse": self.worse}
        self.fill(scores, gradients, hessians, iteration, **factors)


class CorrectedGains(LambdaGradients):
    """Lambda gradients of DCG with given gains, which may be negative."""

    def __init__(self, data: TrainingData, gains: Floats, **options: Any) -> None:
        super().__init__(data, **options)
        self.value = gains.astype(np.float32)


class UnbiasedLambdas(EstimatedBias):
    r"""Unbiased LambdaMART (Hu, Wang, Peng and Li, WWW 2019).

    Ratios :math:`t^+_k` and :math:`t^-_k` say how much more often a document at position k is
    clicked because it is relevant, and not clicked because it is not, than at the first position.
    A pair of a clicked document i and another one j is divided by :math:`t^+_i t^-_j`. After each
    iteration, with the pair losses :math:`L_{ij} = |\Delta_{ij}| \log(1 + e^{-\sigma(s_i - s_j)})`
    at the scores before it,

    .. math::
        t^+_k = \left(\frac{\sum_{i \in D_k} \sum_j L_{ij} / t^-_j}
            {\sum_{i \in D_1} \sum_j L_{ij} / t^-_j}\right)^{1 / (1 + p)}, \quad
        t^-_k = \left(\frac{\sum_{j \in D_k} \sum_i L_{ij} / t^+_i}
            {\sum_{j \in D_1} \sum_i L_{ij} / t^+_i}\right)^{1 / (1 + p)}.

    A position without such pairs keeps its ratio. No factor 1 / t is above ``largest``.
    """

    def __init__(
        self,
        data: TrainingData,
        shown: ShownPositions,
        *,
        reg: float,
        largest: float,
        **options: Any,
    ) -> None:
        super().__init__(data, shown)
        self.lambdas = LambdaGradients(data, **options)
        self.power = 1 / (1 + reg)
        self.largest = largest
        self.click_ratio = np.ones(len(shown.positions))
        self.no_click_ratio = np.ones(len(shown.positions))

    def _estimate(self, scores: Floats, iteration: int) -> None:
        place = self.shown.place
        costs = np.zeros((2, self.data.n_documents))
        self.lambdas.fill(
            scores,
            self._gradients,
            self._hessians,
            iteration,
            better=np.minimum(1 / self.click_ratio, self.largest)[place],
            worse=np.minimum(1 / self.no_click_ratio, self.largest)[place],
            better_cost=costs[0],
            worse_cost=costs[1],
        )
        self.click_ratio = self._ratio(costs[0], self.click_ratio)
        self.no_click_ratio = self._ratio(costs[1], self.no_click_ratio)

    def _ratio(self, costs: Floats, old: Floats) -> Floats:
        sums = self.shown.sums(costs)
        known = (sums > 0) & (sums[0] > 0)
        share = np.divide(sums, sums[0], out=np.ones_like(sums), where=known)
        return np.where(known, share**self.power, old)

    def _estimated(self) -> Table:
        return {"click_ratio": self.click_ratio, "no_click_ratio": self.no_click_ratio}
