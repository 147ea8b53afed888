"""Published results beside ours, under the settings of the papers and by default.

One command per table; ``docs/how-to/reproducing-papers.md`` says which table of which paper each
``--table`` is. Five folds, several seeds, the paper's conventions::

    python benchmarks/bench_papers.py --table forests             # as in the paper: takes hours
    python benchmarks/bench_papers.py --table broof --share 0.1   # a tenth of the trees of forests
    python benchmarks/bench_papers.py --table all --quick         # to see that it works

Settings are those of ``Ranker.as_in_paper``. Measured cells (method, fold, seed) are kept in
``papers-cells.jsonl`` in the folder of ``--out``: a run that was ended goes on where it was, and
``--minutes 0`` prints a table from what is there. A cell is measured again where a default that it
depends on has changed.
"""

from __future__ import annotations

import argparse
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
from papers.tables import TABLES
from papers.times import times
from papers.tree_sizes import tree_sizes
from papers.variance import variance

MEASURED = {**TABLES, **FOREST_STUDIES, **BOOSTING_STUDIES}
# Studies that are no comparison of methods on folds.
OTHERS = {
    "contexts": contexts,
    "costs": costs,
    "times": times,
    "tree-sizes": tree_sizes,
    "variance": variance,
}
DATA_OF_OTHERS = {
    "contexts": "WEB10K sample",
    "costs": "WEB10K sample",
    "times": "MQ2008",
    "tree-sizes": "WEB10K sample",
}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--table", choices=[*MEASURED, *OTHERS, "all"], required=True)
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
        "--only", nargs="+", choices=list(COLLECTIONS), default=[], help="collections; default: all"
    )
    parser.add_argument("--minutes", type=float, help="measure no new cell after so many")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    sys.argv[1:] = _without_places(sys.argv[1:])
    for name in ("share", "sample_share"):
        if not 0 < getattr(arguments, name) <= 1:
            parser.error(f"--{name.replace('_', '-')} must be above 0 and at most 1")
    if arguments.runs < 1 or arguments.stopping < 1:
        parser.error("--runs and --stopping must be at least 1")
    if arguments.quick:
        arguments.share, arguments.runs, arguments.stopping = 0.004, 1, 2
    DataFolder.path = arguments.data
    settings = Settings(
        arguments.share, arguments.sample_share, tuple(arguments.only), arguments.quick
    )
    quick = ".quick" if arguments.quick else ""
    cells = Cells(
        arguments.out / f"papers-cells{quick}.jsonl",
        n_runs=arguments.runs,
        threads=arguments.threads,
        minutes=arguments.minutes,
        stopping_rounds=arguments.stopping,
    )
    for name in [*MEASURED, *OTHERS] if arguments.table == "all" else [arguments.table]:
        # What is not kept in cells is measured whenever it is printed.
        if arguments.table == "all" and name in OTHERS and _left_out(name, arguments, cells):
            print(f"\n{name}: left out")
            continue
        report = Report(f"papers-{name}", arguments)
        if name in OTHERS:
            OTHERS[name](report, arguments)
        else:
            report.note(" ".join((MEASURED[name].__doc__ or "").split()))
            MEASURED[name](report, cells, settings)
        report.write(arguments.out)


def _left_out(name: str, arguments: argparse.Namespace, cells: Cells) -> bool:
    """Tell whether there is no time for a study, or its data are not among those of ``--only``."""
    needed = DATA_OF_OTHERS.get(name)
    return cells.time_is_over or bool(arguments.only and needed and needed not in arguments.only)


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
