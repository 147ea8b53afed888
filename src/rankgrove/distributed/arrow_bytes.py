"""Serialisation of documents and query ids as Arrow streams, for messages between workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.sparse import SparseMatrix


def to_frames(messages: Sequence[bytes]) -> bytes:
    """Concatenate several messages into one, each with its length before it."""
    return b"".join(len(m).to_bytes(8, "little") + m for m in messages)


def from_frames(data: bytes) -> list[bytes]:
    """Split what ``to_frames`` concatenated."""
    messages = []
    place = 0
    while place < len(data):
        end = place + 8 + int.from_bytes(data[place : place + 8], "little")
        messages.append(data[place + 8 : end])
        place = end
    return messages


def ids_to_bytes(ids: npt.NDArray[Any]) -> bytes:
    """Return query ids, numbers or texts, as an Arrow stream."""
    import pyarrow as pa

    return _stream(pa.record_batch([pa.array(ids)], names=["id"]))


def ids_from_bytes(data: bytes) -> npt.NDArray[Any]:
    """Read query ids."""
    import pyarrow as pa

    (column,) = pa.ipc.open_stream(data).read_all().columns
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(str)
    return np.asarray(column.to_numpy())


def rows_to_bytes(X: FeatureMatrix | None, sides: Mapping[str, npt.NDArray[Any] | None]) -> bytes:
    """Return the rows of a matrix (None: no features), and values per row by name, as bytes.

    A dense matrix is one column of rows; a sparse one is a column of column numbers and one of
    values, both lists of what a row stores.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    about: dict[str, str] = {}
    entries = None if X is None else X.entries
    if X is not None and entries is not None:
        columns = {
            "columns": pa.LargeListArray.from_arrays(entries.starts, entries.columns),
            "values": pa.LargeListArray.from_arrays(entries.starts, entries.values),
        }
        about = {"n_features": str(X.n_columns), "absent": str(entries.absent)}
    elif X is not None:
        values = pa.array(np.ascontiguousarray(X.to_array()).reshape(-1))
        columns = {"X": pa.FixedSizeListArray.from_arrays(values, X.n_columns)}
    columns |= {name: pa.array(side) for name, side in sides.items() if side is not None}
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    return _stream(batch.replace_schema_metadata(about))


def rows_from_bytes(
    data: bytes | memoryview,
) -> tuple[FeatureMatrix, dict[str, npt.NDArray[Any]]]:
    """Read rows from bytes; the arrays are views of them."""
    import pyarrow as pa

    batch = pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    batch.validate(full=True)  # another worker has sent it
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    X: FeatureMatrix = DenseMatrix(np.empty((len(batch), 0), np.float32))
    if "columns" in columns:
        about = {key.decode(): value.decode() for key, value in batch.schema.metadata.items()}
        places, values = columns.pop("columns"), columns.pop("values")
        starts = places.offsets.to_numpy()
        entries = starts - starts[0], places.flatten().to_numpy(), values.flatten().to_numpy()
        X = SparseMatrix.of_entries(entries, int(about["n_features"]), float(about["absent"]))
    elif "X" in columns:
        matrix = columns.pop("X")
        X = DenseMatrix(matrix.values.to_numpy().reshape(len(matrix), matrix.type.list_size))
    return X, {name: column.to_numpy() for name, column in columns.items()}


def _stream(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
