"""``load``: any ranking data to a Dataset, by the reader of its format."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Absent, Dataset, SharedQueries, concatenate
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
from rankgrove.data.reading.options import LoadOptions, Progress
from rankgrove.data.reading.readers import READERS, reader_of
from rankgrove.errors import DataError


def load(
    source: Any,
    y: npt.ArrayLike | None = None,
    *,
    qid: npt.ArrayLike | None = None,
    group_sizes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    doc_ids: npt.ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    label: str | int | None = None,
    query: str | int | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] | Literal["texts"] | None = None,
    weight: str | int | None = None,
    doc_id: str | int | None = None,
    like: Any = None,
    absent: Absent | None = None,
    sparse: bool | None = None,
    n_features: int | None = None,
    first_feature: int | None = None,
    comments: bool = True,
    negative_labels: Literal["error", "keep", "drop"] = "error",
    shared_queries: SharedQueries = "error",
    format: str | None = None,
    progress: bool | Progress | None = None,
    n_jobs: int | None = None,
) -> Dataset:
    """Load ranking data from a file, a data frame or arrays.

    Parameters
    ----------
    source : path of LETOR / svmlight text (also .gz, .bz2, .xz, .zst), Parquet, Feather / Arrow
        IPC, CSV / TSV or .npz; a list of paths, or a folder of such files, read one after the
        other; a pandas, polars or pyarrow table; a numpy array or scipy sparse matrix; a Dataset
        (returned as it is)
    y : labels, for a matrix without them
    qid, group_sizes : query id of each row, or number of consecutive rows of each query, where the
        source does not hold them. A file ``FILE.query`` or ``FILE.group`` beside text is found.
    sample_weight, doc_ids : one per row, where the source does not hold them
    feature_names : names of the columns of X; for text also their number
    label, query, weight, doc_id : names of columns of a table, found by convention if not given.
        ``query="comment"`` takes the comments of text that has no qid.
    features : names of the feature columns of a table, in the order wanted; by default all others,
        except those that look like a label, an id or an index. ``[]`` reads labels and queries
        alone, also from text.
    ignore : names of columns of a table that are no features, or ``"texts"``: all that hold no
        numbers
    like : a Dataset or fitted ranker whose columns these data are to have. Columns are taken by
        name where names are known, and text is read as that data were (``absent``, first feature).
    absent : what features that sparse text or a sparse matrix does not mention are: ``"zero"`` (the
        default), as the papers have it, or ``"missing"`` (NaN). NaN and NULL that the data spell
        out are NaN either way.
    sparse : whether the X of text or of a sparse matrix stays sparse (``data.sparse``) or becomes
        an array; it means the same either way. None: it stays sparse if it has at least 1000
        columns, of which at most 5 % are filled (in text, as far as its first lines tell).
    n_features : number of features, for data that may not mention the last ones
    first_feature : number of the first feature in text, 0 or 1; by default 0 if number 0 occurs
    comments : whether to keep the comments of text (and the document ids in them)
    negative_labels : ``"error"``, ``"keep"``, or ``"drop"`` such rows (unjudged documents)
    shared_queries : what to do about a query id that occurs in several of the paths: ``"error"``,
        ``"merge"`` its rows, or keep them ``"apart"`` as different queries
    format : name of the file format, if the file's name does not tell
    progress : show the progress of reading: None (large files on a terminal), True, False, or a
        function of bytes done and bytes in all
    n_jobs : number of threads; None or -1 for all

    Raises
    ------
    DataError
        Bad data, with file, line and column, or row, and the offending text.
    """
    _check_choice("shared_queries", shared_queries, ("error", "merge", "apart"))
    options = checked_options(
        y=y,
        qid=qid,
        group_sizes=group_sizes,
        sample_weight=sample_weight,
        doc_ids=doc_ids,
        feature_names=feature_names,
        label=label,
        query=query,
        features=features,
        ignore=ignore,
        weight=weight,
        doc_id=doc_id,
        absent=absent,
        sparse=sparse,
        like=like,
        n_features=n_features,
        first_feature=first_feature,
        comments=comments,
        negative_labels=negative_labels,
        progress=progress,
        n_jobs=n_jobs,
    )
    if is_folder(source):
        source = files_in(Path(source))
    if not is_paths(source):
        return _checked_labels(_read(source, options, format), options)
    parts = [_checked_labels(_read(path, options, format), options) for path in source]
    return concatenate(parts, shared_queries)


def checked_options(
    *,
    like: Any = None,
    absent: Absent | None = None,
    sparse: bool | None = None,
    n_features: int | None = None,
    first_feature: int | None = None,
    negative_labels: Literal["error", "keep", "drop"] = "error",
    **others: Any,
) -> LoadOptions:
    """Check what a caller of ``load`` says about the data."""
    _check_choice("absent", absent, (None, "zero", "missing"))
    _check_choice("sparse", sparse, (None, True, False))
    _check_choice("negative_labels", negative_labels, ("error", "keep", "drop"))
    first_feature = _whole_number("first_feature", first_feature)
    _check_choice("first_feature", first_feature, (None, 0, 1))
    n_features = _whole_number("n_features", n_features)
    if n_features is not None and not 0 <= n_features <= 10_000_000:
        raise ValueError(f"n_features must be between 0 and 10000000, not {n_features}")
    return LoadOptions(
        like=None if like is None else Columns.of(like),
        absent=absent or absent_like(like),
        absent_given=absent is not None,
        sparse=sparse,
        n_features=n_features,
        first_feature=first_feature,
        negative_labels=negative_labels,
        **others,
    )


def load_batches(
    path: Path, options: LoadOptions, format: str | None, *, whole: bool = False
) -> Iterator[Dataset]:
    """Read a file batch by batch (or ``whole``), with the labels and columns asked for.

    Pieces of text come as wide as they are, without the columns of ``like``.
    """
    chosen = reader_of(path, format)
    if chosen.batches is None or whole:
        yield _checked_labels(_read(path, options, format), options)
        return
    module = importlib.import_module(chosen.module)
    _check_options(options, module.ACCEPTS, f"{chosen.name} files")
    first_row = 0
    for batch in getattr(module, chosen.batches)(path, options):
        matched = batch if chosen.name == "letor" else _matched(batch, options)
        yield _checked_labels(matched, options, first_row)
        first_row += batch.n_rows


def load_batch(batch: Any, options: LoadOptions) -> Dataset:
    """Take one batch of an iterator: a Dataset or a table."""
    return _checked_labels(_read(batch, options, None), options)


def is_folder(source: Any) -> bool:
    """Tell whether the source is the path of a folder."""
    return isinstance(source, (str, os.PathLike)) and Path(source).is_dir()


def files_in(folder: Path) -> list[Path]:
    """Return the data files of a folder by name; hidden ones, and Spark's ``_SUCCESS``, are not."""
    known = tuple(suffix for format in READERS for suffix in format.suffixes)
    names = [*known, *(suffix + packed for suffix in known for packed in COMPRESSED_SUFFIXES)]
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name[0] not in "._" and path.name.lower().endswith(tuple(names))
    ]
    if not files:
        raise DataError(f"{folder}: the folder holds no data files ({', '.join(known)})")
    return files


def load_documents(
    path: str | os.PathLike[str],
    like: Any,
    *,
    needs_queries: bool,
    format: str | None = None,
    absent: Absent | None = None,
    **options: Any,
) -> Dataset:
    """Load documents to be scored by the ranker ``like``: those of a file, or of a folder.

    Labels are not read and may be absent, and so may queries unless they are needed.
    """
    reading = LoadOptions(
        like=Columns.of(like),
        absent=absent or absent_like(like),
        absent_given=absent is not None,
        unread=frozenset({"label"} if needs_queries else {"label", "query"}),
        **options,
    )
    if not is_folder(path):
        return _read(path, reading, format)
    parts = [_read(part, reading, format) for part in files_in(Path(path))]
    return concatenate(parts, "error")


def absent_like(like: Any) -> Absent:
    """Return what absent features are in data like those of a Dataset or fitted ranker."""
    absent: Absent | None = getattr(getattr(like, "model_", like), "absent", None)
    return absent or "zero"


def is_paths(source: Any) -> bool:
    """Tell whether the source is a list of paths."""
    return (
        isinstance(source, (list, tuple))
        and len(source) > 0
        and all(isinstance(path, (str, os.PathLike)) for path in source)
    )


def is_table(source: Any) -> bool:
    """Tell whether the source is a data frame: of pandas, or anything that speaks Arrow."""
    return hasattr(source, "__arrow_c_stream__") or type(source).__module__.startswith("pandas")


def _read(source: Any, options: LoadOptions, format: str | None) -> Dataset:
    return _matched(_read_source(source, options, format), options)


def _matched(dataset: Dataset, options: LoadOptions) -> Dataset:
    """Bring the columns of a Dataset to those of ``like``, if it is given."""
    if options.like is None:
        return dataset
    matrix = options.like.match(dataset, dataset.source or "X")
    if options.like.names in (None, dataset.feature_names):
        return dataset
    return dataset.with_features(matrix, options.like.names)


def _read_source(source: Any, options: LoadOptions, format: str | None) -> Dataset:
    if isinstance(source, Dataset):
        _check_options(options, frozenset({"negative_labels", "like"}), "a Dataset")
        return source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        chosen = reader_of(path, format)
        module = importlib.import_module(chosen.module)
        _check_options(options, module.ACCEPTS, f"{chosen.name} files")
        dataset: Dataset = getattr(module, chosen.function)(path, options)
        return dataset
    if format is not None:
        raise ValueError(f"format={format!r} is for files, not for {type(source).__name__}")
    if is_table(source):
        from rankgrove.data.reading import arrow

        _check_options(options, arrow.ACCEPTS, "a table")
        return arrow.read_table(source, options)
    if (
        hasattr(source, "__array__")
        or hasattr(source, "tocoo")
        or isinstance(source, (list, tuple))
    ):
        from rankgrove.data.reading import arrays

        _check_options(options, arrays.ACCEPTS, "a matrix")
        return arrays.read_arrays(source, options)
    raise DataError(f"cannot load a {type(source).__name__}")


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise ValueError(f"{name} must be one of {known}, not {value!r}")


def _whole_number(name: str, value: Any) -> int | None:
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None


_OF_TABLES = ("label", "query", "weight", "doc_id", "features", "ignore")
_IF_A_TABLE = (
    ", as which this file is read: it names columns of a table; if this is one, say so by "
    "format='csv' (--format csv on the command line) or another format"
)


def _check_options(options: LoadOptions, accepted: frozenset[str], what: str) -> None:
    settled = {"unread", "like"}
    if options.ignore == "texts":  # there are none but in tables
        settled.add("ignore")
    refused = sorted(options.given() - accepted - settled)
    if refused:
        hint = _IF_A_TABLE if refused[0] in _OF_TABLES and what.endswith(" files") else ""
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
        "(negative_labels='keep' or 'drop' allows it)"
    )
