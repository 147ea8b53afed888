"""``load``: any ranking data to a Dataset, by the reader of its format."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from rankgrove.data.compression import COMPRESSED_SUFFIXES
from rankgrove.data.dataset import Dataset, concatenate
from rankgrove.data.options import LoadOptions, Progress
from rankgrove.errors import DataError


@dataclass(frozen=True)
class Format:
    """A file format: its name, the module and function that read it, and how files are known."""

    name: str
    module: str
    function: str
    suffixes: tuple[str, ...]
    magic: bytes | None = None


# A new format is one module with ``ACCEPTS`` (the options it understands) and one line here.
# The first is the default for unknown suffixes.
FORMATS = (
    Format("letor", "rankgrove.data.letor", "read_letor", (".txt", ".letor", ".svm", ".libsvm")),
    Format("parquet", "rankgrove.data.arrow", "read_parquet", (".parquet", ".pq"), b"PAR1"),
    Format("arrow", "rankgrove.data.arrow", "read_ipc", (".feather", ".arrow", ".ipc"), b"ARROW1"),
    Format("csv", "rankgrove.data.csv", "read_csv", (".csv", ".tsv")),
    Format("npz", "rankgrove.data.npz", "read_npz", (".npz",), b"PK\x03\x04"),
)


def load(
    source: Any,
    y: npt.ArrayLike | None = None,
    *,
    qid: npt.ArrayLike | None = None,
    group_sizes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    doc_ids: npt.ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    label: str | None = None,
    query: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    doc_id: str | None = None,
    missing: Literal["zero", "keep"] = "zero",
    n_features: int | None = None,
    first_feature: int | None = None,
    comments: bool = True,
    negative_labels: Literal["error", "keep", "drop"] = "error",
    format: str | None = None,
    progress: bool | Progress | None = None,
    n_jobs: int | None = None,
) -> Dataset:
    """Load ranking data from a file, a data frame or arrays.

    Parameters
    ----------
    source : path of LETOR / svmlight text (also .gz, .bz2, .xz, .zst), Parquet, Feather / Arrow
        IPC, CSV / TSV or .npz; a list of paths, read one after the other; a pandas, polars or
        pyarrow table; a numpy array or scipy sparse matrix; a Dataset (returned as it is)
    y : labels, for a matrix without them
    qid, group_sizes : query id of each row, or number of consecutive rows of each query, where the
        source does not hold them. A file ``FILE.query`` or ``FILE.group`` beside text is found.
    sample_weight, doc_ids : one per row, where the source does not hold them
    feature_names : names of the columns of X; for text also their number
    label, query, weight, doc_id : names of columns of a table, found by convention if not given
    features : names of the feature columns of a table, in the order wanted; all others by default
    missing : what features absent from sparse text or matrices are: ``"zero"``, as the papers
        have it, or ``"keep"`` (NaN). NaN and NULL that the data spell out are NaN either way.
    n_features : number of features, for data that may not mention the last ones
    first_feature : number of the first feature in text, 0 or 1; by default 0 if number 0 occurs
    comments : whether to keep the comments of text (and the document ids in them)
    negative_labels : ``"error"``, ``"keep"``, or ``"drop"`` such rows (unjudged documents)
    format : name of the file format, if the file's name does not tell
    progress : show the progress of reading: None (large files on a terminal), True, False, or a
        function of bytes done and bytes in all
    n_jobs : number of threads; None or -1 for all

    Raises
    ------
    DataError
        Bad data, with file, line and column, or row, and the offending text.
    """
    if missing not in ("zero", "keep"):
        raise ValueError(f"missing must be 'zero' or 'keep', not {missing!r}")
    if negative_labels not in ("error", "keep", "drop"):
        raise ValueError(
            f"negative_labels must be 'error', 'keep' or 'drop', not {negative_labels!r}"
        )
    if first_feature not in (None, 0, 1):
        raise ValueError(f"first_feature must be 0, 1 or None, not {first_feature!r}")
    if n_features is not None and not 0 <= n_features <= 10_000_000:
        raise ValueError(f"n_features must be between 0 and 10000000, not {n_features}")
    options = LoadOptions(
        y=y,
        qid=qid,
        group_sizes=group_sizes,
        sample_weight=sample_weight,
        doc_ids=doc_ids,
        feature_names=feature_names,
        label=label,
        query=query,
        features=features,
        weight=weight,
        doc_id=doc_id,
        missing=missing,
        n_features=n_features,
        first_feature=first_feature,
        comments=comments,
        negative_labels=negative_labels,
        progress=progress,
        n_jobs=n_jobs,
    )
    return _checked_labels(_read(source, options, format), options)


def load_unjudged(
    path: str | os.PathLike[str],
    *,
    needs_queries: bool,
    format: str | None = None,
    label: str | None = None,
    query: str | None = None,
    features: Sequence[str] | None = None,
) -> Dataset:
    """Load the documents of a table (CSV, Parquet, Arrow) for scoring.

    Labels are not read and may be absent, and so may queries unless they are needed: all are 0.
    """
    unread = frozenset({"label"} if needs_queries else {"label", "query"})
    return _read(
        path, LoadOptions(label=label, query=query, features=features, unread=unread), format
    )


def _read(source: Any, options: LoadOptions, format: str | None) -> Dataset:
    if isinstance(source, Dataset):
        _check_options(options, frozenset({"negative_labels"}), "a Dataset")
        return source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        chosen = format_of(path, format)
        module = importlib.import_module(chosen.module)
        _check_options(options, module.ACCEPTS, f"{chosen.name} files")
        dataset: Dataset = getattr(module, chosen.function)(path, options)
        return dataset
    if format is not None:
        raise ValueError(f"format={format!r} is for files, not for {type(source).__name__}")
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        return concatenate([_read(path, options, format) for path in source])
    if hasattr(source, "__arrow_c_stream__") or type(source).__module__.startswith("pandas"):
        from rankgrove.data import arrow

        _check_options(options, arrow.ACCEPTS, "a table")
        return arrow.read_table(source, options)
    if (
        hasattr(source, "__array__")
        or hasattr(source, "tocoo")
        or isinstance(source, (list, tuple))
    ):
        from rankgrove.data import arrays

        _check_options(options, arrays.ACCEPTS, "a matrix")
        return arrays.read_arrays(source, options)
    raise DataError(f"cannot load a {type(source).__name__}")


def format_of(path: Path, name: str | None) -> Format:
    """Return the format of a file by the given name of a format, or by the suffix."""
    if name is not None:
        for known in FORMATS:
            if known.name == name:
                return known
        raise ValueError(f"format {name!r} is not one of {', '.join(f.name for f in FORMATS)}")
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        suffix = path.with_suffix("").suffix.lower()
    by_suffix = next((known for known in FORMATS if suffix in known.suffixes), None)
    if by_suffix is not None or not path.is_file():
        return by_suffix or FORMATS[0]
    with path.open("rb") as file:
        head = file.read(8)
    by_magic = (known for known in FORMATS if known.magic and head.startswith(known.magic))
    return next(by_magic, FORMATS[0])


def _check_options(options: LoadOptions, accepted: frozenset[str], what: str) -> None:
    refused = sorted(options.given() - accepted)
    if refused:
        raise ValueError(f"{refused[0]} does not apply to {what}")


def _checked_labels(dataset: Dataset, options: LoadOptions) -> Dataset:
    if options.negative_labels == "keep" or dataset.n_rows == 0 or dataset.y.min() >= 0:
        return dataset
    if options.negative_labels == "drop":
        return dataset.select_rows(dataset.y >= 0)
    row = int((dataset.y < 0).argmax())
    where = "" if dataset.source is None else f"{dataset.source}, "
    raise DataError(
        f"{where}row {row}: the label {dataset.y[row]:g} is negative "
        "(negative_labels='keep' or 'drop' allows it)"
    )
