"""Divide a data file by query into training, validation and test files.

Queries are drawn at random; all rows of a query go to one file, in the order of DATA. The same
data, shares and seed give the same files. The suffix of an output determines its format, as in
`rankgrove convert`. If one output cannot be written, none is, and the old files remain.
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
from rankgrove.cli.options import add_data_options, add_json_option, add_seed_option, load_data
from rankgrove.cli.output import print_json
from rankgrove.cli.paths import data_path

EXAMPLES = """\
  rankgrove split data.txt --share 0.6 0.2 0.2 --out train.txt valid.txt test.txt --seed 1
  rankgrove split judgments.csv --share 0.8 0.2 --out train.parquet test.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "data", metavar="DATA", type=data_path, help="the data file to read; -: standard input"
    )
    parser.add_argument(
        "--share",
        nargs="+",
        action="extend",
        type=float,
        required=True,
        metavar="SHARE",
        help="share of the queries for each output; they sum to 1",
    )
    parser.add_argument(
        "--out",
        nargs="+",
        action="extend",
        type=data_out_path,
        required=True,
        metavar="OUTPUT",
        help="the files to write, one for each share",
    )
    add_seed_option(parser)
    add_omit_option(parser)
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._files import replacing_together
    from rankgrove.data.reading.folds import check_shares, split

    shares, outputs = arguments.share, arguments.out
    if len(shares) != len(outputs):
        raise ValueError(
            f"--share has {len(shares)} values and --out {len(outputs)} names: give as many of each"
        )
    check_shares(shares)
    check_outputs(outputs, arguments, arguments.data)
    parts = split(load_data(arguments.data, arguments), shares, arguments.seed)
    with replacing_together():
        for part, output in zip(parts, outputs, strict=True):
            write_data(part, output, arguments)
    summaries = [output_summary(*pair) for pair in zip(parts, outputs, strict=True)]
    if arguments.json:
        print_json({"parts": summaries})
    else:
        print("\n".join(map(summary_text, summaries)))
