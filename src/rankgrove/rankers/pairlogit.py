"""PairLogit: pairwise logistic loss over all pairs, or over those that are listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.given_pairs import GivenPairs
from rankgrove.boosting.objectives.pairlogit import PairwiseLogistic
from rankgrove.boosting.sampling import TreeSampler
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameters import AnyOf, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.tree_sampling import make_sampler


def _is_table_of_pairs(value: Any) -> bool:
    if isinstance(value, str) or np.ndim(value) != 2:
        return False
    table = np.asarray(value)
    return table.dtype.kind in "iuf" and table.shape[1] in (2, 3)


@register_ranker(
    "pairlogit",
    paper="Burges et al. 2005; CatBoost's PairLogit",
    optimises="logistic loss of all pairs, or of given ones",
)
class PairLogit(BoostedRanker):
    r"""Boosted pairwise logistic loss: CatBoost's PairLogit, RankNet's loss on trees.

    All pairs of a query whose labels differ count:

    .. math:: L_q = \sum_{y_i > y_j} (y_i - y_j)^a \log \left(1 + e^{s_j - s_i}\right).

    With :math:`\rho = 1 / (1 + e^{s_i - s_j})` and :math:`v = (y_i - y_j)^a`, a pair adds

    .. math::
        g_i \mathrel{-}= v \rho, \quad g_j \mathrel{+}= v \rho, \quad
        h_i, h_j \mathrel{+}= v \rho (1 - \rho),

    where a = ``difference_power``. The loss is for the whole order, not for the top of the list.
    Labels may be any real numbers. A query of n documents takes :math:`n^2` terms per iteration, in
    single precision and on all threads.

    With ``pairs``, the listed ones count instead, with their weights for v, and labels only where
    metrics are measured.

    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, "Learning to Rank using Gradient
    Descent", 2005.
    """

    difference_power: float = param(
        0.0,
        Real(0, 10),
        "exponent a of the label difference that weighs a pair; 0: all alike. Others than 0 and 1 "
        "take about eight times as long on lists whose labels all differ",
    )
    pairs: npt.ArrayLike | None = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(_is_table_of_pairs, "a table of pairs: (winner, loser) or with a weight"),
        ),
        "the pairs that count: one row each, with the numbers (from 0) of the better and of the "
        "worse row of the training data, both of one query, and perhaps a weight; None: all pairs "
        "of different labels",
    )

    @property
    def bound_to_rows(self) -> str:
        """The parameter ``pairs``, if it lists rows."""
        return "" if self.pairs is None else "pairs"

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {} if self.pairs is None else {"difference_power": "beside pairs"}
        return {**super()._unused_parameters(data), **unused}

    def _check_labels(self, data: RankingInput) -> None:
        if self.pairs is not None:
            checked_pairs(self.pairs, data)

    def _objective(self, data: TrainingData) -> Objective:
        return PairwiseLogistic(data, difference_power=self.difference_power)

    def _objective_and_sampler(self, fit: Fit) -> tuple[Objective, TreeSampler]:
        if self.pairs is None:
            return super()._objective_and_sampler(fit)
        if not fit.shard.single_worker:
            raise ModelError("pairs are row numbers of all data: no worker of several has them")
        if self.sampling == "hard-negatives":
            raise ValueError(
                "parameter sampling of PairLogit is 'hard-negatives', which selects documents: "
                "with pairs, list those that count"
            )
        winner, loser, weight = checked_pairs(self.pairs, fit.data)
        objective = GivenPairs(self._training_data(fit), winner, loser, weight)
        return objective, make_sampler(self, fit.data.groups, fit.shard, fit.seed)


def checked_pairs(
    pairs: Any, data: RankingInput
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return winners and losers in grouped order, and weights; refuse pairs that make no sense."""
    table = np.asarray(pairs, np.float64)
    if len(table) == 0:
        raise DataError("pairs is empty: list at least one pair, or leave it out for all pairs")
    n_rows = len(data.y) if data.counting is None else int(data.counting[-1]) + 1
    rows = table[:, :2]
    bad = (rows != np.floor(rows)) | (rows < 0) | (rows >= n_rows) | ~np.isfinite(rows)
    _refuse(table, bad.any(axis=1), f"row numbers are whole numbers from 0 to {n_rows - 1}")
    weight = table[:, 2] if table.shape[1] == 3 else np.ones(len(table))
    _refuse(table, ~(np.isfinite(weight) & (weight >= 0)), "a weight is a number of at least 0")
    if not weight.any():
        raise DataError("pairs have weights that are all 0: there is nothing to learn")
    kept = np.arange(n_rows)
    if data.counting is not None:
        kept = np.full(n_rows, -1)
        kept[data.counting] = np.arange(len(data.counting))
    winner, loser = kept[rows.astype(np.int64)].T
    _refuse(table, (winner < 0) | (loser < 0), "a row of sample_weight 0 is no part of the data")
    _refuse(table, winner == loser, "a document is no pair with itself")
    query = data.groups.query_of_row()
    across = query[winner] != query[loser]
    if across.any():
        pair = int(across.argmax())
        names = [str(data.groups.ids[query[side[pair]]]) for side in (winner, loser)]
        _refuse(table, across, f"its rows belong to the queries {names[0]} and {names[1]}")
    place = np.arange(len(data.y))
    if data.groups.order is not None:
        place[data.groups.order] = np.arange(len(data.y))
    return place[winner], place[loser], weight.astype(np.float64)


def _refuse(table: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        number = int(wrong.argmax())
        raise DataError(f"pair {number} of pairs is {table[number].tolist()}: {why}")
