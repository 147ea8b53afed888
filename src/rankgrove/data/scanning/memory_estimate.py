"""Estimates of the memory that loading data files would take."""

from __future__ import annotations

from collections.abc import Sequence

from rankgrove._addresses import FilePath
from rankgrove._memory import free_memory
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES, open_bytes
from rankgrove.data.reading.letor import first_row_has_qid, letor_lines, letor_reader, stays_sparse
from rankgrove.data.reading.options import LoadOptions
from rankgrove.data.reading.paths import readable
from rankgrove.data.reading.readers import reader_of

_PACKED = 6  # bytes of text in a byte of compressed text, about
_TRAINING = 1.6  # a fit takes 4 bytes per value for the matrix, and up to 2.3 more


def should_stream(paths: Sequence[FilePath], format: str | None = None) -> bool:
    """Return whether to stream files because training on them needs over half the free memory.

    The size is known for Parquet, and estimated from the first rows of text.
    """
    if not all(path.is_file() for path in paths):
        return False  # a pipe can be read once, and a missing file is an error later
    needed = _TRAINING * sum(_matrix_bytes(path, format) for path in paths)
    return needed > free_memory() / 2


def _matrix_bytes(path: FilePath, format: str | None) -> float:
    """Estimate the bytes of the float32 matrix of a file, or of its entries if it stays sparse."""
    name = reader_of(path, format).name
    size = (path.stat().st_size or 0) * (_PACKED if path.suffix in COMPRESSED_SUFFIXES else 1)
    if name == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with readable(path) as file:
                metadata = pq.read_metadata(file)
        except pa.ArrowException:
            return 0.0  # whoever reads it says what is wrong
        return float(4 * metadata.num_rows * metadata.num_columns)
    return size * _bytes_per_byte_of_text(path) if name == "letor" else float(size)


def _bytes_per_byte_of_text(path: FilePath) -> float:
    options = LoadOptions(comments=False, negative_labels="keep")
    with open_bytes(path) as stream:
        sparse = stays_sparse(stream, options, None)
        reader = letor_reader(options, None, None, first_row_has_qid(stream), sparse)
        text = next(iter(letor_lines(stream, 1 << 20)), None)
        if text is None or reader.feed(text, True, resolve_n_jobs(None)) < 0:
            return 1.0
    features = reader.take()[0]
    arrays = features if sparse else (features,)
    return float(sum(array.nbytes for array in arrays) / len(text))
