"""Estimate judgments from logged impressions and clicks, by a click model.

LOG: a table (CSV, TSV, Parquet) of impressions with the columns query, document, position, clicked
and session, or events of OpenSearch UBI. --impression-query, --impression-position and so on give
other names of columns. Each query-document pair becomes one judgment: the grade is the relevance
that the click model estimates, the weight is the amount of evidence for it. Unusable rows are left
out, and their counts are printed. `rankgrove join` matches judgments with features.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgrove.cli.log_options import add_log_options, given_log_options
from rankgrove.cli.options import add_json_option
from rankgrove.cli.output import counts_table, print_json, show, table
from rankgrove.cli.paths import refuse_overwriting

if TYPE_CHECKING:
    from rankgrove.logs.reading import LogTable

EXAMPLES = """\
  rankgrove clicks impressions.csv --out judgments.parquet
  rankgrove clicks impressions.parquet --model pbm --min-impressions 10 --out judgments.csv
  rankgrove clicks impressions.csv --propensities rank-changes
  rankgrove clicks log.csv --impression-position slot --impression-clicked bought --out j.csv
"""

_PROPENSITIES = ("rank-changes", "random-lists")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.clicks.click_model import MODELS

    parser.add_argument("log", metavar="LOG", help="file or folder of impressions")
    parser.add_argument(
        "--model",
        choices=list(MODELS),
        help="click model (default: sdbn): "
        + "; ".join(f"{name}: {words}" for name, words in MODELS.items()),
    )
    parser.add_argument(
        "--prior",
        type=float,
        metavar="N",
        help="pseudo-observations of each probability, half of them clicks (default: 2)",
    )
    parser.add_argument(
        "--min-impressions",
        type=int,
        metavar="N",
        help="leave out pairs that were shown less often (default: 1)",
    )
    parser.add_argument(
        "--max-position",
        type=int,
        metavar="N",
        help="leave out impressions at positions behind N (default: none)",
    )
    parser.add_argument(
        "--out", type=_out_path, metavar="OUTPUT", help="judgments to write: .parquet or .csv"
    )
    parser.add_argument(
        "--propensities",
        choices=_PROPENSITIES,
        help="print examination probabilities by position, estimated from documents that were "
        "shown at several positions, or from lists in random order",
    )
    parser.set_defaults(option_names=add_log_options(parser, "impressions", "impression"))
    add_json_option(parser)


def _out_path(text: str) -> str:
    if not text.lower().endswith((".parquet", ".csv")):
        raise argparse.ArgumentTypeError(f"must end in .parquet or .csv, not {text}")
    return text


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._files import require_place
    from rankgrove.clicks.click_log import ClickLog
    from rankgrove.logs.reading import read_impressions

    if arguments.out is None and arguments.propensities is None:
        raise ValueError("give --out for judgments, --propensities for examination, or both")
    for name in ("model", "prior", "min_impressions"):
        if arguments.out is None and getattr(arguments, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} has no effect without --out")
    if arguments.out is not None:
        refuse_overwriting(arguments.out, arguments.log)
        require_place(arguments.out)
    impressions = read_impressions(arguments.log, **given_log_options(arguments, "impression"))
    if arguments.max_position is not None:
        impressions = _first_positions(impressions, arguments.max_position)
    log = ClickLog.of(impressions)
    found: dict[str, Any] = {
        "impressions": log.n_rows,
        "sessions": log.n_sessions,
        "pairs": log.n_pairs,
        "clicks": int(log.clicked.sum()),
        "counts": dict(impressions.rows()),
    }
    if arguments.propensities is not None:
        found["propensities"] = _propensities(log, arguments.propensities)
    if arguments.out is not None:
        found |= _write_judgments(log, arguments)
    print_json(found) if arguments.json else _show(found)


def _first_positions(impressions: LogTable, last: int) -> LogTable:
    """Leave out, and count, the impressions at positions behind the last one."""
    import pyarrow.compute as pc

    if last < 1:
        raise ValueError(f"--max-position must be a whole number >= 1, not {last}")
    shown = impressions.table
    kept = shown.filter(pc.less_equal(shown["position"], last))
    behind = {f"impressions behind position {last}": shown.num_rows - kept.num_rows}
    return replace(impressions, table=kept, counts=impressions.counts + Counter(behind))


def _propensities(log: Any, method: str) -> dict[str, Any]:
    from rankgrove.clicks.propensities import (
        propensities_of_random_lists,
        propensities_of_rank_changes,
    )

    changes = method == "rank-changes"
    found = (propensities_of_rank_changes if changes else propensities_of_random_lists)(log)
    return {
        "method": found.method,
        "examination": found.examination.tolist(),
        "support": found.support.tolist(),
    }


def _write_judgments(log: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    import pyarrow.csv
    import pyarrow.parquet

    from rankgrove._files import replacing
    from rankgrove.clicks.click_model import fit_click_model

    model = arguments.model or "sdbn"
    fit = fit_click_model(log, model, prior=2.0 if arguments.prior is None else arguments.prior)
    judgments = fit.judgments(min_impressions=arguments.min_impressions or 1)
    with replacing(arguments.out) as file:
        if arguments.out.lower().endswith(".csv"):
            pyarrow.csv.write_csv(judgments, file)
        else:
            pyarrow.parquet.write_table(judgments, file)
    left_out = log.n_pairs - judgments.num_rows
    return {
        "model": model,
        "output": arguments.out,
        "judgments": judgments.num_rows,
        "left_out": left_out,
    }


def _show(found: dict[str, Any]) -> None:
    show(
        f"{found['impressions']:,} impressions of {found['pairs']:,} query-document pairs in "
        f"{found['sessions']:,} sessions, {found['clicks']:,} clicks"
    )
    if found["counts"]:
        show(counts_table(found["counts"].items()))
    if "propensities" in found:
        numbers = found["propensities"]
        rows = [
            (k, f"{chance:.4f}", f"{count:,.0f}")
            for k, (chance, count) in enumerate(
                zip(numbers["examination"], numbers["support"], strict=True), 1
            )
        ]
        show(table(["position", "examination", "impressions"], rows))
    if "output" in found:
        show(
            f"{found['output']}: {found['judgments']:,} judgments by {found['model']}, "
            f"{found['left_out']:,} pairs left out by --min-impressions"
        )
