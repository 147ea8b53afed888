"""Write the results of a study as one HTML page.

RESULTS is the folder of `rankgrove compare --out`. The page works offline. It has the table of
rankers with its conventions, differences by query with their documents, convergence, training and
scoring times, grades by rank, feature importances, and the settings to repeat the study. While a
study still runs, the page shows the finished fits.
"""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from rankgrove._addresses import file_path, is_address
from rankgrove.cli.options import add_significance_options
from rankgrove.cli.output import show
from rankgrove.cli.paths import out_path
from rankgrove.errors import DataError

EXAMPLES = """\
  rankgrove report results/
  rankgrove report results/ --out comparison.html --open"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("results", metavar="RESULTS", help="folder of results")
    parser.add_argument(
        "--out", metavar="FILE", type=out_path, help="page to write (RESULTS/index.html)"
    )
    add_significance_options(parser)
    parser.add_argument("--open", action="store_true", help="show the page in a browser")


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.experiments.comparison import Comparison
    from rankgrove.experiments.report import check_page_name, write_report
    from rankgrove.experiments.results import Significance
    from rankgrove.experiments.store import Store

    results = file_path(arguments.results)
    if arguments.open and is_address(arguments.out or arguments.results):
        raise ValueError("--open shows a page of this machine: give --out FILE, a local one")
    check_page_name(arguments.out or "index.html")
    with Store.existing(arguments.results) as store:
        if not store.studies():
            raise DataError(f"{results} holds no comparison: run rankgrove compare first")
        significance = Significance(arguments.significance_test, arguments.alpha)
        comparison = Comparison.from_store(store, significance)
        n_studies = len(store.studies())
    page = file_path(arguments.out or results / "index.html")
    write_report(page, comparison)
    show(f"the page is {page}")
    if n_studies > 1:
        rankers = ", ".join(comparison.rankers)
        show(
            f"{results} holds {n_studies} studies: this is the one that was begun last "
            f"({rankers} on {', '.join(comparison.datasets)})"
        )
    if arguments.open and isinstance(page, Path):
        webbrowser.open(page.resolve().as_uri())
