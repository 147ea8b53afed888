"""Data for imported models, and rows on their edges."""

from __future__ import annotations

import numpy as np

N_FEATURES = 6


def training_data(seed: int = 0, missing: bool = True, zeros: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, N_FEATURES)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 2)
    X[:, 2] = np.abs(X[:, 2])
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1200)), 0, 3)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    if zeros:
        X[rng.random(X.shape) < 0.3] = 0.0
    return X, y, np.repeat(np.arange(60), 20)


def edge_rows(model, n_rows: int = 3000, missing: bool = True, infinite: bool = True):
    """Rows of the values that the model's own splits tell apart."""
    rng = np.random.default_rng(7)
    ensemble = model.model_.ensemble
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    for feature in range(N_FEATURES):
        on = ensemble.threshold[ensemble.feature == feature]
        if len(on):
            picks = rng.choice(on, n_rows)
            with np.errstate(over="ignore"):
                up = np.nextafter(picks, np.float32(np.inf))
                down = np.nextafter(picks, np.float32(-np.inf))
            if not infinite:
                picks, up, down = (np.nan_to_num(values) for values in (picks, up, down))
            X[:, feature] = np.choose(
                rng.integers(4, size=n_rows), [picks, up, down, X[:, feature]]
            )
    edges = [0.0, -0.0, 1e-35, -1e-35, 1e-36, 1e-34, 1e-45, 3e38]
    edges += [np.inf, -np.inf] * infinite + [np.nan, np.nan] * missing
    return np.where(rng.random(X.shape) < 0.2, rng.choice(np.array(edges, np.float32), X.shape), X)


def assert_same(ours, theirs, rtol=1e-6):
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)
