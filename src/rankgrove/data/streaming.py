"""LETOR text read in pieces, for files that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.byte_stream import open_bytes
from rankgrove.data.dataset import Absent
from rankgrove.data.letor import feed, first_row_has_qid, letor_lines, letor_reader
from rankgrove.data.options import LoadOptions
from rankgrove.errors import DataError


def stream_letor(
    path: Path,
    n_features: int,
    first_feature: int,
    *,
    absent: Absent = "zero",
    piece_bytes: int = 16 << 20,
    n_jobs: int | None = None,
) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the feature matrix of a text file in pieces of whole lines; labels are not checked."""
    options = LoadOptions(absent=absent, comments=False, negative_labels="keep")
    n_threads = resolve_n_jobs(n_jobs)
    rows = lines = 0
    with open_bytes(path) as stream:
        with_qid = first_row_has_qid(stream)
        for text in letor_lines(stream, piece_bytes):
            reader = letor_reader(options, n_features, first_feature, with_qid)
            reader.start_after(lines)
            feed(reader, path, text, n_threads)
            lines = reader.n_lines
            if reader.n_rows:
                rows += reader.n_rows
                yield reader.take()[0]
    if rows == 0:
        raise DataError(f"{path}: the file holds no rows")
