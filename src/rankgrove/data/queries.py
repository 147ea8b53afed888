"""Which rows belong to which query.

Vocabulary: a *row* is one judged document of one query; *grouped order* lists the rows query by
query, in order of each query's first appearance and, inside a query, in the caller's order. Kernels
work in grouped order; everything that leaves the library is in the caller's order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError


@dataclass(frozen=True)
class QueryGroups:
    """Queries of a data set: row ``order[offsets[q]:offsets[q + 1]]`` are the documents of query q.

    Attributes
    ----------
    offsets : int64 array of n_queries + 1 positions in grouped order, starting at 0
    order : int64 array that lists rows in grouped order, or None if they already are grouped
    ids : the query ids, one per query, as the caller gave them
    """

    offsets: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64] | None
    ids: npt.NDArray[Any]

    @classmethod
    def from_qid(cls, qid: npt.ArrayLike) -> QueryGroups:
        """Group rows by query id; ids may be interleaved, and integers or strings."""
        qid = np.asarray(qid)
        if qid.ndim != 1:
            raise DataError(f"qid must have one dimension, not shape {qid.shape}")
        if len(qid) == 0:
            return cls(np.zeros(1, np.int64), None, qid)
        if qid.dtype == object:
            qid = _as_plain_ids(qid)
        if qid.dtype.kind == "f" and not np.isfinite(qid).all():
            row = int(np.flatnonzero(~np.isfinite(qid))[0])
            raise DataError(f"qid is missing in row {row} (value {qid[row]})")
        starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1]])
        run_ids = qid[starts]
        unique, first, inverse = np.unique(run_ids, return_index=True, return_inverse=True)
        if len(unique) == len(run_ids):
            return cls(np.r_[starts, len(qid)].astype(np.int64), None, run_ids)
        appearance = np.argsort(first, kind="stable")
        rank = np.empty(len(unique), np.int64)
        rank[appearance] = np.arange(len(unique))
        query_of_row = np.repeat(rank[inverse], np.diff(np.r_[starts, len(qid)]))
        order = np.argsort(query_of_row, kind="stable").astype(np.int64)
        sizes = np.bincount(query_of_row, minlength=len(unique))
        return cls(np.r_[0, np.cumsum(sizes)].astype(np.int64), order, unique[appearance])

    @classmethod
    def from_sizes(cls, sizes: npt.ArrayLike, n_rows: int | None = None) -> QueryGroups:
        """Group consecutive rows by the number of documents of each query (0 is allowed)."""
        sizes = np.asarray(sizes)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
            raise DataError("group sizes must be a one-dimensional array of whole numbers")
        if len(sizes) and sizes.min() < 0:
            raise DataError(f"group size {sizes.min()} of query {int(sizes.argmin())} is negative")
        offsets = np.r_[0, np.cumsum(sizes, dtype=np.int64)].astype(np.int64)
        if n_rows is not None and offsets[-1] != n_rows:
            raise DataError(
                f"group sizes add up to {offsets[-1]} but there are {n_rows} rows: give one size "
                "per query, or one id per row as qid"
            )
        return cls(offsets, None, np.arange(len(sizes)))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.offsets[-1])

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    def grouped(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring row values from the caller's order to grouped order."""
        return values if self.order is None else values[self.order]

    def restored(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring row values from grouped order back to the caller's order."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def query_of_row(self) -> npt.NDArray[np.int64]:
        """Index of the query of each row, in the caller's order."""
        return self.restored(np.repeat(np.arange(self.n_queries), self.sizes))


def _as_plain_ids(qid: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn an array of Python objects into numbers or texts, whichever keeps all ids apart."""
    nothing = np.array(None, object)
    try:
        absent = np.equal(qid, nothing).astype(bool) | np.not_equal(qid, qid).astype(bool)
        if not absent.any():
            plain = np.array(qid.tolist())
            return plain if plain.dtype.kind in "iufU" and plain.ndim == 1 else qid.astype(str)
    except (TypeError, ValueError):
        raise DataError("qid holds values that are neither numbers nor texts") from None
    row = int(absent.argmax())
    raise DataError(f"qid is missing in row {row} (value {qid[row]!r})")
