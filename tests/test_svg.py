"""Shapes and scales of pictures."""

from __future__ import annotations

import pytest

from rankgrove._svg import round_ticks
from rankgrove.explain.pictures import bars


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-0.41, 0.21, [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4]),
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 1e-13, [0.0, 2e-14, 4e-14, 6e-14, 8e-14, 1e-13]),
        (2.0, 2.0, [2.0, 2.5]),
        (0.0, 0.0, [0.0, 0.2]),
    ],
)
def test_ticks_are_round_and_enclose_the_range(low, high, ticks):
    assert round_ticks(low, high) == ticks


def test_a_column_is_as_wide_as_its_names():
    short = bars("title", [("f1", 1.0)])
    long = bars("title", [("normalised_mean_of_whole_document", 1.0)])
    assert short.width < long.width < bars("title", [("n" * 400, 1.0)]).width <= 860
    assert bars("a title of many words " * 8, [("f1", 1.0)]).width > 1000
