"""LETOR text read in pieces, for files that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.compression import DecompressedStream, compression_of
from rankgrove.data.letor import feed, first_row_has_qid, skip_byte_order_mark
from rankgrove.errors import DataError

_READ_BYTES = 1 << 20


def stream_letor(
    path: Path,
    n_features: int,
    first_feature: int,
    *,
    piece_bytes: int = 32 << 20,
    n_jobs: int | None = None,
) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the feature matrix of a text file in pieces of whole lines; absent features are NaN."""
    if not path.is_file():
        raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    compression = compression_of(path)
    with_qid = first_row_has_qid(path, compression)
    n_threads = resolve_n_jobs(n_jobs)
    lines = rows = 0
    stream: Any = path.open("rb") if compression is None else DecompressedStream(path, compression)
    with stream:
        for text in _whole_lines(stream, piece_bytes):
            start = skip_byte_order_mark(path, text[:3]) if lines == 0 else 0
            reader = _native.LetorReader(
                n_features=n_features,
                first_feature=first_feature,
                with_qid=with_qid,
                keep_comments=False,
                negative_labels=True,
                absent_is_nan=True,
                max_bytes=1 << 40,
            )
            feed(reader, path, np.frombuffer(text, np.uint8)[start:], True, n_threads, lines)
            lines += text.count(b"\n")
            if reader.n_rows:
                rows += reader.n_rows
                matrix: Any = reader.take()[0]
                yield matrix
    if rows == 0:
        raise DataError(f"{path}: the file holds no rows")


def _whole_lines(stream: Any, piece_bytes: int) -> Iterator[bytes]:
    """Cut a stream of bytes into pieces of about ``piece_bytes`` that end with a line."""
    blocks: list[bytes] = []
    size = 0
    while block := stream.read(_READ_BYTES):
        blocks.append(block)
        size += len(block)
        end = block.rfind(b"\n") + 1
        if size >= piece_bytes and end:
            yield b"".join([*blocks[:-1], block[:end]])
            blocks, size = [block[end:]], len(block) - end
    if size:
        yield b"".join(blocks)
