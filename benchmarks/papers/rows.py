"""Rows of tables: a system with the settings of its paper, and with the engine's defaults.

Both grow as many trees and boost as long; what is the system itself (a target, a number of
permutations, a preset) is given to both. All other settings come from the rankers' own tables
(``rankgrove.rankers.base.paper_settings``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from papers.cells import Method
from papers.collections import COLLECTIONS
from rankgrove.rankers.base.paper_settings import PaperSettings
from rankgrove.rankers.base.registry import ranker_class

# Parameters that count trees of forests; the share of trees applies to them.
_FOREST_TREES = ("n_trees", "n_forest_trees")


@dataclass(frozen=True)
class Settings:
    """How much of the papers' numbers of trees is grown, and on a sample of their data.

    Attributes
    ----------
    share : of the trees of forests; boosted rankers keep their number of steps, which validation
        cuts
    sample_share : of these, on the sample of WEB10K
    only : names of the collections that are measured; none: all
    quick : to see that a table can be made, its first collection will do, and one rate of a grid
    """

    share: float = 1.0
    sample_share: float = 1.0
    only: tuple[str, ...] = ()
    quick: bool = False

    def chosen(self, *names: str) -> list[str]:
        """Return those collections that are to be measured: all that are there, or ``only``."""
        found = [
            name
            for name in names
            if (name in self.only if self.only else COLLECTIONS[name].is_there)
        ]
        return found[:1] if self.quick else found

    def rates(self, rates: Sequence[float]) -> Sequence[float]:
        """Return the learning rates of a grid that are to be measured."""
        return rates[:1] if self.quick else rates

    def trees(self, number: int) -> int:
        """Return the share of a number of trees, at least 2."""
        return max(2, round(number * self.share))

    def on(self, collection: str) -> Settings:
        """Return the settings for a collection of documents."""
        share = self.share * (self.sample_share if "sample" in collection else 1)
        return replace(self, share=share, sample_share=1.0)


@dataclass(frozen=True)
class Row:
    """A system: as in its paper, and with our defaults.

    Attributes
    ----------
    departures : what the first does otherwise than the paper even so
    """

    label: str
    as_in_paper: Method
    by_default: Method
    departures: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say what is trained as in the paper, and what remains different."""
        text = self.as_in_paper.describe()
        return "; differs: ".join([text, "; ".join(self.departures)] if self.departures else [text])

    @property
    def methods(self) -> list[Method]:
        """Both."""
        return [self.as_in_paper, self.by_default]


def row(
    label: str,
    ranker: str,
    paper: str | None,
    settings: Settings,
    *,
    validated: bool = False,
    seeded: bool = True,
    start: Row | None = None,
    **own: Any,
) -> Row:
    """Return the row of a system; ``own`` is what makes it this system."""
    cls = ranker_class(ranker)
    given_by = cls.papers[paper] if paper else PaperSettings("", {})
    params = {**given_by.params, **own}
    chosen = [name for name in given_by.tuned if name not in own]
    if validated:  # as here
        chosen = [name for name in chosen if name != "n_estimators"]
    departures = (
        *(given_by.departures if start is None else ()),  # it gets the forest of the paper
        *(
            f"the paper chooses {name} on validation data from "
            f"{', '.join(map(str, given_by.tuned[name]))}"
            for name in chosen
        ),
    )
    if start is not None:
        for name in _FOREST_TREES:
            params.pop(name, None)
        params.pop("forest_max_features", None)
    boosted = bool(cls.learns_in_steps)
    scaled = [name for name in _FOREST_TREES if name in params]
    scaled += [] if boosted or "n_estimators" not in params else ["n_estimators"]
    for name in scaled:
        params[name] = settings.trees(params[name])
    counts = {name: params[name] for name in ("n_estimators", *_FOREST_TREES) if name in params}
    given = Method(label, ranker, params, validated, seeded, start=start and start.as_in_paper)
    plain = Method(
        label, ranker, {**counts, **own}, validated, seeded, start=start and start.by_default
    )
    return Row(label, given, plain, departures)


def forests(settings: Settings) -> list[Row]:
    """RF-point, RF-list, RF-rand and LambdaMART of Ibrahim and Carman.

    Trees of two of them also without any limit of size, as the text of the paper has them.
    """
    return [
        *(row(name, name, "ibrahim-2016", settings) for name in ("rf-point", "rf-list", "rf-rand")),
        row("lambdamart", "lambdamart", "ibrahim-2016", settings, validated=True),
        *(
            replace(
                row(
                    f"{name}, grown to the end",
                    name,
                    "ibrahim-2016",
                    settings,
                    min_samples_leaf=1,
                    max_depth=None,
                ),
                departures=(),
            )
            for name in ("rf-point", "rf-list")
        ),
    ]


def all_algorithms(settings: Settings, bm25: int | None) -> list[Row]:
    """The algorithms of table XIII (figure 9) of Ibrahim and Carman.

    ``bm25`` is the number of that feature, None where no collection is meant.
    """
    feature = {} if bm25 is None else {"feature": bm25}

    def validated(label: str, ranker: str, **own: Any) -> Row:
        return row(label, ranker, "ibrahim-2016", settings, validated=True, seeded=False, **own)

    return [
        row("RF-rand", "rf-rand", "ibrahim-2016", settings),
        row("RF-point", "rf-point", "ibrahim-2016", settings),
        row("RF-hybrid-L6", "rf-hybrid", "ibrahim-2016", settings),
        validated("Mart", "mart"),
        row("RankSVM", "ranksvm", None, settings, seeded=False),
        validated("AdaRank", "adarank"),
        row("CoorAsc", "coordinate-ascent", "ibrahim-2016", settings),
        validated("RankBoost", "rankboost"),
        row("LambdaMart", "lambdamart", "ibrahim-2016", settings, validated=True),
        row("BM25", "single-feature", None, settings, seeded=False, **feature),
        row("random order", "random", None, settings),
    ]


def igbrt(settings: Settings) -> list[Row]:
    """RF, GBRT and iGBRT of Mohan, Chen and Weinberger, as regression and as classification."""
    rows = []
    for task, mark in (("regression", "R"), ("classification", "C")):
        forest = row(f"RF ({mark})", "rf", "mohan-2011", settings, task=task)
        given = {"task": task, "validated": True}
        boosted = row(f"GBRT ({mark})", "gbrt", "mohan-2011", settings, seeded=False, **given)
        both = row(f"iGBRT ({mark})", "igbrt", "mohan-2011", settings, start=forest, **given)
        rows += [forest, boosted, both]
    return rows


def plrank(settings: Settings) -> list[Row]:
    """The systems of table 1 of Xia, Zhai and Wang."""

    def boosted(label: str, ranker: str, seeded: bool = False, **own: Any) -> Row:
        return row(label, ranker, "xia-2019", settings, validated=True, seeded=seeded, **own)

    return [
        *(boosted(f"PLRank(obj={n})", "plrank", seeded=True, n_permutations=n) for n in (1, 3, 6)),
        boosted("LambdaMART", "lambdamart"),
        boosted("McRank", "mcrank"),
        boosted("MART-1", "mart", target="gain"),
        boosted("MART-2", "mart", target="label"),
        boosted("c-MART-1", "mart", target="normalised_gain"),
        boosted("CosMART", "cosmart"),
        boosted("c-CosMART", "cosmart", consistent=True),
        boosted("KLMART", "klmart"),
        boosted("c-KLMART", "klmart", consistent=True),
        row("coordinate ascent", "coordinate-ascent", "xia-2019", settings),
        row("ListMLE", "listmle", "xia-2019", settings),
        *baselines(settings),
    ]


def broof(settings: Settings) -> list[Row]:
    """The systems of tables 2 and 3 of de Sa, Goncalves, Sousa and Salles."""

    def baseline(label: str, ranker: str, **own: Any) -> Row:
        return row(label, ranker, "desa-2016", settings, validated=True, seeded=False, **own)

    return [
        baseline("MART", "mart"),
        baseline("LambdaMART", "lambdamart"),
        row("RF", "rf", "desa-2016", settings, max_features=0.3, max_leaf_nodes=100),
        baseline("RankBoost", "rankboost"),
        baseline("AdaRank-MAP", "adarank", metric="map"),
        baseline("AdaRank-NDCG", "adarank", metric="ndcg@5"),
        row("SVM-rank", "ranksvm", "desa-2016", settings, seeded=False),
        *(
            row(
                f"BROOF-{preset}",
                "broof",
                "desa-2016" if preset == "gradient" else f"desa-2016-{preset}",
                settings,
                validated=True,
                preset=preset,
            )
            for preset in ("absolute", "median", "height", "gradient")
        ),
        *baselines(settings),
    ]


def baselines(settings: Settings) -> list[Row]:
    """What needs no learning, or next to none."""
    return [
        row("one feature", "single-feature", None, settings, seeded=False),
        row("random order", "random", None, settings),
    ]


def rcrank(
    ranker: str, leaves: int, rate: float, shift: int = 0, share: float = 1.0, n: int | None = None
) -> Row:
    """A cell of the grids of Modry and Ferov."""
    size = {"max_depth": leaves.bit_length() - 1} if ranker == "rcrank" else {}
    size = size or {"tree": "leafwise", "max_leaf_nodes": leaves}
    made = row(
        f"{ranker}, {leaves} leaves, rate {rate}",
        ranker,
        "modry-2016",
        Settings(),
        validated=True,
        seeded=False,
        metric="ndcg@10",
        learning_rate=rate,
        **size,
    )
    changes: dict[str, Any] = {"shift": shift, "train_share": share, "n_features": n}
    return replace(
        made,
        as_in_paper=replace(made.as_in_paper, **changes),
        by_default=replace(made.by_default, **changes),
        departures=() if shift else made.departures,
    )


def missing(settings: Settings) -> list[Method]:
    """The policies of section 7 of Mohan, Chen and Weinberger for missing values."""
    rows = []
    labels = {
        "inf": "+inf",
        "keep": "keep (each split learns where to)",
        "branch": "branch (a third child)",
    }
    for policy in ("zero", "mean", "median", "inf", "keep", "branch"):
        label = labels.get(policy, policy)
        trees = settings.trees(1000)
        forest = {"n_estimators": trees, "min_samples_leaf": 1, "missing": policy}
        boosting = {"n_estimators": 1000, "missing": policy}
        rows += [
            Method(f"RF, {label}", "rf", forest),
            Method(f"GBRT, {label}", "gbrt", boosting, validated=True, seeded=False),
        ]
    return rows


def listwise(settings: Settings) -> list[Method]:
    """RF-list by several readings of the rule that ends its growth, beside RF-point."""
    whole = {"n_estimators": settings.trees(500), "min_samples_leaf": 1}
    strict: dict[str, Any] = {"redraw": False}
    variants: dict[str, dict[str, Any]] = {
        "grown to the end": {},
        "redraw=False": strict,
        "redraw=False, max_depth=17": {**strict, "max_depth": 17},
        "redraw=False, max_depth=15": {**strict, "max_depth": 15},
        "redraw=False, max_depth=20": {**strict, "max_depth": 20},
        "redraw=False, min_gain=1e-6": {**strict, "min_gain": 1e-6},
        "redraw=False, min_gain=1e-5": {**strict, "min_gain": 1e-5},
        "min_gain=1e-4": {"min_gain": 1e-4},
        "min_samples_leaf=5": {"min_samples_leaf": 5},
        "metric=ndcg@10": {"metric": "ndcg@10"},
    }
    rows = [
        Method("rf-point", "rf-point", whole),
        Method("rf-point, redraw=False", "rf-point", {**whole, **strict}),
        Method("rf-point, max_depth=17", "rf-point", {**whole, "max_depth": 17}),
    ]
    return rows + [
        Method(f"rf-list, {label}", "rf-list", {**whole, **params})
        for label, params in variants.items()
    ]
