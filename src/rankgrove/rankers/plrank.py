"""PLRank: the Plackett-Luce likelihood of ground-truth permutations."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.parameters import Integer, Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "plrank",
    paper="Xia, Zhai and Wang 2019",
    optimises="Plackett-Luce likelihood of permutations",
    variants={f"PLRank(obj={n})": {"n_permutations": n} for n in (1, 3, 6)},
)
class PLRank(BoostedRanker):
    r"""Boosted Plackett-Luce model, a listwise ranker.

    A ground-truth permutation sorts the documents of a query by label, ties at random. The context
    :math:`C_j` of place j holds all documents but those placed before j, and
    :math:`p(d|C) = e^{s_d} / \sum_{c \in C} e^{s_c}`. The loss is
    :math:`-\sum_{j \le K} \log p(d_j|C_j)`, averaged over the permutations of the query. Each tree
    is fitted by least squares to its negative gradient,

    .. math:: \mathbf{1}(d \text{ among the first } K) - \sum_{C \ni d} p(d|C),

    and the documents of a leaf U move together by the Newton step

    .. math::
        v_U = \frac{\sum_{d \in U} -g_d}{\lambda + \sum_C p'_C (1 - p'_C)}, \qquad
        p'_C = \sum_{d \in U \cap C} p(d|C),

    where :math:`\lambda` is ``l2``; the paper has none (equation 9). Permutations of a query share
    many contexts: equal ones are stored once, with a count (table 3).

    Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    max_leaf_nodes: int | None = with_default(BoostedRanker, "max_leaf_nodes", 30)
    k: int = param(10, Integer(1), "places at the top that count (the paper's K)")
    n_permutations: int = param(
        3,
        Integer(1, 10_000),
        "ground-truth permutations per query (the paper's obj; it recommends 3)",
    )
    max_step: float = param(100.0, Real(0, above=True), "limit of a leaf's Newton step")

    def _objective(self, data: TrainingData) -> Objective:
        return PlackettLuceLikelihood(
            data,
            k=self.k,
            n_permutations=self.n_permutations,
            l2=self.l2,
            max_step=self.max_step,
        )
