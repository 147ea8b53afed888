"""MART: boosted regression on labels or gains."""

from __future__ import annotations

from typing import Any, ClassVar

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.mart import TARGETS, SquaredError
from rankgrove.boosting.start import Start
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.click_boosted import ClickBoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING, START, START_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.paper_settings import (
    PLAIN_TREES,
    RANKLIB_TREES,
    XIA_SIZES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "friedman-2001": PaperSettings(
        "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, 2001, algorithm 2",
        {
            **PLAIN_TREES,
            "start": ("mean", "algorithm 2: the mean is the best constant"),
            "n_estimators": (1000, "not said for ranking; Xia, Zhai and Wang 2019, section 4"),
            "learning_rate": (0.1, "section 5: 0.1 or less"),
            "max_leaf_nodes": (30, "not said for ranking; Xia, Zhai and Wang 2019, section 4"),
        },
    ),
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "systems 3 to 5 (MART-1: target='gain', MART-2: 'label', c-MART-1: 'normalised_gain')",
        {
            **PLAIN_TREES,
            "start": ("zero", "section 3.2.1: models are initialised to zero"),
            **XIA_SIZES,
        },
    ),
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, appendix F (RankLib)",
        {
            **RANKLIB_TREES,
            "start": ("zero", "RankLib starts from 0"),
            "n_estimators": (500, "appendix F"),
            "learning_rate": (0.1, "not said; RankLib's default"),
            "max_leaf_nodes": (7, "appendix F"),
        },
    ),
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, section 4.3 (RankLib)",
        {
            **RANKLIB_TREES,
            "start": ("zero", "RankLib starts from 0"),
            "n_estimators": (1000, "section 4.3"),
            "learning_rate": (0.1, "section 4.3"),
            "max_leaf_nodes": (10, "not said; RankLib's default"),
        },
        tuned={
            "n_estimators": (*range(1, 101), *range(200, 1001, 100)),
            "learning_rate": (0.025, 0.05, 0.075, 0.1),
        },
    ),
}


@register_ranker(
    "mart",
    paper="Friedman 2001; Xia, Zhai and Wang 2019",
    optimises="squared error of label or gain",
    variants={
        "MART-1": {"target": "gain"},
        "MART-2": {"target": "label"},
        "c-MART-1": {"target": "normalised_gain"},
    },
    papers=PAPERS,
)
class MART(ClickBoostedRanker):
    r"""Multiple additive regression trees: boosting with the squared error of single documents.

    The loss is :math:`\frac12 \sum_d w_d (s_d - t_d)^2`. The target t is the label r (MART-2), the
    gain :math:`2^r - 1` (MART-1), or this gain divided by the ideal DCG of the query (c-MART-1).

    With clicks c as labels, ``position_bias`` changes the target of a document at position k: to c
    divided by its propensity (``"ips"``), or to :math:`(c - \beta_k) / \alpha_k` (``"trust"``).
    With ``"additive"``, the score plus an estimated bias of the position is fitted to c.

    Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", 2001. The names of the
    targets are those of Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task", 2019.
    """

    position_biases: ClassVar[tuple[str, ...]] = ("ips", "additive", "trust")

    target: str = param(
        "label",
        Choice(*TARGETS),
        "what is fitted: the label (MART-2), its gain (MART-1) or the gain over the ideal DCG of "
        "the query (c-MART-1)",
    )
    gain: Any = param("exp", GAIN, GAIN_MEANING)
    start: str = param("mean", START, START_MEANING)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {"gain": "with target='label'"} if self.target == "label" else {}
        return {**super()._unused_parameters(data), **unused}

    def _check_labels(self, data: RankingInput) -> None:
        super()._check_labels(data)
        if self.position_bias in ("ips", "trust") and self.target != "label":
            raise ValueError(
                f"position_bias={self.position_bias!r} of MART corrects labels: use "
                f"target='label', not {self.target!r}"
            )

    def _objective(self, data: TrainingData) -> Objective:
        return SquaredError(data, target=self.target, gain=self.gain)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        zero = self.start == "zero"
        return Start.of(fit.init_model, objective, type(self).__name__, from_zero=zero)
