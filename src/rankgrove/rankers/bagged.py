"""Bagging of any ranker: the mean of several fits on bootstrap samples of the queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.models.sums import SumModel, side_by_side
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import Fit, FitOptions, FitResult
from rankgrove.rankers.base.member_records import records_of
from rankgrove.rankers.base.members import MemberFits
from rankgrove.rankers.base.parameters import AnyOf, Choice, Integer, Nothing, Satisfies
from rankgrove.rankers.base.query_samples import places_of, refuse_rows
from rankgrove.rankers.base.ranker_text import RankerGiven, made_ranker
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.uncertainty import Uncertainty, as_grouped, fitted_noise, uncertainty
from rankgrove.training.fit_evaluation import FitEvaluation, check_patience, make_fit_evaluation
from rankgrove.training.labels import naming_ranker
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]


@register_ranker(
    "bagged",
    paper="Breiman 1996; Ganjisaffar, Caruana and Lopes 2011",
    optimises="what the bagged ranker does",
)
class Bagged(BaseRanker):
    r"""The mean of several fits of a ranker (Breiman, *Bagging Predictors*, 1996; for LambdaMART
    Ganjisaffar, Caruana and Lopes, *Bagging Gradient-Boosted Trees for High Precision, Low Variance
    Ranking Models*, 2011).

    Member b learns from as many queries as there are, drawn with replacement, or from all of them
    with a seed of its own. The score is

    .. math:: s(x) = \frac{1}{B} \sum_{b=1}^{B} s_b(x).

    Members share the bins of the features and are fitted side by side. Trees become one ensemble
    with leaves divided by B, which scores, explains and exports like any other; members of another
    kind become one sum.

    Each query is left out of about 37 % of the samples. Without ``eval_set``, a member that learns
    in steps keeps those up to the best value on the queries that its sample left out; with one, up
    to the best value there.

    Attributes
    ----------
    oob_prediction_ : per training document the mean over the members whose sample did not hold its
        query; NaN if there is none
    oob_score_ : the metric of these over the queries that have them; None if there are none
    noise_ : how far judgments stray from scores (see ``uncertainty``)
    """

    family: ClassVar[str] = "bag"
    takes_categories: ClassVar[bool] = True  # its parts say if they do not
    can_be_bagged: ClassVar[bool] = False

    ranker: Any = param("lambdamart", RankerGiven(), "what is bagged")
    n_bags: int = param(10, Integer(1, 1000), "number of members")
    sampling: str = param(
        "queries",
        Choice("queries", "seeds"),
        "what makes members differ: a bootstrap sample of the queries each, or their seeds alone",
    )
    metric: Any = metric_param("ndcg@10", "of out-of-bag queries, to end members and to report")
    folder: Any = param(
        None,
        AnyOf(Nothing(), Satisfies(lambda value: isinstance(value, str), "a path", str)),
        "where finished members are kept, so that the same fit goes on after it was stopped",
    )
    missing: str = param("ranker", Choice("ranker"), "as the bagged ranker does: set it there")

    def check_params(self) -> None:
        """Check the parameters, and those of the ranker that is bagged."""
        super().check_params()
        member = self._member(0)
        member.check_params()
        if not member.can_be_bagged:
            raise ModelError(f"{type(member).__name__} cannot be bagged")
        if self.sampling == "queries":
            refuse_rows(member, "be bagged by samples of the queries: use sampling='seeds'")
        for name, value in member.get_params(deep=False).items():
            if isinstance(value, BaseRanker) and value.__sklearn_is_fitted__():
                raise ModelError(
                    f"{type(member).__name__} cannot be bagged with a fitted {name}, which may "
                    "have seen the queries that a sample leaves out"
                )
        if getattr(member, "oob_score", False) or getattr(member, "residuals", "") == "oob":
            raise ModelError(
                f"{type(member).__name__} cannot be bagged with out-of-bag predictions of its own: "
                "a bag has those of its members"
            )

    @property
    def stops_early(self) -> bool:
        """Whether validation data can end the training of a member."""
        return self._member(0).learns_in_steps

    @property
    def bound_to_rows(self) -> str:
        """That of the bagged ranker."""
        return self._member(0).bound_to_rows

    def _member(self, seed: int) -> BaseRanker:
        member = made_ranker(self.ranker, "ranker", type(self).__name__, seed)
        if member.random_state is not None:  # a seed of its own would make all members alike
            member.random_state = seed
        return member

    def _check_labels(self, data: RankingInput) -> None:
        self._member(0)._check_labels(data)
        if self.sampling == "queries":
            groups = as_grouped(data.groups)
            as_metric(self.metric).prepare(data.y, groups, n_jobs=self.n_jobs, part=True)
        if self.sampling == "queries" and data.X.cache is not None:
            raise ModelError(
                "samples of streamed queries cannot be drawn: read the data with rankgrove.load "
                "(--no-stream on the command line), or bag by sampling='seeds'"
            )

    def _category_limit(self) -> int:
        return self._member(0)._category_limit()

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        self._member(0)._refuse_unused_parameters(data)
        return {"metric": "with sampling='seeds'"} if self.sampling == "seeds" else {}

    def _evaluation(
        self, options: FitOptions, given: FitData, data: RankingInput, shard: RowShard
    ) -> FitEvaluation:
        """Check the evaluation sets; members can end on out-of-bag queries without any."""
        patience = options.early_stopping_rounds
        unseen = options.eval_set is None and self.sampling == "queries"
        evaluation = make_fit_evaluation(
            options.eval_set,
            options.eval_metric,
            None if unseen else patience,
            train=data,
            given=given,
            shard=shard,
            n_jobs=self.n_jobs,
            rule=None if unseen else options.stopping_rule,
        )
        check_patience(patience)
        if unseen and options.stopping_rule is not None:
            evaluation = replace(evaluation, rule_name=options.stopping_rule)
        evaluation.patience = patience
        return evaluation

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        return None

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees of forests all members grow, and how many steps they boost."""
        trees, steps = self._member(0).planned_trees()
        return trees * self.n_bags, steps * self.n_bags

    def _check_fit(self, fit: Fit) -> None:
        member = self._member(0)
        with naming_ranker(type(member).__name__):
            member._check_fit(fit)

    def _learn(self, fit: Fit) -> FitResult:
        self._check_fit(fit)
        fits = MemberFits(
            owner=self,
            make=self._member,
            fit=fit,
            n_members=self.n_bags,
            sampled=self.sampling == "queries",
            metric=as_metric(self.metric),
            records=records_of(self.folder, self, fit, ("n_bags", "folder", "random_state")),
        )
        numbers = fits.run()
        models = [fits.models[number] for number in numbers]
        whole = side_by_side(models, [1 / len(models)] * len(models))
        merged = isinstance(whole, TreesModel)
        attributes: dict[str, Any] = {
            "member_trees_": np.array(list(map(_n_trees, models)) if merged else [], np.int64),
            "member_bases_": np.array(list(map(_base, models)) if merged else [], np.float64),
            **self._out_of_bag(fit, fits, numbers),
        }
        return FitResult(whole, attributes, fits.interrupted)

    def _out_of_bag(self, fit: Fit, fits: MemberFits, numbers: list[int]) -> dict[str, Any]:
        """Score each query by the members that have not seen it; choose the noise by them."""
        data, groups = fit.data, fit.data.groups
        unseen = np.zeros((len(numbers), groups.n_queries), bool)
        for place, number in enumerate(numbers):
            unseen[place, fits.left_out(number)] = True
        if not unseen.any():
            return {"oob_prediction_": None, "oob_score_": None, "noise_": 0.0}
        members = np.stack(
            [groups.grouped(scores(fits.models[n], data, self.n_jobs)) for n in numbers]
        )
        counting = np.repeat(unseen, groups.sizes, axis=1)
        count = counting.sum(axis=0)
        total = np.where(counting, members, 0.0).sum(axis=0)
        prediction = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
        known = np.flatnonzero(unseen.any(axis=0))
        sizes, rows = groups.sizes[known], places_of(known, groups)
        value = as_metric(self.metric)(data.y[rows], prediction[rows], group_sizes=sizes)
        return {
            "oob_prediction_": data.restored(prediction),
            "oob_score_": float(value),
            "noise_": fitted_noise(members, unseen, data.y, as_grouped(groups), fit.seed),
        }

    @property
    def members_(self) -> list[Model]:
        """The models of the members."""
        model = self.fitted_model()
        if isinstance(model, SumModel):
            return list(model.parts)
        assert isinstance(model, TreesModel)
        n = len(self.member_trees_)
        ends = np.cumsum(self.member_trees_)
        trees = [
            model.ensemble.head(int(end)).tail(int(end - count))
            for end, count in zip(ends, self.member_trees_, strict=True)
        ]
        return [
            replace(
                model,
                ensemble=replace(
                    part, tree_weights=n * part.tree_weights, base_score=np.array([base])
                ),
                n_init_trees=part.n_trees,
            )
            for part, base in zip(trees, self.member_bases_, strict=True)
        ]

    def uncertainty(
        self,
        X: Any,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        level: float = 0.9,
        n_draws: int = 200,
        random_state: int = 0,
    ) -> Uncertainty:
        """Return the uncertainty of a bag: intervals of scores and ranks, probability of the top k.

        The interval of a score is where the score of another member would lie. Ranks are those by
        relevance: chances are drawn from the members with the noise that suits out-of-bag queries
        best (see ``rankers.base.uncertainty``); with ``sampling="seeds"`` there are none, and
        chances are those of members alone, which are too sure.

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known
        qid : one query id per row (a Dataset brings its own)
        group_sizes : documents per query, instead of ``qid``
        level : chance of the intervals
        n_draws : number of draws
        random_state : seed of the draws
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be a number between 0 and 1, not {level!r}")
        if not Integer(1).accepts(n_draws):
            raise ValueError(f"n_draws must be a whole number of at least 1, not {n_draws!r}")
        matrix, groups = self._listed(X, qid, group_sizes, "uncertainty")
        found = np.stack([part.scores(matrix, groups, self.n_jobs) for part in self.members_])
        return uncertainty(found, groups, self.noise_, level, n_draws, random_state)

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        arrays |= {"member_trees": self.member_trees_, "member_bases": self.member_bases_}
        if self.oob_prediction_ is not None:
            arrays["oob_prediction"] = self.oob_prediction_
        return {**values, "oob_score": self.oob_score_, "noise": self.noise_}, arrays

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        trees, bases = arrays["member_trees"], arrays["member_bases"]
        n_trees = self.model_.ensemble.n_trees if isinstance(self.model_, TreesModel) else 0
        if (
            trees.ndim != 1
            or trees.shape != bases.shape
            or (trees.dtype != np.int64 and trees.size > 0)  # 1.0.0 wrote no trees as float64
            or bases.dtype != np.float64
            or trees.min(initial=0) < 0
            or trees.sum() != n_trees
            or not np.isfinite(bases).all()
        ):
            raise ModelError("the members of a bag do not add up to its model")
        self.member_trees_, self.member_bases_ = trees, bases
        self.oob_prediction_ = arrays.get("oob_prediction")
        self.oob_score_, self.noise_ = values["oob_score"], values["noise"]
        known = self.oob_score_ is None or isinstance(self.oob_score_, float)
        if not known or not isinstance(self.noise_, float) or not 0 <= self.noise_ < np.inf:
            raise ModelError("the out-of-bag values of a bag are no numbers")


def _n_trees(model: Model) -> int:
    assert isinstance(model, TreesModel)
    return model.ensemble.n_trees


def _base(model: Model) -> float:
    assert isinstance(model, TreesModel)
    return float(model.plain().ensemble.base_score[0])
