"""Pieces of data as workers get them: a path, an Arrow table or arrays, and how each is read."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.queries import query_ids
from rankgrove.data.matrix.conversion import feature_matrix, is_dataset
from rankgrove.data.matrix.numbers import row_numbers
from rankgrove.data.matrix.sparse import is_sparse
from rankgrove.data.reading.loading import load
from rankgrove.data.reading.options import LoadOptions
from rankgrove.data.reading.readers import reader_of
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# Options of ``load`` that say how a table or a file is read.
READING = (
    *("label", "query", "features", "ignore", "weight", "absent", "n_features", "first_feature"),
    *("negative_labels", "format"),
)


@dataclass(frozen=True)
class Arrays:
    """A matrix with labels and queries, as ``fit`` takes them."""

    X: Any
    y: Any
    qid: Any
    weight: Any = None


@dataclass(frozen=True)
class Part:
    """A piece of a data set.

    Attributes
    ----------
    number : its place among the pieces: rows are in order of pieces, and within them
    name : for messages
    content : a path, a pyarrow table, Arrays, or what an engine makes one of these of
    size : roughly, in any unit that all parts share
    """

    number: int
    name: str
    content: Any
    size: int = 1


@dataclass(frozen=True)
class Rows:
    """The documents of some parts.

    Attributes
    ----------
    names : of the columns; None if nobody gave any
    absent : how features absent from text were read
    place : of each row among all rows of the data set, as far as it was asked for
    """

    X: Any  # float32 in C order, or SparseMatrix
    y: npt.NDArray[np.float64]
    qid: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None
    names: tuple[str, ...] | None
    absent: str | None = None
    place: npt.NDArray[np.int64] | None = None


def read_part(part: Part, options: Mapping[str, Any], n_jobs: int | None) -> Rows:
    """Read a piece on the worker that holds it; errors name it."""
    try:
        if isinstance(part.content, Arrays):
            return _rows_of_arrays(part.content)
        if isinstance(part.content, (str, os.PathLike)):
            return _rows_of_dataset(_loaded_file(Path(part.content), options, n_jobs))
        return _rows_of_dataset(load(part.content, **options))
    except DataError as error:
        named = str(error).startswith(part.name)
        raise DataError(str(error) if named else f"{part.name}: {error}") from None


def _loaded_file(path: Path, options: Mapping[str, Any], n_jobs: int | None) -> Dataset:
    """Load a file, without the comments that text may have."""
    if reader_of(path, options.get("format")).name == "letor":
        return load(path, **options, comments=False, progress=False, n_jobs=n_jobs)
    return load(path, **options)


def _rows_of_dataset(data: Dataset) -> Rows:
    return Rows(data.X, data.y, data.qid, data.sample_weight, data.feature_names, data.absent)


def _rows_of_arrays(arrays: Arrays) -> Rows:
    matrix, names = feature_matrix(arrays.X)
    with np.errstate(over="ignore"):
        is_array = isinstance(matrix, np.ndarray)
        X = np.ascontiguousarray(matrix, np.float32) if is_array else matrix.astype(np.float32)
    y = row_numbers(arrays.y, len(X), "y")
    weight = None
    if arrays.weight is not None:
        weight = row_numbers(arrays.weight, len(X), "sample_weight")
    qid = query_ids(arrays.qid)
    if len(qid) != len(X):
        raise DataError(f"qid has {len(qid)} entries, but X has {len(X)} rows")
    return Rows(X, y, qid, weight, names)


def path_parts(data: Any) -> list[Part] | None:
    """Return the files of a path, a pattern, a folder or a list of those; None for other data."""
    given = data if isinstance(data, (list, tuple)) else [data]
    if not given or not all(isinstance(path, (str, os.PathLike)) for path in given):
        return None
    files = [file for path in given for file in _files(os.fspath(path))]
    return [
        Part(number, file, file, max(1, os.path.getsize(file))) for number, file in enumerate(files)
    ]


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
        found = [os.path.join(path, name) for name in names]
        found = [file for file in found if os.path.isfile(file)]
        if not found:
            raise DataError(f"{path}: the folder holds no files")
        return found
    if os.path.exists(path):
        return [path]
    found = sorted(glob.glob(path))
    if not found:
        raise DataError(f"{path}: there is no such file")
    return found


def local_parts(data: Any, arrays: Arrays | None, options: Mapping[str, Any]) -> list[Part] | None:
    """Return data that the driver holds as one part; None if they are of an engine."""
    if arrays is not None and all(
        value is None or isinstance(value, np.ndarray) or hasattr(value, "iloc") or is_sparse(value)
        for value in (arrays.X, arrays.y, arrays.qid)
    ):
        return [Part(0, "X", arrays)]
    if is_dataset(data):
        return [Part(0, data.source or "the Dataset", data)]
    if _is_local_table(data):
        return [Part(0, "the table", _as_table(data, options))]
    return None


def _is_local_table(data: Any) -> bool:
    return type(data).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")


def _as_table(data: Any, options: Mapping[str, Any]) -> pa.Table:
    from rankgrove.data.reading.arrow import as_arrow

    return wanted_columns(as_arrow(data), options)


def wanted_columns(table: pa.Table, options: Mapping[str, Any]) -> pa.Table:
    """Keep the columns that are read."""
    return table.select(settled_options(table.schema, options)[1])


def settled_options(
    schema: pa.Schema, options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Find the columns of a table by its schema, as ``load`` does, and warn as it does.

    Returns the options with every column named, so that all parts are read alike, and the names of
    the columns that are to be moved.
    """
    from rankgrove.data.reading.arrow import settled_columns

    for name, value in options.items():
        if name not in _OF_TABLES and value is not None:
            raise ValueError(f"{name} does not apply to a table")
    known = {name: value for name, value in options.items() if name in _OF_TABLES}
    columns = settled_columns(schema, LoadOptions(**known))
    settled: dict[str, Any] = {
        "label": columns.label,
        "query": columns.query,
        "features": list(columns.features),
        **({} if columns.weight is None else {"weight": columns.weight}),
        **{name: options[name] for name in options if name == "negative_labels"},
    }
    sides = [columns.label, columns.query, columns.weight]
    wanted = dict.fromkeys([*(name for name in sides if name is not None), *columns.features])
    return settled, list(wanted)


_OF_TABLES = ("label", "query", "features", "ignore", "weight", "negative_labels")


def shares(parts: Sequence[Part], n_workers: int) -> list[list[Part]]:
    """Give each worker neighbouring parts, of about the same size in all."""
    ends = np.cumsum([part.size for part in parts], dtype=np.float64)
    middles = ends - np.array([part.size for part in parts]) / 2
    owner = np.minimum((middles / ends[-1] * n_workers).astype(int), n_workers - 1)
    return [
        [p for p, rank in zip(parts, owner, strict=True) if rank == w] for w in range(n_workers)
    ]
