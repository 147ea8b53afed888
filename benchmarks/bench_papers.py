"""Published results beside ours, under the settings of the papers and by default.

One command per table; ``docs/how-to/reproducing-papers.md`` says which table of which paper each
``--table`` is. Five folds, several seeds, the paper's conventions::

    python benchmarks/bench_papers.py --table xia-2019 --show     # what was measured before
    python benchmarks/bench_papers.py --table forests             # as in the paper: takes hours
    python benchmarks/bench_papers.py --table broof --share 0.1   # a tenth of the trees of forests
    python benchmarks/bench_papers.py --table all --again         # as the result files were made
    python benchmarks/bench_papers.py --table all --quick         # to see that it works

Settings are those of ``Ranker.as_in_paper``. Measured cells (method, fold, seed) are kept in
``papers-cells.jsonl`` in the folder of ``--out``: a run that was ended goes on where it was, and
``--minutes 0`` prints a table from what is there. A cell is measured again where a default that it
depends on has changed.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from _report import RESULTS, Report, benchmark_arguments
from papers.boosting_studies import BOOSTING_STUDIES
from papers.cells import Cells
from papers.collections import COLLECTIONS, DATA, DataFolder
from papers.contexts import contexts
from papers.costs import costs
from papers.forest_studies import FOREST_STUDIES
from papers.rows import Settings
from papers.statistics import statistics
from papers.tables import TABLES
from papers.times import times
from papers.tree_sizes import tree_sizes
from papers.variance import variance

MEASURED = {**TABLES, **FOREST_STUDIES, **BOOSTING_STUDIES}
# Studies that are no comparison of methods on folds, and the collections they need.
OTHERS = {
    "contexts": contexts,
    "costs": costs,
    "data": statistics,
    "times": times,
    "tree-sizes": tree_sizes,
    "variance": variance,
}
DATA_OF_OTHERS = {
    "contexts": ("WEB10K sample", "MQ2008", "OHSUMED"),
    "costs": ("WEB10K sample",),
    "data": (),
    "times": ("MQ2008", "WEB10K sample"),
    "tree-sizes": ("WEB10K sample",),
    "variance": (),
}
PAPERS = {
    "ibrahim-2016": (
        "forests", "forest-samples", "discounts", "node-orders", "tree-sizes", "algorithms",
        "forest-figures", "listwise", "variance", "data",
    ),
    "mohan-2011": ("igbrt", "igbrt-starts", "missing", "times"),
    "xia-2019": ("plrank", "plrank-objectives", "plrank-features", "contexts", "times"),
    "desa-2016": ("broof", "broof-figures"),
    "modry-2016": ("rcrank", "rcrank-small", "data"),
}  # fmt: skip
# What a run with the options of a result file takes from its own command line.
_OWN = ("data", "out", "minutes", "threads", "no_write", "quick")


def main() -> None:
    parser = _parser()
    arguments = _parsed(parser, sys.argv[1:])
    names = PAPERS.get(arguments.table, (arguments.table,))
    if arguments.table == "all":
        names = (*MEASURED, *OTHERS)
    if arguments.show:
        for name in names:
            print(_kept_result(parser, name, arguments).read_text())
        return
    DataFolder.path = arguments.data
    quick = ".quick" if arguments.quick else ""
    cells = Cells(
        arguments.out / f"papers-cells{quick}.jsonl",
        n_runs=arguments.runs,
        threads=arguments.threads,
        minutes=arguments.minutes,
        stopping_rounds=arguments.stopping,
    )
    words = _without_places(sys.argv[1:])
    for name in names:
        options = arguments
        if arguments.again:
            words, options = _as_measured(parser, name, arguments)
        sys.argv[1:] = words  # what the file begins with
        cells.n_runs, cells.stopping_rounds = options.runs, options.stopping
        _print_table(name, options, cells, alone=len(names) == 1)


def _parser() -> argparse.ArgumentParser:
    parser = benchmark_arguments(__doc__)
    parser.add_argument(
        "--table",
        choices=[*MEASURED, *OTHERS, *PAPERS, "all"],
        required=True,
        help="a table, all tables of a paper, or all",
    )
    parser.add_argument(
        "--show", action="store_true", help="print the result files; measure and write nothing"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="with the options that the result file of each table begins with",
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the collections")
    parser.add_argument("--runs", type=int, default=5, help="seeds of each method")
    parser.add_argument("--share", type=float, default=1.0, help="part of the trees of forests")
    parser.add_argument(
        "--sample-share", type=float, default=1.0, help="part of these on the sample of WEB10K"
    )
    parser.add_argument(
        "--stopping", type=int, default=100, help="boosting ends after so many steps without gain"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(COLLECTIONS),
        default=[],
        help="collections; default: all that --data holds",
    )
    parser.add_argument("--minutes", type=float, help="measure no new cell after so many")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    return parser


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    arguments = parser.parse_args(words)
    for name in ("share", "sample_share"):
        if not 0 < getattr(arguments, name) <= 1:
            parser.error(f"--{name.replace('_', '-')} must be above 0 and at most 1")
    if arguments.runs < 1 or arguments.stopping < 1:
        parser.error("--runs and --stopping must be at least 1")
    if arguments.data != DATA and not (arguments.show or arguments.data.is_dir()):
        parser.error(f"--data: no folder {arguments.data}")
    if arguments.quick and arguments.again:
        parser.error("--quick and --again exclude each other: a quick run has sizes of its own")
    if arguments.quick:
        arguments.share, arguments.runs, arguments.stopping = 0.004, 1, 2
    return arguments


def _print_table(name: str, options: argparse.Namespace, cells: Cells, *, alone: bool) -> None:
    """Measure what is missing of a table, print it and write its file."""
    # What is not kept in cells is measured whenever it is printed.
    if not alone and name in OTHERS and _left_out(name, options, cells):
        print(f"\n{name}: left out (no time, or no data in {DataFolder.path})")
        return
    report = Report(f"papers-{name}", options)
    if name in OTHERS:
        OTHERS[name](report, options)
    else:
        settings = Settings(options.share, options.sample_share, tuple(options.only), options.quick)
        report.note(" ".join((MEASURED[name].__doc__ or "").split()))
        cells.lacks_some = False
        MEASURED[name](report, cells, settings)
    path = options.out / f"papers-{name}.md"
    if report.n_tables and name in MEASURED and cells.lacks_some and path.is_file():
        print(f"\n{name}: not all is measured; {path} is left as it is")
    elif report.n_tables:
        report.write(options.out)
    else:
        print(f"\n{name}: nothing measured (no time, or no data in {DataFolder.path}): no file")


def _kept_result(parser: argparse.ArgumentParser, name: str, arguments: argparse.Namespace) -> Path:
    path: Path = arguments.out / f"papers-{name}.md"
    if not path.is_file():
        parser.error(f"{path} is not there: measure {name} first, without --show and --again")
    return path


def _as_measured(
    parser: argparse.ArgumentParser, name: str, arguments: argparse.Namespace
) -> tuple[list[str], argparse.Namespace]:
    """Return the command of a table's result file, and its options with this run's own places."""
    path = _kept_result(parser, name, arguments)
    command = re.search(r"^`python \S*bench_papers\.py (.+)`$", path.read_text(), re.MULTILINE)
    if command is None:
        parser.error(f"{path} does not begin with its command")
    words = _without_places(shlex.split(command[1]))
    options = _parsed(parser, words)
    for own in _OWN:
        setattr(options, own, getattr(arguments, own))
    return words, options


def _left_out(name: str, options: argparse.Namespace, cells: Cells) -> bool:
    """Tell whether there is no time for a study, or its data are not there or not in ``--only``."""
    needed = DATA_OF_OTHERS[name]
    chosen = options.only or needed
    return cells.time_is_over or not all(
        key in chosen and COLLECTIONS[key].is_there for key in needed
    )


def _without_places(words: list[str]) -> list[str]:
    """Return the command without folders and time of this machine: files say what was measured."""
    kept, places = [], ("--data", "--out", "--minutes")
    for i, word in enumerate(words):
        given = word in places or (i > 0 and words[i - 1] in places)
        if not given and not word.startswith(tuple(f"{place}=" for place in places)):
            kept.append(word)
    return kept


if __name__ == "__main__":
    main()
