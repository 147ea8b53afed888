"""Text files line by line, with the place of each line for messages."""

from __future__ import annotations

from collections.abc import Iterator

from rankgrove._addresses import FilePath
from rankgrove.data.reading.byte_stream import open_bytes
from rankgrove.data.reading.lines import whole_lines
from rankgrove.errors import DataError


def text_lines(path: FilePath) -> Iterator[tuple[str, str]]:
    """Return the lines that are not blank, each with ``FILE, line N``."""
    number = 0
    with open_bytes(path) as stream:
        for block in whole_lines(stream):
            lines = block.tobytes().split(b"\n")
            for i, line in enumerate(lines):
                if line.strip():
                    place = f"{path}, line {number + i + 1}"
                    try:
                        yield (
                            place,
                            line.decode("utf-8-sig" if number + i == 0 else "utf-8").rstrip("\r"),
                        )
                    except UnicodeDecodeError:
                        raise DataError(f"{place}: {line[:40]!r} is not UTF-8 text") from None
            number += len(lines) - 1
