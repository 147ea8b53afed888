"""Partitions of a data set (a path, an Arrow table or arrays), and how a worker reads them."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgrove._addresses import Address, FilePath, file_path, printable
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.queries import query_ids
from rankgrove.data.core.row_batch import OPTIONAL_SIDES, RowBatch
from rankgrove.data.core.shown_positions import propensities, shown_positions
from rankgrove.data.matrix.conversion import in_place
from rankgrove.data.matrix.numbers import row_numbers
from rankgrove.data.matrix.sparse import is_sparse
from rankgrove.data.reading.lake_tables import lake_batches, refuse_lake_folder
from rankgrove.data.reading.letor import declared_features
from rankgrove.data.reading.loading import load, load_batches
from rankgrove.data.reading.options import (
    LoadOptions,
    accepted_by,
    accepted_by_clusters,
    load_options,
)
from rankgrove.data.reading.readers import reader_of
from rankgrove.data.scanning.row_batches import batch_of_dataset
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

READING_OPTIONS = accepted_by_clusters()
_TABLE_ROWS = 1 << 16  # of a table that are converted at a time
_OF_TABLES = accepted_by("table").intersection(READING_OPTIONS)


@dataclass(frozen=True)
class Partition:
    """A partition of a data set.

    Attributes
    ----------
    number : position among the partitions: rows are ordered by partition, then within it
    name : for messages
    content : a path, a pyarrow table, FitData, or an engine's reference to one of these
    size : approximate, in any unit that is the same for all partitions
    """

    number: int
    name: str
    content: Any
    size: int = 1


def read_partition(
    partition: Partition, options: Mapping[str, Any], n_jobs: int | None
) -> RowBatch:
    """Read a partition on the worker that holds it; errors name the partition."""
    with _naming(partition):
        if isinstance(partition.content, FitData):
            return _rows_of_arrays(partition.content)
        if isinstance(partition.content, (str, os.PathLike)):
            return _rows_of_dataset(_loaded_file(file_path(partition.content), options, n_jobs))
        return _rows_of_dataset(load(partition.content, **options))


def partition_batches(
    partition: Partition, options: Mapping[str, Any], n_jobs: int | None
) -> Iterator[RowBatch]:
    """Read a partition batch by batch, as far as its format allows; errors name the partition.

    Batches of text whose number of features is not declared have the columns that they mention.
    """
    content = partition.content
    with _naming(partition):
        if isinstance(content, (str, os.PathLike)):
            path = file_path(content)
            is_text = reader_of(path, options.get("format")).name == "letor"
            if is_text and options.get("categorical"):
                yield _rows_of_dataset(_loaded_file(path, options, n_jobs))
                return
            how = {"n_jobs": n_jobs, "progress": False} if is_text else {}
            chosen = load_options({**options, **how})
            widens = is_text and declared_features(chosen)[0] is None
            for data in load_batches(path, chosen):
                yield batch_of_dataset(data, 0, True) if widens else _rows_of_dataset(data)
        elif hasattr(content, "slice"):
            yield from _table_batches(content, options)
        else:
            yield read_partition(partition, options, n_jobs)


def _table_batches(table: pa.Table, options: Mapping[str, Any]) -> Iterator[RowBatch]:
    try:
        for start in range(0, max(table.num_rows, 1), _TABLE_ROWS):
            yield _rows_of_dataset(load(table.slice(start, _TABLE_ROWS), **options))
    except DataError:
        load(table, **options)  # its error numbers the rows of the whole table
        raise


@contextlib.contextmanager
def _naming(partition: Partition) -> Iterator[None]:
    """Raise errors that name a partition."""
    try:
        yield
    except DataError as error:
        named = str(error).startswith(partition.name)
        raise DataError(str(error) if named else f"{partition.name}: {error}") from None


def _loaded_file(path: FilePath, options: Mapping[str, Any], n_jobs: int | None) -> Dataset:
    """Load a file, skipping the comments of text."""
    if reader_of(path, options.get("format")).name == "letor":
        return load(path, **options, comments=False, progress=False, n_jobs=n_jobs)
    return load(path, **options)


def _rows_of_dataset(data: Dataset) -> RowBatch:
    return RowBatch(
        data.matrix,
        data.y,
        data.qid,
        data.sample_weight,
        data.absent,
        position=data.position,
        propensity=data.propensity,
    )


def _rows_of_arrays(arrays: FitData) -> RowBatch:
    X = in_place(arrays.X)
    y = row_numbers(arrays.y, len(X), "y")
    weight = None
    if arrays.sample_weight is not None:
        weight = row_numbers(arrays.sample_weight, len(X), "sample_weight")
    qid = query_ids(arrays.qid)
    if len(qid) != len(X):
        raise DataError(f"qid has {len(qid)} entries, but X has {len(X)} rows")
    shown: dict[str, Any] = {}
    if arrays.position is not None:
        shown["position"] = shown_positions(arrays.position, len(X))
    if arrays.propensity is not None:
        shown["propensity"] = propensities(arrays.propensity, len(X))
    return RowBatch(X, y, qid, weight, **shown)


def path_partitions(data: Any) -> list[Partition] | None:
    """Return the files of a path, a pattern, a folder or a list of those; None for other data."""
    given = data if isinstance(data, (list, tuple)) else [data]
    if not given or not all(isinstance(path, (str, os.PathLike)) for path in given):
        return None
    files = [file for path in given for file in _files(os.fspath(path))]
    return [
        Partition(number, printable(file), file, max(1, file_path(file).stat().st_size or 0))
        for number, file in enumerate(files)
    ]


def _files(path: str) -> list[str]:
    place = file_path(path)
    if isinstance(place, Address):
        return _objects(place)
    if place.is_dir():
        refuse_lake_folder(place)
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
        raise DataError(f"{path}: no such file")
    return found


def _objects(address: Address) -> list[str]:
    """Return the objects of an address, a pattern or a folder."""
    is_folder = address.is_dir()
    if is_folder:
        refuse_lake_folder(address)
    found = [*address.iterdir()] if is_folder else address.matches()
    names = sorted(os.fspath(one) for one in found if one.is_file() and one.name[0] not in "._")
    if not names:
        raise DataError(f"{address}: there is no such object")
    return names


def local_partitions(
    data: Any, arrays: FitData | None, options: Mapping[str, Any]
) -> list[Partition] | None:
    """Return data that the driver holds as one partition; None for data of an engine."""
    if arrays is not None and all(
        value is None or isinstance(value, np.ndarray) or hasattr(value, "iloc") or is_sparse(value)
        for value in (arrays.X, arrays.y, arrays.qid)
    ):
        return [Partition(0, "X", arrays)]
    if isinstance(data, Dataset):
        return [Partition(0, data.source or "the Dataset", data)]
    if _is_local_table(data):
        return [Partition(0, "the table", _as_table(data, options))]
    return None


def _is_local_table(data: Any) -> bool:
    of_frames = type(data).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    return of_frames and lake_batches(data) is None


def _as_table(data: Any, options: Mapping[str, Any]) -> pa.Table:
    from rankgrove.data.matrix.arrow_tables import as_arrow

    return wanted_columns(as_arrow(data), options)


def wanted_columns(table: pa.Table, options: Mapping[str, Any]) -> pa.Table:
    """Return the table with only the columns that are read."""
    return table.select(resolved_options(table.schema, options)[1])


def resolved_options(
    schema: pa.Schema, options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Find the columns of a table by its schema, as ``load`` does, with the same warnings.

    Return the options with every column named, so that all partitions are read alike, and the names
    of all columns that are read.
    """
    from rankgrove.data.reading.arrow import resolve_columns

    for name, value in options.items():
        if name not in _OF_TABLES and value is not None:
            raise ValueError(f"{name} does not apply to a table")
    known = {name: value for name, value in options.items() if name in _OF_TABLES}
    columns = resolve_columns(schema, LoadOptions(**known))
    resolved: dict[str, Any] = {
        "label": columns.label,
        "query": columns.query,
        "features": list(columns.features),
        **({"categorical": list(columns.categorical)} if columns.categorical else {}),
        **{name: getattr(columns, name) for name in OPTIONAL_SIDES if getattr(columns, name)},
    }
    others = {name: value for name, value in known.items() if name not in (*resolved, "ignore")}
    sides = [columns.label, columns.query, columns.weight, columns.position, columns.propensity]
    wanted = dict.fromkeys([*(name for name in sides if name is not None), *columns.features])
    return resolved | others, list(wanted)


def assign_partitions(partitions: Sequence[Partition], n_workers: int) -> list[list[Partition]]:
    """Assign neighbouring partitions, of about the same total size, to each worker."""
    sizes = np.array([partition.size for partition in partitions])
    ends = np.cumsum(sizes, dtype=np.float64)
    owner = np.minimum(((ends - sizes / 2) / ends[-1] * n_workers).astype(int), n_workers - 1)
    assigned: list[list[Partition]] = [[] for _ in range(n_workers)]
    for partition, rank in zip(partitions, owner.tolist(), strict=True):
        assigned[rank].append(partition)
    return assigned
