"""Arrays that kernels may read."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove import MART
from rankgrove._arrays import addressable

X = np.arange(24, dtype=np.float32).reshape(8, 3)


def unaligned(array):
    raw = np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:]
    return raw.view(array.dtype).reshape(array.shape)


def packed(array):
    """Columns of a table whose rows are one byte longer than their numbers."""
    table = np.zeros(len(array), dtype=[("values", array.dtype, array.shape[1]), ("tag", "u1")])
    table["values"] = array
    return table["values"]


@pytest.mark.parametrize("layout", [unaligned, packed])
def test_odd_layouts_are_copied(layout):
    odd = layout(X)
    result = addressable(odd)
    assert np.array_equal(result, X)
    assert result.flags.aligned
    assert all(step % 4 == 0 for step in result.strides)
    assert not np.shares_memory(result, odd)


@pytest.mark.parametrize("array", [X, X.T, X[::2, ::-1], X[:0], np.asfortranarray(X)])
def test_usual_layouts_are_not_copied(array):
    assert addressable(array) is array


@pytest.mark.parametrize("layout", [unaligned, packed])
def test_rankers_take_odd_layouts(layout, small_data):
    data = small_data.X, small_data.y
    expected = MART(n_estimators=3, random_state=1).fit(*data, qid=small_data.qid).predict(data[0])
    ranker = MART(n_estimators=3, random_state=1).fit(
        layout(small_data.X), small_data.y, qid=small_data.qid
    )
    assert np.array_equal(ranker.predict(layout(small_data.X)), expected)
