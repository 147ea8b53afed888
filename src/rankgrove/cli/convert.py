"""Write a data file in another format.

The suffix of OUTPUT determines the format: .parquet, or LETOR text for .txt, .letor, .svm,
.svmlight, .libsvm and .dat, also with .gz, .bz2, .xz or .zst. Values, labels, query ids and
comments round-trip exactly.
"""

from __future__ import annotations

import argparse

from rankgrove.cli.data_output import (
    add_omit_option,
    check_outputs,
    data_out_path,
    output_summary,
    summary_text,
    write_data,
)
from rankgrove.cli.options import add_data_options, add_json_option, load_data
from rankgrove.cli.output import print_json
from rankgrove.cli.paths import data_path

EXAMPLES = """\
  rankgrove convert train.txt.gz train.parquet
  rankgrove convert judgments.csv train.txt --label rating --query query_id
  rankgrove convert train.parquet train.txt.zst --omit zero
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "data", metavar="DATA", type=data_path, help="the data file to read; -: standard input"
    )
    parser.add_argument("output", metavar="OUTPUT", type=data_out_path, help="the file to write")
    add_omit_option(parser)
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    check_outputs([arguments.output], arguments, arguments.data)
    data = load_data(arguments.data, arguments)
    write_data(data, arguments.output, arguments)
    summary = output_summary(data, arguments.output)
    if arguments.json:
        print_json(summary)
    else:
        print(summary_text(summary))
