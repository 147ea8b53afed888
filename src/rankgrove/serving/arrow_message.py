"""The metadata of an Arrow IPC message: a flatbuffer, of which a few fields are read here.

pyarrow makes an object of each column, which takes longer than scoring a few documents. A batch of
floats without nulls needs none of them: its columns stand at equal distances in the message, and
the whole is one matrix where it lies.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# Kinds of messages, and numbers of fields, of Arrow's Message.fbs.
_SCHEMA, _DICTIONARY_BATCH, _RECORD_BATCH = 1, 2, 3
_HEADER_TYPE, _HEADER = 1, 2  # of a message
_BYTE_ORDER = 0  # of a schema: 0 is little-endian, 1 big-endian
_DATA = 1  # of a dictionary batch
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3  # of a record batch


class _Table:
    """A table of a flatbuffer (struct refuses to read beyond its end)."""

    def __init__(self, data: pa.Buffer, start: int) -> None:
        self.data = data
        self.start = start
        self.vtable = start - struct.unpack_from("<i", data, start)[0]
        self.size = struct.unpack_from("<H", data, self.vtable)[0]

    def _place(self, field: int) -> int | None:
        entry = 4 + 2 * field
        if entry + 2 > self.size:
            return None
        offset = struct.unpack_from("<H", self.data, self.vtable + entry)[0]
        return self.start + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """Return a number in a format of struct; 0 if it is not there."""
        place = self._place(field)
        return 0 if place is None else int(struct.unpack_from(form, self.data, place)[0])

    def table(self, field: int) -> _Table | None:
        """Return a table inside this one."""
        place = self._place(field)
        if place is None:
            return None
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def pairs(self, field: int) -> npt.NDArray[np.int64]:
        """Return a vector of structs of two 64-bit integers."""
        place = self._place(field)
        if place is None:
            return np.empty((0, 2), np.int64)
        start = place + struct.unpack_from("<I", self.data, place)[0]
        count = struct.unpack_from("<I", self.data, start)[0]
        if count > len(self.data) // 16:
            raise struct.error("a vector is longer than its message")
        pairs: npt.NDArray[np.int64] = np.ndarray((count, 2), "<i8", self.data, start + 4)
        return pairs


def _batch_table(metadata: pa.Buffer) -> _Table | None:
    """Return the record batch that a message holds, if it is a batch."""
    message = _Table(metadata, struct.unpack_from("<I", metadata, 0)[0])
    kind = message.number(_HEADER_TYPE, "<B")
    batch = message.table(_HEADER) if kind in (_DICTIONARY_BATCH, _RECORD_BATCH) else None
    if kind == _DICTIONARY_BATCH and batch is not None:
        batch = batch.table(_DATA)
    return batch


def has_foreign_byte_order(metadata: pa.Buffer) -> bool:
    """Return whether the buffers after a schema have the byte order of other machines."""
    message = _Table(metadata, struct.unpack_from("<I", metadata, 0)[0])
    schema = message.table(_HEADER) if message.number(_HEADER_TYPE, "<B") == _SCHEMA else None
    big = schema is not None and schema.number(_BYTE_ORDER, "<h") == 1
    return big != (sys.byteorder == "big")


def is_compressed(metadata: pa.Buffer) -> bool:
    """Return whether the buffers of a batch are compressed."""
    batch = _batch_table(metadata)
    return batch is not None and batch.table(_COMPRESSION) is not None


def float_matrix(
    message: pa.Message, n_columns: int, dtype: np.dtype[Any]
) -> npt.NDArray[Any] | None:
    """Return a record batch of floating-point columns as a matrix in the memory of the message.

    None if there are nulls, or the columns are not at equal distances: pyarrow can read those.
    """
    batch = _batch_table(message.metadata)
    if batch is None or message.type != "record batch" or n_columns == 0:
        return None
    n_rows = batch.number(_LENGTH, "<q")
    nodes, buffers = batch.pairs(_NODES), batch.pairs(_BUFFERS)
    # A column has a node (its length and its nulls) and two buffers, of validity and of values.
    if nodes.shape != (n_columns, 2) or buffers.shape != (2 * n_columns, 2):
        return None
    starts, sizes = buffers[1::2].T
    body, size = message.body, n_rows * dtype.itemsize
    if body is None or n_rows <= 0 or (nodes != (n_rows, 0)).any() or (sizes < size).any():
        return None
    # Each start first: their differences could overflow, and their ends.
    if int(starts.min()) < 0 or int(starts.max()) + size > len(body):
        return None
    step = int(starts[1] - starts[0]) if n_columns > 1 else 0
    if step < 0 or (np.diff(starts) != step).any():
        return None
    X: npt.NDArray[Any] = np.ndarray(
        (n_rows, n_columns), dtype, body, int(starts[0]), (dtype.itemsize, step)
    )
    return X if X.flags.aligned else None
