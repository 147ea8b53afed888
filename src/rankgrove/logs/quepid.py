"""Judgments exported by Quepid: ``query,docid,rating``, or one column of ratings per rater.

With several raters the grade is the final rating, where there is a column ``rating`` or
``final_rating``, unless ``combine`` says how to make it: the mean, median, maximum or minimum of
the ratings that a pair has. ``agreement_weights`` adds the weight :math:`1 / (1 + s^2)` with the
variance :math:`s^2` of the ratings of the pair: a pair that raters disagree about counts less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.judgment_table import without_grade
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    as_ids,
    column_named,
    finite_numbers,
    header_of,
    optional_column,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document", "grade", "raters", "combine", "agreement_weights"})
_FINAL = ("rating", "final_rating")
_COMBINE: dict[str, Any] = {
    "mean": np.nanmean,
    "median": np.nanmedian,
    "max": np.nanmax,
    "min": np.nanmin,
}


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such an export."""
    return [name.lower() for name in header_of(head)[:2]] == ["query", "docid"]


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the ratings batch by batch."""
    return table_batches(path, lambda batch: _judgments(batch, options, counts))


def _judgments(batch: pa.Table, options: LogOptions, counts: Counter[str]) -> pa.Table:
    import pyarrow as pa

    names = batch.column_names
    columns: dict[str, Any] = {
        "query": as_ids(batch[column_named(names, options.query, ("query",), "query")], "query"),
        "document": as_ids(
            batch[column_named(names, options.document, ("docid",), "document")], "document"
        ),
    }
    final = optional_column(names, options.grade, _FINAL)
    several = options.combine is not None or options.agreement_weights or final is None
    if several:
        ratings = _ratings(batch, _raters(names, options, final))
        rated = np.asarray((~np.isnan(ratings)).any(axis=1))
        if options.agreement_weights:
            columns["weight"] = pa.array(_agreement(ratings, rated))
    if options.combine is not None or final is None:
        grades = np.full(len(ratings), np.nan)
        grades[rated] = _COMBINE[options.combine or "mean"](ratings[rated], axis=1)
        columns["grade"] = pa.array(grades, from_pandas=True)
    else:
        columns["grade"] = finite_numbers(batch[final], final)
    return without_grade(pa.table(columns), counts)


def _raters(names: Sequence[str], options: LogOptions, final: str | None) -> list[str]:
    if options.raters is not None:
        return [column_named(names, name, (), "raters") for name in options.raters]
    raters = [name for name in names if name.lower().endswith("_rating") and name != final]
    if not raters:
        raise DataError(
            "no columns of raters (such as anna_rating) among "
            f"{', '.join(map(repr, names[:20]))}: name them with raters=[...]"
        )
    return raters


def _ratings(batch: pa.Table, raters: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return pairs x raters; NaN where a rater did not rate."""
    columns = [finite_numbers(batch[name], name).to_numpy() for name in raters]
    return np.column_stack(columns).astype(np.float64)


def _agreement(
    ratings: npt.NDArray[np.float64], rated: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    weights = np.ones(len(ratings))
    weights[rated] = 1 / (1 + np.nanvar(ratings[rated], axis=1))
    return weights
