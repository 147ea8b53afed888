"""Scores with the ids of their queries and documents: TREC runs, CSV, TSV and Parquet."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import file_path
from rankgrove.errors import DataError

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset

SUFFIXES = (".run", ".trec", ".csv", ".tsv", ".parquet")

# Suffixes of formats in which no scores are written.
_OTHER_SUFFIXES = frozenset(
    {".npy", ".npz", ".feather", ".arrow", ".ipc", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx"}
    | {".gz", ".bz2", ".xz", ".zst"}
)


def scores_out_path(text: str) -> str:
    """Return the path of a file of scores; refuse suffixes of other formats."""
    suffix = file_path(text).suffix.lower()
    if suffix in _OTHER_SUFFIXES:
        raise argparse.ArgumentTypeError(
            f"scores are not written as {suffix}: {', '.join(SUFFIXES)} hold ids beside them, "
            "other names (.txt) one score per line"
        )
    return text


def holds_ids(path: str | None) -> bool:
    """Return whether an output of this name holds ids beside the scores."""
    return path is not None and file_path(path).suffix.lower() in SUFFIXES


def write_scored(data: Dataset, scores: Any, path: str, tag: str) -> None:
    """Write the documents of each query, the best first in a run, else in the order of the data.

    Documents without ids are an error in a run; in tables the column is left out. Blanks of the
    tag, which names the run, become underscores.
    """
    from rankgrove._files import replacing

    suffix = file_path(path).suffix.lower()
    with replacing(path) as stream:
        if suffix in (".run", ".trec"):
            stream.write(_run(data, scores, tag))
        else:
            _write_table(data, scores, stream, suffix)


def _run(data: Dataset, scores: Any, tag: str) -> bytes:
    from rankgrove.logs.trec_run import check_id, run_lines

    ids = data.doc_ids
    if ids is None:
        raise DataError(
            f"{data.source or 'the data'}: documents have no ids, which a run lists: name their "
            "column with --doc-id, or write #docid = ID comments in text"
        )
    for query in data.groups.ids.tolist():
        check_id(query, "query id")
    for document in ids.tolist():
        check_id(document, "document id")
    groups = data.groups
    query = groups.query_of_row()
    _refuse_repetition(data, ids, query)
    order = np.lexsort((np.arange(data.n_rows), -scores, query))
    ranks = np.arange(data.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes) + 1
    return run_lines(
        data.qid[order], ids[order], ranks.tolist(), scores[order], "_".join(tag.split())
    )


def _refuse_repetition(
    data: Dataset, ids: npt.NDArray[np.object_], query: npt.NDArray[np.int64]
) -> None:
    _, document = np.unique(ids, return_inverse=True)
    _, first, count = np.unique(
        query * (int(document.max(initial=0)) + 1) + document,
        return_index=True,
        return_counts=True,
    )
    if (count > 1).any():
        row = first[count > 1].min()
        raise DataError(
            f"{data.source or 'the data'}: the document {str(ids[row])!r} of the query "
            f"{str(data.qid[row])!r} occurs more than once, which a run cannot tell apart: write "
            "one score per line, as .txt, which is matched by the order of the rows"
        )


def _write_table(data: Dataset, scores: Any, stream: Any, suffix: str) -> None:
    import pyarrow as pa

    columns: dict[str, Any] = {"qid": pa.array(data.qid)}
    if (ids := data.doc_id_texts()) is not None:
        columns["doc_id"] = ids
    table = pa.table({**columns, "score": pa.array(scores)})
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, stream)
        return
    import pyarrow.csv as pc

    pc.write_csv(table, stream, pc.WriteOptions(delimiter="\t" if suffix == ".tsv" else ","))
