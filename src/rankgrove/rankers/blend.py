"""Blends of rankers of any kind, with weights found on queries that none of them has seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.model import Model
from rankgrove.models.ranks import RanksModel
from rankgrove.models.scoring import scores
from rankgrove.models.sums import side_by_side
from rankgrove.rankers.base.blending import BlendWeights, blend_weights
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import Fit, FitResult, init_model_of
from rankgrove.rankers.base.members import learnt_member
from rankgrove.rankers.base.out_of_fold import out_of_fold_scores
from rankgrove.rankers.base.parameters import Choice, Integer
from rankgrove.rankers.base.query_samples import refuse_rows
from rankgrove.rankers.base.ranker_text import RankersGiven, made_ranker, texts_of
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.uncertainty import as_grouped
from rankgrove.training.labels import naming_ranker
from rankgrove.trees.bin_cache import bins_of_samples
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]


@register_ranker(
    "blend",
    paper="Caruana, Niculescu-Mizil, Crew and Ksikes 2004",
    optimises="the metric, by weights of rankers",
)
class Blend(BaseRanker):
    r"""A weighted sum of rankers (weights as in Caruana, Niculescu-Mizil, Crew and Ksikes,
    *Ensemble Selection from Libraries of Models*, 2004).

    .. math:: s(x) = \sum_m w_m \, \frac{s_m(x)}{\sigma_m}, \quad w_m \ge 0, \quad \sum_m w_m = 1

    with :math:`\sigma_m` the standard deviation of the scores of ranker m within queries; with
    ``by="rank"``, a document's place in its query, from 0 to 1, takes the place of
    :math:`s_m / \sigma_m`. Weights come from forward selection with replacement: the best ranker
    first, then each time the one that makes the mean best. They are found on ``eval_set``; without
    one, on out-of-fold predictions: each ranker is fitted without one of ``n_folds`` parts of the
    queries and predicts it, and is then fitted to all of them.

    A fitted ranker in the list is taken as it is; columns are matched by name. The model is a sum;
    trees that add up are one ensemble. Rankers of weight 0 are left out of it.

    Attributes
    ----------
    weights_ : weight of each ranker
    single_values_ : the metric of each ranker alone on the queries that chose
    blend_value_ : the metric of the blend there
    """

    family: ClassVar[str] = "blend"
    takes_categories: ClassVar[bool] = True  # its parts say if they do not

    rankers: Any = param(
        ("lambdamart", "mart", "rf-point"), RankersGiven(), "what is blended, at least two"
    )
    by: str = param("score", Choice("score", "rank"), "what is added up")
    n_folds: int = param(5, Integer(2), "parts of the queries for out-of-fold predictions")
    metric: Any = metric_param("ndcg@10", "that weights make best")
    missing: str = param("ranker", Choice("ranker"), "as each ranker does: set it there")

    def check_params(self) -> None:
        """Check the parameters, and those of the rankers."""
        super().check_params()
        if len(self.rankers) < 2:
            raise ValueError(
                f"parameter rankers of {type(self).__name__} holds {len(self.rankers)} of them: a "
                "blend takes at least two"
            )
        if as_metric(self.metric).of_scale:
            raise ValueError(
                f"parameter metric of {type(self).__name__} must depend on the order of the "
                f"scores, not on their size, which a blend changes, as that of {self.metric} does: "
                "choose one such as 'ndcg@10'"
            )
        for ranker in self._makers():
            ranker.check_params()

    def _makers(self, seed: int = 0) -> list[BaseRanker]:
        """Return the rankers: fitted ones as they are, others new."""
        return [self._maker(number, seed) for number in range(len(self.rankers))]

    def _maker(self, number: int, seed: int) -> BaseRanker:
        one = self.rankers[number]
        if isinstance(one, BaseRanker) and one.__sklearn_is_fitted__():
            return one
        ranker = made_ranker(one, "rankers", type(self).__name__, seed + number)
        return ranker.set_params(n_jobs=self.n_jobs, verbose=self.verbose)

    @property
    def stops_early(self) -> bool:
        """Whether validation data can end the training of a ranker."""
        return any(ranker.stops_early for ranker in self._makers())

    @property
    def bound_to_rows(self) -> str:
        """That of the first ranker that has one."""
        return next(filter(None, (ranker.bound_to_rows for ranker in self._makers())), "")

    def _unfitted(self) -> list[BaseRanker]:
        return [ranker for ranker in self._makers() if not ranker.__sklearn_is_fitted__()]

    def _check_labels(self, data: RankingInput) -> None:
        for ranker in self._unfitted():
            ranker._check_labels(data)
        for ranker in self._makers():
            if ranker.__sklearn_is_fitted__():
                init_model_of(ranker, data, f"the fitted {type(ranker).__name__} of the blend")
        groups = as_grouped(data.groups)
        as_metric(self.metric).prepare(data.y, groups, n_jobs=self.n_jobs, part=True)

    def _category_limit(self) -> int:
        """Return that of the rankers: they are fitted to the same codes."""
        limits = {ranker._category_limit() for ranker in self._unfitted()}
        if len(limits) > 1:
            raise ValueError(
                "the rankers of a Blend share the categories of the data: give all of them the "
                f"same max_categories, not {', '.join(map(str, sorted(limits)))}"
            )
        return limits.pop() if limits else super()._category_limit()

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        for ranker in self._unfitted():
            ranker._refuse_unused_parameters(data)
        return {}

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        return None

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees of forests the rankers grow, and how many steps they boost."""
        plans = [ranker.planned_trees() for ranker in self._unfitted()]
        return sum(trees for trees, _ in plans), sum(steps for _, steps in plans)

    def _check_fit(self, fit: Fit) -> None:
        if not fit.evaluation.held_out:
            self._check_out_of_fold(fit.data)
        for ranker in self._unfitted():
            with naming_ranker(type(ranker).__name__):
                ranker._check_fit(fit)

    def _learn(self, fit: Fit) -> FitResult:
        self._check_fit(fit)
        held_out = fit.evaluation.held_out
        with bins_of_samples():
            models = [self._model(ranker, fit) for ranker in self._makers(fit.seed)]
            if held_out:
                data = held_out[-1].data
                found = [data.groups.grouped(scores(m, data, self.n_jobs)) for m in models]
            else:
                data = fit.data
                found = [
                    out_of_fold_scores(partial(self._maker, i, fit.seed), fit, self.n_folds)
                    for i in range(len(models))
                ]
        chosen = self._weights(np.stack(found), data)
        return FitResult(
            _sum(models, chosen, self.by),
            {
                "weights_": chosen.weights,
                "single_values_": chosen.single_values,
                "blend_value_": chosen.value,
            },
        )

    def _check_out_of_fold(self, data: RankingInput) -> None:
        for ranker in self._makers():
            if ranker.__sklearn_is_fitted__():
                raise ModelError(
                    f"Blend with the fitted {type(ranker).__name__} needs eval_set: its training "
                    "queries cannot choose weights"
                )
            refuse_rows(ranker, "be blended by out-of-fold predictions: give eval_set")
        n_filled = int(np.count_nonzero(data.groups.sizes))
        if n_filled < self.n_folds:
            raise ModelError(
                f"parameter n_folds of Blend is {self.n_folds}, but the data have {n_filled} "
                "queries: give eval_set, or more queries"
            )
        if data.X.cache is not None:
            raise ModelError(
                "out-of-fold predictions need data in memory: read them with rankgrove.load "
                "(--no-stream on the command line), or give eval_set"
            )

    def _model(self, ranker: BaseRanker, fit: Fit) -> Model:
        if ranker.__sklearn_is_fitted__():
            what = f"the fitted {type(ranker).__name__} of the blend"
            model = init_model_of(ranker, fit.data, what)
            assert model is not None
            return model
        evaluation = fit.evaluation
        own = evaluation.restarted(evaluation.held_out, evaluation.greater_is_better)
        return learnt_member(ranker, fit, fit.data, own)

    def _weights(self, found: Floats, data: RankingInput) -> BlendWeights:
        metric = as_metric(self.metric)
        groups = as_grouped(data.groups)
        prepared = metric.prepare(data.y, groups, n_jobs=self.n_jobs, part=True)
        return blend_weights(
            found, groups, self.by, prepared, 1 if metric.greater_is_better else -1
        )

    @property
    def named_weights_(self) -> dict[str, float]:
        """Weight of each ranker by its text or name."""
        names = texts_of(self.rankers)
        return {
            name if names.count(name) == 1 else f"{name} ({number})": float(weight)
            for number, (name, weight) in enumerate(zip(names, self.weights_, strict=True), 1)
        }

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        arrays |= {"weights": self.weights_, "single_values": self.single_values_}
        return {**values, "blend_value": self.blend_value_}, arrays

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        weights, singles = arrays["weights"], arrays["single_values"]
        if weights.ndim != 1 or weights.shape != singles.shape or weights.dtype != np.float64:
            raise ModelError("weights of a blend are not one number per ranker")
        self.weights_, self.single_values_ = weights, singles
        self.blend_value_ = values["blend_value"]


def _sum(models: list[Model], chosen: BlendWeights, by: str) -> Model:
    used = np.flatnonzero(chosen.weights)
    parts = [models[i] for i in used]
    if by == "rank":
        parts = [RanksModel(columns=m.columns, absent=m.absent, inner=m) for m in parts]
    scales = np.where(chosen.scales > 0, chosen.scales, 1.0)
    return side_by_side(parts, list((chosen.weights / scales)[used]))
