"""Grouping rows by query."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError


def objects_of(values):
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


@pytest.mark.slow
@given(st.lists(st.integers(-3, 3) | st.sampled_from([2**40, -(2**40)])))
def test_groups_are_those_of_a_dictionary(qid):
    rows: dict[int, list[int]] = {}
    for row, value in enumerate(qid):
        rows.setdefault(value, []).append(row)
    groups = QueryGroups.from_qid(np.array(qid, np.int64))
    order = np.arange(len(qid)) if groups.order is None else groups.order
    assert groups.ids.tolist() == list(rows)
    assert order.tolist() == [row for members in rows.values() for row in members]
    assert groups.sizes.tolist() == [len(members) for members in rows.values()]
    values = np.arange(len(qid)) * 10
    np.testing.assert_array_equal(groups.restored(groups.grouped(values)), values)
    np.testing.assert_array_equal(groups.ids[groups.query_of_row()], qid)


@pytest.mark.parametrize(
    ("qid", "expected"),
    [
        (["b", "a", "b"], ["b", "a"]),
        ([1, 2, 1], [1, 2]),
        ([1, "a", 1], ["1", "a"]),
        ([1.25, 1.5, 1.25], [1.25, 1.5]),
        ([10**30, 5, 10**30], [str(10**30), "5"]),
    ],
)
def test_objects_are_kept_apart(qid, expected):
    groups = QueryGroups.from_qid(objects_of(qid))
    assert groups.ids.tolist() == expected
    assert groups.sizes.tolist() == [2, 1]


@pytest.mark.parametrize("absent", [None, float("nan"), pd.NA, pd.NaT, ("a", 1)])
def test_missing_and_odd_ids_are_refused(absent):
    objects = np.array(["a", "x", "b"], object)
    objects[1] = absent
    with pytest.raises(DataError, match=r"missing in row 1|neither numbers nor texts"):
        QueryGroups.from_qid(objects)


def test_shapes_are_checked():
    with pytest.raises(DataError, match="one dimension"):
        QueryGroups.from_qid(np.zeros((2, 2)))
    assert QueryGroups.from_qid([]).n_queries == 0


@pytest.mark.parametrize(
    "form",
    [list, tuple, objects_of, pd.Series, pl.Series, pa.array, lambda ids: pa.chunked_array([ids])],
)
@pytest.mark.parametrize("end", ["\0", "x\0\0"])
def test_ids_that_end_in_a_nul_character_are_refused(form, end):
    """Numpy cuts it off: "a" and "a\\0" would be one query."""
    with pytest.raises(DataError, match="of row 1 ends in a NUL character"):
        QueryGroups.from_qid(form(["a", f"a{end}", "b"]))


@pytest.mark.parametrize("form", [list, objects_of])
def test_bytes_that_end_in_a_nul_character_are_refused(form):
    with pytest.raises(DataError, match="of row 1 ends in a NUL character"):
        QueryGroups.from_qid(form([b"a", b"a\0", b"b"]))
