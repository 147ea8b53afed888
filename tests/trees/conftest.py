"""Data that several tests grow trees on."""

import numpy as np
import pytest

from rankgrove.trees.binning import bin_matrix, find_bins


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30_000, 12)).astype(np.float32)
    X[:, ::3] = np.round(X[:, ::3])
    X[rng.random(X.shape) < 0.05] = np.nan
    g = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + rng.normal(size=len(X))).astype(
        np.float32
    )
    h = rng.gamma(1, 1, len(X)).astype(np.float32)
    return X, g, h, bin_matrix(X, find_bins(X))
