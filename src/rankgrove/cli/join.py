"""Match judgments with logged features, and write training data.

JUDGMENTS: an export of Quepid, OpenSearch's Search Relevance Workbench or RRE, a judgment list as
text (`grade qid:1 # document query`), TREC qrels, or a table (CSV, TSV, Parquet) with columns such
as query, document and grade. FEATURES: search responses with the features that the LTR plugin of
Elasticsearch or OpenSearch, Solr or Vespa logged (one JSON document, or one per line), or a table
with one column per feature. Both may be a folder of files.

Rows are matched by query and document, as they are written. What does not match is counted and
left out; the counts are printed. If less than half of the judged documents have features, nothing
is written (--min-matched).
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from rankgrove.cli.data_output import (
    add_omit_option,
    check_outputs,
    data_out_path,
    output_summary,
    summary_text,
    write_data,
)
from rankgrove.cli.options import add_json_option, add_threads_option
from rankgrove.cli.output import print_json

EXAMPLES = """\
  rankgrove join judgments.csv responses.jsonl --out train.parquet
  rankgrove join ratings.csv logs/ --combine median --agreement-weights --out train.parquet
  rankgrove join qrels.txt features.parquet --judgment-queries topics.tsv --out train.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.logs.joining import MIN_MATCHED, Disagreement, Repeated

    parser.add_argument("judgments", metavar="JUDGMENTS", help="file or folder of judgments")
    parser.add_argument("features", metavar="FEATURES", help="file or folder of logged features")
    parser.add_argument(
        "--out", type=data_out_path, required=True, metavar="OUTPUT", help="the file to write"
    )
    parser.add_argument(
        "--disagreement",
        choices=get_args(Disagreement),
        default="mean",
        help="the grade of a document that was judged differently several times (default: mean)",
    )
    parser.add_argument(
        "--repeated-features",
        choices=get_args(Repeated),
        default="last",
        help="the row that counts where a document's features were logged several times "
        "(default: last)",
    )
    parser.add_argument(
        "--unjudged",
        type=float,
        metavar="GRADE",
        help="grade of documents with features but without a judgment (default: they are left out)",
    )
    parser.add_argument(
        "--min-matched",
        type=float,
        default=MIN_MATCHED,
        metavar="SHARE",
        help="least share of the judged documents that must have features, 0 to 1 (default: "
        f"{MIN_MATCHED:g})",
    )
    names: dict[str, list[str]] = {}
    for kind, prefix in (("judgments", "judgment"), ("features", "feature")):
        for argument, option in _add_reading_options(parser, kind, prefix).items():
            names.setdefault(argument, []).append(option)
    parser.set_defaults(option_names={name: " or ".join(given) for name, given in names.items()})
    add_omit_option(parser)
    add_threads_option(parser)
    add_json_option(parser)


def _add_reading_options(parser: argparse.ArgumentParser, kind: Any, prefix: str) -> dict[str, str]:
    """Add the options of a kind of log, and return them by argument in Python.

    Those that both kinds have get a prefix.
    """
    from rankgrove.logs.options import LogOptions
    from rankgrove.logs.reading import accepted_options, format_names

    group = parser.add_argument_group(f"reading {kind}")
    group.add_argument(
        f"--{prefix}-format",
        choices=format_names(kind),
        help="format (default: found by the content)",
    )
    others = accepted_options("features" if kind == "judgments" else "judgments")
    added = {"format": f"--{prefix}-format"}
    for option in fields(LogOptions):
        if option.name not in accepted_options(kind):
            continue
        name = f"{prefix}_{option.name}" if option.name in others else option.name
        added[option.name] = f"--{name.replace('_', '-')}"
        group.add_argument(
            added[option.name],
            dest=f"{prefix}_{option.name}",
            help=option.metadata["meaning"],
            **_argument_of(option.name, option.metadata["choices"]),
        )
    return added


def _argument_of(name: str, choices: tuple[str, ...]) -> dict[str, Any]:
    if choices:
        return {"choices": choices}
    if name == "agreement_weights":
        return {"action": "store_true", "default": None}
    if name == "queries":
        return {"metavar": "FILE", "type": _queries}
    return {"nargs": "+", "metavar": "COLUMN"} if name == "raters" else {"metavar": "NAME"}


def _queries(text: str) -> list[str] | dict[str, str]:
    """Read a file of queries: one per line, or ``ID<tab>TEXT`` lines."""
    from rankgrove.errors import DataError
    from rankgrove.logs.text_lines import text_lines

    try:
        lines = [line for _, line in text_lines(Path(text))]
    except DataError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if lines and all("\t" in line for line in lines):
        return dict(line.split("\t", 1) for line in lines)
    return lines


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.cli.output import show, table
    from rankgrove.logs.joining import join

    check_outputs([arguments.out], arguments, arguments.judgments, arguments.features)
    joined = join(
        arguments.judgments,
        arguments.features,
        disagreement=arguments.disagreement,
        repeated_features=arguments.repeated_features,
        unjudged=arguments.unjudged,
        min_matched=arguments.min_matched,
        judgment_options=_given(arguments, "judgment"),
        feature_options=_given(arguments, "feature"),
    )
    write_data(joined.data, arguments.out, arguments)
    summary = output_summary(joined.data, arguments.out)
    if arguments.json:
        print_json({**summary, "counts": dict(joined.rows())})
        return
    print(summary_text(summary))
    if joined.rows():
        show(table(["left out or combined", "count"], [(r, f"{n:,}") for r, n in joined.rows()]))


def _given(arguments: argparse.Namespace, prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(f"{prefix}_"): value
        for name, value in vars(arguments).items()
        if name.startswith(f"{prefix}_") and value is not None
    }
