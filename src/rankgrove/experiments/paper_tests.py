"""The two tests of papers side by side: Student's t and Wilcoxon's signed ranks, with their marks.

Papers test each ranker against a baseline and do not correct p-values for their number. LETOR's
script prints one-sided p-values of the t test: small ones say that the ranker is better than the
baseline. De Sa, Goncalves, Sousa and Salles ("Generalized BROOF-L2R", 2016) mark a ranker by ``*``
where Wilcoxon's two-sided test finds it better than the baseline, and by ``+`` where the t test
does. Here ``-`` before these marks says that it is worse, and ``=`` that neither test tells them
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankgrove.experiments.significance import pair_differences, paired_t, wilcoxon

if TYPE_CHECKING:
    from rankgrove.experiments.results import ComparisonResults

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PaperTest:
    """The tests of one ranker against the baseline; p-values are not corrected.

    Attributes
    ----------
    difference : mean over queries of the ranker minus the baseline
    t_better, wilcoxon_better : one-sided: small if the ranker is better
    t, wilcoxon : two-sided
    mark : as in the papers
    """

    ranker: str
    difference: float
    t_better: float
    t: float
    wilcoxon_better: float
    wilcoxon: float
    mark: str


def paper_tests(
    comparison: ComparisonResults, data: str, metric: str, fold: int | None = None
) -> list[PaperTest]:
    """Test the rankers of a comparison against its baseline: on all test queries, or of a fold.

    Empty without a baseline, with a single ranker, or where the metric counts no query.
    """
    names, values = comparison.values(data, metric, fold)
    counted = values[:, ~np.isnan(values).any(axis=0)] if len(names) else values
    if comparison.baseline not in names or not counted.size:
        return []
    base = names.index(comparison.baseline)
    pairs = [[i, base] for i in range(len(names)) if i != base]
    if not pairs:
        return []
    differences = pair_differences(counted, pairs)
    gains = comparison.sign(metric) * differences
    t_better, t = paired_t(gains, "greater"), paired_t(gains)
    ranks_better, ranks = wilcoxon(gains, "greater"), wilcoxon(gains)
    return [
        PaperTest(
            ranker=names[i],
            difference=float(differences[place].mean()),
            t_better=float(t_better[place]),
            t=float(t[place]),
            wilcoxon_better=float(ranks_better[place]),
            wilcoxon=float(ranks[place]),
            mark=paper_mark(gains[place], comparison.significance.alpha),
        )
        for place, (i, _) in enumerate(pairs)
    ]


def paper_mark(gains: Floats, alpha: float = 0.05) -> str:
    """Return the mark of a ranker whose queries gain so much on the baseline's."""
    found = "*" if float(wilcoxon(gains)[0]) <= alpha else ""
    found += "+" if float(paired_t(gains)[0]) <= alpha else ""
    return ("-" if gains.mean() < 0 else "") + found if found else "="
