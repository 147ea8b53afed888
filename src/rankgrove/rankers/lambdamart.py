"""LambdaMART: pairs of documents, weighted by the change of the metric if they were swapped."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.objectives.position_bias import (
    CorrectedGains,
    ShownPositions,
    UnbiasedLambdas,
    WeightedPairs,
)
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.click_boosted import ClickBoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.paper_settings import (
    PLAIN_TREES,
    RANKLIB_TREES,
    XIA_SIZES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Flag, Integer, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker

LAMBDA_METRIC = re.compile(r"map|(ndcg|err|mrr)(@[1-9][0-9]*)?")


_LAMBDAS = {
    "metric": ("ndcg", "every pair is weighted by its change of NDCG, without a cut-off"),
    "truncation": (None, "all pairs of documents with different labels"),
    "norm": (False, "no normalisation of the lambdas"),
}
_RANKLIB = {
    **_LAMBDAS,
    **RANKLIB_TREES,
    "metric": ("ndcg@10", "the metric that is reported; the text names none for RankLib"),
}
PAPERS = {
    "burges-2010": PaperSettings(
        "Burges, From RankNet to LambdaRank to LambdaMART: An Overview, 2010, section 7",
        {
            **_LAMBDAS,
            **PLAIN_TREES,
            "n_estimators": (1000, "not in the overview; Xia, Zhai and Wang 2019, section 4"),
            "learning_rate": (0.1, "not in the overview; that of Wu et al. 2010"),
            "max_leaf_nodes": (30, "not in the overview; that of Wu et al. 2010"),
        },
    ),
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "system 1",
        {
            **_LAMBDAS,
            **PLAIN_TREES,
            **XIA_SIZES,
        },
    ),
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, appendix F (jforests)",
        {
            **_LAMBDAS,
            "tree": ("leafwise", "jforests' regression trees, best leaf first"),
            "min_samples_leaf": (20, "not said; a limit of jforests is 0.25 % of the documents"),
            "min_child_weight": (0.001, "not said"),
            "criterion": ("least_squares", "not said; jforests' regression trees"),
            "l2": (0.0, "not said; jforests has none"),
            "n_estimators": (500, "appendix F"),
            "max_leaf_nodes": (31, "appendix F"),
            "learning_rate": (0.05, "not said; jforests' example of a configuration"),
            "subsample": (0.3, "not said; jforests' example"),
            "max_features": (0.3, "not said; jforests' example"),
        },
        departures=(
            "jforests limits leaves to at least 0.25 % of the documents; `min_samples_leaf` is a "
            "number",
        ),
    ),
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, section 4.3 (RankLib)",
        {
            **_RANKLIB,
            "n_estimators": (1000, "section 4.3"),
            "learning_rate": (0.1, "section 4.3"),
            "max_leaf_nodes": (10, "not said; RankLib's default"),
        },
        tuned={
            "n_estimators": (*range(1, 101), *range(200, 1001, 100)),
            "learning_rate": (0.025, 0.05, 0.075, 0.1),
        },
    ),
    "modry-2016": PaperSettings(
        "Modry and Ferov, Enhancing LambdaMART Using Oblivious Trees, 2016, section 4.2 (RankLib)",
        {
            **_RANKLIB,
            "metric": ("ndcg@10", "section 4.2: lambdas optimise NDCG@10"),
            "n_estimators": (1000, "section 4.2, cut where validation NDCG@10 is best"),
            "learning_rate": (0.11, "table 3: the best of 64 leaves"),
            "max_leaf_nodes": (64, "table 3: the best"),
        },
        tuned={
            "learning_rate": (0.11, 0.13, 0.15, 0.17, 0.19),
            "max_leaf_nodes": (8, 16, 32, 64),
        },
    ),
}


@register_ranker(
    "lambdamart",
    paper="Burges 2010",
    optimises="NDCG, MAP, ERR or MRR, through pairs",
    papers=PAPERS,
)
class LambdaMART(ClickBoostedRanker):
    r"""LambdaMART for NDCG, MAP, ERR or MRR.

    Let documents i and j of a query have the labels :math:`y_i > y_j`, let :math:`|\Delta_{ij}|` be
    the absolute change of the metric if the two exchange their positions in the current ranking,
    and let :math:`\rho_{ij} = 1 / (1 + e^{\sigma (s_i - s_j)})`. The pair adds

    .. math::
        g_i \mathrel{-}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        g_j \mathrel{+}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        h_i, h_j \mathrel{+}= \sigma^2 |\Delta_{ij}| \rho_{ij} (1 - \rho_{ij})

    to the gradients and Hessians of its documents. Documents are ranked by descending score; ties
    keep the order of the data. Three parameters change the pairs:

    - ``truncation``: only pairs with at least one document among the first ``truncation`` ranks
      count, and NDCG without a cut-off is divided by the ideal DCG of that many ranks.
    - ``norm``: each :math:`|\Delta_{ij}|` is divided by :math:`0.01 + |s_i - s_j|` (except in a
      query whose scores are all equal). Then the gradients and Hessians of a query are multiplied
      by :math:`\log_2(1 + S) / S`, where S is the sum of the lambdas of its documents.
    - ``noise`` c: each iteration replaces the scores by :math:`s_i + c \log\frac{u_i}{1 - u_i}`,
      with new uniform random numbers :math:`u_i`, before it ranks the documents and computes the
      lambdas (stochastic LambdaMART; Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are
      Important for Learning to Rank?", 2023).

    With clicks as labels, ``position_bias`` corrects for the position :math:`k_i` at which a
    document was shown:

    - ``"ips"``: a pair of a clicked document i and another one j is divided by the propensity of i.
    - ``"unbiased"``: it is divided by ratios :math:`t^+_{k_i} t^-_{k_j}`, which are estimated
      together with the trees (Hu, Wang, Peng and Li, "Unbiased LambdaMART", 2019).
    - ``"additive"``: lambdas are computed at :math:`s_i + b_{k_i}`, with estimated biases b.
    - ``"trust"``: lambdas are those of DCG with the gains
      :math:`(c_i - \beta_{k_i}) / \alpha_{k_i}` (Vardasbi, Oosterhuis and de Rijke, "When
      Inverse Propensity Scoring does not Work", 2020).

    Except with ``"additive"``, these corrections switch off the normalisation of queries, which
    would undo the weights.

    Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", 2010.
    """

    position_biases: ClassVar[tuple[str, ...]] = ("ips", "unbiased", "additive", "trust")

    metric: str = param(
        "ndcg",
        Satisfies(
            lambda text: isinstance(text, str) and LAMBDA_METRIC.fullmatch(text) is not None,
            "'ndcg', 'err', 'mrr' (each with a cut-off such as @10 if wanted) or 'map'",
            str,
        ),
        "the metric whose changes weight the pairs",
    )
    truncation: int | None = param(
        30,
        AnyOf(Integer(1), Nothing()),
        "a pair counts if one of its documents is among the first `truncation` ranks; None: all "
        "pairs, which takes time quadratic in the documents of a query",
    )
    sigma: float = param(1.0, Real(1e-6, 1e6), "steepness of the pair probability")
    norm: bool = param(True, Flag(), "normalise the lambdas by score difference and by query")
    gain: Any = param("exp", GAIN, GAIN_MEANING + "; for NDCG and (no table) ERR")
    relevant_from: float = param(1.0, Real(), "lowest label that is relevant, for MAP and MRR")
    max_grade: float | None = param(
        None,
        AnyOf(Real(0, 53, above=True), Nothing()),
        "highest label of the scale, for ERR; None: the highest in the training data",
    )
    noise: float = param(
        0.0, Real(0, 1e6), "scale of logistic noise on the scores in each iteration; 0: none"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        return {**super()._unused_parameters(data), **unused_by_metric(self.metric)}

    def _lambda_options(self) -> dict[str, Any]:
        metric, _, k = self.metric.partition("@")
        return {
            "metric": metric,
            "k": int(k) if k else None,
            "truncation": self.truncation,
            "sigma": self.sigma,
            "query_norm": self.norm,
            "difference_norm": self.norm,
            "gain": self.gain,
            "relevant_from": self.relevant_from,
            "max_grade": self.max_grade,
            "noise": self.noise,
        }

    def _objective(self, data: TrainingData) -> Objective:
        return LambdaGradients(data, **self._lambda_options())

    def _check_labels(self, data: RankingInput) -> None:
        super()._check_labels(data)
        if self.position_bias == "trust" and not self.metric.startswith("ndcg"):
            raise ValueError(
                f"position_bias='trust' of LambdaMART corrects gains, which metric={self.metric!r} "
                "has not: use 'ndcg'"
            )

    def _debiased(self, training: TrainingData, data: RankingInput) -> Objective:
        options = {**self._lambda_options(), "query_norm": False}
        if self.position_bias == "ips":
            return WeightedPairs(training, self._click_weights(data), **options)
        if self.position_bias == "trust":
            return CorrectedGains(training, self._trusted(data), **options)
        if self.position_bias == "unbiased":
            assert data.position is not None
            return UnbiasedLambdas(
                training,
                ShownPositions.of(data.position, training.shard),
                reg=1.0 if self.position_bias_reg is None else self.position_bias_reg,
                largest=self.max_click_weight,
                **options,
            )
        return super()._debiased(training, data)


def unused_by_metric(metric: str) -> dict[str, str]:
    """Return the parameters that have no effect with a metric to be optimised, and when."""
    uses = {"gain": ("ndcg", "dcg", "err"), "relevant_from": ("map", "mrr"), "max_grade": ("err",)}
    name = metric.partition("@")[0]
    return {key: f"with metric={metric!r}" for key, of in uses.items() if name not in of}
