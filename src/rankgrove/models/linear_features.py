"""Feature matrix of linear models: filled, finite and normalised on the fly, without a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._arrays import addressable
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.queries import QueryGroups

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]

NORMALISATIONS = ("none", "query-minmax", "query-zscore")
_BLOCK_ROWS = 256


@dataclass(frozen=True)
class LinearFeatures:
    """A feature matrix on which weights are trained or scored, in grouped order.

    Attributes
    ----------
    native : reads the matrix of the caller
    n_features : number of columns
    n_threads : threads of the kernels; no result depends on it
    """

    native: _native.LinearFeatures
    n_features: int
    n_threads: int

    @classmethod
    def of(
        cls,
        X: Matrix,
        fill: npt.NDArray[np.float32],
        groups: QueryGroups | None = None,
        normalisation: str = "none",
        *,
        n_jobs: int | None = None,
        training: bool = False,
    ) -> LinearFeatures:
        """Prepare a matrix.

        Parameters
        ----------
        X : matrix in the caller's order, any strides
        fill : per feature, the finite value that stands in for NaN
        groups : the queries; needed to normalise and to train
        training : whether ``sums``, ``column`` and ``spreads`` will be asked for
        """
        n_threads = resolve_n_jobs(n_jobs)
        if groups is None:
            offsets = np.r_[np.arange(0, len(X), _BLOCK_ROWS), len(X)].astype(np.int64)
            order = None
        else:
            offsets, order = groups.offsets, groups.order
        native = _native.linear_features(
            addressable(X), fill, offsets, order, normalisation, training, n_threads
        )
        return cls(native, X.shape[1], n_threads)

    def scores(self, weights: Floats) -> Floats:
        """Return the weighted sum of the features of each row."""
        return self.native.scores(weights, self.n_threads)

    def sums(self, factors: Floats) -> Floats:
        """Return, for each feature, the sum over rows of factor times value."""
        return self.native.sums(factors, self.n_threads)

    def column(self, feature: int) -> Floats:
        """Return one feature."""
        return self.native.column(feature, self.n_threads)

    def spreads(self) -> Floats:
        """Return the standard deviation of each feature within queries; 0 where it is constant."""
        return self.native.spreads(self.n_threads)
