"""Compare rankers of all families on synthetic data.

Generates judgments shaped like MSLR-WEB10K, compares rankers of all families on them, and prints a
table with significance tests. An HTML page with charts is written to the results folder. Takes
under two minutes on two cores.
"""

from __future__ import annotations

import argparse
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from rankgrove.cli.compare import add_run_options, add_table_options, run_and_compare
from rankgrove.cli.compare import show_comparison as show_tables
from rankgrove.cli.options import (
    add_ranker_option,
    add_repeats_option,
    add_seed_option,
    add_threads_option,
)
from rankgrove.cli.output import print_json, show

if TYPE_CHECKING:
    from rankgrove.data.reading.folds import Fold
    from rankgrove.experiments.study import Study

EXAMPLES = """\
  rankgrove demo
  rankgrove demo --ranker lambdamart --ranker rf-point --queries 100
  rankgrove demo --out /tmp/demo --repeats 3"""

METRICS = ("ndcg@10", "err", "map")
BASELINE = "lambdamart"
# Those that this rankgrove knows are compared, with parameters that suit small data.
RANKERS = {
    "lambdamart": "n_estimators=200",
    "plrank": "n_estimators=200",
    "mcrank": "n_estimators=100",
    "yetirank": "n_estimators=200",
    "rcrank": "n_estimators=200",
    "rf-point": "n_estimators=100",
    "rf-list": "n_estimators=30",
    "rf-hybrid": "n_estimators=60",
    "igbrt": "n_estimators=100,n_forest_trees=50",
    "coordinate-ascent": "normalisation=query-minmax,n_restarts=1,max_passes=2",
    "single-feature": "",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_ranker_option(parser, choices=_known_rankers())
    parser.add_argument(
        "--queries", type=int, default=150, metavar="N", help="training queries (default: 150)"
    )
    add_repeats_option(parser)
    add_seed_option(parser, default=1)
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    add_threads_option(parser)
    add_run_options(parser)
    parser.set_defaults(out="demo")
    add_table_options(parser)


def _known_rankers() -> list[str]:
    from rankgrove.rankers.base.registry import ranker_names

    return [name for name in RANKERS if name in ranker_names()]


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._optional import require
    from rankgrove.experiments.report import write_report
    from rankgrove.experiments.tables import as_json

    require("plotly.offline", "plots", "the demo's page")
    start = time.perf_counter()
    fold = _fold(arguments.queries, arguments.seed)
    if not arguments.json:
        show(
            f"{fold.train.n_rows:,} training documents of {fold.train.n_queries:,} queries, "
            f"{fold.validation.n_rows:,} for validation, {fold.test.n_rows:,} for testing; "
            f"{fold.train.n_features} features"
        )
    comparison = run_and_compare(_study(fold, arguments), arguments)
    page = Path(arguments.out) / "index.html"
    write_report(page, comparison)
    if arguments.json:
        print_json({"page": str(page), **as_json(comparison)})
    else:
        show_tables(comparison, arguments)
        show(f"{time.perf_counter() - start:.0f} s in all; the page with charts is {page}")
    if arguments.open:
        webbrowser.open(page.resolve().as_uri())


def _study(fold: Fold, arguments: argparse.Namespace) -> Study:
    from rankgrove.experiments.study import make_study

    names = arguments.rankers or _known_rankers()
    rankers = [f"{name}:{RANKERS[name]}" for name in names]
    return make_study(
        {"synthetic web search": [fold]},
        rankers,
        metrics=METRICS,
        baseline=BASELINE if BASELINE in names else None,
        seed=arguments.seed,
        repeats=arguments.repeats,
        early_stopping_rounds=50,
        title="rankgrove demo",
    )


def _fold(n_queries: int, seed: int) -> Fold:
    import numpy as np

    from rankgrove.data.reading.folds import Fold
    from rankgrove.datasets import make_ranking

    if n_queries < 2:
        raise ValueError(f"--queries must be at least 2, not {n_queries}")
    parts = np.repeat([0, 1, 2], [n_queries, -(-n_queries // 3), n_queries])
    data = make_ranking(len(parts), preset="mslr", seed=seed)
    return Fold(*(data.select_queries(parts == part) for part in range(3)))
