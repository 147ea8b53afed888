"""Score a data file with a model: one score per line, in the order of the data.

Scores are comparable only within a query. A table (CSV, Parquet, Arrow) needs no labels. Files are
read, scored and written batch by batch (out-of-core), so that they may exceed memory. A model that
compares the documents of a query needs data that are sorted by query.

An output that ends in .run (TREC), .csv, .tsv or .parquet holds the ids of queries and documents
beside the scores; for it, data are loaded whole and need query ids.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from rankgrove._addresses import file_path
from rankgrove.cli.options import add_column_options, add_threads_option
from rankgrove.cli.paths import DataPaths, one_source, refuse_overwriting
from rankgrove.cli.scored_documents import holds_ids, scores_out_path, write_scored

EXAMPLES = """\
  rankgrove predict model.rg test.txt --out scores.txt
  rankgrove predict model.rg test.parquet > scores.txt
  rankgrove predict model.rg parts/ --out scores.txt
  rankgrove predict model.rg candidates.csv --query search --out scores.txt
  rankgrove predict model.rg test.parquet --doc-id product --out lambdamart.run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``predict``."""
    parser.add_argument("model", help="model file written by `rankgrove train`")
    parser.add_argument(
        "data",
        nargs="+",
        action=DataPaths,
        help="documents to score (LETOR text, Parquet, CSV, ...): files, folders or patterns; -: "
        "standard input",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=scores_out_path,
        help="file to write (default, or -: standard output)",
    )
    parser.add_argument(
        "--n-steps",
        type=int,
        metavar="N",
        help="use only the first N boosting iterations or trees (default: all)",
    )
    parser.add_argument(
        "--proba",
        action="store_true",
        help="write probabilities of relevance instead of scores, if the model returns them",
    )
    add_threads_option(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Score all rows; the output file appears only when it is complete."""
    from rankgrove import load_model
    from rankgrove.cli.model_data import scan_documents
    from rankgrove.models.scoring import score_batches

    refuse_overwriting(arguments.out, arguments.model, *arguments.data)
    ranker = load_model(arguments.model)
    if arguments.n_jobs is not None:
        ranker.set_params(n_jobs=arguments.n_jobs)
    if holds_ids(arguments.out):
        _write_ids(ranker, arguments)
        return
    with _output(arguments.out) as stream:
        documents = scan_documents(arguments.data, arguments)
        model, n_steps = ranker.model_, arguments.n_steps
        for _, scores in score_batches(model, documents, ranker.n_jobs, n_steps=n_steps):
            stream.write(_lines(ranker.probability_of(scores) if arguments.proba else scores))


def _write_ids(ranker: Any, arguments: argparse.Namespace) -> None:
    """Write the scores with the ids of queries and documents."""
    from rankgrove.cli.model_data import load_documents

    data = load_documents(one_source(arguments.data), ranker, arguments, needs_queries=True)
    scores = ranker.predict(data, n_steps=arguments.n_steps)
    if arguments.proba:
        scores = ranker.probability_of(scores)
    write_scored(data, scores, arguments.out, file_path(arguments.model).stem)


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[BinaryIO]:
    if path is None or path == "-":
        yield sys.stdout.buffer  # of ``standard_streams``: it writes everything or raises
        return
    from rankgrove._files import replacing

    with replacing(path) as stream:
        yield stream


def _lines(scores: Any) -> bytes:
    """Write each score so that it reads back as the same float64."""
    return b"".join(b"%r\n" % score for score in scores.tolist())
