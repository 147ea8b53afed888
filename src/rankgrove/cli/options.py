"""Options that verbs share, and how they become a Dataset."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, get_args

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset

_T = TypeVar("_T")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_column_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options for the format of data files and the roles of their columns."""
    return _add_reading_options(parser, "judgments", "features", "files")


def add_judgment_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the labels, queries and document ids of a file."""
    add_threads_option(_add_reading_options(parser, "judgments", "labels", "files"))


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading judged data from several files."""
    _add_reading_options(parser, "judgments", "features", "labels", "files")


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add all options for reading judged data."""
    add_threads_option(_add_reading_options(parser, "judgments", "features", "labels", "files"))


def _add_reading_options(parser: argparse.ArgumentParser, *groups: str) -> argparse._ArgumentGroup:
    """Add the options of ``load`` that are declared for these groups."""
    from rankgrove.data.reading.options import LoadArguments

    group = parser.add_argument_group(
        "reading data",
        "The suffix of a file determines its format: LETOR / svmlight text (also .gz, .bz2, .xz,\n"
        ".zst), Parquet, Feather / Arrow, CSV / TSV, .npz.",
    )
    for option in fields(LoadArguments):
        if option.metadata["group"] in groups:
            add_reading_option(group, option.name)
    return group


def add_reading_option(parser: argparse._ActionsContainer, name: str) -> None:
    """Add one option of ``load``."""
    from rankgrove.data.reading.options import LoadArguments, choices_of, option_types

    meaning = LoadArguments.__dataclass_fields__[name].metadata["meaning"]
    hint = option_types()[name]
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        help=meaning.replace("%", "%%"),
        **_argument_of(hint, choices_of(hint)),
    )


def _argument_of(type: Any, choices: tuple[Any, ...] | None) -> dict[str, Any]:
    """Return the keyword arguments of argparse for a type; the default None means not given."""
    if type is bool or bool in get_args(type):
        return {"action": argparse.BooleanOptionalAction, "default": None}
    if choices is not None:
        given = [choice for choice in choices if choice is not None]
        return {"choices": given, "type": given[0].__class__}
    members = get_args(type)
    if Sequence[str] in members:
        return {"nargs": "+", "action": "extend", "metavar": "COLUMN"}
    if str in members:
        return {"metavar": "COLUMN" if int in members else "NAME"}
    return {"type": int, "metavar": "N"}


def add_threads_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--n-jobs``."""
    parser.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: all)")


def add_seed_option(parser: argparse._ActionsContainer, default: int = 0) -> None:
    """Add ``--seed``."""
    parser.add_argument(
        "--seed",
        type=int,
        default=default,
        metavar="N",
        help=f"random seed (default: {default})",
    )


def add_quiet_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--quiet``."""
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_early_stopping_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--early-stopping-rounds``."""
    parser.add_argument(
        "--early-stopping-rounds",
        type=int,
        metavar="N",
        help="early stopping after N rounds without improvement",
    )


def add_fold_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for dividing data into folds."""
    parser.add_argument(
        "--folds",
        type=int,
        metavar="N",
        help="divide the queries of a file into N folds (default: 5)",
    )
    parser.add_argument(
        "--fold-order",
        choices=["random", "sorted"],
        help="order of the queries before they are divided (default: random; sorted: by query id)",
    )
    parser.add_argument("--max-folds", type=int, metavar="N", help="use only the first N folds")


def add_label_shift_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--label-shift``."""
    parser.add_argument(
        "--label-shift", type=int, metavar="N", help="add N to all labels (default: 0)"
    )


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that restrict the training data of all rankers."""
    parser.add_argument(
        "--train-share", type=float, metavar="X", help="train on this share of the queries only"
    )
    parser.add_argument(
        "--best-features",
        type=int,
        metavar="N",
        help="keep the N features with the most splits in models of the training part",
    )
    parser.add_argument(
        "--feature-order",
        choices=["lambdamart", "study"],
        help="models whose splits are counted: one LambdaMART model (the default), or all models "
        "of the study, which are first fitted to the whole training part",
    )


def add_repeats_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--repeats``."""
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="fits of each setting, with different seeds (default: 1)",
    )


def add_ranker_option(
    parser: argparse.ArgumentParser, *, required: bool = False, choices: list[str] | None = None
) -> None:
    """Add ``--ranker``, which may be repeated."""
    parser.add_argument(
        "--ranker",
        action="append",
        dest="rankers",
        required=required,
        choices=choices,
        metavar="RANKER",
        help="ranker to train and evaluate; may be repeated"
        + (f" (default: {', '.join(choices)})" if choices else ""),
    )


def add_workers_option(parser: argparse._ActionsContainer) -> None:
    """Add ``--workers``."""
    parser.add_argument(
        "--workers", type=positive_int, default=1, metavar="N", help="worker processes (default: 1)"
    )


def add_significance_options(parser: argparse._ActionsContainer) -> None:
    """Add ``--significance-test`` and ``--alpha``."""
    from rankgrove.experiments.significance import TESTS

    parser.add_argument(
        "--significance-test",
        choices=TESTS,
        default=TESTS[0],
        help=f"test of differences between queries' values (default: {TESTS[0]})",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="significance level (default: 0.05)"
    )


def add_preset_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--preset``."""
    from rankgrove.metrics.presets import PRESETS

    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        metavar="NAME",
        help=f"conventions of a tool for metrics: {', '.join(PRESETS)}",
    )


def add_metric_option(parser: argparse._ActionsContainer, default: Sequence[str]) -> None:
    """Add ``--metric``, which takes several names and may be repeated."""
    parser.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        dest="metrics",
        metavar="NAME",
        type=checked(_metric_name),
        help="metrics: name, name@k or name@k(option=value,...); early stopping and choices of "
        f"models use the first (default: {' '.join(default)})",
    )


def _metric_name(text: str) -> str:
    from rankgrove.metrics.parsing import metric

    metric(text)
    return text


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading that were given, as arguments of ``load``."""
    from rankgrove.data.reading.options import LoadArguments

    names = [option.name for option in fields(LoadArguments) if option.metadata["group"]]
    given = {name: getattr(arguments, name, None) for name in names}
    if given["ignore"] == ["texts"]:
        given["ignore"] = "texts"
    return {name: value for name, value in given.items() if value is not None}


def data_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_data_options`` read, as arguments of ``load``."""
    threads = {} if arguments.n_jobs is None else {"n_jobs": arguments.n_jobs}
    return reading_options(arguments) | threads


def load_data(path: Any, arguments: argparse.Namespace, **changes: Any) -> Dataset:
    """Load a data file with the options of the command line, but with ``changes``."""
    from rankgrove.data.reading.loading import load

    return load(path, **(data_options(arguments) | changes))


def positive_int(text: str) -> int:
    """Read a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def checked(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Pass the message of a ValueError to argparse, which would replace it by its own."""

    def convert(text: str) -> _T:
        try:
            return read(text)
        except ValueError as error:
            message = str(error).replace(" on the command line)", ")")
            raise argparse.ArgumentTypeError(message) from None

    return convert
