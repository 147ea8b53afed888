"""Measure scores against judged data.

SCORES has one number per line, in the order of the rows of DATA (text, also .gz; .npy; or - for
standard input). Larger scores rank higher.
"""

from __future__ import annotations

import argparse

from rankgrove._counts import counted
from rankgrove.cli.options import (
    add_json_option,
    add_judgment_options,
    add_metric_option,
    add_preset_option,
    load_data,
)
from rankgrove.cli.output import print_json, show, table
from rankgrove.cli.paths import data_path, out_path, refuse_overwriting

EXAMPLES = """\
  rankgrove evaluate scores.txt test.txt
  rankgrove evaluate scores.txt test.txt --metric ndcg@10 map err@20 --preset mslr
  rankgrove evaluate scores.npy test.parquet --metric "ndcg@5(gain=linear)" --per-query values.csv
  cat scores.txt | rankgrove evaluate - test.txt --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.metrics.evaluation import DEFAULT_METRICS

    parser.add_argument("scores", metavar="SCORES", help="file of scores, or - for standard input")
    parser.add_argument(
        "data", metavar="DATA", type=data_path, help="the judged data; -: standard input"
    )
    add_metric_option(parser, DEFAULT_METRICS)
    add_preset_option(parser)
    parser.add_argument(
        "--per-query", metavar="FILE", type=out_path, help="write one line per query as CSV"
    )
    add_json_option(parser)
    add_judgment_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.data.reading.score_files import read_scores
    from rankgrove.metrics.evaluation import DEFAULT_METRICS, evaluate

    if arguments.scores == "-" and arguments.data == "/dev/stdin":
        raise ValueError("SCORES and DATA cannot both be standard input")
    refuse_overwriting(arguments.per_query, arguments.scores, arguments.data)
    drop = arguments.negative_labels == "drop"  # after their scores are read
    kept = {"negative_labels": "keep"} if drop else {}
    data = load_data(arguments.data, arguments, features=[], **kept)
    scores = read_scores(arguments.scores, data.n_rows)
    if drop:
        judged = data.y >= 0
        data, scores = data.select_rows(judged), scores[judged]
    result = evaluate(
        data,
        scores,
        metrics=arguments.metrics or DEFAULT_METRICS,
        preset=arguments.preset,
        n_jobs=arguments.n_jobs,
    )
    if arguments.per_query:
        result.to_csv(arguments.per_query)
    if arguments.json:
        print_json({"queries": data.n_queries, "rows": data.n_rows, "metrics": result.to_dict()})
    else:
        values = result.to_dict().items()
        show(table(["metric", "mean"], [(name, f"{value:.6f}") for name, value in values]))
        show(f"{counted(data.n_queries, 'query')}, {counted(data.n_rows, 'row')}")
