"""Policies for missing values: one fill value per feature, from the training data."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.training.missing import fill_values

NAN = np.nan
X = np.array(
    [[1, NAN, 5, NAN], [2, NAN, np.inf, 4], [6, NAN, NAN, 4], [NAN, NAN, 7, 5]], np.float32
)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("keep", [NAN, NAN, NAN, NAN]),
        ("zero", [0, 0, 0, 0]),
        ("inf", [np.inf] * 4),
        ("mean", [3, 0, 6, np.float32(13 / 3)]),
        ("median", [2, 0, 6, 4]),
    ],
)
def test_fill_of_each_policy(policy, expected):
    before = X.copy()
    fill = fill_values(X, policy)
    assert fill.dtype == np.float32
    np.testing.assert_array_equal(fill, expected)
    np.testing.assert_array_equal(X, before)


def test_means_of_many_rows_do_not_lose_digits():
    column = np.full((200_000, 1), 16777216.0, np.float32)
    column[1::2] = 16777218.0
    assert fill_values(column, "mean")[0] == np.float32(16777217.0)


def test_unknown_policy_lists_the_known():
    with pytest.raises(ValueError, match=r"'keep', 'zero', 'mean', 'median', 'inf', not 'max'"):
        fill_values(X, "max")
