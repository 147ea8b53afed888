"""LETOR / svmlight text: ``label qid:ID number:value ... #comment``, one document per line.

What the text means:

- Blank lines and lines that are only a comment are skipped; lines end with LF or CRLF; a byte order
  mark is skipped; the last line needs no end.
- Labels are finite and not negative (``negative_labels`` allows them).
- Query ids that all are plain integers become int64, otherwise all stay text.
- Feature numbers increase within a line and may have gaps. They count from 1, or from 0 if number 0
  occurs (``first_feature`` declares it). There are as many as the text mentions, or ``n_features``.
- Features that a line does not mention are 0 (``missing="zero"``) or NaN (``"keep"``); the values
  ``nan``, ``na`` and ``null`` (any case) are NaN. Values are rounded to the nearest float32; a
  value too large for it is an error, ``inf`` is infinity.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.compression import DecompressedStream, compression_of
from rankgrove.data.dataset import Dataset, default_feature_names
from rankgrove.data.options import LoadOptions
from rankgrove.data.paths import require_file
from rankgrove.data.progress import progress_reporter
from rankgrove.data.side_files import find_group_sizes
from rankgrove.errors import DataError

ACCEPTS = frozenset(
    {"qid", "group_sizes", "sample_weight", "doc_ids", "feature_names", "missing"}
    | {"n_features", "first_feature", "comments", "negative_labels", "progress", "n_jobs"}
)
_PIECE_BYTES = 32 << 20
_READ_BYTES = 4 << 20
_MAX_LINE_BYTES = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_letor(path: Path, options: LoadOptions) -> Dataset:
    """Read a LETOR text file, plain or compressed."""
    require_file(path)
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    n_features = options.n_features
    if options.feature_names is not None:
        if n_features is not None and n_features != len(options.feature_names):
            raise DataError(
                f"n_features is {n_features}, but there are {len(options.feature_names)} names"
            )
        n_features = len(options.feature_names)
    first_feature = options.first_feature
    if first_feature is None:
        first_feature = _first_feature_of(options.feature_names)
    compression = compression_of(path)
    with_qid, group_sizes = _queries_beside(path, compression, options)
    reader: Any = _native.LetorReader(
        n_features=-1 if n_features is None else n_features,
        first_feature=-1 if first_feature is None else first_feature,
        with_qid=with_qid,
        keep_comments=options.comments,
        negative_labels=options.negative_labels != "error",
        absent_is_nan=options.missing == "keep",
        max_bytes=_physical_memory(),
    )
    n_threads = resolve_n_jobs(options.n_jobs)
    with progress_reporter(path, options.progress) as report:
        if compression is None:
            _feed_mapped(reader, path, n_threads, report)
        else:
            _feed_stream(reader, path, compression, n_threads, report)
    if reader.n_rows == 0:
        raise DataError(f"{path}: the file holds no rows")
    first_feature = reader.first_feature
    X, y, ids, text_ids, comments = reader.take()
    qid: Any = options.qid
    if with_qid:
        qid = ids if text_ids is None else np.array(text_ids)[ids]
    names = options.feature_names
    if names is None:
        names = default_feature_names(X.shape[1], first_feature)
    try:
        return Dataset(
            X,
            y,
            qid,
            group_sizes=group_sizes,
            feature_names=names,
            sample_weight=options.sample_weight,
            doc_ids=options.doc_ids,
            comments=None if comments is None else _text_array(*comments),
            source=str(path),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _first_feature_of(names: Sequence[str] | None) -> int | None:
    """Where counting starts in names like f0, f1, ..., so that test data follow training data."""
    for first in (0, 1):
        if names and tuple(names) == default_feature_names(len(names), first):
            return first
    return None


def _queries_beside(
    path: Path, compression: str | None, options: LoadOptions
) -> tuple[bool, npt.ArrayLike | None]:
    """Whether the text itself must tell the queries, and else the group sizes, if given."""
    if options.qid is not None or options.group_sizes is not None:
        return False, options.group_sizes
    side = find_group_sizes(path)
    if side is None or first_row_has_qid(path, compression):
        return True, None
    return False, side[1]


def first_row_has_qid(path: Path, compression: str | None) -> bool:
    """Tell whether the text itself names the queries, by its first row."""
    if compression is None:
        with path.open("rb") as file:
            head = file.read(1 << 20)
    else:
        with DecompressedStream(path, compression) as stream:
            head = stream.read(1 << 20)
    row = re.search(rb"^[ \t]*[^\s#]+([ \t]+qid:)?", head.removeprefix(_BYTE_ORDER_MARK), re.M)
    return row is not None and row[1] is not None


def _feed_mapped(reader: Any, path: Path, n_threads: int, report: Any) -> None:
    with path.open("rb") as file:
        # Closed with the last array that looks at it.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = len(mapped)
    text = np.frombuffer(mapped, np.uint8)
    position = skip_byte_order_mark(path, mapped[:3])
    piece = _PIECE_BYTES
    while position < size:
        end = min(position + piece, size)
        used = feed(reader, path, text[position:end], end == size, n_threads)
        if used == 0:
            piece = _longer(path, piece)
        else:
            piece = _PIECE_BYTES
            _forget(mapped, position, position + used)
        position += used
        report(position, size)


def _forget(mapped: mmap.mmap, begin: int, end: int) -> None:
    """Let the system drop pages that have been read, so that they do not count as ours."""
    if hasattr(mmap, "MADV_DONTNEED"):
        begin -= begin % mmap.PAGESIZE
        end -= end % mmap.PAGESIZE
        if begin < end:
            mapped.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _feed_stream(reader: Any, path: Path, compression: str, n_threads: int, report: Any) -> None:
    size = path.stat().st_size
    buffer = np.empty(_PIECE_BYTES, np.uint8)
    filled = 0
    start = True
    with DecompressedStream(path, compression) as stream:
        while True:
            last = False
            while filled < len(buffer):
                data = stream.read(min(len(buffer) - filled, _READ_BYTES))
                if not data:
                    last = True
                    break
                buffer[filled : filled + len(data)] = np.frombuffer(data, np.uint8)
                filled += len(data)
            skipped = skip_byte_order_mark(path, buffer[: min(filled, 3)].tobytes()) if start else 0
            start = False
            used = skipped + feed(reader, path, buffer[skipped:filled], last, n_threads)
            report(stream.position(), size)
            if last:
                return
            if used == 0:
                grown = np.empty(_longer(path, len(buffer)), np.uint8)
                grown[:filled] = buffer[:filled]
                buffer = grown
            else:
                buffer[: filled - used] = buffer[used:filled].copy()
                filled -= used


def _longer(path: Path, piece: int) -> int:
    if piece >= _MAX_LINE_BYTES:
        raise DataError(f"{path}: a line is longer than {_MAX_LINE_BYTES >> 20} MB")
    return 2 * piece


def skip_byte_order_mark(path: Path, head: bytes) -> int:
    """Return how many of the first bytes of a file to skip."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path}: this is UTF-16 text; LETOR text must be ASCII or UTF-8")
    return 3 if head == _BYTE_ORDER_MARK else 0


def feed(
    reader: Any,
    path: Path,
    text: npt.NDArray[np.uint8],
    last: bool,
    n_threads: int,
    lines_before: int = 0,
) -> int:
    """Read whole lines and return the bytes used; DataError says where the text is wrong."""
    used: int = reader.feed(text, last, n_threads)
    if used >= 0:
        return used
    line, column, message, offending = reader.problem()
    if line == 0:
        raise DataError(f"{path}: {message}")
    shown = offending.decode(errors="backslashreplace")
    hint = ""
    if message == "qid is missing":
        hint = " (and there is no file of group sizes beside it)" if reader.n_rows == 0 else ""
    raise DataError(
        f"{path}, line {lines_before + line}, column {column}: {message}{hint}: {shown!r}"
    )


def _text_array(ends: Any, flags: Any, text: Any) -> Any:
    """Build an Arrow array on the comment bytes that the reader has collected."""
    import pyarrow as pa

    offsets = np.empty(len(ends) + 1, np.int64)
    offsets[0] = 0
    offsets[1:] = ends
    valid = np.packbits(flags, bitorder="little")
    return pa.Array.from_buffers(
        pa.large_string(),
        len(ends),
        [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(text)],
    )


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 1 << 40
