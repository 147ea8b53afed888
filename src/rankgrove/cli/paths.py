"""Names of files on the command line: what is read, what is written, and that they differ."""

from __future__ import annotations

import argparse
import glob
import os
from typing import Any

from rankgrove._addresses import Address, file_path


def data_paths(text: str) -> list[str]:
    """Return the files that a word names: itself, ``-`` for standard input, or a pattern's."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    if text == "-":
        return ["/dev/stdin"]
    place = file_path(text)
    if isinstance(place, Address):
        return _objects(place, text)
    if glob.has_magic(text) and not os.path.exists(text):
        return sorted(glob.glob(text)) or [text]
    return [text]


def _objects(address: Address, text: str) -> list[str]:
    """Return the addresses that a word names: itself, or a pattern's."""
    if "*" not in text:
        return [text]
    try:
        return [os.fspath(found) for found in address.matches()] or [text]
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{address}: {error.strerror}") from None


class DataPaths(argparse.Action):
    """Stores the files that several words name as one list."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """Store the files."""
        try:
            paths = [path for text in values for path in data_paths(text)]
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        setattr(namespace, self.dest, paths)


def one_source(paths: list[str]) -> Any:
    """Return what ``load`` takes: a path, or several as a list."""
    return paths[0] if len(paths) == 1 else paths


def data_path(text: str) -> str:
    """Return the one file that a word names."""
    paths = data_paths(text)
    if len(paths) > 1:
        raise argparse.ArgumentTypeError(
            f"the pattern {text!r} matches {len(paths)} files, and one is expected here"
        )
    return paths[0]


def out_path(text: str) -> str:
    """Return the path of a file to write."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    if text == "-":
        raise argparse.ArgumentTypeError(
            "'-' is no name of a file: standard output is /dev/stdout, a file of that name ./-"
        )
    return text


def refuse_reading_twice(arguments: argparse.Namespace) -> None:
    """Refuse standard input for several files: the first would leave nothing for the others."""
    values = vars(arguments).values()
    words = [word for value in values for word in (value if isinstance(value, list) else [value])]
    if words.count("/dev/stdin") > 1:
        raise ValueError("standard input can be read only once: give the other data as a file")


def refuse_overwriting(out: str | None, *inputs: str | None) -> None:
    """Refuse an output that would overwrite an input file."""
    if out is not None and isinstance(file_path(out), Address) and out in inputs:
        raise ValueError(f"{file_path(out)} is read here, and would be lost: write to another")
    if out is None or not os.path.isfile(out):
        return
    for path in inputs:
        if path is not None and os.path.isfile(path) and os.path.samefile(out, path):
            raise ValueError(f"{out} is read here, and would be lost: write to another file")
