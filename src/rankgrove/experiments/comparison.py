"""A comparison of rankers, with its displays: data frames, text and HTML."""

from __future__ import annotations

from typing import Any

from rankgrove._optional import require
from rankgrove._svg import Drawing
from rankgrove.experiments.comparison_plot import plot_comparison
from rankgrove.experiments.frames import FRAMES
from rankgrove.experiments.results import ComparisonResults
from rankgrove.experiments.tables import as_html, as_text


class Comparison(ComparisonResults):
    """The results of a study, which print as a table."""

    def frame(self, by: str = "ranker") -> Any:
        """A pandas data frame of the comparison.

        Parameters
        ----------
        by : ``"ranker"`` (means with tiers, marks and costs), ``"fold"`` (means per fold),
            ``"cell"`` (every fit with its setting and validation value), ``"query"`` (one row per
            query and ranker), ``"pair"`` (tests of the first metric over all pairs), ``"test"``
            (t and Wilcoxon tests against the baseline, as in papers) or ``"setting"`` (every point
            of the grids)
        """
        if by not in FRAMES:
            raise ValueError(f"by must be one of {', '.join(FRAMES)}, not {by!r}")
        return require("pandas", "frames", "a data frame").DataFrame(FRAMES[by](self))

    def plot(self, metric: str | None = None, data: str | None = None) -> Drawing:
        """Draw each ranker's difference from the baseline (or from the best) with its interval.

        Parameters
        ----------
        metric : one of ``metrics`` or of ``short_names``; None: the first one
        data : one of ``datasets``; None: the first one
        """
        return plot_comparison(self, metric, data)

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)
