"""The regression-compatible loss against numerical derivatives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.listce import RegressionCompatible
from rankgrove.errors import LabelError

OFFSETS = np.array([0, 4, 4, 5, 9])
LABELS = np.array([0, 2, 4, 1, 3, 0, 0, 0, 0.0])


def loss(scores, alpha):
    """Sum over queries, as the docstring says."""
    p, total = 1 / (1 + np.exp(-scores)), 0.0
    target = LABELS / 4
    total -= (1 - alpha) * np.sum(target * np.log(p) + (1 - target) * np.log(1 - p))
    for begin, end in pairwise(OFFSETS):
        t, q = target[begin:end], p[begin:end] / p[begin:end].sum() if end > begin else []
        if t.sum() > 0:
            total -= alpha * np.sum(t / t.sum() * np.log(q))
    return total


def gradients(scores, alpha, weight=None):
    objective = RegressionCompatible(TrainingData(LABELS, OFFSETS, weight), alpha, 4.0)
    g, h = np.empty((1, 9), np.float32), np.empty((1, 9), np.float32)
    objective.gradients(scores[None], g, h, 0)
    return g[0], h[0]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_gradients_are_derivatives_of_the_loss(alpha):
    scores = np.random.default_rng(0).normal(size=9)
    g, h = gradients(scores, alpha)
    step = 1e-5
    for i in range(9):
        up, down = scores.copy(), scores.copy()
        up[i] += step
        down[i] -= step
        slope = (loss(up, alpha) - loss(down, alpha)) / (2 * step)
        assert g[i] == pytest.approx(slope, abs=1e-5)
    assert (h >= 0).all()


def test_extreme_scores_stay_finite():
    for scores in (np.full(9, -800.0), np.full(9, 800.0), np.linspace(-900, 900, 9)):
        g, h = gradients(scores, 0.5)
        assert np.isfinite(g).all()
        assert np.isfinite(h).all()


def test_true_probabilities_are_the_minimum_of_both_parts():
    with np.errstate(divide="ignore"):
        scores = np.log(LABELS / 4) - np.log(1 - LABELS / 4)
    inside = (LABELS > 0) & (LABELS < 4)
    g, _ = gradients(np.clip(scores, -40, 40), 0.5)
    np.testing.assert_allclose(g[inside], 0, atol=1e-6)


def test_weights_multiply():
    scores, weight = np.random.default_rng(0).normal(size=9), np.linspace(0.5, 2, 9)
    np.testing.assert_allclose(
        gradients(scores, 0.5, weight)[0], weight * gradients(scores, 0.5)[0], rtol=1e-6
    )


def test_labels_beyond_the_scale_are_refused():
    with pytest.raises(LabelError, match="ListCE takes labels from 0 to 1; max_grade=4"):
        RegressionCompatible(TrainingData(LABELS, OFFSETS, None))
