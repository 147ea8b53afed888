"""Compare rankers over tree sizes and learning rates, as the RCRank paper does.

DATA is a folder of folds (Fold1/train.txt ..., S1.txt ..., set1.train.txt ...) or one file, whose
queries are divided into folds at random. Every model is cut where its validation metric was best,
and measured on the test part; the table shows the mean over the folds. The paper shifts the labels
of MSLR-WEB10K to start at 1, so figures are given for labels as they are and shifted by 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove.cli.options import (
    add_data_options,
    add_json_option,
    checked,
    data_options,
    load_data,
)
from rankgrove.cli.output import print_json, show, table

if TYPE_CHECKING:
    from rankgrove.data.folds import Fold
    from rankgrove.experiments.grid import Cell

EXAMPLES = """\
  rankgrove grid MSLR-WEB10K/
  rankgrove grid train.txt --folds 3 --leaves 8 32 --learning-rates 0.1 --n-estimators 200
  rankgrove grid train.txt --rankers rcrank lambdamart mart --labels as-is --json"""

_SHIFTS = {"as-is": (0,), "shifted": (1,), "both": (0, 1)}
_TITLES = {0: "labels as they are", 1: "labels shifted by 1 (the paper's convention)"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.experiments.grid import LEARNING_RATES, LEAVES, RANKERS
    from rankgrove.metrics.metric import metric

    parser.add_argument("data", metavar="DATA", help="a folder of folds, or a data file")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="for a file (default: 5)")
    parser.add_argument(
        "--max-folds", type=int, metavar="N", help="run only the first N folds (default: all)"
    )
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS), metavar="NAME")
    parser.add_argument("--leaves", nargs="+", type=int, default=list(LEAVES), metavar="N")
    parser.add_argument(
        "--learning-rates", nargs="+", type=float, default=list(LEARNING_RATES), metavar="RATE"
    )
    parser.add_argument("--n-estimators", type=int, default=1000, metavar="N", help="trees at most")
    parser.add_argument(
        "--early-stopping-rounds", type=int, metavar="N", help="stop after N rounds without gain"
    )
    parser.add_argument(
        "--metric",
        default="ndcg@10",
        type=checked(lambda text: metric(text) and text),
        help="(default: ndcg@10)",
    )
    parser.add_argument("--labels", choices=list(_SHIFTS), default="both", help="(default: both)")
    parser.add_argument("--random-state", type=int, default=0, metavar="SEED", help="(default: 0)")
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rich.console import Console
    from rich.progress import Progress

    from rankgrove.experiments.grid import run_grid

    shifts = _SHIFTS[arguments.labels]
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("models")
        cells = run_grid(
            _folds(arguments),
            rankers=arguments.rankers,
            leaves=arguments.leaves,
            learning_rates=arguments.learning_rates,
            label_shifts=shifts,
            metric=arguments.metric,
            early_stopping_rounds=arguments.early_stopping_rounds,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            n_estimators=arguments.n_estimators,
            random_state=arguments.random_state,
            n_jobs=arguments.n_jobs,
            verbose=0,
        )
    if arguments.json:
        print_json([_as_dict(cell) for cell in cells])
        return
    for shift in shifts:
        show(_grid_table(cells, shift, arguments))
    show(f"mean test {arguments.metric} over {len(cells[0].values)} folds; * best of each ranker")


def _folds(arguments: argparse.Namespace) -> Iterator[Fold]:
    from itertools import islice

    from rankgrove.data.folds import kfold, load_folds

    if Path(arguments.data).is_dir():
        folds = load_folds(arguments.data, **data_options(arguments))
    else:
        data = load_data(arguments.data, arguments)
        folds = kfold(data, arguments.folds, arguments.random_state)
    return islice(folds, arguments.max_folds)


def _grid_table(cells: list[Cell], shift: int, arguments: argparse.Namespace) -> Any:
    from rankgrove.experiments.grid import best_cell

    by_setting = {
        (cell.ranker, cell.leaves, cell.learning_rate): cell
        for cell in cells
        if cell.label_shift == shift
    }
    best = {name: best_cell(cells, name, shift) for name in arguments.rankers}
    rows = []
    for leaves in arguments.leaves:
        for name in arguments.rankers:
            row = [f"{leaves} leaves", name]
            for rate in arguments.learning_rates:
                cell = by_setting[name, leaves, rate]
                row.append(f"{cell.mean:.4f}{'*' if cell is best[name] else ' '}")
            rows.append(row)
    header = ["", "ranker", *(f"rate {rate:g}" for rate in arguments.learning_rates)]
    return table(header, rows, title=_TITLES[shift])


def _as_dict(cell: Cell) -> dict[str, Any]:
    return {**vars(cell), "mean": cell.mean}
