"""A ranker that is chosen by the data: a short race, then a bag of the winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove._counts import counted
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.rankers.bagged import Bagged
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.members import learnt_member
from rankgrove.rankers.base.parameters import Choice, Integer
from rankgrove.rankers.base.query_samples import fold_of_queries, query_sample
from rankgrove.rankers.base.ranker_text import read_ranker
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.uncertainty import as_grouped
from rankgrove.training.fit_evaluation import FitEvaluation, held_out_set
from rankgrove.trees.bin_cache import bins_of_samples
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]

# The first one wins unless another is better by more than the standard error of the difference.
CANDIDATES = ("yetirank", "queryrmse", "lambdamart", "yetirank:tree=leafwise")
LINEAR = "listmle"
FEWEST_QUERIES = 20  # that can decide a race
_MOST_LINEAR_VALUES = 20_000_000
_PATIENCE = 50
_HELD_OUT = 4  # without eval_set, one query in this many decides the race


@dataclass(frozen=True)
class Chosen:
    """What was chosen.

    Attributes
    ----------
    text : the ranker
    reason : one line for people
    values : the metric of each candidate on the queries that decided
    """

    text: str
    reason: str
    values: dict[str, float]


@register_ranker("auto", paper="docs/how-to/which-ranker.md", optimises="the metric, by a race")
class Auto(BaseRanker):
    """A ranker chosen by the data, with no parameter to set.

    1. Candidates are boosted oblivious trees by YetiRank, QueryRMSE and LambdaMART, leaf-wise ones
       by YetiRank, and the linear ListMLE if the matrix has at most 20 million values. Labels that
       ``metric`` cannot measure (negative ones, say) leave QueryRMSE alone.
    2. They race: each is fitted once and cut on ``eval_set``; without one, on a quarter of the
       queries, which are drawn by the seed. YetiRank wins unless another one is better there by
       more than one standard error of the difference, paired over queries; of several such, the
       best. Fewer than 20 queries decide nothing: YetiRank is taken.
    3. The winner is bagged (``Bagged``): ``n_bags`` fits on bootstrap samples of all training
       queries, cut on ``eval_set`` or on the queries that a sample left out.

    Attributes
    ----------
    chosen_ : the text of the winner
    reason_ : one line that says what was chosen and why
    race_ : the metric of each candidate on the queries that decided
    """

    family: ClassVar[str] = "auto"
    takes_categories: ClassVar[bool] = True  # its parts say if they do not
    can_be_bagged: ClassVar[bool] = False

    metric: Any = metric_param("ndcg@10", "that decides the race, and where members end")
    n_bags: int = param(10, Integer(1, 1000), "members of the bag of the winner")
    n_estimators: int = param(500, Integer(1), "maximum number of boosting iterations of a member")
    missing: str = param("keep", Choice("keep"), "trees keep missing values; linear: 0")

    def check_params(self) -> None:
        """Check the parameters."""
        super().check_params()
        if as_metric(self.metric).of_probabilities:
            raise ValueError(
                f"parameter metric of {type(self).__name__} must measure scores, not "
                f"probabilities, as {self.metric} does: choose one such as 'ndcg@10'"
            )

    @property
    def stops_early(self) -> bool:
        """True: members are boosted."""
        return True

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        return None

    def _check_labels(self, data: RankingInput) -> None:
        if data.X.cache is not None:
            raise ModelError("Auto draws samples of the queries, which streams do not allow: load")

    def planned_trees(self) -> tuple[int, int]:
        """Return that no forest grows, and the steps of all members."""
        return 0, self.n_estimators * self.n_bags

    def _learn(self, fit: Fit) -> FitResult:
        chosen = self._choose(fit)
        bag = Bagged(
            ranker=self._text(chosen.text),
            n_bags=self.n_bags,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=fit.seed,
            verbose=self.verbose,
        )
        bag.check_params()
        rounds = _PATIENCE if fit.evaluation.patience is None else fit.evaluation.patience
        if not self._measurable(fit.data):
            bag.metric = "rmse"
        evaluation = replace(fit.evaluation, patience=rounds)
        learnt = bag._learn(replace(fit, evaluation=evaluation))
        attributes = {"chosen_": chosen.text, "reason_": chosen.reason, "race_": chosen.values}
        return FitResult(learnt.model, attributes, learnt.interrupted)

    def _text(self, candidate: str) -> str:
        if candidate == LINEAR:
            return candidate
        return f"{candidate}{',' if ':' in candidate else ':'}n_estimators={self.n_estimators}"

    def _measurable(self, data: RankingInput) -> bool:
        try:
            groups = as_grouped(data.groups)
            as_metric(self.metric).prepare(data.y, groups, n_jobs=self.n_jobs, part=True)
        except ValueError:
            return False
        return True

    def _choose(self, fit: Fit) -> Chosen:
        """Compare the candidates, or return the reason why no comparison is possible."""
        first = CANDIDATES[0]
        if not self._measurable(fit.data):
            centred = CANDIDATES[1]
            return Chosen(centred, f"{centred}: {self.metric} cannot measure these labels", {})
        held_out = fit.evaluation.held_out
        n_queries = int(np.count_nonzero(fit.data.groups.sizes))
        n_judges = (
            int(np.count_nonzero(held_out[-1].data.groups.sizes))
            if held_out
            else n_queries // _HELD_OUT
        )
        if n_judges < FEWEST_QUERIES:
            why = f"{counted(n_judges, 'query')} to decide a race, fewer than {FEWEST_QUERIES}"
            return Chosen(first, f"{first}: {why}", {})
        return self._race(fit)

    def _race(self, fit: Fit) -> Chosen:
        metric = as_metric(self.metric)
        data, unseen, evaluation = self._division(fit)
        n_rows, n_columns = fit.data.X.shape
        candidates = list(CANDIDATES)
        if n_rows * n_columns <= _MOST_LINEAR_VALUES and not fit.data.X.categories:
            candidates.append(LINEAR)
        groups = as_grouped(unseen.groups)
        prepared = metric.prepare(unseen.y, groups, n_jobs=self.n_jobs, part=True)
        values: dict[str, Floats] = {}
        with bins_of_samples():
            for candidate in candidates:
                ranker = read_ranker(self._text(candidate))
                ranker.set_params(n_jobs=self.n_jobs, random_state=fit.seed)
                model = learnt_member(ranker, fit, data, evaluation())
                values[candidate] = prepared.per_query(_grouped(model, unseen, self.n_jobs))
        return _decided(values, metric, groups.n_queries)

    def _division(self, fit: Fit) -> tuple[RankingInput, RankingInput, Any]:
        """Return what candidates learn from, the queries that decide, and how fits are cut."""
        given = fit.evaluation
        if given.held_out:
            unseen, data = given.held_out[-1].data, fit.data
            sets, greater = given.held_out, given.greater_is_better
        else:
            fold = fold_of_queries(fit.data.groups.n_queries, _HELD_OUT, fit.seed)
            data = query_sample(fit.data, np.flatnonzero(fold > 0))
            unseen = query_sample(fit.data, np.flatnonzero(fold == 0))
            metric = as_metric(self.metric)
            sets = [held_out_set("race", unseen, metric, self.n_jobs)]
            greater = metric.greater_is_better

        def evaluation() -> FitEvaluation:
            restarted = given.restarted(sets, greater)
            restarted.patience = _PATIENCE if given.patience is None else given.patience
            return restarted

        return data, unseen, evaluation

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        own = {"chosen": self.chosen_, "reason": self.reason_, "race": self.race_}
        return {**values, **own}, arrays

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        chosen, reason, race = values["chosen"], values["reason"], values["race"]
        if not isinstance(chosen, str) or not isinstance(reason, str) or not isinstance(race, dict):
            raise ModelError("the choice of an automatic ranker is no text")
        self.chosen_, self.reason_, self.race_ = chosen, reason, race


def _grouped(model: Model, data: RankingInput, n_jobs: int | None) -> Floats:
    """Return the scores of the documents of a sample, in grouped order."""
    if data.groups.order is None:
        return scores(model, data, n_jobs)
    rows = data.X.select_rows(data.groups.order)
    return model.scores(rows, as_grouped(data.groups), n_jobs)


def _decided(values: Mapping[str, Floats], metric: Metric, n_queries: int) -> Chosen:
    """Choose by the values of the metric per query."""
    first = CANDIDATES[0]
    sign = 1 if metric.greater_is_better else -1
    means = {name: float(np.nanmean(found)) for name, found in values.items()}
    best, why = first, "no other was better by more than a standard error"
    for name, found in values.items():
        difference = sign * (found - values[first])[~np.isnan(found - values[first])]
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
        if name != first and difference.mean() > error and sign * means[name] > sign * means[best]:
            best = name
            why = f"{sign * difference.mean():+.4f} (standard error {error:.4f}) against {first}"
    shown = ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())
    reason = f"{best}: {why}; {metric} on {n_queries} queries: {shown}"
    return Chosen(best, reason, means)
