"""Writers of Datasets: LETOR text and Parquet, which read back exactly."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._addresses import file_path
from rankgrove._files import replacing
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.dataset import Dataset, doc_ids_of_comments, require_dataset
from rankgrove.data.reading.table_columns import (
    ABSENT,
    CATEGORICAL,
    COMMENT,
    DOC_ID,
    LABEL,
    POSITION,
    PROPENSITY,
    QUERY,
    SHOWN,
    WEIGHT,
)
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_OMISSIONS = {None: 0, "zero": 1, "missing": 2}


def write_letor(
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    omit: Literal["zero", "missing"] | None = None,
    n_jobs: int | None = None,
) -> None:
    """Write LETOR text, compressed if the name ends in .gz, .bz2, .xz or .zst.

    Values are the shortest text that reads back to the same float32; NaN is written as ``nan``.
    Feature numbers are those of names like f0, f1, ... if the data set has them, else count from 1.

    Parameters
    ----------
    omit : leave out zeros or ``"missing"`` values, to be read back with the same word as ``absent``
        in ``load``; by default every feature is written
    """
    if omit not in _OMISSIONS:
        raise ValueError(f"omit must be 'zero', 'missing' or None, not {omit!r}")
    require_dataset(dataset, "write_letor")
    if dataset.sample_weight is not None:
        raise DataError("LETOR text cannot hold sample weights: write Parquet instead")
    if dataset.position is not None or dataset.propensity is not None:
        raise DataError("LETOR text cannot hold positions or propensities: write Parquet instead")
    if dataset.categories:
        name = dataset.feature_names[min(dataset.categories)]
        raise DataError(
            f"LETOR text holds numbers, but column {name!r} is categorical: write Parquet instead"
        )
    ids = _packed(_id_texts(dataset))
    comments = _comments_to_write(dataset)
    query = dataset.groups.query_of_row()
    n_threads = resolve_n_jobs(n_jobs)
    begin = 0
    with replacing(path) as file, _compressed(file, file_path(path).suffix.lower()) as stream:
        for block in dataset.matrix.row_blocks():
            end = begin + len(block)
            writer = _native.LetorWriter(
                block,
                dataset.y[begin:end],
                query[begin:end],
                *ids,
                first_feature=0 if dataset.feature_names[:1] == ("f0",) else 1,
                omission=_OMISSIONS[omit],
            )
            if comments is not None:
                own = comments.slice(begin, len(block))
                present = np.asarray(own.is_valid()).astype(np.uint8)
                writer.set_comments(present, *_packed(own.fill_null("")))
            stream.writelines(writer.rows(0, len(block), n_threads))
            begin = end


def write_parquet(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write Parquet: columns label and qid, one per feature, and weights, ids and comments if any.

    Pages have checksums, so that ``load`` notices damage.
    """
    import pyarrow.parquet as pq

    require_dataset(dataset, "write_parquet")
    with replacing(path) as file:
        pq.write_table(to_arrow(dataset), file, compression="zstd", write_page_checksum=True)


def to_arrow(dataset: Dataset) -> pa.Table:
    """Return a pyarrow table whose columns ``load`` recognises by name."""
    import pyarrow as pa

    require_dataset(dataset, "to_arrow")
    columns: dict[str, Any] = {LABEL: dataset.y, QUERY: dataset.qid}
    if dataset.sample_weight is not None:
        columns[WEIGHT] = dataset.sample_weight
    shown = {POSITION: dataset.position, PROPENSITY: dataset.propensity}
    columns |= {name: values for name, values in shown.items() if values is not None}
    if dataset.has_own_doc_ids:
        columns[DOC_ID] = dataset.doc_id_texts()
    if dataset.comment_texts() is not None:
        columns[COMMENT] = dataset.comment_texts()
    for name in dataset.feature_names:
        if name in columns:
            raise DataError(f"a feature is named {name!r}, which is the name of another column")
    arrays = [pa.array(column) for column in columns.values()]
    arrays += [
        dataset.category_values(j) if j in dataset.categories else pa.array(column)
        for j, column in dataset.matrix.each_column()
    ]
    table = pa.table(arrays, names=[*columns, *dataset.feature_names])
    metadata: dict[str, str] = {} if dataset.absent is None else {ABSENT: dataset.absent}
    if names := [name for name in shown if shown[name] is not None]:
        metadata[SHOWN] = " ".join(names)
    if dataset.categories:  # Parquet keeps no dictionaries of numbers
        names = [dataset.feature_names[j] for j in sorted(dataset.categories)]
        metadata[CATEGORICAL] = json.dumps(names)
    return table.replace_schema_metadata(metadata) if metadata else table


def _id_texts(dataset: Dataset) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = pa.array(dataset.groups.ids)
    if pa.types.is_floating(ids.type):
        raise DataError("query ids are fractional numbers: LETOR text holds integers or texts")
    texts = ids.cast(pa.large_string())
    unfit = pc.match_substring_regex(texts, r"^$|[\s#\x00-\x1f\x7f]")
    if pc.any(unfit).as_py():
        raise DataError(
            f"query id {texts.filter(unfit)[0].as_py()!r} cannot be written as LETOR text: it is "
            "empty or holds a blank, a control character or #"
        )
    too_long = pc.greater(pc.binary_length(texts), _native.MAX_QUERY_ID_BYTES)
    if pc.any(too_long).as_py():
        raise DataError(
            f"query id {texts.filter(too_long)[0].as_py()!r:.60}... cannot be written as LETOR "
            f"text: it has more than {_native.MAX_QUERY_ID_BYTES} bytes"
        )
    return texts


def _comments_to_write(dataset: Dataset) -> pa.LargeStringArray | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    comments = dataset.comment_texts()
    if dataset.has_own_doc_ids:
        ids = dataset.doc_id_texts()
        if comments is None:
            comments = pc.binary_join_element_wise(
                pa.scalar("docid =", pa.large_string()), ids, pa.scalar(" ", pa.large_string())
            )
        if doc_ids_of_comments(comments) != ids:
            raise DataError(
                "LETOR text keeps document ids in comments (#docid = ID), but this data set has "
                "comments without them, or ids with blanks"
            )
    if comments is not None:
        unfit = pc.match_substring_regex(comments, "[\r\n\x00]")
        if pc.any(unfit).as_py():
            row = pc.index(unfit, True).as_py()
            raise DataError(f"the comment of row {row} holds a line break or a NUL character")
    return comments


def _packed(texts: pa.LargeStringArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return offsets and bytes of an Arrow array of texts."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return places, np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


@contextlib.contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[Any]:
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream:
            yield stream
    elif suffix == ".bz2":
        with bz2.BZ2File(file, "wb") as stream:
            yield stream
    elif suffix == ".xz":
        with lzma.LZMAFile(file, "wb") as stream:
            yield stream
    elif suffix == ".zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(file), "w"), "zstd") as stream:
            yield _Lines(stream)
    else:
        yield file


class _Lines:
    """Adapter of an Arrow stream to the write method of Python's files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def writelines(self, pieces: list[bytes]) -> None:
        for piece in pieces:
            self._stream.write(piece)


class _KeptOpen:
    """A file whose close is ignored, since it is flushed and renamed after Arrow is done."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write
        self.flush = file.flush

    def close(self) -> None:
        self.flush()
