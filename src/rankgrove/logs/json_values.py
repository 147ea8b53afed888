"""JSON files as a stream of values: one document, or one value per line (JSONL, bulk files)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rankgrove._addresses import FilePath
from rankgrove.data.reading.byte_stream import ByteStream, open_bytes
from rankgrove.data.reading.lines import whole_lines
from rankgrove.errors import DataError

_FIRST_LINE_BYTES = 16 << 20


def as_object(value: Any, what: str, place: str) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for null; anything else is an error."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise DataError(f"{place}: {what} must be a JSON object, not {value!r:.60}")


def json_values(path: FilePath) -> Iterator[tuple[str, Any]]:
    """Return the values of a file, each with its place for messages (``FILE, line N``).

    A file whose first line is a whole value is read line by line, any other is one document. An
    array counts as its elements.
    """
    with open_bytes(path) as stream:
        head = stream.peek(_FIRST_LINE_BYTES)
        if _is_value(head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0]):
            values = _lines(stream, path)
        else:
            values = iter([(str(path), _parsed(_read_all(stream), str(path)))])
        for place, value in values:
            if isinstance(value, list):
                yield from ((f"{place}, element {i}", part) for i, part in enumerate(value))
            else:
                yield place, value


def _is_value(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(stream: ByteStream, path: FilePath) -> Iterator[tuple[str, Any]]:
    number = 0
    for block in whole_lines(stream):
        for line in block.tobytes().split(b"\n"):
            number += 1
            if line.strip():
                place = f"{path}, line {number}"
                yield place, _parsed(line, place)
        number -= 1  # the text after the last newline of a block is no line


def _read_all(stream: ByteStream) -> bytes:
    return b"".join(iter(lambda: stream.read(1 << 20), b""))


def _parsed(text: bytes, place: str) -> Any:
    try:
        return json.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError as error:
        before = text[: error.start]
        line = f", line {before.count(10) + 1}" if b"\n" in before else ""
        shown = bytes(text[max(0, error.start - 20) : error.start + 20])
        raise DataError(f"{place}{line}: this is not UTF-8 text: {shown!r}") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if b"\n" in text.strip() else ""
        raise DataError(
            f"{place}: this is not JSON: {error.msg} ({line}column {error.colno})"
        ) from None
    except RecursionError:
        raise DataError(f"{place}: the JSON is nested too deeply") from None
