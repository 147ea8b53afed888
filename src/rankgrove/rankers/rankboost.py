"""RankBoost: AdaBoost over pairs of documents, with thresholds on features."""

from __future__ import annotations

from typing import ClassVar

from rankgrove._threads import resolve_n_jobs
from rankgrove.boosting.loop import BinnedOutputs, Boosting
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.rankboost import PairExponential, rank_gain
from rankgrove.boosting.sampling import RowSampler
from rankgrove.boosting.start import Start
from rankgrove.data.core.categories import MAX_CATEGORIES
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.boosted import run_boosting
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.paper_settings import (
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Integer
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.tree_ranker import TreeRanker
from rankgrove.trees.bin_cache import cached_codes
from rankgrove.trees.binning import saw_missing
from rankgrove.trees.category_rules import CategoryRules
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import TreeGrower
from rankgrove.trees.shared_binning import shared_bins

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, appendix F (RankLib)",
        {
            "n_estimators": (500, "appendix F"),
            "max_bins": (10, "not said; RankLib's default of thresholds (-tc 10)"),
        },
    ),
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, section 4.3 (RankLib)",
        {
            "n_estimators": (300, "the number of rounds is tuned, up to RankLib's default"),
            "max_bins": (10, "not said; RankLib's default of thresholds (-tc 10)"),
        },
    ),
}
_ONE_AGAINST_REST = CategoryRules(
    smoothing=0.0, l2=0.0, max_listed=1, max_onehot=MAX_CATEGORIES, min_samples=1, penalty=0.0
)


@register_ranker(
    "rankboost",
    paper="Freund, Iyer, Schapire and Singer 2003",
    optimises="exponential loss of pairs",
    papers=PAPERS,
)
class RankBoost(TreeRanker):
    r"""RankBoost, pairwise boosting of decision stumps.

    A pair is two documents of a query with different labels. Round t weighs the pair of i (lower)
    and j (higher label) by :math:`D_t(i, j) \propto e^{f(i) - f(j)}`, f being the score so far,
    and adds :math:`\alpha_t h_t` to it: the weak ranker :math:`h(x) = [x_k > \theta]` that has the
    largest

    .. math:: |r|, \quad r = \sum_{i, j} D_t(i, j) (h(x_j) - h(x_i)) = \sum_d \pi(d) h(x_d), \quad
        \text{weighted by } \alpha = \frac{1}{2} \ln \frac{1 + r}{1 - r}.

    Pairs are never listed: the potentials :math:`\pi(d) = \sum_i D(i, d) - \sum_j D(d, j)` take
    O(n), and all thresholds of a feature another O(n) on its bins. A missing value goes to the side
    that r prefers. For a categorical feature, h is 0 for one category and 1 for all others. The
    model is a sum of stumps; a step is one round. With ``init_model``, f starts at the scores of
    that model.

    Freund, Iyer, Schapire and Singer, "An Efficient Boosting Algorithm for Combining Preferences",
    2003.
    """

    family: ClassVar[str] = "boosted stumps"
    learns_in_steps: ClassVar[bool] = True
    continues_models: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...]] = ("rows",)

    n_estimators: int = param(300, Integer(1), "maximum number of rounds")
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )

    def _learn(self, fit: Fit) -> FitResult:
        data, n_jobs = fit.data, self.n_jobs
        bins = shared_bins(data.X, fit.shard, max_bins=self.max_bins, fill=fit.fill, n_jobs=n_jobs)
        binned = cached_codes(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
        objective = PairExponential(
            TrainingData(
                data.y,
                data.groups.offsets,
                data.weight,
                n_threads=resolve_n_jobs(n_jobs),
                seed=fit.seed,
                shard=fit.shard,
            )
        )
        start = Start.of(fit.init_model, objective, type(self).__name__)
        eval_outputs = {
            eval_set.name: BinnedOutputs.of(eval_set.data, bins, start, n_jobs)
            for eval_set in fit.evaluation.held_out
        }
        boosting = Boosting(
            objective=objective,
            grower=TreeGrower(
                binned,
                max_leaf_nodes=2,
                criterion=rank_gain,
                categories=_ONE_AGAINST_REST,
                n_jobs=n_jobs,
                shard=fit.shard,
            ),
            sampler=RowSampler(data.groups, fit.shard, fit.seed),
            outputs=start.scores(data, n_jobs),
            learning_rate=1.0,
            seed=fit.seed,
            n_jobs=n_jobs,
            eval_outputs=list(eval_outputs.values()),
        )
        loop = run_boosting(self, fit, boosting, eval_outputs, bins)
        stumps = [tree for (tree,) in boosting.trees[: loop.n_kept]]
        model = TreesModel(
            columns=data.columns,
            absent=data.absent,
            ensemble=TreeEnsemble.from_trees(stumps, data.columns.count),
            fill=fit.fill,
            saw_missing=saw_missing(bins),
        )
        return FitResult(start.followed_by(model), interrupted=loop.interrupted)
