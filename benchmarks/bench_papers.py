"""Published results beside ours, on the data sets of the papers that can be had.

A table per paper: ``forests`` (Ibrahim and Carman, tables V, X, XV), ``igbrt`` (Mohan, Chen and
Weinberger, table 3), ``plrank`` (Xia, Zhai and Wang, table 1), ``broof`` (de Sa, Goncalves, Sousa
and Salles, tables 2 and 3), ``rcrank`` (Modry and Ferov, table 3). Further ``missing`` (policies
for missing values), ``listwise`` (where listwise trees should stop), ``tree-sizes`` (table XII of
Ibrahim and Carman), ``contexts`` (table 3 of Xia, Zhai and Wang) and ``times`` (training times that
the papers give). Five folds, several seeds, the paper's conventions::

    python benchmarks/bench_papers.py --table forests             # as in the paper: takes hours
    python benchmarks/bench_papers.py --table broof --share 0.1   # a tenth of the trees
    python benchmarks/bench_papers.py --table all --quick         # to see that it works

Measured cells (method, fold, seed) are kept in ``papers-cells.jsonl`` in the folder of ``--out``: a
run that was ended goes on where it was.
"""

from __future__ import annotations

from pathlib import Path

from _report import RESULTS, Report, benchmark_arguments
from papers.cells import Cells
from papers.contexts import contexts
from papers.methods import ALL_THRESHOLDS, Settings
from papers.tables import TABLES
from papers.times import times
from papers.tree_sizes import tree_sizes

# Studies that are no comparison of methods on folds.
OTHERS = {"contexts": contexts, "times": times, "tree-sizes": tree_sizes}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--table", choices=[*TABLES, *OTHERS, "all"], required=True)
    parser.add_argument("--runs", type=int, default=5, help="seeds of each method")
    parser.add_argument("--share", type=float, default=1.0, help="part of the papers' trees")
    parser.add_argument(
        "--sample-share", type=float, default=1.0, help="part of these on the sample of WEB10K"
    )
    parser.add_argument(
        "--max-bins", type=int, default=ALL_THRESHOLDS, help="of the forests; default: every value"
    )
    parser.add_argument("--minutes", type=float, help="measure no new cell after so many")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.share, arguments.runs = 0.004, 1
    settings = Settings(arguments.share, arguments.max_bins, arguments.sample_share)
    for name in TABLES if arguments.table == "all" else [arguments.table]:
        report = Report(f"papers-{name}", arguments)
        if name in OTHERS:
            OTHERS[name](report, arguments)
        else:
            path = arguments.out / "papers-cells.jsonl"
            cells = Cells(
                path,
                n_runs=arguments.runs,
                threads=arguments.threads,
                minutes=arguments.minutes,
            )
            report.note(" ".join((TABLES[name].__doc__ or "").split()))
            TABLES[name](report, cells, settings)
        report.write(arguments.out)


if __name__ == "__main__":
    main()
