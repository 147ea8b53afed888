"""Data files that verbs write: LETOR text or Parquet, by their suffix."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import file_path, is_address, printable
from rankgrove._counts import counted
from rankgrove.cli.paths import refuse_overwriting

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset


def add_omit_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--omit``."""
    parser.add_argument(
        "--omit",
        choices=("zero", "missing"),
        help="leave zeros or missing values out of LETOR text (default: write every feature)",
    )


def data_out_path(text: str) -> str:
    """Check the name of an output file, before a large input file is read."""
    from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
    from rankgrove.data.reading.readers import READERS

    path = file_path(text)
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


def check_outputs(outputs: Sequence[str], arguments: argparse.Namespace, *inputs: str) -> None:
    """Refuse outputs that cannot be written, that are among the inputs, or that are given twice."""
    from rankgrove._files import require_place

    if arguments.omit is not None and any(map(_is_parquet, outputs)):
        raise ValueError("--omit is for LETOR text: Parquet holds every value")
    files: set[str] = set()
    for output in outputs:
        refuse_overwriting(output, *inputs)
        require_place(output)
        file = output if is_address(output) else os.path.realpath(output)
        if file in files:
            raise ValueError(
                f"{printable(output)} would be written twice: give each part a file of its own"
            )
        files.add(file)


def write_data(data: Dataset, output: str, arguments: argparse.Namespace) -> None:
    """Write a data file."""
    from rankgrove.data.writing import write_letor, write_parquet

    if _is_parquet(output):
        write_parquet(data, output)
    else:
        write_letor(data, output, omit=arguments.omit, n_jobs=arguments.n_jobs)


def output_summary(data: Dataset, output: str) -> dict[str, Any]:
    """Return the name and the sizes of a data file that was written."""
    return {
        "output": printable(output),
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "bytes": file_path(output).stat().st_size,
    }


def summary_text(summary: dict[str, Any]) -> str:
    """Return the summary line of the written file."""
    return (
        f"{summary['output']}: {counted(summary['rows'], 'row')}, "
        f"{counted(summary['queries'], 'query')}, {counted(summary['features'], 'feature')}, "
        f"{summary['bytes']:,} bytes"
    )


def _is_parquet(output: str) -> bool:
    return file_path(output).suffix.lower() == ".parquet"
