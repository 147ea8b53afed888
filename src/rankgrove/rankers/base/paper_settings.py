"""Settings of papers: what each of them gives a ranker, declared once per ranker.

``register_ranker(..., papers={...})`` declares the table; its first entry is the paper that
introduced the ranker.
``Ranker.as_in_paper``, ``rankgrove train --as-in-paper``, specs of comparisons
(``lambdamart:as_in_paper=own``), the pages of the rankers and ``benchmarks/bench_papers.py`` all
read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Stands for the first paper of a ranker's table.
OWN = "own"

# Values that several papers share: every value of a feature is a threshold, and trees are fitted by
# least squares without any limit but their number of leaves.
ALL_THRESHOLDS: Mapping[str, tuple[Any, str]] = {
    "max_bins": (65_534, "a threshold between any two neighbouring values"),
}
GROWN_TO_THE_END: Mapping[str, tuple[Any, str]] = {
    "min_samples_leaf": (1, "trees are grown to the end"),
}
PLAIN_TREES: Mapping[str, tuple[Any, str]] = {
    "tree": ("leafwise", "regression trees with a limit of leaves, grown best-first"),
    "criterion": ("least_squares", "trees are fitted to the gradients by least squares"),
    "l2": (0.0, "no regularisation of leaf values"),
    "min_samples_leaf": (1, "no limit is named"),
    "min_child_weight": (0.0, "no limit is named"),
    **ALL_THRESHOLDS,
}
RANKLIB_TREES: Mapping[str, tuple[Any, str]] = {
    **PLAIN_TREES,
    "min_samples_leaf": (1, "RankLib's default (-mls 1)"),
    "max_bins": (256, "RankLib's default (-tc 256)"),
}
# Xia, Zhai and Wang 2019: the size of every boosted ranker.
XIA_SIZES: Mapping[str, tuple[Any, str]] = {
    "n_estimators": (1000, "section 4"),
    "learning_rate": (0.1, "section 4"),
    "max_leaf_nodes": (30, "section 4"),
}
# Ibrahim and Carman 2016: the sample of each tree, and the features of each node.
IBRAHIM_SAMPLES: Mapping[str, tuple[Any, str]] = {
    "n_estimators": (500, "section 5.1"),
    "subsample": (0.63, "section 4.1.2: 63 % of the queries"),
    "sampling": ("queries", "section 4.1.2: whole queries, without replacement"),
}
IBRAHIM_FEATURES: Mapping[str, tuple[Any, str]] = {
    "max_features": ("log2", "section 5.1: log(number) + 1"),
    "redraw": (False, "algorithm 2: K features are drawn, no others"),
}


@dataclass(frozen=True)
class PaperSettings:
    """What a paper trains by the name of a ranker.

    Attributes
    ----------
    source : the paper, and where in it the settings stand
    table : by parameter, its value and what the paper says about it
    tuned : by parameter, the values among which the paper chooses on validation data; the table
        holds one of them
    departures : what the ranker does otherwise even so
    """

    source: str
    table: Mapping[str, tuple[Any, str]]
    tuned: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    departures: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by name."""
        return {name: value for name, (value, _) in self.table.items()}


def find_settings(
    papers: Mapping[str, PaperSettings], ranker: str, paper: str = OWN
) -> PaperSettings:
    """Return the settings of one of a ranker's papers, or refuse by name."""
    if not papers:
        raise ValueError(
            f"{ranker} has no settings of a paper: as_in_paper is for rankers whose paper gives "
            "some (`rankgrove rankers --papers` lists them)"
        )
    if paper == OWN:
        return next(iter(papers.values()))
    if paper not in papers:
        raise ValueError(
            f"{ranker} has no settings of a paper {paper!r}: choose {OWN!r} or from "
            f"{', '.join(papers)}"
        )
    return papers[paper]
