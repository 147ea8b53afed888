"""PLRank: the Plackett-Luce likelihood of ground-truth permutations."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import EQUAL_LABELS, EQUAL_LABELS_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.paper_settings import (
    PLAIN_TREES,
    XIA_SIZES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Integer, Real
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "system 0, and algorithm 1",
        {
            **PLAIN_TREES,
            "k": (10, "section 4"),
            "n_permutations": (3, "section 4.3 recommends obj=3"),
            "equal_labels": ("keep", "algorithm 1 shuffles and sorts every query"),
            **XIA_SIZES,
        },
        departures=(
            "a leaf's Newton step is limited to 100 (`max_step`), where the likelihood is flat",
        ),
    ),
}


@register_ranker(
    "plrank",
    paper="Xia, Zhai and Wang 2019",
    optimises="Plackett-Luce likelihood of permutations",
    variants={f"PLRank(obj={n})": {"n_permutations": n} for n in (1, 3, 6)},
    papers=PAPERS,
)
class PLRank(BoostedRanker):
    r"""Boosting with the likelihood of a Plackett-Luce model: a listwise ranker.

    A ground-truth permutation sorts the documents of a query by descending label, with ties in
    random order. The context :math:`C_j` of position j contains all documents except those at
    earlier positions, and :math:`p(d|C) = e^{s_d} / \sum_{c \in C} e^{s_c}`. The loss is
    :math:`-\sum_{j \le K} \log p(d_j|C_j)`, averaged over the permutations of the query. Each tree
    is fitted by least squares to its negative gradient,

    .. math:: \mathbf{1}(d \text{ among the first } K) - \sum_{C \ni d} p(d|C).

    The value of a leaf U is the Newton step of all its documents together,

    .. math::
        v_U = \frac{\sum_{d \in U} -g_d}{\lambda + \sum_C p'_C (1 - p'_C)}, \qquad
        p'_C = \sum_{d \in U \cap C} p(d|C),

    where :math:`\lambda` is ``l2``; the paper has no such term (equation 9). The permutations of a
    query share many contexts. Equal contexts are stored once, with their number (table 3).
    ``min_samples_leaf`` and ``min_child_weight`` apply to leaf-wise trees only; ``tree="auto"``
    grows leaf-wise trees if one of the two is given.

    Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    k: int = param(10, Integer(1), "number of top positions in the likelihood (the paper's K)")
    n_permutations: int = param(
        3,
        Integer(1, 10_000),
        "ground-truth permutations per query (the paper's obj; it recommends 3)",
    )
    equal_labels: str = param("skip", EQUAL_LABELS, EQUAL_LABELS_MEANING)
    max_step: float = param(100.0, Real(0, above=True), "limit of a leaf's Newton step")

    @property
    def _growth(self) -> str:
        """How trees grow; limits of leaves hold in leaf-wise trees only."""
        limited = self.min_samples_leaf is not None or self.min_child_weight is not None
        return "leafwise" if self.tree == "auto" and limited else super()._growth

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        own = "on leaf values, which are Newton steps of their own"
        unused = {"l1": own}
        if self._growth == "oblivious":
            oblivious = f"{own}, in oblivious trees (tree='leafwise' obeys it)"
            unused |= {"min_samples_leaf": oblivious, "min_child_weight": oblivious}
        return {**super()._unused_parameters(data), **unused}

    def _objective(self, data: TrainingData) -> Objective:
        return PlackettLuceLikelihood(
            data,
            k=self.k,
            n_permutations=self.n_permutations,
            l2=self.l2,
            max_step=self.max_step,
            keep_equal=self.equal_labels == "keep",
        )
