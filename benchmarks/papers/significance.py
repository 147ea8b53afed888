"""The tests of the papers on values of queries: paired t-test and Wilcoxon's signed ranks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_rel

from rankgrove.experiments.significance import paired_t, wilcoxon

Floats = npt.NDArray[np.float64]


def one_sided_t(better: Floats, worse: Floats) -> float:
    """Return the p-value that LETOR's script prints: ``better`` is no better in the mean."""
    kept = ~(np.isnan(better) | np.isnan(worse))
    if not np.any(better[kept] != worse[kept]):
        return 1.0
    return float(ttest_rel(better[kept], worse[kept], alternative="greater").pvalue)


def marks(ours: Floats, baseline: Floats) -> str:
    """Return the marks of de Sa et al.: ``*`` by Wilcoxon's test, ``+`` by the t-test at 0.05.

    ``-`` before them: worse than the baseline; ``=``: neither test sees a difference.
    """
    differences = ours - baseline
    differences = differences[~np.isnan(differences)]
    if not differences.any():
        return "="
    found = "*" if float(wilcoxon(differences)[0]) < 0.05 else ""
    found += "+" if float(paired_t(differences)[0]) < 0.05 else ""
    return ("-" if differences.mean() < 0 else "") + found if found else "="
