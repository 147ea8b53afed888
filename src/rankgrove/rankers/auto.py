"""A ranker that is chosen by the data: a short race, then a blend of those that are level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.models.sums import side_by_side
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.bagged import Bagged
from rankgrove.rankers.base.blending import spread
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.members import learnt_member
from rankgrove.rankers.base.parameters import Choice, Flag, Integer
from rankgrove.rankers.base.query_samples import fold_of_queries, query_sample
from rankgrove.rankers.base.ranker_text import read_ranker
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.uncertainty import as_grouped
from rankgrove.training.fit_evaluation import FitEvaluation, held_out_set
from rankgrove.trees.bin_cache import bins_of_samples
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]

# Boosted trees, which are bagged: they vary with the sample.
BAGGED = ("yetirank", "queryrmse")
# A linear ranker and a forest, which vary little: one fit each, and only on data of moderate size.
SINGLE = {"listmle": "listmle", "extra-trees": "extra-trees:n_estimators=200,max_features=0.5"}
CANDIDATES = (*BAGGED, *SINGLE)
FEWEST_QUERIES = 20  # that can decide a race
_MOST_SINGLE_VALUES = 20_000_000
_PATIENCE = 50
_HELD_OUT = 4  # without eval_set, one query in so many decides the race


@dataclass(frozen=True)
class Chosen:
    """What was chosen.

    Attributes
    ----------
    names : the candidates that are blended, best first
    reason : one line for people
    values : the metric of each candidate on the queries that decided
    fits : models of the race that learnt from all training queries
    """

    names: tuple[str, ...]
    reason: str
    values: dict[str, float]
    fits: Mapping[str, Model] = field(default_factory=dict)


@register_ranker("auto", paper="docs/how-to/which-ranker.md", optimises="the metric, by a race")
class Auto(BaseRanker):
    """A ranker chosen by the data, with no parameter to set.

    1. Candidates are boosted oblivious trees by YetiRank and QueryRMSE, and, if the matrix has at
       most 20 million values, the linear ListMLE and a forest (``ExtraTrees``). Labels that
       ``metric`` cannot measure (negative ones, say) leave QueryRMSE alone.
    2. They race: each is fitted once and cut on ``eval_set``; without one, on a quarter of the
       queries, which are drawn by the seed. All stay that are not worse there than the best one by
       more than one standard error of the difference, paired over queries. Fewer than 20 queries
       decide nothing: YetiRank is taken.
    3. Of those that stay, boosted trees are bagged (``Bagged``): ``n_bags`` fits on bootstrap
       samples of all training queries, cut on ``eval_set`` or on the queries that a sample left
       out. The linear ranker and the forest are fitted once to all training queries.
    4. The score is the mean of theirs, each divided by its standard deviation within queries.

    A blend with the linear ranker saves, loads, explains and serves as any model, but no target of
    an export has such sums: ``blend=False`` takes one candidate alone, YetiRank unless another is
    better by more than one standard error.

    Attributes
    ----------
    chosen_ : the names of those that stayed, the best first, joined by " + "
    reason_ : one line that says what was chosen and why
    race_ : the metric of each candidate on the queries that decided
    """

    family: ClassVar[str] = "auto"
    takes_categories: ClassVar[bool] = True  # its parts say if they do not
    can_be_bagged: ClassVar[bool] = False

    metric: Any = metric_param("ndcg@10", "that decides the race, and where members end")
    n_bags: int = param(10, Integer(1, 1000), "members of each bag of boosted trees")
    n_estimators: int = param(500, Integer(1), "boosting iterations of a member at most")
    blend: bool = param(True, Flag(), "candidates that are level are blended; False: one alone")
    missing: str = param("keep", Choice("keep"), "trees keep missing values; linear: 0")

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
        """Return that no forest is sure to grow, and the steps of one bag."""
        return 0, self.n_estimators * self.n_bags

    def _learn(self, fit: Fit) -> FitResult:
        chosen = self._choose(fit)
        models: list[Model] = []
        interrupted = False
        for name in chosen.names:
            if not interrupted:
                model, interrupted = self._part(name, fit, chosen.fits)
                models.append(model)
        attributes = {
            "chosen_": " + ".join(chosen.names),
            "reason_": chosen.reason,
            "race_": chosen.values,
        }
        return FitResult(self._mean(models, fit), attributes, interrupted)

    def _part(self, name: str, fit: Fit, fits: Mapping[str, Model]) -> tuple[Model, bool]:
        """Fit what is blended of a candidate; tell whether Ctrl-C ended it."""
        if name in SINGLE and name in fits:
            return fits[name], False
        rounds = _PATIENCE if fit.evaluation.patience is None else fit.evaluation.patience
        evaluation = replace(fit.evaluation, patience=rounds)
        if name in SINGLE:
            own = evaluation.restarted(evaluation.held_out, evaluation.greater_is_better)
            return learnt_member(self._ranker(name, fit), fit, fit.data, own), False
        bag = Bagged(
            ranker=self._text(name),
            n_bags=self.n_bags,
            metric=self.metric if self._measurable(fit.data) else "rmse",
            n_jobs=self.n_jobs,
            random_state=fit.seed,
            verbose=self.verbose,
        )
        bag.check_params()
        learnt = bag._learn(replace(fit, evaluation=evaluation))
        return learnt.model, learnt.interrupted

    def _mean(self, models: list[Model], fit: Fit) -> Model:
        """Return the mean of scores that are made comparable; trees become one ensemble."""
        if len(models) == 1:
            return models[0]
        _, unseen, _ = self._division(fit)
        groups = as_grouped(unseen.groups)
        spreads = [spread(_grouped(m, unseen, self.n_jobs), groups) for m in models]
        weights = [1 / (len(models) * s) if s > 0 else 0.0 for s in spreads]
        weighted = list(zip(models, weights, strict=True))
        trees = [part for part in weighted if isinstance(part[0], TreesModel)]
        others = [part for part in weighted if not isinstance(part[0], TreesModel)]
        whole = side_by_side(*zip(*trees, strict=True))
        if not others:
            return whole
        return side_by_side(*zip((whole, 1.0), *others, strict=True))

    def _text(self, candidate: str) -> str:
        return SINGLE.get(candidate, f"{candidate}:n_estimators={self.n_estimators}")

    def _ranker(self, candidate: str, fit: Fit) -> BaseRanker:
        ranker = read_ranker(self._text(candidate))
        return ranker.set_params(n_jobs=self.n_jobs, random_state=fit.seed)

    def _measurable(self, data: RankingInput) -> bool:
        try:
            groups = as_grouped(data.groups)
            as_metric(self.metric).prepare(data.y, groups, n_jobs=self.n_jobs, part=True)
        except ValueError:
            return False
        return True

    def _choose(self, fit: Fit) -> Chosen:
        """Run the race, or say why there is none."""
        first = CANDIDATES[0]
        if not self._measurable(fit.data):
            centred = CANDIDATES[1]
            return Chosen((centred,), f"{centred}: {self.metric} cannot measure these labels", {})
        held_out = fit.evaluation.held_out
        n_queries = int(np.count_nonzero(fit.data.groups.sizes))
        n_judges = (
            int(np.count_nonzero(held_out[-1].data.groups.sizes))
            if held_out
            else n_queries // _HELD_OUT
        )
        if n_judges < FEWEST_QUERIES:
            why = f"{n_judges} queries to decide a race are fewer than {FEWEST_QUERIES}"
            return Chosen((first,), f"{first}: {why}", {})
        return self._race(fit)

    def _race(self, fit: Fit) -> Chosen:
        metric = as_metric(self.metric)
        data, unseen, evaluation = self._division(fit)
        n_rows, n_columns = fit.data.X.shape
        candidates = list(BAGGED)
        if n_rows * n_columns <= _MOST_SINGLE_VALUES:
            candidates += [name for name in SINGLE if self._takes(name, fit)]
        groups = as_grouped(unseen.groups)
        prepared = metric.prepare(unseen.y, groups, n_jobs=self.n_jobs, part=True)
        sign = 1 if metric.greater_is_better else -1
        values: dict[str, Floats] = {}
        fits: dict[str, Model] = {}
        with bins_of_samples():
            for name in candidates:
                fits[name] = learnt_member(self._ranker(name, fit), fit, data, evaluation())
                values[name] = sign * prepared.per_query(_grouped(fits[name], unseen, self.n_jobs))
        decided = level if self.blend else winner
        found = decided(values, str(metric), groups.n_queries)
        return replace(found, fits=fits) if data is fit.data else found

    def _takes(self, candidate: str, fit: Fit) -> bool:
        return self._ranker(candidate, fit).takes_categories or not fit.data.X.categories

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


def level(values: Mapping[str, Floats], metric: str, n_queries: int) -> Chosen:
    """Choose all that are not worse than the best one by more than a standard error.

    Values are those of queries, of which more is better.
    """
    means = {name: float(np.nanmean(found)) for name, found in values.items()}
    order = sorted(means, key=lambda name: -means[name])
    best = order[0]
    names = [best]
    for name in order[1:]:
        difference, error = _paired(values[best], values[name])
        if difference <= error:
            names.append(name)
    why = (
        "within a standard error of the best"
        if len(names) > 1
        else "all others are worse by more than a standard error"
    )
    return _chosen(tuple(names), why, means, metric, n_queries)


def winner(values: Mapping[str, Floats], metric: str, n_queries: int) -> Chosen:
    """Choose the first one, unless another is better by more than a standard error."""
    first = next(iter(values))
    means = {name: float(np.nanmean(found)) for name, found in values.items()}
    best, why = first, "no other was better by more than a standard error"
    for name, found in values.items():
        difference, error = _paired(found, values[first])
        if name != first and difference > error and means[name] > means[best]:
            best = name
            why = f"{difference:+.4f} (standard error {error:.4f}) against {first}"
    return _chosen((best,), why, means, metric, n_queries)


def _paired(values: Floats, others: Floats) -> tuple[float, float]:
    """Return the mean difference over queries and its standard error."""
    difference = (values - others)[~np.isnan(values - others)]
    if len(difference) < 2:
        return 0.0, np.inf
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def _chosen(
    names: tuple[str, ...], why: str, means: Mapping[str, float], metric: str, n_queries: int
) -> Chosen:
    shown = ", ".join(f"{name} {abs(mean):.4f}" for name, mean in means.items())
    reason = f"{' + '.join(names)}: {why}; {metric} on {n_queries} queries: {shown}"
    return Chosen(names, reason, {name: abs(mean) for name, mean in means.items()})
