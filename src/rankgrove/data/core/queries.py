"""The grouping of rows by query.

Vocabulary: a *row* is one judged document of one query; *grouped order* lists the rows query by
query, in order of each query's first appearance and, inside a query, in the caller's order. Kernels
work in grouped order; everything that leaves the library is in the caller's order.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.numbers import as_numbers, is_masked_array
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
        """Group rows by query id; ids may be interleaved, and integers or texts."""
        qid = query_ids(qid)
        if len(qid) == 0:
            return cls(np.zeros(1, np.int64), None, qid)
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
        sizes = as_numbers(sizes, "group_sizes")
        if sizes.ndim != 1 or (sizes.dtype.kind not in "iu" and len(sizes)):
            raise DataError("group sizes must be a one-dimensional array of whole numbers")
        if len(sizes) and sizes.min() < 0:
            raise DataError(f"group size {sizes.min()} of query {int(sizes.argmin())} is negative")
        if sizes.sum(dtype=np.float64) > 2**62:
            raise DataError(f"group size {sizes.max()} of query {int(sizes.argmax())} is too large")
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

    def best_first(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return rows, query by query, by descending score; equal scores keep their order.

        ``scores``, like the rows, are in the caller's order.
        """
        query = np.repeat(np.arange(self.n_queries), self.sizes)
        places = np.lexsort((-self.grouped(scores), query))
        return places if self.order is None else self.order[places]

    def ranks(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Rank of each row within its query, 1 being the best, in the caller's order."""
        ranks = np.empty(self.n_rows, np.int64)
        first = np.repeat(self.offsets[:-1], self.sizes)
        ranks[self.best_first(scores)] = np.arange(self.n_rows) - first + 1
        return ranks

    def query_of_row(self) -> npt.NDArray[np.int64]:
        """Index of the query of each row, in the caller's order."""
        return self.restored(np.repeat(np.arange(self.n_queries), self.sizes))


def query_groups(
    n_rows: int,
    *,
    qid: Any = None,
    group_sizes: Any = None,
    groups: QueryGroups | None = None,
    what: str = "",
) -> QueryGroups:
    """Group rows by whichever was given: ids, sizes, or groups; ``what`` starts the messages."""
    given = {"qid": qid, "group_sizes": group_sizes, "groups": groups}
    names = [name for name, value in given.items() if value is not None]
    prefix = f"{what}: " if what else ""
    if not names:
        raise DataError(
            f"{what + ' needs the queries' if what else 'qid is missing'}: give one query id per "
            "row as qid, or documents per query as group_sizes"
        )
    if len(names) > 1:
        raise DataError(f"{prefix}give either {' or '.join(names)}, not both")
    if group_sizes is not None:
        return QueryGroups.from_sizes(group_sizes, n_rows)
    found = QueryGroups.from_qid(qid) if groups is None else groups
    if found.n_rows != n_rows:
        raise DataError(
            f"{prefix}{names[0]} has {found.n_rows} entries, but there are {n_rows} rows: give one "
            "query id per row (documents per query go to group_sizes)"
        )
    return found


def query_ids(qid: Any) -> npt.NDArray[Any]:
    """Return query ids as one array of numbers or texts in which different ids stay different.

    Integers that no single 64-bit type can represent become texts. Missing ids, and
    numbers beside texts that read the same (1 and "1"), are refused.
    """
    if is_masked_array(qid) and np.ma.is_masked(qid):
        _refuse_missing(np.ma.getmaskarray(qid), qid)
    if isinstance(qid, str):
        raise DataError(
            "qid holds one query id per row, not a column name: "
            f"rankgrove.load(frame, query={qid!r}) reads the column"
        )
    ids = np.asarray(qid)
    if ids.ndim != 1:
        raise DataError(
            f"qid must have one dimension, not shape {ids.shape}: join the texts of several "
            "columns to one id"
        )
    if ids.dtype.kind in "fUS" and not hasattr(qid, "__array_interface__"):
        # Numpy makes one type of all that a list holds: texts of numbers, floats of large integers.
        kinds = set(map(type, qid))
        if len(kinds) > 1 or kinds == {int}:
            ids = np.empty(len(ids), object)
            ids[:] = list(qid)
        elif ids.dtype.kind in "US":
            _refuse_cut(qid)
    if ids.dtype == object:
        ids = _plain_ids(ids)
    if ids.dtype.kind in "Mm":
        _refuse_missing(np.isnat(ids), ids)
    elif ids.dtype.kind == "f":
        _refuse_missing(~np.isfinite(ids), ids)
        large = np.abs(ids) >= 2.0**53
        if large.any():
            row = int(large.argmax())
            raise DataError(
                f"qid {ids[row]:.0f} of row {row} is a float too large to tell whole numbers "
                "apart: give integers or texts"
            )
    elif ids.dtype.kind not in "iubUSO":
        raise DataError(f"qid must hold numbers or texts, not {ids.dtype} values")
    return ids


def _refuse_missing(absent: npt.NDArray[np.bool_], ids: Any) -> None:
    if absent.any():
        row = int(absent.argmax())
        raise DataError(f"qid is missing in row {row} (value {ids[row]})")


def _refuse_cut(ids: Any) -> None:
    """Refuse texts that end in NUL characters, which numpy would cut off."""
    for row, text in enumerate(ids):
        if isinstance(text, (str, bytes)) and text[-1:] in ("\0", b"\0"):
            raise DataError(f"qid {text!r} of row {row} ends in a NUL character: leave that out")


def _plain_ids(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert an array of Python objects to numbers or texts, whichever keeps all ids distinct."""
    nothing = np.array(None, object)
    try:
        absent = np.equal(ids, nothing).astype(bool) | np.not_equal(ids, ids).astype(bool)
        _refuse_missing(absent, ids)
        distinct = len(set(ids.tolist()))
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("qid holds values that are neither numbers nor texts") from None
    if any(issubclass(kind, tuple | list | dict | complex) for kind in set(map(type, ids))):
        raise DataError("qid holds values that are neither numbers nor texts")
    texts = [isinstance(value, str) for value in ids]
    _refuse_cut(ids)
    if any(texts):
        plain = ids.astype(str)
    else:
        plain = np.array(ids.tolist())
        whole = all(isinstance(value, numbers.Integral) for value in ids)
        if plain.dtype.kind not in ("iu" if whole else "iufb") or plain.ndim != 1:
            plain = ids.astype(str)
    if len(np.unique(plain)) != distinct:
        raise DataError(
            "qid mixes numbers and texts that read the same, such as 1 and '1': give one kind"
        )
    return plain
