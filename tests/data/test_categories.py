"""Dictionaries of categorical columns."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgrove.data.core.categories import Categories, category, key
from rankgrove.data.core.columns import Columns
from rankgrove.data.matrix.dense import CallerMatrix, DenseMatrix
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.errors import DataError, ModelError

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
values = st.one_of(st.booleans(), st.integers(-(2**63), 2**64 - 1), texts)
distinct = st.lists(values, unique_by=key, max_size=30)


@given(distinct, st.randoms(use_true_random=False))
def test_codes_do_not_depend_on_the_order_of_values(given_values, random):
    shuffled = random.sample(given_values, len(given_values))
    one, other = Categories.of(given_values), Categories.of(shuffled)
    assert one == other
    assert hash(one) == hash(other)
    assert [one.code(value) for value in one.values] == list(range(one.n_codes))


@given(distinct, st.lists(st.integers(1, 3), min_size=30, max_size=30), st.integers(2, 10))
def test_the_rarest_values_share_the_last_code(given_values, counts, limit):
    found = Categories.of(given_values, counts[: len(given_values)], limit)
    assert found.n_codes == min(limit, len(given_values))
    rows = dict(zip(map(key, given_values), counts, strict=False))
    assert len(found.values) + len(found.pooled) == len(given_values)
    for rare in found.pooled:
        assert found.code(rare) == limit - 1
        assert all(rows[key(rare)] <= rows[key(kept)] for kept in found.values)


@given(distinct, st.integers(2, 10))
def test_files_and_pickles_keep_a_dictionary(given_values, limit):
    found = Categories.of(given_values, limit=limit)
    assert Categories.from_state(json.loads(json.dumps(found.get_state()))) == found
    assert found.code("never seen before") is None  # fills the memo of codes
    assert pickle.loads(pickle.dumps(found)) == found


def test_kinds_are_told_apart():
    found = Categories.of(["1", 1, True, "True", False, 0])
    assert found.values == (False, True, 0, 1, "1", "True")
    assert [type(value) for value in found.values] == [bool, bool, int, int, str, str]
    assert found.code(np.int8(1)) == 3
    assert found.code(np.str_("1")) == 4
    assert found.code(np.bool_(True)) == 1
    assert found.code("absent") is None
    assert Categories((True,)) != Categories((1,))


@pytest.mark.parametrize("value", ["a\0b", "it's", '"', "two\nlines", "", " a", "é", "e\u0301"])
def test_a_text_is_its_code_points(value):
    assert Categories.of([value, "z"]).code(value) is not None
    assert Categories.of(["z", "a"]).code(value) is None


@pytest.mark.parametrize("value", [1.0, None, b"a", "\ud800", 2**64, ("a",), float("nan")])
def test_other_values_are_refused(value):
    with pytest.raises(DataError, match="the category"):
        category(value)


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"values": ["b", "a"], "pooled": []},
        {"values": ["a", "a"], "pooled": []},
        {"values": ["a"], "pooled": ["a"]},
        {"values": [1.5], "pooled": []},
        {"values": "ab", "pooled": []},
        {"values": ["a"], "pooled": [], "more": []},
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(ModelError):
        Categories.from_state(state)


def test_dictionaries_follow_their_columns():
    X = np.array([[0, 1, 2], [1, 0, 1]], np.float32)
    brands, shops = Categories.of(["a", "b"]), Categories.of([3, 4, 5])
    described = {0: brands, 2: shops}
    dense = DenseMatrix(X, ("x", "y", "z"), described)
    sparse = SparseMatrix.from_dense(X, 0.0).with_categories(described)
    for matrix in (dense, dense.select_rows(np.array([1, 0])), sparse):
        assert matrix.slice_rows(0, 1).categories == described
        assert matrix.select_rows(np.array([1])).categories == described
        assert matrix.select_columns([2, 1]).categories == {0: shops}
        assert matrix.with_names(("p", "q", "r")).categories == described
        assert [batch.categories for batch in matrix.batches()] == [described]
    assert CallerMatrix((X,), 2).categories == {}
    assert Columns.of(dense).categories == described
    assert Columns.of(dense).match(dense, zero_copy=True).categories == described
    fewer = Columns(("z", "x"), 2, categories={0: shops, 1: brands})
    assert fewer.match(dense, zero_copy=True).categories == {0: shops, 1: brands}
    with pytest.raises(DataError, match="column 3"):
        Columns(None, 3, categories={3: brands})
