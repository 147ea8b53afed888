"""Measure how fast a model scores your data on this machine.

Prints the throughput for the whole file, with one thread and with all, and the latency per query on
one thread, which is the time that a search engine waits for one result list.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from rankgrove._counts import counted
from rankgrove.cli.options import add_column_options, add_json_option, add_threads_option, checked
from rankgrove.cli.output import escape, print_json, show, table
from rankgrove.cli.paths import data_path

EXAMPLES = """\
  rankgrove score-bench model.rg test.txt
  rankgrove score-bench model.rg test.parquet --seconds 5 --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("model", metavar="MODEL", help="model file written by `rankgrove train`")
    parser.add_argument(
        "data", metavar="DATA", type=data_path, help="documents to score, grouped by query"
    )
    parser.add_argument(
        "--seconds",
        type=checked(_seconds),
        default=1.0,
        metavar="S",
        help="time for each measurement",
    )
    add_threads_option(parser)
    add_json_option(parser)
    add_column_options(parser)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"must be a number of seconds above 0, not {text!r}")
    return seconds


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove import load_model
    from rankgrove.cli.model_data import load_documents

    ranker = load_model(arguments.model)
    data = load_documents(arguments.data, ranker, arguments, needs_queries=True)
    found = measure(ranker, data, arguments.seconds, arguments.n_jobs)
    if arguments.json:
        print_json(found)
    else:
        _show(arguments.model, arguments.data, found)


def measure(ranker: Any, data: Any, seconds: float, n_jobs: int | None) -> dict[str, Any]:
    """Time a ranker on a Dataset: seconds of preparing, throughput, and latency per query."""
    import numpy as np

    from rankgrove._threads import resolve_n_jobs
    from rankgrove.data.matrix.dense import DenseMatrix
    from rankgrove.errors import DataError

    if len(data.X) == 0:
        raise DataError("there are no documents to score")
    needs_queries = ranker.model_.needs_queries

    def documents(X: Any) -> Any:
        return DenseMatrix(np.asarray(X), categories=data.categories) if data.categories else X

    def predict_query(X: Any) -> Any:
        return ranker.predict(documents(X), group_sizes=[len(X)] if needs_queries else None)

    start = time.perf_counter()
    predict_query(data.X[:1])
    prepared = time.perf_counter() - start
    qid = data.qid if needs_queries else None
    throughput = {}
    for threads in sorted({1, resolve_n_jobs(n_jobs)}):
        ranker.set_params(n_jobs=threads)
        best = min(_times(lambda: ranker.predict(documents(data.X), qid), seconds))
        throughput[threads] = best / len(data.X) * 1e6
    ranker.set_params(n_jobs=1)
    groups = data.groups
    matrix = groups.grouped(data.X)
    queries = [
        matrix[first:last]
        for first, last in zip(groups.offsets[:-1], groups.offsets[1:], strict=True)
        if last > first
    ]
    latency = _latencies(predict_query, queries, seconds)
    percentiles = np.percentile(latency, [50, 90, 99]) * 1e6
    return {
        "size": ranker.model_.size,
        "documents": len(data.X),
        "queries": len(queries),
        "documents_per_query": len(data.X) / len(queries),
        "prepare_ms": prepared * 1e3,
        "us_per_document": throughput,
        "query_us": dict(zip(("median", "p90", "p99"), percentiles.tolist(), strict=True)),
    }


def _times(function: Callable[[], Any], seconds: float) -> list[float]:
    times: list[float] = []
    while len(times) < 2 or sum(times) < seconds:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times


def _latencies(predict: Callable[[Any], Any], queries: list[Any], seconds: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        for query in queries:
            start = time.perf_counter()
            predict(query)
            times.append(time.perf_counter() - start)
            if time.perf_counter() > end and len(times) > 100:
                break
    return times


def _show(model: str, data: str, found: dict[str, Any]) -> None:
    show(
        escape(
            f"{model}, {found['size']}; {data}: {counted(found['documents'], 'document')} of "
            f"{counted(found['queries'], 'query')} ({found['documents_per_query']:.1f} each)"
        )
    )
    rows = [
        (f"all documents, {threads} thread{'s' * (threads > 1)}", f"{us:.3f}", f"{1e6 / us:,.0f}")
        for threads, us in found["us_per_document"].items()
    ]
    show(table(["throughput", "us per document", "documents per second"], rows))
    latency = [("one query, one thread", *(f"{us:.1f}" for us in found["query_us"].values()))]
    show(table(["latency in us", *found["query_us"]], latency))
    show(f"prepared in {found['prepare_ms']:.1f} ms")
