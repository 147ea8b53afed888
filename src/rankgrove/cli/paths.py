"""Names of files on the command line: what is read, what is written, and that they differ."""

from __future__ import annotations

import argparse
import os


def data_path(text: str) -> str:
    """Name of a file to read; ``-`` is standard input."""
    return "/dev/stdin" if text == "-" else text


def out_path(text: str) -> str:
    """Name of a file to write."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "'-' is no name of a file: standard output is /dev/stdout, a file of that name ./-"
        )
    return text


def refuse_overwriting(out: str | None, *inputs: str | None) -> None:
    """Refuse to put the output in the place of a file that is read."""
    if out is None or not os.path.isfile(out):
        return
    for path in inputs:
        if path is not None and os.path.isfile(path) and os.path.samefile(out, path):
            raise ValueError(f"{out} is read here, and would be lost: write to another file")
