"""Options that verbs share, and how they become a Dataset."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rankgrove.data.dataset import Dataset

_T = TypeVar("_T")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_column_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that say what a data file is and what its columns are."""
    group = parser.add_argument_group(
        "reading data",
        "LETOR / svmlight text (also .gz, .bz2, .xz, .zst), Parquet, Feather / Arrow, CSV / TSV\n"
        "and .npz are told apart by the name of the file.",
    )
    group.add_argument("--format", metavar="NAME", help="format of the data, whatever its name")
    group.add_argument("--label", metavar="COLUMN", help="column of a table with the labels")
    group.add_argument("--query", metavar="COLUMN", help="column of a table with the query ids")
    group.add_argument(
        "--features", metavar="COLUMN", nargs="+", help="feature columns of a table (default: all)"
    )
    return group


def add_negative_labels_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--negative-labels``."""
    group.add_argument(
        "--negative-labels",
        choices=("error", "keep", "drop"),
        default="error",
        help="rows with a negative label: an error (the default), kept, or left out",
    )


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add all options that say how to read judged data."""
    group = add_column_options(parser)
    group.add_argument(
        "--missing",
        choices=("zero", "keep"),
        default="zero",
        help="features absent from sparse text are 0 (the default), or kept as missing (NaN)",
    )
    add_negative_labels_option(group)
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
    from rankgrove.metrics.metric import metric

    metric(text)
    return text


def column_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_column_options`` read, as arguments of ``load``."""
    return {name: getattr(arguments, name) for name in ("format", "label", "query", "features")}


def data_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_data_options`` read, as arguments of ``load``."""
    return {
        **column_options(arguments),
        "missing": arguments.missing,
        "negative_labels": arguments.negative_labels,
        "n_jobs": arguments.n_jobs,
    }


def load_data(path: str, arguments: argparse.Namespace) -> Dataset:
    """Load a data file as the options say."""
    from rankgrove.data.loading import load

    return load(path, **data_options(arguments))


def checked(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Let argparse show the message of a ValueError, which it would replace by its own."""

    def convert(text: str) -> _T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert
