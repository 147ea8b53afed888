"""Evaluate scores on judged data.

SCORES has one number per line, in the order of the rows of DATA (text, also .gz; .npy; or - for
standard input). Larger scores rank higher. A table with a column `score` and no documents, as
`predict` writes where they have no ids, is in that order, too: its query ids must be those of DATA,
row by row. The result shows how queries without a relevant document are treated, and how many
queries count.

SCORES may also be a run: TREC's `topic Q0 document rank score tag` lines, or a table with columns
of query, document and score. DATA are then judgments (TREC qrels, an export of Quepid, a table,
LETOR text with ids of documents, ...), and documents are matched by their ids; --label, --query and
--doc-id name columns of a table. A judged document that the run lacks counts in the
ideal ranking only; one without a judgment, or with a negative grade, is not relevant.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgrove._addresses import FilePath, file_path
from rankgrove._counts import counted
from rankgrove.cli.options import (
    add_json_option,
    add_judgment_options,
    add_metric_option,
    add_preset_option,
    load_data,
)
from rankgrove.cli.output import print_json, show, table
from rankgrove.cli.paths import DataPaths, one_source, out_path, refuse_overwriting
from rankgrove.cli.run_judgments import JUDGMENT_OPTION_NAMES, judgment_options
from rankgrove.errors import DataError

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset
    from rankgrove.logs.reading import LogTable
    from rankgrove.metrics.evaluation import Evaluation

EXAMPLES = """\
  rankgrove evaluate scores.txt test.txt
  rankgrove evaluate scores.txt test.txt --metric ndcg@10 map err@20 --preset mslr
  rankgrove evaluate scores.npy test.parquet --metric "ndcg@5(gain=linear)" --per-query values.csv
  cat scores.txt | rankgrove evaluate - test.txt --json
  rankgrove evaluate bm25.run qrels.txt --preset trec --metric ndcg@10 map
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.metrics.evaluation import DEFAULT_METRICS

    parser.add_argument("scores", metavar="SCORES", help="file of scores, or - for standard input")
    parser.add_argument(
        "data",
        nargs="+",
        action=DataPaths,
        metavar="DATA",
        help="the judged data: files, folders or patterns; -: standard input",
    )
    add_metric_option(parser, DEFAULT_METRICS)
    add_preset_option(parser)
    parser.add_argument(
        "--per-query", metavar="FILE", type=out_path, help="write one line per query as CSV"
    )
    parser.add_argument(
        "--absent-queries",
        choices=("zero", "skip", "error"),
        help="judged queries that are not in the run count 0 (the default, as with trec_eval -c), "
        "are left out (as with trec_eval), or are an error",
    )
    add_json_option(parser)
    add_judgment_options(parser)
    parser.set_defaults(option_names=JUDGMENT_OPTION_NAMES)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    if arguments.scores == "-" and "/dev/stdin" in arguments.data:
        raise ValueError("SCORES and DATA cannot both be standard input")
    refuse_overwriting(arguments.per_query, arguments.scores, *arguments.data)
    result, facts = _evaluate_run(arguments) if _is_run(arguments) else _evaluate_rows(arguments)
    if arguments.per_query:
        result.to_csv(arguments.per_query)
    if arguments.json:
        print_json({**facts, "metrics": result.to_dict(), "counting_queries": result.n_counting})
    else:
        header, *rows = result.rows()
        show(table(header, rows))
        counts = facts.get("counts", {})
        show(
            f"{counted(facts['queries'], 'query')}, {counted(facts['rows'], 'row')}",
            *(f"{reason}: {count:,}" for reason, count in counts.items()),
        )


def _evaluate_rows(arguments: argparse.Namespace) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluate one score per row of the data."""
    from rankgrove.metrics.evaluation import DEFAULT_METRICS, evaluate

    _refuse_data(arguments.scores)
    if arguments.absent_queries is not None:
        raise ValueError("--absent-queries is for runs: these are scores, one per row of DATA")
    drop = arguments.negative_labels == "drop"  # after their scores are read
    kept = {"negative_labels": "keep"} if drop else {}
    data = load_data(one_source(arguments.data), arguments, features=[], **kept)
    scores = _scores_of_rows(arguments.scores, data)
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
    return result, {"queries": data.n_queries, "rows": data.n_rows}


def _refuse_data(path: str) -> None:
    """Refuse LETOR text and qrels in the place of scores."""
    from rankgrove.data.reading.byte_stream import open_bytes
    from rankgrove.logs import qrels

    if path == "-" or not file_path(path).is_file():
        return
    with open_bytes(file_path(path)) as stream:
        head = stream.peek(1 << 12)
    if b" qid:" in head.split(b"\n", 1)[0] or qrels.recognises(head, file_path(path)):
        raise DataError(f"{path} holds judged data, not scores: the scores come first, then DATA")


def _scores_of_rows(path: str, data: Dataset) -> Any:
    """Read one score per row of the data, from numbers alone or from a table with query ids."""
    from rankgrove import load
    from rankgrove.data.reading.score_files import read_scores

    if path == "-" or "score" not in _columns_of(file_path(path)):
        return read_scores(path, data.n_rows)
    scored = load(path, label="score", features=[], negative_labels="keep")
    if scored.n_rows != data.n_rows:
        raise DataError(f"{path} has {scored.n_rows} scores, but the data has {data.n_rows} rows")
    other = np.flatnonzero(scored.qid.astype(str) != data.qid.astype(str))
    if len(other):
        row = int(other[0])
        raise DataError(
            f"{path}: row {row} (from 0) is of the query {str(scored.qid[row])!r}, but of "
            f"{str(data.qid[row])!r} in the data: scores without documents must have their order"
        )
    return scored.y


def _columns_of(path: FilePath) -> list[str]:
    """Return the names of the columns if the file is a table, else none."""
    from rankgrove.data.reading.byte_stream import open_bytes
    from rankgrove.logs import plain_tables

    if not path.is_file() or path.suffix == ".npy":
        return []
    with open_bytes(path) as stream:
        head = stream.peek(1 << 16)
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        with path.open("rb") as file:
            return list(pq.read_schema(file).names)
    return plain_tables.header_of(head) if plain_tables.is_table(head, path) else []


def _is_run(arguments: argparse.Namespace) -> bool:
    """Return whether SCORES names its documents: a TREC run, or a table with a column of them.

    Scores beside qrels, which have no rows in an order of their own, can be nothing else.
    """
    from rankgrove.data.reading.byte_stream import open_bytes
    from rankgrove.logs import plain_tables, qrels, trec_run

    path = file_path(arguments.scores)
    if arguments.scores != "-" and not path.exists():
        raise DataError(f"{path}: no such file")
    if arguments.scores == "-" or not path.is_file() or path.suffix == ".npy":
        return False
    with open_bytes(path) as stream:
        head = stream.peek(1 << 16)
    name = Path(path.name)
    columns = _columns_of(path)
    if "score" in columns:
        return plain_tables.optional_column(columns, None, plain_tables.DOCUMENTS) is not None
    if trec_run.recognises(head, name) or plain_tables.is_table(head, name):
        return True
    judged = file_path(arguments.data[0])
    if not judged.is_file():
        return False
    with open_bytes(judged) as stream:
        return qrels.recognises(stream.peek(1 << 12), judged)


def _read_scored(path: str) -> LogTable:
    """Read a run; a table without scores may be the judgments, in the wrong place."""
    from rankgrove.logs import read_run

    columns = _columns_of(file_path(path))
    if columns and "score" not in map(str.lower, columns):
        shown = ", ".join(map(repr, columns[:20]))
        raise DataError(
            f"{path}: no column 'score' among {shown}: the scores come first, then the judgments"
        )
    return read_run(path)


def _evaluate_run(arguments: argparse.Namespace) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluate a run against judgments: documents are matched by their ids."""
    from rankgrove.logs import read_judgments
    from rankgrove.metrics.evaluation import DEFAULT_METRICS
    from rankgrove.metrics.runs import evaluate_run, match_run

    if len(arguments.data) != 1:
        raise ValueError(f"a run is measured against one file of judgments, not {arguments.data}")
    ranked = _read_scored(arguments.scores)
    judged = read_judgments(arguments.data[0], **judgment_options(arguments))
    matched = match_run(judged, ranked, arguments.absent_queries or "zero")
    result = evaluate_run(
        matched,
        metrics=arguments.metrics or DEFAULT_METRICS,
        preset=arguments.preset,
        n_jobs=arguments.n_jobs,
    )
    counts = {reason: count for reason, count in matched.counts.items() if count}
    rows = len(matched.labels)
    return result, {"queries": matched.groups.n_queries, "rows": rows, "counts": counts}
