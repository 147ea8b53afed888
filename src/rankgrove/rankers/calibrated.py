"""Any ranker with calibrated probabilities of relevance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.models.calibrated import CalibratedModel
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.rankers.base.calibration import HEADS
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.members import learnt_member
from rankgrove.rankers.base.out_of_fold import out_of_fold_scores
from rankgrove.rankers.base.parameters import Choice, Integer, Real
from rankgrove.rankers.base.query_samples import refuse_rows
from rankgrove.rankers.base.ranker_text import RankerGiven, made_ranker
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.training.labels import naming_ranker
from rankgrove.trees.bin_cache import bins_of_samples
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]


@register_ranker(
    "calibrated",
    paper="Platt 1999; Zadrozny and Elkan 2002",
    optimises="what the ranker does, then probabilities",
)
class Calibrated(BaseRanker):
    r"""A ranker whose scores become probabilities of relevance (Platt, *Probabilistic Outputs for
    Support Vector Machines*, 1999; Zadrozny and Elkan, *Transforming Classifier Scores into
    Accurate Multiclass Probability Estimates*, 2002).

    The ranker is fitted; then a non-decreasing function h is fitted to the scores of documents that
    it has not seen, and to whether their label is at least ``relevant_from``:

    .. math:: P(y \ge \text{relevant\_from} \mid x) = h(s(x)).

    h is the isotonic regression, or :math:`\sigma(a s + b)` with :math:`a \ge 0`. The documents are
    those of ``eval_set``; without one, out-of-fold predictions of ``n_folds`` parts of the queries.
    ``predict`` returns the scores of the ranker, whose order h cannot change; ``predict_proba``
    returns the probabilities. Both are one model; exports use the scores.
    """

    family: ClassVar[str] = "calibrated"
    takes_categories: ClassVar[bool] = True  # its parts say if they do not
    can_be_bagged: ClassVar[bool] = False

    ranker: Any = param("lambdamart", RankerGiven(), "what is calibrated")
    method: str = param("isotonic", Choice(*HEADS), "the function from scores to probabilities")
    relevant_from: float = param(1.0, Real(), "lowest label of a relevant document")
    n_folds: int = param(5, Integer(2), "parts of the queries for out-of-fold predictions")
    min_queries: int = param(20, Integer(1), "minimum number of queries for calibration")
    missing: str = param("ranker", Choice("ranker"), "as the ranker does: set it there")

    def check_params(self) -> None:
        """Check the parameters, and those of the ranker."""
        super().check_params()
        self._inner(0).check_params()

    def _inner(self, seed: int) -> BaseRanker:
        ranker = made_ranker(self.ranker, "ranker", type(self).__name__, seed)
        return ranker.set_params(n_jobs=self.n_jobs, verbose=self.verbose)

    @property
    def stops_early(self) -> bool:
        """Whether validation data can end the training of the ranker."""
        return self._inner(0).stops_early

    @property
    def bound_to_rows(self) -> str:
        """That of the ranker."""
        return self._inner(0).bound_to_rows

    def _check_labels(self, data: RankingInput) -> None:
        self._inner(0)._check_labels(data)

    def _category_limit(self) -> int:
        return self._inner(0)._category_limit()

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        self._inner(0)._refuse_unused_parameters(data)
        return {}

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        return None

    def planned_trees(self) -> tuple[int, int]:
        """Return the plan of the ranker."""
        return self._inner(0).planned_trees()

    def _check_fit(self, fit: Fit) -> None:
        held_out = fit.evaluation.held_out
        self._check_enough(held_out[-1].data if held_out else fit.data, bool(held_out))
        ranker = self._inner(0)
        if not held_out:
            refuse_rows(ranker, "be calibrated by out-of-fold predictions: give eval_set")
        with naming_ranker(type(ranker).__name__):
            ranker._check_fit(fit)

    def _learn(self, fit: Fit) -> FitResult:
        self._check_fit(fit)
        held_out = fit.evaluation.held_out
        data = held_out[-1].data if held_out else fit.data
        ranker, evaluation = self._inner(fit.seed), fit.evaluation
        with bins_of_samples():
            own = evaluation.restarted(held_out, evaluation.greater_is_better)
            model = learnt_member(ranker, fit, fit.data, own)
            if held_out:
                found = data.groups.grouped(scores(model, data, self.n_jobs))
            else:
                found = out_of_fold_scores(lambda: self._inner(fit.seed), fit, self.n_folds)
        return FitResult(self._calibrated(model, found, data))

    def _calibrated(self, model: Model, found: Floats, data: RankingInput) -> CalibratedModel:
        relevant = (data.y >= self.relevant_from).astype(np.float64)
        head = HEADS[self.method](found, relevant)
        return CalibratedModel(columns=model.columns, absent=model.absent, inner=model, head=head)

    def _check_enough(self, data: RankingInput, held_out: bool) -> None:
        n_queries = int(np.count_nonzero(data.groups.sizes))
        where = "eval_set has" if held_out else "the training data have"
        if n_queries < self.min_queries:
            raise DataError(
                f"Calibrated needs {self.min_queries} queries to calibrate on, and {where} "
                f"{n_queries}: give more, or lower min_queries"
            )
        relevant = data.y >= self.relevant_from
        if relevant.all() or not relevant.any():
            which = "every" if relevant.all() else "no"
            raise DataError(
                f"Calibrated has nothing to calibrate on: with relevant_from="
                f"{self.relevant_from:g} {which} document of "
                f"{'eval_set' if held_out else 'the training data'} is relevant (labels are from "
                f"{data.y.min():g} to {data.y.max():g})"
            )
        if not held_out and n_queries < self.n_folds:
            raise DataError(
                f"parameter n_folds of Calibrated is {self.n_folds}, and {where} {n_queries} "
                "queries: give eval_set, or more queries"
            )
        if not held_out and data.X.cache is not None:
            raise ModelError(
                "out-of-fold predictions need data in memory: read them with rankgrove.load "
                "(--no-stream on the command line), or give eval_set"
            )
