"""ir_datasets and ir_measures: test collections in, rankings out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove.data.core.dataset import Dataset
from rankgrove.errors import DataError


def from_ir_datasets(
    dataset: Any,
    features: Callable[[Any, Any], Sequence[float]],
    feature_names: Sequence[str] | None = None,
) -> Dataset:
    """Make training data of a test collection of ir_datasets.

    The documents of a query are those that the collection has scored (``scoreddocs``); without
    them, those that were judged. Documents that were not judged have grade 0.

    Parameters
    ----------
    dataset : what ``ir_datasets.load`` returns, or the name of a collection
    features : called with a query and a document of ir_datasets; returns the features
    feature_names : one name per feature
    """
    if isinstance(dataset, str):
        dataset = require("ir_datasets", "ir", "a test collection").load(dataset)
    for part in ("queries", "docs", "qrels"):
        if not getattr(dataset, f"has_{part}")():
            raise DataError(f"the collection of ir_datasets has no {part}")
    grades = {(row.query_id, row.doc_id): row.relevance for row in dataset.qrels_iter()}
    pairs = (
        [(row.query_id, row.doc_id) for row in dataset.scoreddocs_iter()]
        if dataset.has_scoreddocs()
        else list(grades)
    )
    if not pairs:
        raise DataError("the collection of ir_datasets has no documents of queries")
    queries = {query.query_id: query for query in dataset.queries_iter()}
    documents = dataset.docs_store()
    rows = []
    for query_id, doc_id in pairs:
        if query_id not in queries:
            raise DataError(f"query {query_id} has documents, but the collection has no text of it")
        try:
            document = documents.get(doc_id)
        except KeyError:
            raise DataError(f"document {doc_id} of query {query_id} is not there") from None
        rows.append(np.asarray(features(queries[query_id], document), np.float64))
        if rows[-1].shape != rows[0].shape or rows[-1].ndim != 1:
            raise DataError(
                f"features() returns shape {rows[-1].shape} for document {doc_id} of query "
                f"{query_id}, {rows[0].shape} for the first document"
            )
    return Dataset(
        np.stack(rows),
        [max(0, grades.get(pair, 0)) for pair in pairs],
        qid=[query_id for query_id, _ in pairs],
        doc_ids=[doc_id for _, doc_id in pairs],
        feature_names=feature_names,
    )


def to_ir_measures(data: Dataset, scores: npt.ArrayLike) -> tuple[list[Any], list[Any]]:
    """Return judgments and a run for ir_measures: ``calc_aggregate(measures, *result)``.

    Documents without ids are named by the number of their row.

    Parameters
    ----------
    data : the documents, with labels that are whole numbers
    scores : one score per row
    """
    measures = require("ir_measures", "ir", "a run of ir_measures")
    values = np.asarray(scores, np.float64)
    if values.shape != (len(data.y),):
        raise DataError(f"scores have shape {values.shape}, but there are {len(data.y)} documents")
    if not np.array_equal(data.y, np.round(data.y)):
        raise DataError("ir_measures takes whole numbers as grades, and these labels are not")
    names = np.arange(len(values)) if data.doc_ids is None else data.doc_ids
    ids = [(str(query), str(name)) for query, name in zip(data.qid, names, strict=True)]
    qrels = [measures.Qrel(*pair, int(y)) for pair, y in zip(ids, data.y, strict=True)]
    return qrels, [
        measures.ScoredDoc(*pair, s) for pair, s in zip(ids, values.tolist(), strict=True)
    ]
