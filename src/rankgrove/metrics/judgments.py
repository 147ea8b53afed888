"""Checks and conversion of labels, scores and weights for the native metric kernels."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.queries import QueryGroups, query_groups
from rankgrove.data.matrix.arrow_tables import table_column_names
from rankgrove.data.matrix.numbers import as_numbers, refuse_rounded
from rankgrove.data.scanning.scan import Scan, as_scan
from rankgrove.errors import DataError

Listing: TypeAlias = Literal["input", "doc_id", "drawn"]


def judgments(
    y_true: Any, qid: Any = None, group_sizes: Any = None, groups: Any = None, doc_ids: Any = None
) -> tuple[npt.NDArray[np.float64], QueryGroups, Any]:
    """Return labels, queries and document ids of a Dataset or scan, or the arguments themselves."""
    if isinstance(y_true, str | os.PathLike):  # a list of strings is taken for labels, and refused
        y_true = as_scan(y_true)
    if isinstance(y_true, Scan):
        y_true = y_true.judgments()
    if isinstance(y_true, Dataset):
        if any(value is not None for value in (qid, group_sizes, groups)):
            raise DataError("a Dataset brings its queries: give labels alone, or the Dataset alone")
        return y_true.y, y_true.groups, y_true.doc_ids if doc_ids is None else doc_ids
    refuse_table(y_true)
    labels = as_labels(y_true)
    found = query_groups(len(labels), qid=qid, group_sizes=group_sizes, groups=groups)
    return labels, found, doc_ids


def refuse_table(labels: Any) -> None:
    """Refuse a table of several columns in the place of labels."""
    if getattr(labels, "ndim", 2) == 2 and len(table_column_names(labels) or ()) > 1:
        raise DataError(
            f"labels are one column, not a {type(labels).__name__} of several: give the column, "
            "or the Dataset that rankgrove.load makes of the table"
        )


def as_labels(y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return labels as a float64 vector."""
    return _as_vector(y, "labels", keep=(np.float64,))


def as_scores(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return scores as a float32 or float64 vector, without a copy if possible."""
    return _as_vector(scores, "scores", keep=(np.float32, np.float64))


def as_query_weights(
    weight: npt.ArrayLike | None, n_queries: int
) -> npt.NDArray[np.float64] | None:
    """Return one weight of at least 0 per query, or None."""
    if weight is None:
        return None
    vector = _as_vector(weight, "query_weight", keep=(np.float64,))
    if len(vector) != n_queries:
        raise ValueError(
            f"query_weight has {len(vector)} entries but there are {n_queries} queries"
        )
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0)))
    if len(bad):
        raise ValueError(
            f"query_weight of query {bad[0]} is {vector[bad[0]]}: it must be a finite number of at "
            "least 0"
        )
    if n_queries and not vector.any():
        raise ValueError("query_weight is 0 for every query")
    if vector.max(initial=0) > np.finfo(np.float64).max / max(n_queries, 1):
        raise ValueError(
            f"query_weight is up to {vector.max():g}, and sums overflow: divide all weights by the "
            "same number"
        )
    return vector


def judged_queries(
    labels: npt.NDArray[np.float64],
    groups: QueryGroups,
    listing: Listing = "input",
    doc_ids: npt.ArrayLike | None = None,
    partial_rankings: bool = False,
) -> _native.JudgedQueries:
    """Return the judgments of the native kernels: labels in grouped order.

    Parameters
    ----------
    listing : order of the documents of each query: that of the data (``"input"``), by descending
        document id (``"doc_id"``), or pseudo-random by query id and place (``"drawn"``), which is
        independent of labels and the same for any part of the data
    partial_rankings : whether a document of score -inf is judged but not in the ranking, so that it
        counts in the ideal ranking only
    """
    order = groups.order
    if listing != "input":
        order = _doc_id_order(groups, doc_ids) if listing == "doc_id" else _drawn_order(groups)
    try:
        return _native.JudgedQueries(labels, groups.offsets, order, partial_rankings)
    except ValueError as error:
        raise DataError(str(error)) from None


def _doc_id_order(groups: QueryGroups, doc_ids: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
    # Ids are compared as text, as trec_eval does. Without ids, a later row has the higher id.
    if doc_ids is None:
        rank = np.arange(groups.n_rows)
    else:
        ids = np.asarray(doc_ids)
        if ids.shape != (groups.n_rows,):
            raise ValueError(f"doc_ids has shape {ids.shape} but there are {groups.n_rows} rows")
        rank = np.unique(ids.astype(str), return_inverse=True)[1]
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    within = np.lexsort((-groups.grouped(rank), query)).astype(np.int64)
    return within if groups.order is None else groups.order[within]


def _drawn_order(groups: QueryGroups) -> npt.NDArray[np.int64]:
    """Return a pseudo-random order by a hash of query id and place, the same for any shards."""
    texts = np.ascontiguousarray(groups.ids.astype(str))
    signs = texts.view(np.uint32).reshape(groups.n_queries, -1)
    seeds = np.zeros(groups.n_queries, np.uint64)
    for number, column in enumerate(signs.T):
        # Strings are zero-padded, to different lengths in different shards: add nothing for 0.
        seeds += np.where(column, _hashed(column.astype(np.uint64)), 0) * np.uint64(2 * number + 1)
    places = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    drawn = _hashed(np.repeat(_hashed(seeds), groups.sizes) + places.astype(np.uint64))
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    within = np.lexsort((drawn, query)).astype(np.int64)
    return within if groups.order is None else groups.order[within]


def _hashed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash integers with the mixing steps of splitmix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _as_vector(values: npt.ArrayLike, what: str, keep: tuple[type, ...]) -> npt.NDArray[Any]:
    array = as_numbers(values, what)
    if array.ndim != 1:
        raise DataError(f"{what} must have one dimension, not shape {array.shape}")
    if array.dtype.type not in keep or not array.dtype.isnative:
        given, array = array, array.astype(np.float64)
        refuse_rounded(given, array, what)
    return np.ascontiguousarray(array)
