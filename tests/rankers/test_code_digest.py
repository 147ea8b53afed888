"""Digests of functions that are parameters."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from rankgrove.rankers.base.code_digest import code_digests


def scaled(by):
    return lambda labels: labels * by


def of(function):
    return code_digests({"function": function})["function"]


@pytest.mark.parametrize("wrap", [scaled, lambda by: functools.partial(np.multiply, by)])
def test_arrays_that_a_function_holds_count_in_full(wrap):
    """``repr`` leaves out the middle of long arrays."""
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    assert of(wrap(one)) == of(wrap(one.copy())) != of(wrap(other))


def test_other_code_has_another_digest():
    assert of(scaled(2)) == of(scaled(2)) != of(scaled(3))
    assert of(lambda x: x + 1) != of(lambda x: x + 2)
    assert code_digests({"n_estimators": 3}) == {}
