"""Columns of floats are used where they lie in the message, and mean what pyarrow reads."""

from __future__ import annotations

import dataclasses
import struct
import sys

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


def as_big_endian(stream, X):
    """Return a stream of one batch as a machine of the other byte order writes it.

    Message and schema, the outermost tables of the first message, are written anew before the
    others, as pyarrow leaves out the byte order.
    """
    (size,) = struct.unpack_from("<i", stream, 4)
    old, rest = stream[8 : 8 + size], stream[8 + size :]

    def place_of(table, field):
        fields = table - struct.unpack_from("<i", old, table)[0]
        return table + struct.unpack_from("<H", old, fields + 4 + 2 * field)[0]

    def target_of(place):
        return place + struct.unpack_from("<I", old, place)[0]

    message = target_of(0)
    (version,) = struct.unpack_from("<h", old, place_of(message, 0))
    columns = target_of(place_of(target_of(place_of(message, 2)), 1))
    new = struct.pack("<II", 24, 0)  # the message begins at 24
    new += struct.pack("<HHHHHHI", 12, 24, 4, 6, 8, 16, 0)  # places of its fields
    new += struct.pack("<ihBxI4xq", 16, version, 1, 56 - 32, 0)  # the schema begins at 56
    new += struct.pack("<HHHH", 8, 12, 8, 4)  # places of its fields
    new += struct.pack("<iIhHI", 8, 72 + columns - 60, 1, 0, 0)  # 1: big-endian
    rest = rest.replace(X.T.tobytes(), X.T.astype(X.dtype.newbyteorder()).tobytes())
    return struct.pack("<II", 0xFFFFFFFF, len(new) + size) + new + old + rest


@pytest.mark.skipif(sys.byteorder == "big", reason="the streams of this machine are big-endian")
@pytest.mark.parametrize("names", [NAMES, ("c", "a", "b")])
def test_the_byte_order_of_another_machine_is_understood(names):
    X = np.arange(24, dtype=np.float64).reshape(8, 3) + 0.25
    body = as_big_endian(body_of(X, names), X)
    table = pa.ipc.open_stream(body).read_all()
    expected = table.to_pandas()[list(NAMES)].to_numpy()
    np.testing.assert_array_equal(read_arrow(body, MODEL, 1000).X, expected)
    assert expected.max() == 23.25


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
