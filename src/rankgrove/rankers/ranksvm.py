"""RankSVM: linear scores that keep a margin between documents of different labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rankgrove.errors import DataWarning
from rankgrove.linear.cutting_planes import minimise_nonsmooth
from rankgrove.linear.hinge import LARGEST_C, PairHingeLoss
from rankgrove.linear.lbfgs import minimise
from rankgrove.models.linear_features import LinearFeatures
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.linear import Floats, LinearRanker
from rankgrove.rankers.base.paper_settings import (
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Choice, Integer, Real
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, section 4.3 (svm_rank)",
        {"C": (0.01, "one of the values that are tuned; svm_rank's default")},
        tuned={"C": (0.001, 0.01, 0.1, 1, 10, 100, 1000)},
    ),
}


@register_ranker(
    "ranksvm",
    paper="Joachims 2006 (SVM-rank)",
    optimises="hinge loss of pairs, with the widest margin",
    papers=PAPERS,
)
class RankSVM(LinearRanker):
    r"""Linear support vector machine on pairs of documents.

    With N queries, the objective is that of svm_rank,

    .. math::
        \frac{1}{2} |w|^2 + \frac{C}{N} \sum_q \sum_{i, j \in q: y_i > y_j}
        \max(0, 1 - w^T (x_i - x_j))^p,

    p = 1 for ``loss="hinge"`` and p = 2 for ``loss="squared_hinge"``. Pairs are never listed: the
    sums over all of them, and their gradient, take O(n log n) by sorting each query. The hinge has
    corners and is minimised by cutting planes, as svm_rank does, with a line search; the squared
    hinge is smooth and minimised by L-BFGS, which is the quicker where features are many or not
    normalised. A step is one iteration. Two documents of weights a and b make a pair of weight
    :math:`\sqrt{ab}`.

    As in svm_rank, scales matter: normalise features that differ much (``normalisation``).

    Joachims, "Training Linear SVMs in Linear Time", 2006.
    """

    C: float = param(
        0.01, Real(1e-12, LARGEST_C), "how much pairs count against the margin, as in svm_rank"
    )
    loss: str = param("hinge", Choice("hinge", "squared_hinge"), "of a pair")
    pairs: str = param(
        "all",
        Choice("all", "by-query"),
        "whether every pair counts the same (svm_rank's -l 1), or all pairs of a query together as "
        "much as one (-l 2)",
    )
    max_iter: int = param(1000, Integer(1), "maximum number of iterations")
    tolerance: float = param(
        1e-3,
        Real(0, above=True),
        "hinge: end where the objective is at most this share above the optimum; squared hinge: "
        "where the gradient has shrunk to this share of what it was at the start",
    )

    def _n_planned(self, fit: Fit) -> int:
        return self.max_iter

    def _walk(self, fit: Fit, features: LinearFeatures, add: Callable[[Floats], bool]) -> None:
        squared = self.loss == "squared_hinge"
        loss = PairHingeLoss(
            fit.data, features, C=self.C, squared=squared, by_query=self.pairs == "by-query"
        )
        if squared:
            minimise(
                loss.with_margin,
                features.spreads(),
                max_iter=self.max_iter,
                tolerance=self.tolerance,
                on_step=add,
            )
        else:
            above = minimise_nonsmooth(
                loss,
                features.n_features,
                max_iter=self.max_iter,
                tolerance=self.tolerance,
                on_step=add,
            )
            if above > self.tolerance:
                warnings.warn(
                    f"the objective of RankSVM may be {100 * above:.2g} % above its optimum: raise "
                    "max_iter, or bring features to similar scales by normalisation='query-zscore'",
                    DataWarning,
                    stacklevel=5,
                )
