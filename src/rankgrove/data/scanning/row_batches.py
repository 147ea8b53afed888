"""Row batches of judged data, and the concatenation of their labels and queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset, SharedQueries, concatenate_ids, name_difference
from rankgrove.data.core.names import first_number, match_names
from rankgrove.data.core.queries import QueryGroups, query_ids
from rankgrove.data.core.row_batch import OPTIONAL_SIDES, RowBatch
from rankgrove.data.matrix.conversion import categorical_columns, column_names, convert
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.numbers import row_labels, row_numbers
from rankgrove.data.reading.loading import load_batch
from rankgrove.data.reading.options import LoadOptions
from rankgrove.errors import DataError


def batch_of_dataset(data: Dataset, part: int, is_text: bool) -> RowBatch:
    """Return a Dataset as a row batch: that of one file, or a part of it."""
    names = None if is_text else data.feature_names
    return RowBatch(
        data.matrix.with_names(names),
        data.y,
        data.qid,
        data.sample_weight,
        data.absent,
        data.source or "the data",
        part,
        (first_number(data.feature_names) or 0) if is_text else 0,
        is_text,
        position=data.position,
        propensity=data.propensity,
    )


def batch_of_object(batch: Any, number: int, options: LoadOptions) -> RowBatch:
    """Return one batch of an iterator: a tuple of arrays, a Dataset or a table."""
    what = f"batch {number}"
    try:
        if isinstance(batch, tuple):
            return _batch_of_arrays(batch, options, what)
        if options.unread >= {"label", "query"} and hasattr(batch, "__array__"):
            nothing = np.zeros(len(batch))
            return _batch_of_arrays((batch, nothing, nothing), options, what)
        loaded = load_batch(batch, options)
        return replace(batch_of_dataset(loaded, 0, False), source=loaded.source or what)
    except DataError as error:
        raise DataError(f"{what}: {error}") from None


def _batch_of_arrays(batch: tuple[Any, ...], options: LoadOptions, what: str) -> RowBatch:
    if len(batch) not in (3, 4):
        raise DataError("a tuple must be (X, y, qid) or (X, y, qid, weight)")
    X, y, qid, *weight = batch
    if options.like is not None:
        matrix, names = options.like.match(X), options.like.names or column_names(X)
    elif isinstance(X, Dataset):
        raise DataError("a Dataset brings its labels and queries: give it alone, not in a tuple")
    else:
        matrix = convert(X, categorical=_named_columns(X, options))
        names = matrix.names
    with np.errstate(over="ignore"):  # as in fit: beyond float32 is infinite
        values = matrix.to_array(what).astype(np.float32, copy=False)
    if options.feature_names is not None:
        names = tuple(map(str, options.feature_names))
    ids = query_ids(qid)
    if len(ids) != len(values):
        raise DataError(f"qid has {len(ids)} entries but X has {len(values)} rows")
    columns = Columns(names, values.shape[1])
    return RowBatch(
        DenseMatrix(values, columns.names, matrix.categories),
        row_labels(y, len(values), "y"),
        ids,
        row_numbers(weight[0], len(values), "weight") if weight else None,
        source=what,
    )


def _named_columns(X: Any, options: LoadOptions) -> set[int] | None:
    """Return the numbers of categorical columns of a frame: named ones, and those by their type."""
    if not options.categorical:
        return None
    names = column_names(X)
    if names is None:
        raise DataError("categorical= names columns of a frame: give frames, or tables, as X")
    unknown = [name for name in options.categorical if name not in names]
    if unknown:
        raise DataError(f"X has no column {unknown[0]!r}, which categorical= names")
    named = {names.index(name) for name in options.categorical}
    return named | set(categorical_columns(X, None))


def in_one_order(batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
    """Reorder the columns of all batches to those of the first, by name where they have names."""
    first: RowBatch | None = None
    for batch in batches:
        if first is None:
            first = batch.without_rows()
        yield _ordered_like(first, batch)


def _ordered_like(first: RowBatch, batch: RowBatch) -> RowBatch:
    other = f"{batch.source} has other features than {first.source}"
    if batch.is_text != first.is_text or (batch.names is None) != (first.names is None):
        raise DataError(other)
    if batch.names is None or first.names is None:
        if not batch.is_text and batch.X.n_columns != first.X.n_columns:
            raise DataError(f"{other}: {batch.X.n_columns} instead of {first.X.n_columns}")
        return batch
    if batch.names == first.names:
        return batch
    found = match_names(first.names, batch.names)
    if how := name_difference(found):
        raise DataError(f"{other} {how}")
    return replace(batch, X=batch.X.select_columns(found.found()))


class Judgments:
    """Collects what batches hold besides features: labels, queries, weights, positions."""

    def __init__(self, shared_queries: SharedQueries) -> None:
        self._shared = shared_queries
        self._first: RowBatch | None = None
        self._last_part: int | None = None
        self._labels: list[npt.NDArray[np.float64]] = []
        self._sides: dict[str, list[npt.NDArray[Any]]] = {}
        # Of each part: ids of runs of rows of one query, and their lengths.
        self._parts: list[tuple[str, list[npt.NDArray[Any]], list[npt.NDArray[np.int64]]]] = []
        self._sources: list[list[str]] = []  # of the same batches
        self._numbers: list[tuple[int, int]] = []  # first and last feature number of text

    def add(self, batch: RowBatch) -> None:
        """Add the next batch, of which copies are kept."""
        first = self._first
        if first is None:
            first = self._first = batch.without_rows()
        self._refuse_difference(first, batch)
        if batch.part != self._last_part:
            self._parts.append((batch.source, [], []))
            self._sources.append([])
            self._numbers.append((batch.first_column, batch.first_column))
        self._last_part = batch.part
        if batch.is_text:
            begin, end = self._numbers[-1]
            end = max(end, batch.first_column + batch.X.n_columns)
            self._numbers[-1] = (min(begin, batch.first_column), end)
        self._labels.append(np.array(batch.y))
        for name, side in batch.sides.items():
            self._sides.setdefault(name, []).append(np.array(side))
        if len(batch.qid):
            starts = np.flatnonzero(np.r_[True, batch.qid[1:] != batch.qid[:-1]])
            _, ids, lengths = self._parts[-1]
            ids.append(batch.qid[starts])
            self._sources[-1].append(batch.source)
            lengths.append(np.diff(np.r_[starts, len(batch.qid)]))

    def _refuse_difference(self, first: RowBatch, batch: RowBatch) -> None:
        if batch.absent != first.absent:
            raise DataError(
                f"{first.source} was read with absent={first.absent!r}, {batch.source} with "
                f"{batch.absent!r}"
            )
        for name in batch.sides.keys() ^ first.sides.keys():
            raise DataError(f"some of the data have {OPTIONAL_SIDES[name]}, others have none")

    @property
    def first(self) -> RowBatch:
        """The first batch; raises DataError if there is none."""
        if self._first is None:
            raise DataError("there are no rows")
        return self._first

    def text_columns(self, n_features: int | None) -> tuple[int, int]:
        """Return the number of the first feature of text, and how many there are.

        Files must agree, as they must when they are loaded.
        """
        if n_features is not None:
            firsts = {begin for begin, _ in self._numbers}
            ends = {end for _, end in self._numbers}
            if len(firsts) > 1 or max(ends) > min(firsts) + n_features:
                raise DataError(
                    f"{self.first.source}: feature number 0 occurs, but not from the beginning: "
                    "declare first_feature=0"
                )
            return min(firsts), n_features
        begin, end = self._numbers[0]
        for (source, _, _), numbers in zip(self._parts, self._numbers, strict=True):
            if numbers != (begin, end):
                raise DataError(
                    f"{source} has features {numbers[0]} to {numbers[1] - 1}, but "
                    f"{self._parts[0][0]} has {begin} to {end - 1}: declare n_features and "
                    "first_feature"
                )
        return begin, end - begin

    def finished(self) -> dict[str, npt.NDArray[Any]]:
        """Return labels, optional sides (if any), offsets and ids of the queries."""
        arrays = {"y": np.concatenate(self._labels)} if self._labels else {"y": np.zeros(0)}
        arrays |= {name: np.concatenate(parts) for name, parts in self._sides.items()}
        groups = self._groups()
        return arrays | {"offsets": groups.offsets, "ids": groups.ids}

    def _groups(self) -> QueryGroups:
        ids: list[npt.NDArray[Any]] = []
        lengths: list[npt.NDArray[np.int64]] = []
        for number, (_, part_ids, part_lengths) in enumerate(self._parts, 1):
            one = _joined(part_ids)
            if self._shared == "apart" and len(self._parts) > 1:
                one = np.char.add(f"{number}/", one.astype(str))
            joined, sizes = _without_breaks(one, np.concatenate(part_lengths or [_NONE]))
            ids.append(joined)
            lengths.append(sizes)
        all_ids = concatenate_ids(ids) if ids else np.zeros(0, np.int64)
        sizes = np.concatenate(lengths or [_NONE])
        if self._shared == "merge":
            all_ids, sizes = _without_breaks(all_ids, sizes)
        self._refuse_scattered(all_ids, [len(part) for part in ids])
        return QueryGroups(np.r_[0, np.cumsum(sizes)].astype(np.int64), None, all_ids)

    def _refuse_scattered(self, ids: npt.NDArray[Any], runs_of_part: list[int]) -> None:
        """Refuse a query whose documents are not contiguous."""
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        again = np.flatnonzero(first[inverse] != np.arange(len(ids)))
        if not len(again):
            return
        run = int(again[0])
        earlier = int(first[inverse[run]])
        ends = np.cumsum(runs_of_part)
        one, other = (int(np.searchsorted(ends, place, side="right")) for place in (earlier, run))
        query = ids[run].item()
        if one != other and self._shared == "error":
            sources = self._parts[one][0], self._parts[other][0]
            raise DataError(shared_query_message(query, *sources))
        source, batches, _ = self._parts[other]
        for name, own in zip(self._sources[other], batches, strict=True):
            source = name if str(query) in own.astype(str) else source
        raise DataError(
            f"{source}: documents of the query {query!r} do not follow one another: data that are "
            "streamed must be sorted by query; rankgrove.load (--no-stream on the command line) "
            "takes any order"
        )


def shared_query_message(query: Any, one: str, other: str) -> str:
    """Return the message about a query id in two files that are streamed."""
    return (
        f"the query {query!r} occurs in {one} and in {other}: shared_queries='merge' takes its "
        "documents as one query (if they follow one another), shared_queries='apart' as two"
    )


_NONE = np.zeros(0, np.int64)


def _joined(ids: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate the ids of a file: all are texts if one is no plain integer."""
    if len({array.dtype.kind for array in ids}) > 1:
        ids = [array.astype(str) for array in ids]
    return np.concatenate(ids) if ids else _NONE


def _without_breaks(
    ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Merge neighbouring runs of the same query that batch boundaries have divided."""
    if len(ids) == 0:
        return ids, lengths
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    return ids[starts], np.add.reduceat(lengths, starts)
