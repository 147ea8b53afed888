"""Features as small codes: what every grower works on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._native import BinnedMatrix, Bins
from rankgrove._threads import resolve_n_jobs

__all__ = ["BinnedMatrix", "Bins", "bin_matrix", "find_bins"]


def find_bins(
    X: npt.NDArray[np.float32],
    *,
    max_bins: int = 255,
    fill: npt.NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find each feature's bins from training data.

    A feature with at most ``max_bins`` distinct values gets one bin per value; others get bins of
    about equal numbers of rows, in which frequent values stand alone. Thresholds are float32
    mid-points strictly between two observed values (the lower value itself where the two are
    neighbours in float32). Up to 255 bins are stored in one byte per value, up to 65534 in two.

    Parameters
    ----------
    X : float32 matrix with any strides; it is not copied
    fill : per feature, the value that stands in for NaN; NaN (the default) keeps it missing
    """
    if fill is None:
        fill = np.full(X.shape[1], np.nan, np.float32)
    return _native.find_bins(X, max_bins, fill, resolve_n_jobs(n_jobs))


def bin_matrix(
    X: npt.NDArray[np.float32],
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace values by bin codes; row i of the result is row ``rows[i]`` of X (row i if None)."""
    return _native.bin_matrix(X, bins, rows, resolve_n_jobs(n_jobs))
