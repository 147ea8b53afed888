"""``load``: any ranking data to a Dataset, by the reader of its format."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rankgrove._addresses import FilePath, file_path
from rankgrove.data.core.categories import selected
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset, concatenate
from rankgrove.data.core.pandas_index import warn_of_other_order, without_index
from rankgrove.data.matrix.conversion import refuse_absent_rows
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
from rankgrove.data.reading.lake_tables import lake_batches, lake_table, refuse_lake_folder
from rankgrove.data.reading.options import (
    FOR_READERS,
    LoadArguments,
    LoadOptions,
    accepted_by,
    load_options,
    takes_options,
)
from rankgrove.data.reading.readers import READERS, reader_of
from rankgrove.errors import DataError

# Options that hold one value per row of a matrix or frame.
_BESIDE = ("y", "qid", "sample_weight", "doc_ids")


@takes_options(LoadArguments)
def load(source: Any, **options: Any) -> Dataset:
    """Load ranking data from a file, a data frame or arrays.

    Parameters
    ----------
    source : path or address (``s3://...``, or another of fsspec) of LETOR / svmlight text (also
        .gz, .bz2, .xz, .zst), Parquet, Feather / Arrow IPC, CSV / TSV or .npz; a list of paths, or
        a folder of such files, read one after the other; a pandas, polars or pyarrow table; a table
        of deltalake or pyiceberg, or a pyarrow data set; a numpy array or scipy sparse matrix; a
        Dataset (returned as it is)
    OPTIONS

    Raises
    ------
    DataError
        Bad data, with file, line and column, or row, and the offending text.
    """
    return _load(source, load_options(options))


def _load(source: Any, options: LoadOptions) -> Dataset:
    if is_folder(source):
        source = files_in(file_path(source))
    if not is_paths(source):
        return _checked_labels(_read(source, options), options)
    parts = [_checked_labels(_read(path, options), options) for path in source]
    # Each file is one query where queries are not read.
    return concatenate(parts, "merge" if "query" in options.unread else options.shared_queries)


def load_batches(path: FilePath, options: LoadOptions, *, whole: bool = False) -> Iterator[Dataset]:
    """Read a file batch by batch (or ``whole``), with the requested labels and columns.

    Batches of text have the columns that they mention, not those of ``like``, unless some of these
    are categorical.
    """
    chosen = reader_of(path, options.format)
    if chosen.batches is None or whole:
        yield _checked_labels(_read(path, options), options)
        return
    module = importlib.import_module(chosen.module)
    _check_options(options, module.ACCEPTS, f"{chosen.name} files")
    if chosen.name == "letor" and options.categorical:
        raise DataError(
            f"{path}: text with categories (categorical=) cannot be streamed: load it into memory, "
            "or give Parquet or CSV"
        )
    first_row = 0
    for batch in getattr(module, chosen.batches)(path, options):
        as_read = chosen.name == "letor" and not has_categories(options.like)
        matched = batch if as_read else _matched(batch, options)
        if as_read and first_row == 0 and options.like is not None:
            options.like.warn_of_numbers(batch.feature_names, str(path))
        yield _checked_labels(matched, options, first_row)
        first_row += batch.n_rows


def load_batch(batch: Any, options: LoadOptions) -> Dataset:
    """Load one batch of an iterator: a Dataset or a table."""
    return _checked_labels(_read(batch, replace(options, format=None)), options)


def has_categories(columns: Columns | None) -> bool:
    """Return whether some of the columns are categorical."""
    return columns is not None and bool(columns.categories)


def is_folder(source: Any) -> bool:
    """Return whether the source is the path of a folder."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    path = file_path(source)
    try:
        return path.is_dir()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None


def files_in(folder: FilePath) -> list[FilePath]:
    """Return the data files of a folder by name, without hidden ones and Spark's ``_SUCCESS``."""
    refuse_lake_folder(folder)
    known = tuple(suffix for format in READERS for suffix in format.suffixes)
    names = [*known, *(suffix + packed for suffix in known for packed in COMPRESSED_SUFFIXES)]
    found: list[FilePath] = sorted(folder.iterdir(), key=lambda path: path.name)
    files = [
        path
        for path in found
        if path.is_file() and path.name[0] not in "._" and path.name.lower().endswith(tuple(names))
    ]
    if not files:
        raise DataError(f"{folder}: the folder holds no data files ({', '.join(known)})")
    return files


def load_documents(path: Any, like: Any, *, needs_queries: bool, **options: Any) -> Dataset:
    """Load documents to be scored by the ranker ``like``: those of files, or of a folder.

    Labels are not read and may be absent, and so may queries unless they are needed.
    """
    unread = frozenset({"label"} if needs_queries else {"label", "query"})
    return _load(path, load_options({**options, "like": like}, unread=unread))


def is_paths(source: Any) -> bool:
    """Return whether the source is a list of paths."""
    return (
        isinstance(source, (list, tuple))
        and len(source) > 0
        and all(isinstance(path, (str, os.PathLike)) for path in source)
    )


def is_table(source: Any) -> bool:
    """Return whether the source is a table: of pandas, with an Arrow interface, or of a lake."""
    is_frame = type(source).__module__.startswith("pandas")
    return hasattr(source, "__arrow_c_stream__") or is_frame or lake_batches(source) is not None


def _read(source: Any, options: LoadOptions) -> Dataset:
    return _matched(_read_source(source, options), options)


def _matched(dataset: Dataset, options: LoadOptions) -> Dataset:
    """Align the columns of a Dataset to those of ``like``, if it is given."""
    if options.like is None:
        return dataset
    where = dataset.source or "X"
    matrix = dataset.matrix
    if options.own_categories:
        places = options.like.places(dataset.feature_names, where) or range(dataset.n_features)
        matrix = options.like.match(matrix.with_categories({}), where)
        matrix = matrix.with_categories(selected(dataset.categories, places))
    else:
        matrix = options.like.match(matrix, where)
    if dataset.source is not None:
        options.like.warn_of_numbers(dataset.feature_names, dataset.source)
    same = options.like.names in (None, dataset.feature_names)
    if same and not options.like.categories and not dataset.categories:
        return dataset
    return dataset.with_features(matrix, dataset.feature_names if same else options.like.names)


def _read_source(source: Any, options: LoadOptions) -> Dataset:
    if isinstance(source, Dataset):
        _check_options(options, accepted_by("dataset"), "a Dataset")
        return source
    if isinstance(source, (str, os.PathLike)):
        path = file_path(source)
        chosen = reader_of(path, options.format)
        module = importlib.import_module(chosen.module)
        _check_options(options, module.ACCEPTS, f"{chosen.name} files")
        dataset: Dataset = getattr(module, chosen.function)(path, options)
        return _with_categorical(dataset, options)
    if options.format is not None:
        raise ValueError(f"format={options.format!r} is for files, not for {type(source).__name__}")
    if hasattr(source, "iloc"):
        options = _without_indexes(source, options)
    if is_table(source):
        from rankgrove.data.reading import arrow

        _check_options(options, arrow.ACCEPTS, "a table")
        batches = lake_batches(source)
        return arrow.read_table(source if batches is None else lake_table(batches), options)
    if (
        hasattr(source, "__array__")
        or hasattr(source, "tocoo")
        or isinstance(source, (list, tuple))
    ):
        from rankgrove.data.reading import arrays

        _check_options(options, arrays.ACCEPTS, "a matrix")
        return _with_categorical(arrays.read_arrays(source, options), options)
    refuse_absent_rows(source, "load")
    raise DataError(f"cannot load a {type(source).__name__}")


def _without_indexes(frame: Any, options: LoadOptions) -> LoadOptions:
    """Warn of labels and the like with the frame's index in another order, and drop their index."""
    beside = {name: getattr(options, name) for name in _BESIDE}
    warn_of_other_order("load", 7, X=frame, **beside)
    return replace(options, **{name: without_index(value) for name, value in beside.items()})


def _with_categorical(dataset: Dataset, options: LoadOptions) -> Dataset:
    """Code columns that are named as categorical, if the reader has read them as numbers."""
    if options.categorical is None or dataset.categories or not options.categorical:
        return dataset
    from rankgrove.data.reading.number_categories import with_categorical

    return with_categorical(dataset, options.categorical)


_IF_A_TABLE = (
    ", as which this file is read: it names columns of a table; if this is one, say so by "
    "format='csv' (--format csv on the command line) or another format"
)


def _check_options(options: LoadOptions, accepted: frozenset[str], what: str) -> None:
    given = options.given() & FOR_READERS
    if options.ignore == "texts":  # there are none but in tables
        given.discard("ignore")
    refused = sorted(given - accepted)
    if refused:
        is_column = refused[0] in accepted_by("table") - accepted_by("matrix")
        hint = _IF_A_TABLE if is_column and what.endswith(" files") else ""
        raise ValueError(f"{refused[0]} does not apply to {what}{hint}")


def _checked_labels(dataset: Dataset, options: LoadOptions, first_row: int = 0) -> Dataset:
    unread = "label" in options.unread
    if options.negative_labels == "keep" or unread or not (dataset.y < 0).any():
        return dataset
    if options.negative_labels == "drop":
        return dataset.select_rows(dataset.y >= 0)
    row = int((dataset.y < 0).argmax())
    where = "" if dataset.source is None else f"{dataset.source}, "
    raise DataError(
        f"{where}row {first_row + row}: the label {dataset.y[row]:g} is negative "
        "(negative_labels='keep' or negative_labels='drop' allows it)"
    )
