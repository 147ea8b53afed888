"""Text files in chunks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from rankgrove._background_call import BackgroundCall
from rankgrove.data.reading.byte_stream import ByteStream
from rankgrove.errors import DataError

BLOCK_BYTES = 1 << 20  # stays in the cache of a processor between reading and parsing
MAX_LINE_BYTES = 64 << 20
_NEWLINE = 10


def whole_lines(
    stream: ByteStream, block_bytes: int = BLOCK_BYTES
) -> Iterator[npt.NDArray[np.uint8]]:
    """Cut a stream into blocks of about ``block_bytes`` that end with a line.

    Only the last block may lack its newline. A block is valid until the next one is asked for;
    meanwhile the next one is read, if the stream is a file (a pipe may keep us waiting).
    """
    current, other = np.empty(block_bytes, np.uint8), np.empty(0, np.uint8)
    filled = _fill(stream, current, 0)
    while filled == len(current):
        end = _after_last_newline(current)
        if end == 0:
            current = _longer(stream, current)
            filled = _fill(stream, current, filled)
            continue
        if len(other) < len(current):
            other = np.empty(len(current), np.uint8)
        rest = filled - end
        other[:rest] = current[end:filled]
        if stream.size is not None:
            reading = BackgroundCall(partial(_fill, stream, other, rest))
            try:
                yield current[:end]
            except GeneratorExit:
                reading.drop()
                raise
            filled = reading.result()
        else:
            yield current[:end]
            filled = _fill(stream, other, rest)
        current, other = other, current
    if filled:
        yield current[:filled]


def _fill(stream: ByteStream, buffer: npt.NDArray[np.uint8], start: int) -> int:
    return start + stream.fill(buffer[start:].data)


def _longer(stream: ByteStream, buffer: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    if len(buffer) >= MAX_LINE_BYTES:
        raise DataError(f"{stream.path}: a line is longer than {MAX_LINE_BYTES >> 20} MB")
    longer = np.empty(2 * len(buffer), np.uint8)
    longer[: len(buffer)] = buffer
    return longer


def _after_last_newline(text: npt.NDArray[np.uint8]) -> int:
    """Return the position after the last newline, 0 if there is none."""
    end, step = len(text), 1 << 12
    while end > 0:
        begin = max(end - step, 0)
        found = np.flatnonzero(text[begin:end] == _NEWLINE)
        if len(found):
            return begin + int(found[-1]) + 1
        end, step = begin, 2 * step
    return 0
