"""LETOR / svmlight text: ``label qid:ID number:value ... #comment``, one document per line.

What the text means:

- Blank lines and lines that are only a comment are skipped; lines end with LF or CRLF; a byte order
  mark is skipped; the last line needs no end.
- Labels are finite and not negative (``negative_labels`` allows them).
- Query ids that all are plain integers become int64, otherwise all stay text.
- Feature numbers increase within a line and may have gaps. They count from 1, or from 0 if number 0
  occurs (``first_feature`` declares it). There are as many as the text mentions, or ``n_features``.
- Features that a line does not mention are 0 (``absent="zero"``) or NaN (``"missing"``); the values
  ``nan``, ``na`` and ``null`` (any case) are NaN. Values are rounded to the nearest float32; a
  value too large for it is an error, ``inf`` is infinity.
- Wide text that mentions few of its features is kept sparse, as ``sparse`` of ``load`` tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._addresses import FilePath
from rankgrove._memory import memory_limit
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.names import default_feature_names, first_number
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.numbers import GRADES_HINT
from rankgrove.data.matrix.sparse import SparseMatrix, is_mostly_empty
from rankgrove.data.reading.arrow_columns import id_texts
from rankgrove.data.reading.byte_stream import ByteStream, open_bytes
from rankgrove.data.reading.lines import BLOCK_BYTES, whole_lines
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.data.reading.progress import progress_reporter
from rankgrove.data.reading.side_files import find_group_sizes
from rankgrove.errors import DataError

ACCEPTS = accepted_by("text")
_LOOKED_AT_BYTES = 1 << 16
_SUSPICIOUS_WIDTH = 1_000_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The first line of a table: names, separated, where text has numbers with colons.
_HEADER = re.compile(rb"[^:\n]*[A-Za-z_][^:\n]*[,;\t][^:\n]*(\n|$)")
# The first bytes of Parquet and Arrow files.
_BINARY = (b"PAR1", b"ARROW1")
# The comment of a row without qid, and one that names the query.
_COMMENT_WITHOUT_QID = re.compile(rb"^[ \t]*[^\s#]+(?![^\s#]|[ \t]+qid:)[^#\n]*#([^\n]*)", re.M)
_QUERY_COMMENT = re.compile(rb"\s*\b(qid|query|query[ _]?id)\s*[=:]\s*\S+\s*", re.I)
_STREAMED_BYTES = 16 << 20  # of a batch of text that is read batch by batch


def read_letor(path: FilePath, options: LoadOptions) -> Dataset:
    """Read a LETOR text file, plain or compressed."""
    n_features, first_feature = declared_features(options)
    with open_bytes(path) as stream, progress_reporter(stream, options.progress) as report:
        with_qid, group_sizes = _query_source(stream, options)
        sparse = stays_sparse(stream, options, n_features)
        reader = letor_reader(options, n_features, first_feature, with_qid, sparse)
        n_threads = resolve_n_jobs(options.n_jobs)
        for text in letor_lines(stream, BLOCK_BYTES * max(1, n_threads // 2)):
            feed(reader, path, text, n_threads)
            report(stream.position(), stream.size)
    if reader.n_rows == 0:
        raise DataError(f"{path}: the file holds no rows")
    if sparse and options.sparse is None and n_features is None:
        _refuse_suspicious(path, reader.n_features, reader.n_entries)
    return read_rows(reader, path, options, with_qid, group_sizes=group_sizes)


def letor_batches(path: FilePath, options: LoadOptions) -> Iterator[Dataset]:
    """Read a text file batch by batch; where ``n_features`` is not declared, widths differ.

    Comments are kept only if they name the queries.
    """
    n_features, first_feature = declared_features(options)
    options = replace(options, comments=options.query == "comment")
    n_threads = resolve_n_jobs(options.n_jobs)
    n_rows = n_lines = 0
    with open_bytes(path) as stream, progress_reporter(stream, options.progress) as report:
        with_qid, group_sizes = _query_source(stream, options)
        queries = None if group_sizes is None else _numbered_queries(path, group_sizes)
        sparse = stays_sparse(stream, options, n_features)
        for text in letor_lines(stream, _STREAMED_BYTES):
            reader = letor_reader(options, n_features, first_feature, with_qid, sparse)
            reader.start_after(n_lines)
            feed(reader, path, text, n_threads)
            n_lines = reader.n_lines
            report(stream.position(), stream.size)
            if reader.n_rows == 0:
                continue
            if first_feature is None and reader.first_feature == 0:
                if n_rows > 0 and n_features is not None:
                    raise DataError(
                        f"{path}: feature number 0 occurs, but not from the beginning: declare "
                        "first_feature=0"
                    )
                first_feature = 0
            rows = slice(n_rows, n_rows + reader.n_rows)
            n_rows = rows.stop
            qid = queries
            if queries is not None:
                qid = queries[rows]
                _check_sizes(path, queries, n_rows, last=False)
            yield read_rows(reader, path, options, with_qid, qid=qid)
    if n_rows == 0:
        raise DataError(f"{path}: the file holds no rows")
    if queries is not None:
        _check_sizes(path, queries, n_rows, last=True)


def _numbered_queries(path: FilePath, group_sizes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the number of each row's query; refuse queries without documents."""
    groups = QueryGroups.from_sizes(group_sizes)
    if (groups.sizes == 0).any():
        raise DataError(f"{path}: query {int(groups.sizes.argmin())} has no documents")
    return groups.query_of_row()


def _check_sizes(
    path: FilePath, queries: npt.NDArray[np.int64], n_rows: int, *, last: bool
) -> None:
    if n_rows > len(queries) or (last and n_rows < len(queries)):
        raise DataError(
            f"{path}: group sizes add up to {len(queries)} but there are "
            f"{n_rows} rows{'' if last else ' or more'}"
        )


def read_rows(
    reader: Any,
    path: FilePath,
    options: LoadOptions,
    with_qid: bool,
    *,
    qid: Any = None,
    group_sizes: npt.ArrayLike | None = None,
) -> Dataset:
    """Make a Dataset of the rows that the native reader has read."""
    first_feature = reader.first_feature
    n_columns = reader.n_features
    sparse = reader.sparse
    entries, y, ids, text_ids, comments = reader.take()
    absent = np.nan if options.absent_value == "missing" else 0.0
    X = SparseMatrix.of_entries(entries, n_columns, absent) if sparse else entries
    texts = None if comments is None else _text_array(*comments)
    if qid is None:
        qid = options.qid
    if with_qid:
        qid = ids if text_ids is None else np.array(text_ids)[ids]
    elif options.query == "comment":
        qid = _ids_of_comments(path, texts)
    elif "query" in options.unread:
        qid, group_sizes = None, [len(X)]
    names = options.feature_names
    if names is None:
        names = default_feature_names(n_columns, first_feature)
    try:
        return Dataset(
            X,
            y,
            qid,
            group_sizes=group_sizes,
            feature_names=names,
            sample_weight=options.sample_weight,
            doc_ids=options.doc_ids,
            comments=texts,
            absent=options.absent_value,
            source=str(path),
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def stays_sparse(stream: ByteStream, options: LoadOptions, n_features: int | None) -> bool:
    """Return whether features stay sparse: as requested, or by the share of stored entries.

    If nothing is requested, the first lines decide: wide and mostly empty data stay sparse.
    """
    if options.features is not None:
        return False
    if options.sparse is not None:
        return options.sparse
    lines = re.sub(rb"#[^\n]*", b"", stream.peek(_LOOKED_AT_BYTES)).rsplit(b"\n", 1)[0]
    numbers = np.array(re.findall(rb"[ \t](\d{1,9}):", lines), np.int64)
    if n_features is None:
        n_features = int(numbers.max(initial=0))
    n_rows = sum(1 for line in lines.split(b"\n") if line.strip())
    return is_mostly_empty(len(numbers), n_rows, n_features)


def _refuse_suspicious(path: FilePath, n_columns: int, n_entries: int) -> None:
    """Refuse a feature number that is probably wrong."""
    if n_columns > max(_SUSPICIOUS_WIDTH, n_entries):
        raise DataError(
            f"{path}: the text mentions {n_entries:,} values of up to {n_columns:,} features: is "
            f"the largest feature number right? n_features={n_columns} says so"
        )


def letor_reader(
    options: LoadOptions,
    n_features: int | None,
    first_feature: int | None,
    with_qid: bool,
    sparse: bool = False,
) -> Any:
    """Make the native reader for these options."""
    return _native.LetorReader(
        n_features=-1 if n_features is None else n_features,
        first_feature=-1 if first_feature is None else first_feature,
        with_qid=with_qid,
        with_features=options.features is None,
        keep_comments=options.comments,
        negative_labels=options.negative_labels != "error" or "label" in options.unread,
        absent_is_nan=options.absent_value == "missing",
        max_bytes=memory_limit(),
        sparse=sparse,
    )


def letor_lines(stream: ByteStream, block_bytes: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the text in blocks of whole lines, without a byte order mark."""
    head = stream.peek(3)
    if not head:
        raise DataError(f"{stream.path}: the file is empty")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{stream.path}: this is UTF-16 text; LETOR text must be ASCII or UTF-8")
    if head == _BYTE_ORDER_MARK:
        stream.read(3)
    return whole_lines(stream, block_bytes)


def declared_features(options: LoadOptions) -> tuple[int | None, int | None]:
    """Return the number of features and the number of the first one, as far as declared."""
    if options.features is not None:
        if len(options.features):
            raise ValueError("features does not name columns of letor files: use [] or like=")
        return None, None
    names, n_features = options.feature_names, options.n_features
    first_feature: int | None = options.first_feature
    if names is None and options.like is not None and _is_numbered(options.like):
        names = options.like.names
    if names is not None:
        if n_features is not None and n_features != len(names):
            raise DataError(f"n_features is {n_features}, but there are {len(names)} names")
        n_features = len(names)
        if first_feature is None:
            first_feature = first_number(names)
    return n_features, first_feature


def _is_numbered(like: Columns) -> bool:
    return like.names is not None and first_number(like.names) is not None


def _query_source(stream: ByteStream, options: LoadOptions) -> tuple[bool, npt.ArrayLike | None]:
    """Return whether the text must have query ids, and the group sizes, if given."""
    if options.query not in (None, "comment"):
        raise ValueError(
            f"query={options.query!r} does not apply to letor files, but 'comment' does"
        )
    if options.query is not None and not options.comments:
        raise ValueError("query='comment' needs comments=True")
    if options.qid is not None or options.group_sizes is not None or options.query is not None:
        return False, options.group_sizes
    side = find_group_sizes(stream.path)
    if (side is None and "query" not in options.unread) or first_row_has_qid(stream):
        return True, None
    return False, None if side is None else side[1]


def first_row_has_qid(stream: ByteStream) -> bool:
    """Return whether the first row of the text names its query."""
    head = stream.peek(1 << 20).removeprefix(_BYTE_ORDER_MARK)
    row = re.search(rb"^[ \t]*[^\s#]+([ \t]+qid:)?", head, re.M)
    return row is not None and row[1] is not None


def _ids_of_comments(path: FilePath, comments: Any) -> npt.NDArray[Any]:
    import pyarrow.compute as pc

    if comments is None:
        raise DataError(f"{path}: query='comment', but there are no comments")
    texts = pc.utf8_trim_whitespace(comments)
    empty = pc.fill_null(pc.equal(texts, ""), True)
    if pc.any(empty).as_py():
        raise DataError(
            f"{path}: row {pc.index(empty, True).as_py()} has no comment to name its query"
        )
    return id_texts(texts, f"{path}: row")


def feed(reader: Any, path: FilePath, text: npt.NDArray[np.uint8], n_threads: int) -> None:
    """Feed whole lines to the native reader; DataError names the line and column."""
    used: int = reader.feed(text, True, n_threads)
    if used >= 0:
        return
    line, column, message, offending = reader.problem()
    if line == 0:
        raise DataError(f"{path}: {message}")
    shown = offending.decode(errors="backslashreplace")
    hint = ""
    head = text[:4096].tobytes()
    if line == 1 and head.startswith(_BINARY):
        name = "parquet" if head.startswith(b"PAR1") else "arrow"
        raise DataError(f"{path}: this is no text: format={name!r} (--format {name}) reads it")
    if message == "qid is missing":
        hint = _missing_qid_hint(text, reader.n_rows)
    elif message == "the label is not a number" and offending.startswith(b"qid:"):
        message = "the label before qid is missing (write 0 where there is none)"
    elif line == 1 and message == "the label is not a number" and _HEADER.match(head):
        hint = " (a table with a header line? format='csv' (--format csv) reads it)"
    elif message == "the label is not a number":
        hint = GRADES_HINT
    raise DataError(f"{path}, line {line}, column {column}: {message}{hint}: {shown!r}")


def _missing_qid_hint(text: npt.NDArray[np.uint8], n_rows: int) -> str:
    """Return a hint at where the queries are in a text without ``qid:``."""
    comment = _COMMENT_WITHOUT_QID.search(text[:_LOOKED_AT_BYTES].tobytes())
    if comment is not None and _QUERY_COMMENT.fullmatch(comment[1]):
        return " (the comment names the query: query='comment' (--query comment) reads it)"
    if comment is not None and _QUERY_COMMENT.search(comment[1]):
        return " (the comment names the query: write it as qid:ID after the label)"
    return " (and there is no file of group sizes beside it)" if n_rows == 0 else ""


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
