"""Different parameters have different encodings, by which stored results are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.rankers.base.parameter_encoding import encoded_param


def fitted(seed):
    data = make_ranking(6, n_features=3, seed=seed)
    return rankgrove.RandomForest(n_estimators=2, random_state=0).fit(data)


LONG = range(10_000)
PAIRS = {
    "numbers of numpy": ([np.int64(i) for i in LONG], [np.int64(i % 9_999) for i in LONG]),
    "arrays": (np.arange(10_000), np.r_[:9_999, 0]),
    "arrays in a dict": ({"a": np.arange(10_000)}, {"a": np.r_[:5_000, 0, 5_001:10_000]}),
    "tables": (pd.DataFrame({"a": LONG}), pd.DataFrame({"a": [*LONG[:-1], 0]})),
    "not in JSON": ([float("nan"), *LONG], [float("nan"), *LONG[:-1], 0]),
    "fitted rankers": (fitted(0), fitted(1)),
    "lists of fitted rankers": (["mart", fitted(0)], ["mart", fitted(1)]),
}


@pytest.mark.parametrize(("one", "other"), PAIRS.values(), ids=PAIRS)
def test_different_values_differ(one, other):
    assert encoded_param(one) == encoded_param(one)
    assert encoded_param(one) != encoded_param(other)


def test_numbers_of_numpy_are_numbers():
    assert encoded_param([np.int64(1), np.float32(0.5)]) == [1, 0.5]
    assert encoded_param(np.arange(3)) == [0, 1, 2]
    assert encoded_param(np.float64(2)) == 2
