"""Sums of models: weights, merging of trees, columns by name."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.columns import Columns
from rankgrove.errors import ModelError
from rankgrove.models.linear import LinearModel
from rankgrove.models.sums import SumModel, add_up

X = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)


def linear(*weights, names=("a", "b")):
    return LinearModel(
        columns=Columns(names, 2),
        weights=np.array(weights, float),
        fill=np.zeros(2, np.float32),
        normalisation="none",
    )


def test_scores_are_weighted_sums_of_parts():
    both = add_up([linear(1, 0), linear(0, 1)], [2.0, -1.0])
    assert isinstance(both, SumModel)
    np.testing.assert_array_equal(both.scores(X), [0.0, 7.0])


def test_one_model_of_weight_1_stays_itself():
    assert isinstance(add_up([linear(1, 2)]), LinearModel)


def test_parts_are_matched_by_column_name():
    both = add_up([linear(1, 0, names=("b", "a")), linear(1, 0)])
    assert both.columns.names == ("a", "b")
    np.testing.assert_array_equal(both.scores(X), [3.0, 2.0])


def test_sums_of_sums_are_flat():
    inner = add_up([linear(1, 0), linear(0, 1)], [2.0, 3.0])
    outer = add_up([inner, linear(1, 1)], [10.0, 1.0])
    assert outer.weights == (20.0, 30.0, 1.0)


def test_missing_weights_are_refused():
    with pytest.raises(ModelError, match="1 weights for a sum of 2 models"):
        add_up([linear(1, 0), linear(0, 1)], [1.0])


def test_state_brings_back_the_same_scores():
    both = add_up([linear(1, 0), linear(0, 1)], [2.0, -1.0])
    again = SumModel.from_state(*both.get_state(), both.columns)
    np.testing.assert_array_equal(again.scores(X), both.scores(X))
