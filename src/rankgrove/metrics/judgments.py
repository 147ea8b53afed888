"""Labels and scores on their way to the native kernels: checked, never reordered without need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.features import is_dataset
from rankgrove.data.numbers import as_numbers
from rankgrove.data.queries import QueryGroups
from rankgrove.errors import DataError


def resolve_groups(
    n_rows: int,
    qid: npt.ArrayLike | None,
    group_sizes: npt.ArrayLike | None,
    groups: QueryGroups | None,
) -> QueryGroups:
    """Turn whichever of the three ways to name queries was used into QueryGroups."""
    given = [value for value in (qid, group_sizes, groups) if value is not None]
    if len(given) != 1:
        raise ValueError("give exactly one of qid, group_sizes and groups")
    if group_sizes is not None:
        return QueryGroups.from_sizes(group_sizes, n_rows)
    if groups is None:
        assert qid is not None
        groups = QueryGroups.from_qid(qid)
    if groups.n_rows != n_rows:
        raise DataError(f"there are {n_rows} labels but the queries hold {groups.n_rows} rows")
    return groups


def as_labels(y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return labels as a float64 vector."""
    return _as_vector(y, "labels", keep=(np.float64,))


def as_scores(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return scores as a float32 or float64 vector, without a copy where it is one already."""
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
    return vector


def judged_queries(
    labels: npt.NDArray[np.float64],
    groups: QueryGroups,
    by_docid: bool = False,
    doc_ids: npt.ArrayLike | None = None,
) -> _native.JudgedQueries:
    """Bring labels to grouped order; ``by_docid`` lists each query by descending document id."""
    order = _docid_order(groups, doc_ids) if by_docid else groups.order
    try:
        return _native.JudgedQueries(labels, groups.offsets, order)
    except ValueError as error:
        raise DataError(str(error)) from None


def _docid_order(groups: QueryGroups, doc_ids: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
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


def _as_vector(values: npt.ArrayLike, what: str, keep: tuple[type, ...]) -> npt.NDArray[Any]:
    if is_dataset(values):
        raise DataError(
            f"{what} must hold numbers, not a Dataset: give its labels and its queries apart, as "
            "in evaluate(data.y, scores, groups=data.groups)"
        )
    array = as_numbers(values, what)
    if array.ndim != 1:
        raise DataError(f"{what} must have one dimension, not shape {array.shape}")
    if array.dtype.type not in keep or not array.dtype.isnative:
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)
