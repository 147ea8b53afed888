"""Columns of floats are used where they lie in the message, and mean what pyarrow reads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving.test_answers import stream_of
from tests.serving.test_bodies import MODEL

from rankgrove.data.core.columns import Columns
from rankgrove.serving.arrow_body import read_arrow
from rankgrove.serving.errors import RequestError

NAMES = ("a", "b", "c")


def body_of(X, names=NAMES, mask=None):
    return stream_of([pa.RecordBatch.from_arrays([pa.array(c, mask=mask) for c in X.T], names)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 7, 16, 100])
def test_floats_are_not_copied(dtype, n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 3)).astype(dtype)
    X[0, 1] = np.nan
    body = body_of(X)
    found = read_arrow(body, MODEL, 1000).X
    np.testing.assert_array_equal(found, X)
    assert found.dtype == dtype
    whole = np.frombuffer(body, np.uint8)
    assert np.shares_memory(found, whole)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([np.float32, np.float64, np.int32, np.bool_]),
    st.integers(0, 20),
    st.permutations(NAMES),
    st.booleans(),
    st.integers(0, 9),
)
def test_any_stream_means_what_pyarrow_reads(dtype, n_rows, names, with_nulls, first):
    X = np.random.default_rng(n_rows).integers(0, 9, (n_rows + first, 3)).astype(dtype)
    mask = np.arange(n_rows + first) % 3 == 1 if with_nulls else None
    table = pa.RecordBatch.from_arrays([pa.array(c, mask=mask) for c in X.T], list(names))
    batch = table.slice(first)
    found = read_arrow(stream_of([batch]), MODEL, 1000).X
    expected = batch.to_pandas()[list(NAMES)].astype(float).to_numpy()
    np.testing.assert_array_equal(found, expected)


def answer(body):
    """Return the documents, None for a refusal; touch every value."""
    try:
        X = read_arrow(body, MODEL, 1000).X
    except RequestError:
        return None
    X.sum()
    return X


@pytest.mark.parametrize("value", [2**62, 2**63 - 1, -1, -(2**62), 8, 1 << 31])
def test_no_number_of_the_metadata_leads_out_of_the_message(value):
    X = np.arange(15, dtype=np.float64).reshape(5, 3)
    whole = body_of(X)
    number = value.to_bytes(8, "little", signed=True)
    for place in range(0, len(whole) - X.nbytes - 8, 4):
        found = answer(whole[:place] + number + whole[place + 8 :])
        assert found is None or found.shape[1] == 3


def test_starts_whose_differences_overflow_are_refused():
    """The last of five starts wraps around to the first."""
    X = np.arange(10, dtype=np.float64).reshape(2, 5)
    model = dataclasses.replace(MODEL, columns=Columns(tuple("abcde"), 5), weights=np.ones(5))
    model = dataclasses.replace(model, fill=np.zeros(5, np.float32))
    body = bytearray(body_of(X, tuple("abcde")))
    starts = np.array([0, 64, 128, 192, 256])
    first = body.index(np.stack([starts, [16] * 5], 1)[1].tobytes()) - 32
    for column, start in enumerate([0, 2**62, -(2**63), -(2**62), 0]):
        place = first + 32 * column
        body[place : place + 8] = start.to_bytes(8, "little", signed=True)
    with pytest.raises(RequestError, match="not a sound Arrow IPC stream"):
        read_arrow(bytes(body), model, 1000)
