"""The methods of each paper, with the settings of the paper, or a share of its trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from papers.cells import Method
from papers.published import RCRANK_RATES
from rankgrove import ranker_names

ALL_THRESHOLDS = 65534


@dataclass(frozen=True)
class Settings:
    """How much of the papers' numbers of trees is grown, and on a sample of their data."""

    share: float = 1.0
    max_bins: int = ALL_THRESHOLDS
    sample_share: float = 1.0

    def trees(self, number: int) -> int:
        """Return the share of a number of trees or iterations, at least 2."""
        return max(2, round(number * self.share))

    def on(self, collection: str) -> Settings:
        """Return the settings for a collection of documents."""
        share = self.share * (self.sample_share if "sample" in collection else 1)
        return replace(self, share=share, sample_share=1.0)


def forests(settings: Settings) -> list[Method]:
    """RF-point, RF-list, RF-rand and LambdaMART of Ibrahim and Carman."""
    trees = settings.trees(500)
    params: dict[str, Any] = {"n_estimators": trees, "max_bins": settings.max_bins}
    names = ("rf-point", "rf-list", "rf-rand")
    return [
        *(Method(name, name, params) for name in names),
        Method(
            "lambdamart",
            "lambdamart",
            {"n_estimators": trees, "max_leaf_nodes": 31},
            validated=True,
            seeded=False,
        ),
    ]


def igbrt(settings: Settings) -> list[Method]:
    """RF, GBRT and iGBRT of Mohan, Chen and Weinberger, as regression and as classification."""
    rows = []
    for task, mark in (("regression", "R"), ("classification", "C")):
        forest, boosting = settings.trees(10_000), settings.trees(1000)
        grown = Method(
            f"RF ({mark})", "rf", {"n_estimators": forest, "task": task, "oob_score": True}
        )
        start = {"n_estimators": settings.trees(500), "task": task}
        rows += [
            grown,
            Method(
                f"GBRT ({mark})",
                "gbrt",
                {"n_estimators": boosting, "task": task},
                validated=True,
                seeded=False,
            ),
            Method(f"iGBRT ({mark})", "igbrt", start, validated=True, start=grown),
            Method(
                f"iGBRT ({mark}), out-of-bag residuals",
                "igbrt",
                {**start, "residuals": "oob"},
                validated=True,
                start=grown,
            ),
        ]
    return rows


def plrank(settings: Settings) -> list[Method]:
    """The systems of table 1 of Xia, Zhai and Wang."""
    trees = settings.trees(1000)

    def boosted(label: str, ranker: str, seeded: bool = False, **params: Any) -> Method:
        given = {"n_estimators": trees, "max_leaf_nodes": 30, **params}
        return Method(label, ranker, given, validated=True, seeded=seeded)

    return [
        *(boosted(f"PLRank(obj={n})", "plrank", seeded=True, n_permutations=n) for n in (1, 3, 6)),
        boosted("LambdaMART", "lambdamart"),
        boosted("McRank", "mcrank", n_estimators=settings.trees(2500)),
        boosted("MART-1", "mart", target="gain"),
        boosted("MART-2", "mart", target="label"),
        boosted("c-MART-1", "mart", target="normalised_gain"),
        boosted("CosMART", "cosmart"),
        boosted("c-CosMART", "cosmart", consistent=True),
        boosted("KLMART", "klmart"),
        boosted("c-KLMART", "klmart", consistent=True),
        *_registered(
            Method("coordinate ascent", "coordinate-ascent", {}),
            Method("ListMLE", "listmle", {}),
        ),
    ]


def broof(settings: Settings) -> list[Method]:
    """The systems of tables 2 and 3 of de Sa, Goncalves, Sousa and Salles."""
    forest = {"n_trees": settings.trees(300)}
    trees = settings.trees(1000)
    return [
        Method("MART", "mart", {"n_estimators": trees}, validated=True, seeded=False),
        Method("LambdaMART", "lambdamart", {"n_estimators": trees}, validated=True, seeded=False),
        Method(
            "RF",
            "rf",
            {"n_estimators": settings.trees(300), "max_features": 0.3, "max_leaf_nodes": 100},
        ),
        *_registered(
            Method("RankBoost", "rankboost", {}, validated=True, seeded=False),
            Method("AdaRank-MAP", "adarank", {"metric": "map"}, validated=True, seeded=False),
            Method("AdaRank-NDCG", "adarank", {"metric": "ndcg@5"}, validated=True, seeded=False),
            Method("SVM-rank", "ranksvm", {}, seeded=False),
        ),
        *(
            Method(
                f"BROOF-{preset}",
                "broof",
                {"preset": preset, "n_estimators": settings.trees(iterations), **forest},
                validated=True,
            )
            for preset, iterations in (
                ("absolute", 500),
                ("median", 500),
                ("height", 500),
                ("gradient", 100),
            )
        ),
    ]


def baselines() -> list[Method]:
    """What needs no learning, or next to none."""
    return _registered(
        Method("one feature", "single-feature", {}, seeded=False),
        Method("random order", "random", {}),
    )


def rcrank(settings: Settings, ranker: str, leaves: int, shift: int) -> list[Method]:
    """A row of the grid of Modry and Ferov: one method per learning rate."""
    return [
        Method(
            f"{ranker} {leaves} leaves, rate {rate}",
            ranker,
            {
                "metric": "ndcg@10",
                "n_estimators": settings.trees(1000),
                "max_leaf_nodes": leaves,
                "max_depth": None,
                "learning_rate": rate,
            },
            validated=True,
            seeded=False,
            shift=shift,
        )
        for rate in RCRANK_RATES
    ]


def missing(settings: Settings) -> list[Method]:
    """The policies of section 7 of Mohan, Chen and Weinberger for missing values."""
    rows = []
    for policy in ("zero", "mean", "median", "inf", "keep"):
        label = {"inf": "+inf", "keep": "keep (each split learns where to)"}.get(policy, policy)
        forest = {"n_estimators": settings.trees(1000), "missing": policy}
        boosting = {"n_estimators": settings.trees(1000), "missing": policy}
        rows += [
            Method(f"RF, {label}", "rf", forest),
            Method(f"GBRT, {label}", "gbrt", boosting, validated=True, seeded=False),
        ]
    return rows


def listwise(settings: Settings) -> list[Method]:
    """RF-list with rules that end its growth earlier, beside RF-point."""
    trees = settings.trees(500)
    variants: dict[str, dict[str, Any]] = {
        "default": {},
        "min_samples_leaf=5": {"min_samples_leaf": 5},
        "min_gain=1e-6": {"min_gain": 1e-6},
        "min_gain=1e-5": {"min_gain": 1e-5},
        "min_gain=1e-4": {"min_gain": 1e-4},
        "metric=ndcg@10": {"metric": "ndcg@10"},
    }
    rows = [Method("rf-point", "rf-point", {"n_estimators": trees})]
    rows += [
        Method(f"rf-list, {label}", "rf-list", {"n_estimators": trees, **params})
        for label, params in variants.items()
    ]
    return [
        *rows,
        Method("rf-hybrid, 6 levels", "rf-hybrid", {"n_estimators": trees}),
    ]


def _registered(*methods: Method) -> list[Method]:
    """Return the methods whose ranker this version has."""
    known = set(ranker_names())
    return [method for method in methods if method.ranker in known]
