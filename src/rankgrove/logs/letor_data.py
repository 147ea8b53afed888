"""Judgments in LETOR text, the data that rankers learn from: ``2 qid:10 1:0.7 2:3 #docid = GX01``.

Features are not read. The comments name the documents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS: frozenset[str] = frozenset()


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of LETOR text with features."""
    return re.search(rb"^\s*[-+.\deE]+\s+qid:\S+\s+\d+:\S", head, re.MULTILINE) is not None


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read labels, queries and documents."""
    import pyarrow as pa

    from rankgrove.data.reading.loading import load

    data = load(path, format="letor", features=[], negative_labels="keep")
    documents = data.doc_id_texts()
    if documents is None:
        raise DataError(
            f"{path}: documents have no ids (#docid = ID behind the features), by which they are "
            "matched"
        )
    queries = pa.array([str(query) for query in data.groups.ids.tolist()], pa.large_string())
    yield pa.table(
        {
            "query": queries.take(pa.array(data.groups.query_of_row())),
            "document": pa.chunked_array([documents]).cast(pa.large_string()),
            "grade": pa.array(data.y, pa.float64()),
        }
    )
