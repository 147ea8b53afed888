"""ListMLE: linear scores that make the right order the most likely one."""

from __future__ import annotations

from collections.abc import Callable

from rankgrove.linear.lbfgs import minimise
from rankgrove.linear.likelihood import PermutationLikelihood
from rankgrove.models.linear_features import LinearFeatures
from rankgrove.rankers.base.common_parameters import EQUAL_LABELS, EQUAL_LABELS_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.linear import Floats, LinearRanker
from rankgrove.rankers.base.paper_settings import (
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Integer, Nothing, Real
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "system 11, and equation 5",
        {
            "k": (10, "section 4"),
            "sigma": (1.0, "equation 5: a prior of unit variance"),
            "n_permutations": (1, "section 3.1: one ground-truth permutation"),
            "equal_labels": ("keep", "no query is left out"),
            "max_iter": (100, "section 4.2: 100 iterations on Yahoo, 1000 on Microsoft 30K"),
        },
    ),
}


@register_ranker(
    "listmle",
    paper="Xia et al. 2008; Xia, Zhai and Wang 2019",
    optimises="Plackett-Luce likelihood of the right order",
    papers=PAPERS,
)
class ListMLE(LinearRanker):
    r"""Linear ListMLE, a listwise ranker.

    With scores :math:`s_d = w^T x_d` and a permutation :math:`\pi` that sorts the documents of a
    query by label, ties at random, the objective is

    .. math::
        -\sum_q \sum_{j \le k} \log \frac{e^{s_{\pi(j)}}}{\sum_{i \ge j} e^{s_{\pi(i)}}}
        + \frac{|w|^2}{2 \sigma^2},

    the Plackett-Luce likelihood of the first k places and a Gaussian prior (of unit variance in
    the paper, equation 5). It is convex, and minimised by L-BFGS from 0; a step is one iteration.
    The weight of a query is the mean weight of its documents.

    Xia, Liu, Wang, Zhang and Li, "Listwise Approach to Learning to Rank: Theory and Algorithm",
    2008; as the baseline l-ListMLE, with the ten first places, in Xia, Zhai and Wang,
    "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    k: int | None = param(
        10, AnyOf(Integer(1), Nothing()), "places at the top that count; None: all"
    )
    sigma: float = param(1.0, Real(1e-6, 1e6), "standard deviation of the prior of each weight")
    n_permutations: int = param(
        1, Integer(1, 10000), "permutations per query, their ties shuffled differently"
    )
    equal_labels: str = param("skip", EQUAL_LABELS, EQUAL_LABELS_MEANING)
    max_iter: int = param(100, Integer(1), "maximum number of iterations of L-BFGS")
    tolerance: float = param(
        1e-5,
        Real(0, above=True),
        "end where the gradient has shrunk to this share of what it was at the start",
    )

    def _n_planned(self, fit: Fit) -> int:
        return self.max_iter

    def _walk(self, fit: Fit, features: LinearFeatures, add: Callable[[Floats], bool]) -> None:
        objective = PermutationLikelihood(
            fit.data,
            features,
            k=self.k,
            n_permutations=self.n_permutations,
            sigma=self.sigma,
            keep_equal=self.equal_labels == "keep",
            seed=fit.seed,
        )
        minimise(
            objective,
            features.spreads(),
            max_iter=self.max_iter,
            tolerance=self.tolerance,
            on_step=add,
        )
