"""Heads that turn scores into probabilities: isotonic regression and Platt's logistic function."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove.models.calibrated import Head

Floats = npt.NDArray[np.float64]

_STEPS = 100
_TOLERANCE = 1e-10


def isotonic_head(scores: Floats, relevant: Floats) -> Head:
    """Return the non-decreasing function of least squared error (Zadrozny and Elkan 2002).

    Between two steps it is linear, beyond the ends it is flat.
    """
    from sklearn.isotonic import isotonic_regression

    values, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    shares = np.bincount(place, relevant) / counts
    heights = np.clip(isotonic_regression(shares, sample_weight=counts.astype(np.float64)), 0, 1)
    rises = np.diff(heights) > 0
    ends = np.r_[rises, True] | np.r_[True, rises]  # of each step
    return Head(values[ends], heights[ends].astype(np.float64), log_odds=False)


def platt_head(scores: Floats, relevant: Floats) -> Head:
    r"""Return :math:`\sigma(a s + b)` of greatest likelihood (Platt 1999), with :math:`a \ge 0`.

    Targets are his: :math:`(N_+ + 1) / (N_+ + 2)` and :math:`1 / (N_- + 2)`.
    """
    n_relevant = float(relevant.sum())
    high, low = (n_relevant + 1) / (n_relevant + 2), 1 / (len(relevant) - n_relevant + 2)
    target = np.where(relevant > 0, high, low)
    centre, spread = float(scores.mean()), float(scores.std())
    standard = (scores - centre) / spread if spread > 0 else np.zeros(len(scores))
    mean = float(target.mean())
    slope, offset = _newton(standard, target, np.log(mean / (1 - mean)))
    if slope < 0:
        slope, offset = 0.0, float(np.log(mean / (1 - mean)))
    spread = spread if spread > 0 else 1.0
    return Head(
        np.array([centre, centre + spread]), np.array([offset, offset + slope]), log_odds=True
    )


def _newton(x: Floats, target: Floats, offset: float) -> tuple[float, float]:
    """Find the slope and offset of a logistic regression by Newton steps, halved if need be."""
    from scipy.special import expit

    def loss(at: Floats) -> float:
        z = at[0] * x + at[1]
        return float(np.sum(np.logaddexp(0, z) - target * z))

    at = np.array([0.0, offset])
    for _ in range(_STEPS):
        p = np.asarray(expit(at[0] * x + at[1]))
        weight = p * (1 - p)
        gradient = np.array([np.sum((p - target) * x), np.sum(p - target)])
        cross = np.sum(weight * x)
        hessian = np.array([[np.sum(weight * x * x), cross], [cross, np.sum(weight)]])
        step = np.linalg.solve(hessian + 1e-10 * np.eye(2), gradient)
        size = 1.0
        while loss(at - size * step) > loss(at) and size > 1e-8:
            size /= 2
        at = at - size * step
        if np.abs(step).max() < _TOLERANCE:
            break
    return float(at[0]), float(at[1])


HEADS = {"isotonic": isotonic_head, "platt": platt_head}
