"""Show rankgrove at work on built-in data.

Makes judgments shaped like MSLR-WEB10K, describes them, trains rankers of several families, prints
one table and writes a page with charts. Takes under two minutes on two cores.
"""

from __future__ import annotations

import argparse
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove.cli.options import add_json_option
from rankgrove.cli.output import print_json, show, table

if TYPE_CHECKING:
    from rankgrove.data.dataset import Dataset
    from rankgrove.experiments.comparison import Result

EXAMPLES = """\
  rankgrove demo
  rankgrove demo --rankers lambdamart rf-point --queries 100
  rankgrove demo --out /tmp/demo --open
"""

METRICS = ["ndcg@10", "err", "map"]
_BOOSTED = {"n_estimators": 200, "learning_rate": 0.1}
_FOREST = {"n_estimators": 100}
RANKERS: dict[str, dict[str, Any]] = {
    "lambdamart": _BOOSTED,
    "plrank": _BOOSTED,
    "mcrank": _BOOSTED,
    "rcrank": _BOOSTED,
    "rf-point": _FOREST,
    "rf-list": {"n_estimators": 50},
    "rf-hybrid": _FOREST,
}
SINGLE_FEATURES = ("bm25_whole", "lm_dir_title", "site_rank")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--out", default="demo", metavar="FOLDER", help="folder of the page (demo)")
    parser.add_argument(
        "--rankers",
        nargs="+",
        choices=list(RANKERS),
        default=list(RANKERS),
        metavar="NAME",
        help=f"what to train (default: {' '.join(RANKERS)})",
    )
    parser.add_argument(
        "--queries", type=int, default=150, metavar="N", help="training queries (default: 150)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of data and rankers (default: 1)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._optional import require
    from rankgrove.experiments.report import write_report

    require("plotly.graph_objects", "plots", "the demo's page")
    start = time.perf_counter()
    train, valid, test = _data(arguments.queries, arguments.seed)
    quiet = arguments.json
    if not quiet:
        show(
            f"{train.n_rows:,} training documents of {train.n_queries:,} queries, "
            f"{valid.n_rows:,} for validation, {test.n_rows:,} for testing; "
            f"{train.n_features} features"
        )
    results = _single_features(test)
    for name in arguments.rankers:
        results.append(_trained(name, train, valid, test, arguments.seed))
        if not quiet:
            show(f"  {name}: {results[-1].fit_seconds:.1f} s")
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    write_report(
        page,
        "rankgrove demo",
        "Rankers of several families on synthetic judgments shaped like MSLR-WEB10K: trained on "
        "the same queries, measured on others.",
        results,
        train,
        test,
    )
    if quiet:
        print_json({"page": str(page), "results": [_plain(result) for result in results]})
    else:
        show(_table(results))
        seconds = time.perf_counter() - start
        show(f"{seconds:.0f} s in all; the page with charts is {page}")
    if arguments.open:
        webbrowser.open(page.resolve().as_uri())


def _data(n_queries: int, seed: int) -> tuple[Dataset, Dataset, Dataset]:
    import numpy as np

    from rankgrove.datasets import make_ranking

    if n_queries < 2:
        raise ValueError(f"--queries must be at least 2, not {n_queries}")
    parts = np.repeat([0, 1, 2], [n_queries, -(-n_queries // 3), n_queries])
    data = make_ranking(len(parts), preset="mslr", seed=seed)
    train, valid, test = (data.select_queries(parts == part) for part in range(3))
    return train, valid, test


def _single_features(test: Dataset) -> list[Result]:
    from rankgrove.experiments.comparison import measure_scores

    return [
        measure_scores(f"feature {name}", test.X[:, test.feature_names.index(name)], test, METRICS)
        for name in SINGLE_FEATURES
    ]


def _trained(name: str, train: Dataset, valid: Dataset, test: Dataset, seed: int) -> Result:
    from rankgrove.experiments.comparison import measure_ranker
    from rankgrove.rankers.base.registry import ranker_class

    cls = ranker_class(name)
    ranker = cls(random_state=seed, **RANKERS[name])
    return measure_ranker(
        cls.__name__, ranker, train, valid, test, METRICS, early_stopping_rounds=50
    )


def _table(results: list[Result]) -> Any:
    def number(value: float | None, digits: int) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    rows = [
        (
            result.name,
            *(f"{result.metrics[name]:.4f}" for name in METRICS),
            number(result.fit_seconds, 2),
            number(result.score_microseconds, 2),
        )
        for result in results
    ]
    return table(["ranker", *(name.upper() for name in METRICS), "training s", "µs/document"], rows)


def _plain(result: Result) -> dict[str, Any]:
    return {
        "ranker": result.name,
        **result.metrics,
        "fit_seconds": result.fit_seconds,
        "score_microseconds": result.score_microseconds,
        "steps": result.n_steps,
    }
