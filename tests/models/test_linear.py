"""Linear models: scores, fill values, columns and state."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.columns import Columns
from rankgrove.errors import ModelError
from rankgrove.models.linear import LinearModel

X = np.array([[1.0, 2.0], [np.nan, -1.0]], np.float32)
MODEL = LinearModel(
    columns=Columns(("a", "b"), 2),
    weights=np.array([2.0, -1.0]),
    fill=np.array([5.0, 0.0], np.float32),
    normalisation="none",
)


def test_scores_are_weighted_sums_with_fill_for_missing_values():
    np.testing.assert_array_equal(MODEL.scores(X), [0.0, 11.0])


def test_reordered_columns_keep_scores():
    moved = MODEL.with_columns(Columns(("b", "new", "a"), 3))
    values = np.column_stack([X[:, 1], [7, 7], X[:, 0]]).astype(np.float32)
    np.testing.assert_array_equal(moved.scores(values), MODEL.scores(X))


def test_zero_weights_make_a_constant_model():
    assert not MODEL.constant
    zero = LinearModel.from_state(*MODEL.get_state(), MODEL.columns)
    object.__setattr__(zero, "weights", np.zeros(2))
    assert zero.constant


def test_state_brings_back_the_same_scores():
    again = LinearModel.from_state(*MODEL.get_state(), MODEL.columns)
    np.testing.assert_array_equal(again.scores(X), MODEL.scores(X))


def test_state_with_a_missing_weight_is_refused():
    values, arrays = MODEL.get_state()
    with pytest.raises(ModelError):
        LinearModel.from_state(values, {**arrays, "weights": np.ones(1)}, MODEL.columns)
