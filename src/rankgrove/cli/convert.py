"""Write a data file in another format.

The name of OUTPUT decides: .parquet, or LETOR text for .txt, .letor, .svm, .svmlight, .libsvm and
.dat, also with .gz, .bz2, .xz or .zst. Values, labels, query ids and comments read back exactly.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rankgrove._counts import counted
from rankgrove.cli.options import add_data_options, add_json_option, load_data
from rankgrove.cli.output import print_json
from rankgrove.cli.paths import data_path, refuse_overwriting

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
    parser.add_argument("output", metavar="OUTPUT", type=_output, help="the file to write")
    parser.add_argument(
        "--omit",
        choices=("zero", "missing"),
        help="leave zeros or missing values out of LETOR text (default: write every feature)",
    )
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove._files import require_place
    from rankgrove.data.writing import write_letor, write_parquet

    to_parquet = _is_parquet(arguments.output)
    if to_parquet and arguments.omit is not None:
        raise ValueError("--omit is for LETOR text: Parquet holds every value")
    refuse_overwriting(arguments.output, arguments.data)
    require_place(arguments.output)
    data = load_data(arguments.data, arguments)
    if to_parquet:
        write_parquet(data, arguments.output)
    else:
        write_letor(data, arguments.output, omit=arguments.omit, n_jobs=arguments.n_jobs)
    summary = {
        "output": arguments.output,
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "bytes": Path(arguments.output).stat().st_size,
    }
    if arguments.json:
        print_json(summary)
    else:
        print(
            f"{arguments.output}: {counted(data.n_rows, 'row')}, "
            f"{counted(data.n_queries, 'query')}, {counted(data.n_features, 'feature')}, "
            f"{summary['bytes']:,} bytes"
        )


def _is_parquet(output: str) -> bool:
    return Path(output).suffix.lower() == ".parquet"


def _output(text: str) -> str:
    """Check the name before a large file is read for nothing."""
    from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
    from rankgrove.data.reading.readers import READERS

    path = Path(text)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        suffix = path.with_suffix("").suffix.lower()
    letor = next(known.suffixes for known in READERS if known.name == "letor")
    if suffix not in letor and not _is_parquet(text):
        raise argparse.ArgumentTypeError(
            f"the name {path.name!r} does not tell the format: end it in .parquet or "
            f"{', '.join(letor)} (and .gz, .bz2, .xz, .zst)"
        )
    return text
