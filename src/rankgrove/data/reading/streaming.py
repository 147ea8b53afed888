"""LETOR text read in pieces, for files that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.dataset import Absent
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.reading.byte_stream import open_bytes
from rankgrove.data.reading.letor import (
    feed,
    first_row_has_qid,
    letor_lines,
    letor_reader,
    stays_sparse,
)
from rankgrove.data.reading.options import LoadOptions
from rankgrove.errors import DataError


def stream_letor(
    path: Path,
    n_features: int,
    first_feature: int,
    *,
    absent: Absent = "zero",
    piece_bytes: int = 16 << 20,
    n_jobs: int | None = None,
) -> Iterator[Any]:
    """Yield the feature matrix of a text file in pieces of whole lines; labels are not checked.

    Pieces are arrays, or SparseMatrix if the text is wide and mostly empty (see ``load``).
    """
    options = LoadOptions(absent=absent, comments=False, negative_labels="keep")
    n_threads = resolve_n_jobs(n_jobs)
    rows = lines = 0
    with open_bytes(path) as stream:
        with_qid = first_row_has_qid(stream)
        sparse = stays_sparse(stream, options, n_features)
        fill = np.nan if absent == "missing" else 0.0
        for text in letor_lines(stream, piece_bytes):
            reader = letor_reader(options, n_features, first_feature, with_qid, sparse)
            reader.start_after(lines)
            feed(reader, path, text, n_threads)
            lines = reader.n_lines
            if reader.n_rows:
                rows += reader.n_rows
                X = reader.take()[0]
                yield SparseMatrix.of_entries(X, n_features, fill) if sparse else X
    if rows == 0:
        raise DataError(f"{path}: the file holds no rows")
