"""Arrow tables: Parquet and Feather / Arrow IPC files, pandas, polars and pyarrow tables.

Any object with the Arrow PyCapsule interface (``__arrow_c_stream__``) is taken, so a new data frame
library needs nothing here. Columns are not copied on the way; features are written to blocks of
columns, and these to the matrix, which is row-major unless the reader asks for columns.
"""

from __future__ import annotations

import base64
import json
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import Address, FilePath
from rankgrove._memory import memory_limit
from rankgrove.data.core.categories import Categories
from rankgrove.data.core.dataset import Absent, Dataset
from rankgrove.data.core.shown_positions import propensities, shown_positions
from rankgrove.data.matrix.arrow_tables import as_arrow, holds_numbers, no_numbers, write_feature
from rankgrove.data.matrix.coded_columns import (
    compact,
    holds_categories,
    is_category_type,
    joined_arrow,
)
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.numbers import GRADES_HINT
from rankgrove.data.matrix.streamed import small_bytes
from rankgrove.data.reading.arrow_columns import (
    is_rounded,
    refuse_overflow,
    row_ids,
    row_values,
)
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.data.reading.paths import readable, require_file
from rankgrove.data.reading.table_columns import (
    ABSENT,
    CATEGORICAL,
    POSITION,
    PROPENSITY,
    SHOWN,
    SIDES,
    TableColumns,
    find_columns,
)
from rankgrove.errors import DataError, DataWarning

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ACCEPTS = accepted_by("table")
EXAMPLE = b"rankgrove.example"  # in the metadata of a field: a text that is no number
# Rows that are decoded and written at a time: few enough that a block of columns stays in the
# cache, many enough that the cost of a call for each column does not count.
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_BLOCK_ROWS = 15_000
_LEAST_ROWS = 4096
_BLOCK_VALUES = 1 << 21
_BATCH_VALUES = 1 << 22  # of a batch of a file that is read batch by batch
_READ_BYTES = 1 << 16  # of a column of such a file at once
_FETCHED_BYTES = 1 << 19  # the same, of an object in a store, where every request takes long


@dataclass(frozen=True)
class Batches:
    """Record batches of an open file, with its schema and columns.

    Attributes
    ----------
    n_rows : number of rows in all, None if the file does not tell
    typed_ids : turns the column of query ids into what it should be
    untyped : whether the file has no types, so that categories are texts that may mean numbers
    """

    batches: Iterable[Any]
    n_rows: int | None
    columns: TableColumns
    schema: pa.Schema
    source: str | None
    typed_ids: Callable[[Any], Any] = lambda ids: ids
    untyped: bool = False


@contextmanager
def parquet_batches(
    path: FilePath, options: LoadOptions, *, sparing: bool = False
) -> Iterator[Batches]:
    """Open a Parquet file; columns that are not wanted stay on disk.

    ``sparing`` of memory: column chunks are not read as a whole and, unless the file is small, in
    this thread alone, because what Arrow's threads have freed they keep.
    """
    import pyarrow.parquet as pq

    require_file(path)
    n_bytes = _FETCHED_BYTES if isinstance(path, Address) else _READ_BYTES
    how: dict[str, Any] = {"pre_buffer": False, "buffer_size": n_bytes} if sparing else {}
    with (
        naming(path),
        readable(path) as source,
        pq.ParquetFile(source, page_checksum_verification=True, **how) as file,
    ):
        schema = parquet_schema(file)
        columns = resolve_columns(schema, options)
        wanted = columns.wanted()
        n_rows = file.metadata.num_rows
        threads = not sparing or 4 * n_rows * len(wanted) <= small_bytes()
        batches = file.iter_batches(_block_rows(columns), columns=wanted, use_threads=threads)
        yield Batches(batches, n_rows, columns, schema, str(path))


def parquet_schema(file: pq.ParquetFile) -> pa.Schema:
    """Return the schema of a file, with the names of the columns written from dictionaries.

    Parquet keeps no dictionaries of numbers: Arrow reads these columns as plain numbers, but stores
    the schema that was written beside them.
    """
    import pyarrow as pa

    schema = file.schema_arrow
    stored = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if stored is None:
        return schema
    written = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))
    names = [field.name for field in written if is_category_type(field.type)]
    if not names:
        return schema
    names = list(dict.fromkeys([*written_categorical(schema), *names]))
    return schema.with_metadata({**(schema.metadata or {}), CATEGORICAL: json.dumps(names)})


@contextmanager
def ipc_batches(path: FilePath, options: LoadOptions) -> Iterator[Batches]:
    """Open a Feather file or an Arrow IPC file or stream."""
    import pyarrow as pa

    require_file(path)
    with (
        naming(path),
        readable(path) as place,
        pa.PythonFile(place, "r") if isinstance(path, Address) else pa.OSFile(str(path)) as source,
    ):
        try:
            reader = pa.ipc.open_file(source)
            batches: Iterator[pa.RecordBatch] = map(
                reader.get_batch, range(reader.num_record_batches)
            )
        except pa.ArrowInvalid:
            source.seek(0)
            reader = pa.ipc.open_stream(source)
            batches = _whole_stream(reader, source, path)
        columns = resolve_columns(reader.schema, options)
        yield Batches(batches, None, columns, reader.schema, str(path))


def _whole_stream(
    reader: pa.RecordBatchReader, source: pa.NativeFile, path: FilePath
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a stream that ends where its file ends, or seems cut short."""
    yield from reader
    end = source.tell()
    source.seek(0, 2)
    if extra := source.tell() - end:
        raise DataError(f"{extra} bytes follow the end of the Arrow stream: a file holds one")
    source.seek(max(end - len(_END_OF_STREAM), 0))
    if source.read() != _END_OF_STREAM:
        warnings.warn(
            f"{path}: the Arrow stream has no end mark; if it was cut short, rows are missing",
            DataWarning,
            stacklevel=2,
        )


def read_parquet(path: FilePath, options: LoadOptions) -> Dataset:
    """Read a Parquet file."""
    with parquet_batches(path, options) as batches:
        return from_batches(batches, options)


def read_ipc(path: FilePath, options: LoadOptions) -> Dataset:
    """Read a Feather file or an Arrow IPC file or stream, batch by batch."""
    with ipc_batches(path, options) as batches:
        return from_batches(batches, options)


def parquet_row_batches(path: FilePath, options: LoadOptions) -> Iterator[Dataset]:
    """Read a Parquet file batch by batch."""
    with parquet_batches(path, options, sparing=True) as batches:
        yield from row_batches(batches, options)


def ipc_row_batches(path: FilePath, options: LoadOptions) -> Iterator[Dataset]:
    """Read a Feather or Arrow file batch by batch."""
    with ipc_batches(path, options) as batches:
        yield from row_batches(batches, options)


def row_batches(given: Batches, options: LoadOptions) -> Iterator[Dataset]:
    """Make a Dataset of every few batches."""
    waiting: list[Any] = []
    first_row = n_rows = 0
    for batch in given.batches:
        waiting.append(batch)
        n_rows += len(batch)
        if n_rows * max(len(given.columns.features), 1) >= _BATCH_VALUES:
            batch = replace(given, batches=waiting, n_rows=n_rows)
            yield from_batches(batch, options, first_row, by_columns=options.by_columns)
            first_row += n_rows
            waiting, n_rows = [], 0
    if n_rows or first_row == 0:
        batch = replace(given, batches=waiting, n_rows=n_rows)
        yield from_batches(batch, options, first_row, by_columns=options.by_columns)


def read_table(table: Any, options: LoadOptions, source: str | None = None) -> Dataset:
    """Read a pyarrow, pandas or polars table, or anything with an Arrow interface."""
    table = as_arrow(table)
    return from_columns(table, resolve_columns(table.schema, options), options, source)


def from_columns(
    table: pa.Table, columns: TableColumns, options: LoadOptions, source: str | None
) -> Dataset:
    """Make a Dataset of the columns of a pyarrow table."""
    batches = table.select(columns.wanted()).to_batches(_block_rows(columns))
    return from_batches(Batches(batches, table.num_rows, columns, table.schema, source), options)


def _refuse_texts(texts: list[str], shown: str, schema: pa.Schema, options: LoadOptions) -> None:
    """Raise for features without numbers, unless ``ignore`` leaves them out."""
    known = options.like and options.like.names
    if known and set(texts) <= set(known):
        raise DataError(
            f"{len(texts)} of the columns hold no numbers: {shown}; the model (like=) was trained "
            "with numbers there"
        )
    if options.ignore == "texts":
        return
    able = [name for name in texts if holds_categories(schema.field(name).type)]
    take = f"take categories as they are with categorical={able} "
    take += f"(--categorical {shlex.join(able)} on the command line), or "
    leave = f"leave them out with ignore={texts} (--ignore {shlex.join(texts)} on the "
    raise DataError(
        f"{len(texts)} of the columns hold no numbers: {shown}; {take if able else ''}"
        f"{leave}command line)"
    )


def resolve_columns(schema: pa.Schema, options: LoadOptions) -> TableColumns:
    """Find the columns; one that cannot be a feature is an error unless it is ignored."""
    columns = find_columns(schema.names, _with_shown(schema, options))
    written = written_categorical(schema)
    typed = [
        name
        for name in columns.features
        if name in written or is_category_type(schema.field(name).type)
    ]
    categorical = tuple(dict.fromkeys([*columns.categorical, *typed]))
    columns = replace(columns, categorical=categorical)
    texts = [
        name
        for name in columns.features
        if name not in categorical and not holds_numbers(schema.field(name).type)
    ]
    if texts and columns.features != tuple(options.features or ()):
        shown = ", ".join(f"{name!r}{_example(schema.field(name))}" for name in texts)
        _refuse_texts(texts, shown, schema, options)
        features = tuple(name for name in columns.features if name not in texts)
        columns = replace(columns, features=features)
        warnings.warn(f"columns without numbers are left out: {shown}", DataWarning, stacklevel=2)
    if columns.left_out:
        shown = ", ".join(map(repr, columns.left_out))
        warnings.warn(
            f"columns that look like labels, ids or an index are left out: {shown} (name them in "
            "features= if they are features, in ignore= if they are not)",
            DataWarning,
            stacklevel=2,
        )
    if columns.positions:
        shown = ", ".join(map(repr, columns.positions))
        warnings.warn(
            f"labels are clicks ({columns.label!r}), and columns that look like the position at "
            f"which a document was shown are no features: {shown} (position= names the column for "
            "rankers that correct position bias; features= takes "
            "it as a feature)",
            DataWarning,
            stacklevel=2,
        )
    if columns.outcomes:
        shown = ", ".join(map(repr, columns.outcomes))
        warnings.warn(
            f"columns that look like a rank or the score of a model are features: {shown} (if they "
            "know the answer, leave them out by ignore=; naming features= ends this warning)",
            DataWarning,
            stacklevel=2,
        )
    return columns


def _with_shown(schema: pa.Schema, options: LoadOptions) -> LoadOptions:
    """Return the options with the columns of positions that a Dataset was written with."""
    written = (schema.metadata or {}).get(SHOWN.encode(), b"").decode().split()
    found: dict[str, Any] = {
        name: name
        for name in (POSITION, PROPENSITY)
        if name in written and name in schema.names and getattr(options, name) is None
    }
    return replace(options, **found) if found else options


def written_categorical(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that were categorical when the table was written."""
    text = (schema.metadata or {}).get(CATEGORICAL.encode(), b"[]")
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"the metadata {CATEGORICAL} is {text!r:.60}, not a list of columns")
    return names


def _example(field: pa.Field) -> str:
    """Return an example of what the column holds, if its reader gave one."""
    example = (field.metadata or {}).get(EXAMPLE)
    return "" if example is None else f" (such as {example.decode()})"


def from_batches(
    given: Batches, options: LoadOptions, first_row: int = 0, *, by_columns: bool = False
) -> Dataset:
    """Make a Dataset of record batches; the first begins with row ``first_row`` of the file.

    With ``by_columns``, for which the number of rows must be right, the matrix is column-major.
    """
    import pyarrow as pa

    n_rows, columns = given.n_rows, given.columns
    _check_size(n_rows or 0, len(columns.features))
    X = np.empty((n_rows or 0, len(columns.features)), np.float32, "F" if by_columns else "C")
    sides: dict[str, list[Any]] = {}
    rounded: dict[str, None] = {}
    chunks: dict[str, list[Any]] = {name: [] for name in columns.categorical}
    start = 0
    for batch in given.batches:
        end = start + len(batch)
        if end > len(X):
            n_grown = max(end, len(X) * 3 // 2)
            _check_size(n_grown, X.shape[1])
            X.resize((n_grown, X.shape[1]), refcheck=False)
        found = _write_batch(X[start:end], batch, given, chunks, first_row + start)
        rounded |= dict.fromkeys(found)
        for kind in SIDES:
            name = getattr(columns, kind)
            if name is not None:
                sides.setdefault(kind, []).append(batch.column(name))
        start = end
    X.resize((start, X.shape[1]), refcheck=False)
    _warn_of_rounded(rounded)
    categories = _write_codes(X, given, chunks)
    n_rows = start
    if n_rows == 0:
        for kind in SIDES[:5]:
            if getattr(columns, kind) is not None:
                sides[kind] = [pa.array([], given.schema.field(getattr(columns, kind)).type)]
    joined = {kind: pa.chunked_array(parts) for kind, parts in sides.items()}
    y: Any = np.zeros(n_rows) if "label" in options.unread else options.y
    if "label" in joined:
        if not holds_numbers(joined["label"].type):
            raise DataError(no_numbers(columns.label, joined["label"].type) + GRADES_HINT)
        y = row_values(joined["label"], columns.label, first_row)
    qid: Any = np.zeros(n_rows, np.int64) if "query" in options.unread else options.qid
    if "query" in joined:
        qid = row_ids(given.typed_ids(joined["query"]), columns.query, first_row)
    numbers = _row_numbers(joined, columns, first_row)
    names = options.feature_names
    return Dataset(
        DenseMatrix(X),
        y,
        qid,
        group_sizes=options.group_sizes,
        feature_names=columns.features if names is None else names,
        sample_weight=numbers.pop("weight", options.sample_weight),
        doc_ids=joined.get("doc_id", options.doc_ids),
        comments=joined.get("comment"),
        absent=_absent(given.schema),
        source=given.source,
        categories=categories,
        **numbers,
    )


def _row_numbers(
    joined: Mapping[str, Any], columns: TableColumns, first_row: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Return weights, positions and propensities of the rows, of those that there are."""
    found = {
        kind: row_values(joined[kind], getattr(columns, kind), first_row)
        for kind in ("weight", "position", "propensity")
        if kind in joined
    }
    weight = found.get("weight", np.zeros(0))
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise DataError(
            f"column {columns.weight!r}: sample_weight {weight[row]:g} of row {first_row + row} is "
            "negative"
        )
    for kind, check in (("position", shown_positions), ("propensity", propensities)):
        if kind in found:
            check(found[kind], len(found[kind]), getattr(columns, kind), first_row)
    return found


def _block_rows(columns: TableColumns) -> int:
    """Return the number of rows that are decoded and written at a time."""
    return min(max(_BLOCK_VALUES // max(len(columns.features), 1), _LEAST_ROWS), _BLOCK_ROWS)


def _write_batch(
    X: npt.NDArray[np.float32],
    batch: pa.RecordBatch,
    given: Batches,
    chunks: Mapping[str, list[Any]],
    first_row: int,
) -> list[str]:
    """Write the numbers of a batch to its rows of X; return the columns that were rounded.

    Categorical columns are added to their ``chunks`` instead. Of a row-major X, a block of columns
    is written first and transposed as a whole: columns that are written one by one to their places
    would touch every cache line of X once for each.
    """
    names = given.columns.features
    block = X
    if X.flags.c_contiguous:
        block = np.empty(X.shape, np.float32, "F")
    rounded = []
    for j, name in enumerate(names):
        if name in chunks:
            chunks[name].append(compact(batch.column(name)))
        elif _write_numbers(block[:, j], batch.column(name), name, first_row):
            rounded.append(name)
    if block is not X:
        X[:] = block
    return rounded


def _write_numbers(
    place: npt.NDArray[np.float32], column: pa.Array, name: str, first_row: int
) -> bool:
    """Write a column of numbers to its place; return whether whole numbers were rounded."""
    write_feature(place, column, name)
    refuse_overflow(place, column, name, first_row)
    return is_rounded(place, column.type)


def _write_codes(
    X: npt.NDArray[np.float32], given: Batches, chunks: Mapping[str, list[Any]]
) -> dict[int, Categories]:
    """Write the codes of categorical columns to their places; return the dictionaries."""
    categories = {}
    for j, name in enumerate(given.columns.features):
        if name in chunks:
            kind = given.schema.field(name).type
            X[:, j], categories[j] = joined_arrow(chunks[name], name, kind, untyped=given.untyped)
    return categories


def _warn_of_rounded(names: Iterable[str]) -> None:
    shown = ", ".join(map(repr, names))
    if shown:
        warnings.warn(
            "columns hold whole numbers beyond 2^53, which are rounded to 24 bits as all features "
            f"are: {shown} (ids and hashes are no features: ignore=)",
            DataWarning,
            stacklevel=3,
        )


def _check_size(n_rows: int, n_features: int) -> None:
    """Refuse data that do not fit into memory: features, a label and a query id per row."""
    if n_rows * (4 * n_features + 16) > memory_limit():
        raise DataError(f"{n_rows} rows of {n_features} features do not fit into memory")


def _absent(schema: pa.Schema) -> Absent | None:
    """Return how absent features were read if the table was made from text (see ``to_arrow``)."""
    word = (schema.metadata or {}).get(ABSENT.encode(), b"")
    return {b"zero": "zero", b"missing": "missing"}.get(word)  # type: ignore[return-value]


class naming:  # noqa: N801 - reads as a phrase: with naming(path)
    """Context in which errors of reading name the file."""

    def __init__(self, path: FilePath) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        import pyarrow as pa

        if isinstance(error, DataError):
            named = str(error).startswith(str(self.path))
            raise DataError(str(error) if named else f"{self.path}: {error}") from None
        if isinstance(error, OSError) and error.filename == str(self.path):
            raise DataError(f"{self.path}: {error.strerror}") from None
        if isinstance(error, (pa.ArrowException, OSError)):
            no_parquet = "Parquet magic bytes not found" in str(error)
            hint = " If it is CSV, format='csv' (--format csv) reads it." if no_parquet else ""
            raise DataError(f"{self.path}: {error}{hint}") from None
