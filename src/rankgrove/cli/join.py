"""Match judgments with logged features, and write training data.

JUDGMENTS: an export of Quepid, OpenSearch's Search Relevance Workbench or RRE, a judgment list as
text (`grade qid:1 # document query`), TREC qrels, or a table (CSV, TSV, Parquet) with columns such
as query, document and grade. FEATURES: search responses with the features that the LTR plugin of
Elasticsearch or OpenSearch, Solr or Vespa logged (one JSON document, or one per line), or a table
with one column per feature. Both may be a folder of files.

Rows are matched by query and document ids, without any normalisation. Rows that do not match are
left out, and their counts are printed. Columns of a categorical type, and those that --categorical
names, are kept as categories; other texts are left out. If less than half of the judged documents
have features, nothing is written (--min-matched).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

from rankgrove.cli.data_output import (
    add_omit_option,
    check_outputs,
    data_out_path,
    output_summary,
    summary_text,
    write_data,
)
from rankgrove.cli.log_options import add_log_options, given_log_options
from rankgrove.cli.messages import in_options
from rankgrove.cli.options import add_json_option, add_threads_option
from rankgrove.cli.output import print_json
from rankgrove.errors import DataError

EXAMPLES = """\
  rankgrove join judgments.csv responses.jsonl --out train.parquet
  rankgrove join ratings.csv logs/ --combine median --agreement-weights --out train.parquet
  rankgrove join judgments.csv features.csv --categorical brand category --out train.parquet
  rankgrove join qrels.txt features.parquet --judgment-queries topics.tsv --out train.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.logs.joining import MIN_MATCHED, Disagreement, Repeated
    from rankgrove.logs.reading import accepted_options

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
    of_judgments, of_features = accepted_options("judgments"), accepted_options("features")
    alone = of_judgments ^ of_features
    parser.set_defaults(
        options_of_side={
            "judgment": add_log_options(parser, "judgments", "judgment", unprefixed=alone),
            "feature": add_log_options(parser, "features", "feature", unprefixed=alone),
        }
    )
    add_omit_option(parser)
    add_threads_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.cli.output import counts_table, show
    from rankgrove.logs.joining import join

    check_outputs([arguments.out], arguments, arguments.judgments, arguments.features)
    with _naming_options(arguments.options_of_side):
        joined = join(
            arguments.judgments,
            arguments.features,
            disagreement=arguments.disagreement,
            repeated_features=arguments.repeated_features,
            unjudged=arguments.unjudged,
            min_matched=arguments.min_matched,
            categorical=arguments.categorical,
            ignore="texts" if arguments.ignore == ["texts"] else arguments.ignore,
            judgment_options=given_log_options(arguments, "judgment"),
            feature_options=given_log_options(arguments, "feature"),
        )
    write_data(joined.data, arguments.out, arguments)
    summary = output_summary(joined.data, arguments.out)
    counts = [(in_options(reason, arguments), count) for reason, count in joined.rows()]
    if arguments.json:
        print_json({**summary, "counts": dict(counts)})
        return
    print(summary_text(summary))
    if counts:
        show(counts_table(counts))


@contextmanager
def _naming_options(options_of_side: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Name the options of reading one side as this verb has them."""
    try:
        yield
    except ValueError as error:
        text = re.sub(
            r"\b(judgment|feature)_options=\{'(\w+)': \.\.\.\}",
            lambda found: options_of_side[found[1]].get(found[2], found[0]),
            str(error),
        )
        raise (DataError if isinstance(error, DataError) else ValueError)(text) from None
