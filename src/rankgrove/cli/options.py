"""Options that verbs share, and how they become a Dataset."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset

_T = TypeVar("_T")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_column_options(
    parser: argparse.ArgumentParser,
    *,
    query_option: str = "--query",
    format_option: str = "--format",
) -> argparse._ArgumentGroup:
    """Add the options that say what a data file is and what its columns are."""
    group = add_judgment_options(parser, query_option=query_option, format_option=format_option)
    add_feature_options(group)
    return group


def add_judgment_options(
    parser: argparse.ArgumentParser,
    *,
    query_option: str = "--query",
    format_option: str = "--format",
) -> argparse._ArgumentGroup:
    """Add the options that say where the labels, queries and document ids of a file are."""
    group = parser.add_argument_group(
        "reading data",
        "LETOR / svmlight text (also .gz, .bz2, .xz, .zst), Parquet, Feather / Arrow, CSV / TSV\n"
        "and .npz are told apart by the name of the file.",
    )
    group.add_argument(
        format_option, dest="format", metavar="NAME", help="format of the data, whatever its name"
    )
    group.add_argument("--label", metavar="COLUMN", help="column of a table with the labels")
    group.add_argument(
        query_option,
        dest="query",
        metavar="COLUMN",
        help="column of a table with the query ids (text without qid: 'comment')",
    )
    group.add_argument("--doc-id", metavar="COLUMN", help="column of a table with document ids")
    return group


def add_feature_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say what the features are."""
    group.add_argument("--weight", metavar="COLUMN", help="column of a table with row weights")
    group.add_argument(
        "--features",
        metavar="COLUMN",
        nargs="+",
        help="feature columns of a table (default: those of the model, or all that are left)",
    )
    group.add_argument(
        "--ignore",
        metavar="COLUMN",
        nargs="+",
        help="columns of a table that are no features; texts: all that hold no numbers",
    )
    group.add_argument(
        "--absent",
        choices=("zero", "missing"),
        help="what features are that text does not mention: 0, or missing (default: as in the "
        "training data of the model, else zero)",
    )
    group.add_argument(
        "--n-features", type=int, metavar="N", help="number of features of text, if it lacks some"
    )
    group.add_argument(
        "--first-feature", type=int, choices=(0, 1), help="number of the first feature of text"
    )


def add_negative_labels_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--negative-labels``."""
    group.add_argument(
        "--negative-labels",
        choices=("error", "keep", "drop"),
        default="error",
        help="rows with a negative label: an error (the default), kept, or left out",
    )


def add_shared_queries_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--shared-queries``."""
    group.add_argument(
        "--shared-queries",
        choices=("error", "merge", "apart"),
        default="error",
        help="a query id in two files: an error (the default), one query, or two",
    )


def add_data_options(parser: argparse.ArgumentParser, format_option: str = "--format") -> None:
    """Add all options that say how to read judged data."""
    group = add_column_options(parser, format_option=format_option)
    add_negative_labels_option(group)
    add_threads_option(group)


def add_threads_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--n-jobs``."""
    group.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: all)")


def add_metric_options(parser: argparse.ArgumentParser, help: str) -> None:
    """Add ``--metrics`` of several names, and ``--metric`` of one, which may be repeated."""
    read = checked(_metric_name)
    parser.add_argument(
        "--metrics", nargs="+", action="extend", metavar="NAME", type=read, help=help
    )
    parser.add_argument(
        "--metric",
        action="append",
        dest="metrics",
        metavar="NAME",
        type=read,
        help="one of them; may be repeated",
    )


def _metric_name(text: str) -> str:
    from rankgrove.metrics.parsing import metric

    metric(text)
    return text


_COLUMNS = ("format", "label", "query", "doc_id", "weight", "features", "ignore")
_TEXT = ("absent", "n_features", "first_feature")


def column_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_column_options`` read, as arguments of ``load``."""
    options = {name: getattr(arguments, name, None) for name in (*_COLUMNS, *_TEXT)}
    if options["ignore"] == ["texts"]:
        options["ignore"] = "texts"
    return options


def data_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_data_options`` read, as arguments of ``load``."""
    return {
        **column_options(arguments),
        "negative_labels": arguments.negative_labels,
        "n_jobs": arguments.n_jobs,
    }


def load_data(path: str, arguments: argparse.Namespace, **changes: Any) -> Dataset:
    """Load a data file as the options say, except for ``changes``."""
    from rankgrove.data.reading.loading import load

    return load(path, **(data_options(arguments) | changes))


def checked(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Let argparse show the message of a ValueError, which it would replace by its own."""

    def convert(text: str) -> _T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert
