"""Evaluate rankers over one varied quantity (training size, steps, ...), as data and as a plot.

KIND is one of
  learning      share of the training queries      convergence   after each step of a fit
  size          ensemble size (n_estimators)       subsample     sample of each tree
  n-min         min_samples_split (forests)        levels        listwise_levels (rf-hybrid)
  strength      single trees, split by split       features      number of features, best first
  variance      bias and variance over samples of the training queries (--repeats: their number)

Writes KIND.csv, KIND.svg and, with plotly, KIND.html into the results folder, with the 95 %
bootstrap interval of each mean over queries (not for strength, which has curves of test and
training parts, and the correlation of trees in trees.csv) and with training and scoring times.
Finished fits are stored there, as by `compare`, so that an interrupted command can be resumed. The
exit code is 1 if a ranker has no such curve, or its fits failed; the others are drawn.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from contextlib import nullcontext
from typing import Any

from rankgrove._addresses import FilePath, file_path
from rankgrove.cli.compare import add_run_options, print_how_to_resume
from rankgrove.cli.options import (
    add_data_options,
    add_fold_options,
    add_json_option,
    add_label_shift_option,
    add_metric_option,
    add_preset_option,
    add_ranker_option,
    add_repeats_option,
    add_seed_option,
    add_view_options,
    data_options,
)
from rankgrove.cli.output import print_json, show
from rankgrove.cli.paths import DataPaths

EXAMPLES = """\
  rankgrove curve learning train.txt --ranker lambdamart --ranker rf-point
  rankgrove curve size MQ2008/ --ranker rf-list --points 10 50 100 500
  rankgrove curve levels train.txt --ranker rf-hybrid:n_estimators=100 --metric ndcg@10
  rankgrove curve features train.txt --ranker rcrank --train-share 0.1 --feature-order study
  rankgrove curve variance train.txt --ranker lambdamart --ranker rf-point --repeats 10"""


# Training samples of each size for variance, unless --repeats says otherwise.
_SAMPLES = 10
# Of a row about the trees of a forest; the other columns are measured.
_TREE_KEYS = ("forest", "part")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.experiments.curve_studies import KINDS

    parser.add_argument("kind", choices=list(KINDS), metavar="KIND", help="what is varied")
    parser.add_argument(
        "data", nargs="+", action=DataPaths, metavar="DATA", help="file or folder of folds"
    )
    add_ranker_option(parser, required=True)
    parser.add_argument(
        "--points",
        nargs="+",
        action="extend",
        type=float,
        metavar="X",
        help="where to measure",
    )
    add_metric_option(parser, ["ndcg@10"])
    add_preset_option(parser)
    add_fold_options(parser)
    add_label_shift_option(parser)
    add_view_options(parser)
    add_repeats_option(parser)
    add_seed_option(parser)
    add_run_options(parser)
    parser.set_defaults(out="curves", repeats=None)
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.errors import DataError
    from rankgrove.experiments.curve_studies import curve_rows, run_curve
    from rankgrove.experiments.progress import StudyProgress
    from rankgrove.experiments.running import Run
    from rankgrove.experiments.store import Store
    from rankgrove.experiments.tree_strength import tree_rows

    study = _study(arguments)
    how = Run(arguments.workers, arguments.backend, arguments.n_jobs, arguments.memory_limit)
    with Store(arguments.out) as store:
        if arguments.retry:
            store.forget_failures()
        shown = sys.stderr.isatty() and not arguments.quiet
        try:
            with StudyProgress() if shown else nullcontext() as progress:
                curves, missing = run_curve(
                    arguments.kind, study, store, how, arguments.points, progress
                )
        except KeyboardInterrupt:
            print_how_to_resume(arguments.out)
            raise
        trees = tree_rows(study, store) if arguments.kind == "strength" else []
    metric = str(study.metrics[0])
    rows = curve_rows(curves, arguments.kind, metric)
    written = _write(curves, rows, trees, metric, arguments)
    if arguments.json:
        found = {"files": [str(path) for path in written], "points": rows}
        print_json(found | ({"trees": trees} if trees else {}))
    else:
        _show(curves, rows, trees, metric, arguments.kind)
        show(f"written: {', '.join(str(path) for path in written)}")
    if missing:  # scripts notice by the exit code
        raise DataError(f"{'; '.join(missing)} (--retry runs failed fits once more)")


def _show(
    curves: list[Any],
    rows: list[dict[str, Any]],
    trees: list[dict[str, Any]],
    metric: str,
    kind: str,
) -> None:
    from rankgrove.experiments.curve_studies import KINDS

    for curve in curves:
        own = [row for row in rows if row["curve"] == curve.name]
        x = KINDS[kind].title
        points = [_point(row, row[x], row[metric]) for row in _few(own)]
        show(f"{curve.name}  {'  '.join(points)}")
    for row in trees:
        values = ", ".join(f"{name} {row[name]:.4f}" for name in row if name not in _TREE_KEYS)
        show(f"trees of {row['forest']}, {row['part']} part: {values}")


def _point(row: dict[str, Any], x: float, y: float) -> str:
    interval = f" [{row['low']:.4f}, {row['high']:.4f}]" if "low" in row else ""
    seconds = row.get("fit seconds")
    return f"{x:g}: {y:.4f}{interval}" + ("" if seconds is None else f" in {seconds:.2g} s")


def _few(points: list[Any], most: int = 10) -> list[Any]:
    """Return some points of a long curve, its last one included."""
    step = -(-len(points) // most)
    return points[::-step][::-1] if points else []


def _study(arguments: argparse.Namespace) -> Any:
    from rankgrove.cli.compare import given_study_options
    from rankgrove.experiments.study import make_study

    # Strength is the whole list's unless a metric is given.
    default = "ndcg" if arguments.kind == "strength" else "ndcg@10"
    options: dict[str, Any] = {"metrics": [default]}
    if arguments.kind == "variance":
        options["repeats"] = _SAMPLES
    options |= given_study_options(arguments)
    return make_study(arguments.data, arguments.rankers, **options, **data_options(arguments))


def _write(
    curves: list[Any],
    rows: list[dict[str, Any]],
    trees: list[dict[str, Any]],
    metric: str,
    arguments: argparse.Namespace,
) -> list[FilePath]:
    from rankgrove._files import replacing
    from rankgrove.errors import MissingDependencyError
    from rankgrove.experiments.curve_studies import KINDS
    from rankgrove.experiments.curves import curves_svg, plot_curves

    folder, kind = file_path(arguments.out), arguments.kind
    title, x_title = f"{metric} by {KINDS[kind].title}", KINDS[kind].title
    short = metric.partition("(")[0]
    texts = {
        folder / f"{kind}.csv": _table(rows),
        folder / f"{kind}.svg": curves_svg(curves, title, x_title, short),
    }
    if trees:
        texts[folder / "trees.csv"] = _table(trees)
    try:
        figure = plot_curves(curves, title, x_title, short)
    except MissingDependencyError:
        pass  # the drawing without plotly is there
    else:
        texts[folder / f"{kind}.html"] = figure.to_html(include_plotlyjs=True)
    for path, text in texts.items():
        with replacing(path) as stream:
            stream.write(text.encode())
    return list(texts)


def _table(rows: list[dict[str, Any]]) -> str:
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()
