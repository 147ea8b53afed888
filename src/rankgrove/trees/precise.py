"""Comparisons in float64 for trees of libraries that compare in float64.

rankgrove's own thresholds are float32, and float64 input is rounded to float32. A model of another
library may tell values apart that float32 cannot (seconds since 1970, say). The native scorer takes
its float64 thresholds. All else, such as explanations, reads *ranks* instead of values: how many
thresholds of the feature lie below the value. These are small whole numbers, which float32 holds,
and ``x <= threshold`` is ``rank(x) <= rank(threshold)``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import TreeEnsemble, rounding_limit

_BLOCK = 1 << 16  # rows per block


def has_precise_thresholds(ensemble: TreeEnsemble) -> bool:
    """Return whether comparisons in float64 can differ from those of values rounded to float32."""
    if ensemble.precise is None:
        return False
    inner = ensemble.feature >= 0
    if ensemble.category_sets is not None:
        inner &= ensemble.category_sets.of_node < 0
    return not np.array_equal(ensemble.precise[inner], rounding_limit(ensemble.threshold[inner]))


class Ranks:
    """The ranks of values among a model's thresholds, feature by feature.

    Parameters
    ----------
    ensemble : trees with ``precise`` thresholds
    fill, missing_up_to : see ``TreesModel``
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        fill: npt.ArrayLike | None = None,
        missing_up_to: npt.ArrayLike | None = None,
    ) -> None:
        assert ensemble.precise is not None
        self._fill = None if fill is None else np.asarray(fill, np.float64)
        self._up_to = None if missing_up_to is None else np.asarray(missing_up_to, np.float64)
        self._cuts: dict[int, npt.NDArray[np.float64]] = {}
        rank = np.zeros(len(ensemble.feature), np.float32)
        categorical = set(ensemble.categorical_features.tolist())
        self._categorical = sorted(categorical)
        for feature in np.unique(ensemble.feature[ensemble.feature >= 0]).tolist():
            nodes = ensemble.feature == feature
            if feature in categorical:
                continue
            self._cuts[feature], place = np.unique(ensemble.precise[nodes], return_inverse=True)
            rank[nodes] = place
        self.ensemble = replace(ensemble, threshold=rank, precise=None)

    @staticmethod
    def matter(X: npt.NDArray[Any]) -> bool:
        """Return whether some value of a matrix is not representable in float32."""
        if X.dtype != np.float64:
            return False
        for start in range(0, len(X), _BLOCK):
            block = X[start : start + _BLOCK]
            with np.errstate(over="ignore"):
                if ((block.astype(np.float32) != block) & (block == block)).any():
                    return True
        return False

    def uncertain(self, X: npt.NDArray[np.float32]) -> int:
        """Count the values beside a threshold that may have been on its other side before they were
        rounded to float32."""
        found = 0
        for feature, cuts in self._cuts.items():
            rounded = cuts.astype(np.float32)
            near = rounded[np.isfinite(cuts) & (rounded != cuts)]
            if len(near):
                found += int(np.isin(X[:, feature], near).sum())
        return found

    def of(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        """Return the ranks of a matrix's values; NaN stays NaN, unused columns are 0.

        Categorical columns keep their codes.
        """
        ranks = np.zeros(X.shape, np.float32, order="F")
        for feature, cuts in self._cuts.items():
            column = X[:, feature]
            missing = np.isnan(column)
            if self._up_to is not None:
                missing |= np.abs(column) <= self._up_to[feature]
            if self._fill is not None:
                column = np.where(missing, self._fill[feature], column)
                missing = np.isnan(column)
            ranks[:, feature] = np.where(missing, np.nan, np.searchsorted(cuts, column))
        ranks[:, self._categorical] = X[:, self._categorical]
        return ranks


def as_compared(
    ensemble: TreeEnsemble,
    X: npt.NDArray[Any],
    fill: npt.NDArray[np.float32] | None,
    missing_up_to: npt.NDArray[np.float32] | None,
) -> tuple[
    TreeEnsemble,
    npt.NDArray[Any],
    npt.NDArray[np.float32] | None,
    npt.NDArray[np.float32] | None,
]:
    """Return trees and values that compare equally in float32; values become ranks if needed."""
    if not has_precise_thresholds(ensemble) or not Ranks.matter(X):
        return ensemble, X, fill, missing_up_to
    ranks = Ranks(ensemble, fill, missing_up_to)
    return ranks.ensemble, ranks.of(X), None, None
