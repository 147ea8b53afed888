"""Impressions as arrays: sessions in order, documents by number, positions, clicks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError, DataWarning
from rankgrove.logs.reading import LogTable, read_impressions

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ClickLog:
    """The impressions of many sessions (result lists that were shown), sorted by position.

    Attributes
    ----------
    offsets : session s owns rows ``offsets[s]:offsets[s + 1]``
    pair : number of the query-document pair of each row
    position : position of each row, from 1, ascending within a session
    clicked : 0 or 1
    propensity : logged probability of examination of each row, or None
    rows : number of each row in the table that the log was made of
    queries, documents : texts of the pairs, as Arrow arrays
    """

    offsets: Ints
    pair: Ints
    position: Ints
    clicked: Floats
    propensity: Floats | None
    rows: Ints
    queries: pa.LargeStringArray
    documents: pa.LargeStringArray

    @classmethod
    def of(cls, impressions: Any) -> ClickLog:
        """Make a log of what ``logs.read_impressions`` returns or reads, or of such a table."""
        import pyarrow as pa

        if isinstance(impressions, ClickLog):
            return impressions
        if isinstance(impressions, pa.Table):
            return _from_table(impressions, "the table")
        log = impressions if isinstance(impressions, LogTable) else _read(impressions)
        if log.kind != "impressions":
            raise DataError(f"{log.source} holds {log.kind}, not impressions")
        return _from_table(log.table, log.source)

    @property
    def n_rows(self) -> int:
        """Number of impressions."""
        return len(self.pair)

    @property
    def n_sessions(self) -> int:
        """Number of result lists."""
        return len(self.offsets) - 1

    @property
    def n_pairs(self) -> int:
        """Number of query-document pairs."""
        return len(self.queries)

    @cached_property
    def session(self) -> Ints:
        """Number of the session of each row."""
        return np.repeat(np.arange(self.n_sessions), np.diff(self.offsets))

    @cached_property
    def last_click(self) -> Ints:
        """Row of the last click of each session; the row before the session if there is none."""
        rows = np.where(self.clicked > 0, np.arange(self.n_rows), -1)
        last = np.full(self.n_sessions, -1, np.int64)
        np.maximum.at(last, self.session, rows)
        return np.where(last < 0, self.offsets[:-1] - 1, last)

    @cached_property
    def above_last_click(self) -> Floats:
        """1 for rows at or above the last click of their session, or of one without a click."""
        without = self.last_click < self.offsets[:-1]
        above = np.arange(self.n_rows) <= self.last_click[self.session]
        return (above | without[self.session]).astype(np.float64)

    @cached_property
    def first_click(self) -> Ints:
        """Row of the first click of each session; the row after the session if there is none."""
        rows = np.where(self.clicked > 0, np.arange(self.n_rows), self.n_rows)
        first = np.full(self.n_sessions, self.n_rows, np.int64)
        np.minimum.at(first, self.session, rows)
        return np.where(first == self.n_rows, self.offsets[1:], first)

    def require_clicks(self) -> None:
        """Refuse a log from which nothing can be learnt: without a click. Warn of clicks alone."""
        n_clicks = int(self.clicked.sum())
        if n_clicks == 0:
            raise DataError(
                f"none of the {self.n_rows:,} impressions was clicked: nothing can be learnt from "
                "them. Does the column 'clicked' hold 0 and 1, and are the clicks part of the log?"
            )
        if n_clicks == self.n_rows:
            warnings.warn(
                f"all {self.n_rows:,} impressions were clicked: a log should also hold what was "
                "shown and not clicked, else every document looks relevant",
                DataWarning,
                stacklevel=3,
            )

    def sum_by_pair(self, values: Floats) -> Floats:
        """Add up values of rows by query-document pair."""
        return np.asarray(np.bincount(self.pair, values, self.n_pairs), np.float64)

    def sum_by_position(self, values: Floats) -> Floats:
        """Add up values of rows by position; entry 0 is position 1."""
        return np.asarray(np.bincount(self.position - 1, values), np.float64)


_COLUMNS = ("query", "document", "position", "clicked", "session")


def _read(source: Any) -> LogTable:
    """Read the impressions of a log, and warn of rows that could not be used."""
    log = read_impressions(source)
    if log.rows():
        warnings.warn(f"{log} (read_impressions returns the counts)", DataWarning, stacklevel=3)
    return log


def _from_table(table: pa.Table, source: str) -> ClickLog:
    import pyarrow as pa

    for name in _COLUMNS:
        if name not in table.column_names:
            raise DataError(
                f"{source}: there is no column {name!r}: a log of impressions has "
                f"{', '.join(_COLUMNS)}"
            )
    if table.num_rows == 0:
        raise DataError(f"{source}: there are no impressions")
    session = _numbers(table["session"])
    position = table["position"].to_numpy().astype(np.int64)
    order = np.lexsort((position, session))
    session, position = session[order], position[order]
    same = np.flatnonzero((np.diff(session) == 0) & (np.diff(position) == 0))
    if len(same):
        row = table.slice(int(order[same[0]]), 1).to_pylist()[0]
        hint = ": name the column that tells result lists apart with session="
        raise DataError(
            f"{source}: the session {row['session']!r} shows two documents at position "
            f"{row['position']}{hint if row['session'] == row['query'] else ''}"
        )
    keys = table.select(["query", "document"]).combine_chunks()
    pairs = keys.group_by(["query", "document"], use_threads=False).aggregate([])
    pairs = pairs.append_column("pair", pa.array(np.arange(pairs.num_rows)))
    numbered = keys.append_column("row", pa.array(np.arange(keys.num_rows)))
    joined = numbered.join(pairs, keys=["query", "document"]).sort_by("row")
    pair = joined["pair"].to_numpy().astype(np.int64)[order]
    propensity = None
    if "propensity" in table.column_names:
        propensity = _propensities(table["propensity"].to_numpy()[order], source)
    return ClickLog(
        np.r_[0, np.flatnonzero(np.diff(session)) + 1, len(session)].astype(np.int64),
        pair,
        position,
        table["clicked"].to_numpy()[order].astype(np.float64),
        propensity,
        order.astype(np.int64),
        pairs["query"].combine_chunks(),
        pairs["document"].combine_chunks(),
    )


def _numbers(column: Any) -> Ints:
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64)


def _propensities(values: Floats, source: str) -> Floats:
    bad = ~((values > 0) & (values <= 1))
    if bad.any():
        raise DataError(
            f"{source}: a propensity is {values[bad][0]:g}: it must be above 0 and at most 1"
        )
    return values.astype(np.float64)
