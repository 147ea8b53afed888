"""Serialisation of documents and query ids as Arrow streams, for messages between workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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


def rows_to_bytes(X: Any, sides: Mapping[str, npt.NDArray[Any] | None]) -> bytes:
    """Return rows of a matrix or SparseMatrix (or none), and values per row by name, as bytes.

    A matrix is a column of its rows; SparseMatrix are one of columns and one of values, both
    lists of what a row stores.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    about: dict[str, str] = {}
    if isinstance(X, SparseMatrix):
        columns = {
            "columns": pa.LargeListArray.from_arrays(X.starts, X.columns),
            "values": pa.LargeListArray.from_arrays(X.starts, X.values),
        }
        about = {"n_features": str(X.n_features), "absent": str(X.absent)}
    elif X is not None:
        values = pa.array(np.ascontiguousarray(X).reshape(-1))
        columns = {"X": pa.FixedSizeListArray.from_arrays(values, X.shape[1])}
    columns |= {name: pa.array(side) for name, side in sides.items() if side is not None}
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    return _stream(batch.replace_schema_metadata(about))


def rows_from_bytes(data: bytes | memoryview) -> tuple[Any, dict[str, npt.NDArray[Any]]]:
    """Read rows from bytes; the arrays are views of them."""
    import pyarrow as pa

    batch = pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if "columns" in columns:
        about = {key.decode(): value.decode() for key, value in batch.schema.metadata.items()}
        places, values = columns.pop("columns"), columns.pop("values")
        starts = places.offsets.to_numpy()
        entries = starts - starts[0], places.flatten().to_numpy(), values.flatten().to_numpy()
        n_features, absent = int(about["n_features"]), float(about["absent"])
        features = SparseMatrix.of_entries(entries, n_features, absent)
        return features, {name: column.to_numpy() for name, column in columns.items()}
    X: Any = None
    if "X" in columns:
        matrix = columns.pop("X")
        X = matrix.values.to_numpy().reshape(len(matrix), matrix.type.list_size)
    return X, {name: column.to_numpy() for name, column in columns.items()}


def _stream(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
