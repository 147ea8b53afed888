"""Join of judgments with logged features: training data, and counts of what did not match."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import printable
from rankgrove._counts import counted
from rankgrove.data.core.dataset import Dataset
from rankgrove.errors import DataError
from rankgrove.logs.category_codes import CategoryCodes
from rankgrove.logs.options import LogOptions, log_options
from rankgrove.logs.reading import LogTable, log_batches, read_judgments

if TYPE_CHECKING:
    import pyarrow as pa

Disagreement = Literal["mean", "median", "max", "min", "last", "error"]
Repeated = Literal["first", "last", "error"]
_KEYS = ["query", "document"]
_BY_KEYS = [(key, "ascending") for key in _KEYS]
_ROW = "__row__"  # of the judgments, beside the columns of a feature log
_ORDER = "__order__"  # of the rows of a feature log
MIN_MATCHED = 0.5


@dataclass(frozen=True)
class Joined:
    """Training data made of judgments and features.

    Attributes
    ----------
    data : one row per judged document with features; labels are the grades, queries the texts
    counts : what was left out or combined, by reason
    """

    data: Dataset
    counts: Counter[str]

    def __str__(self) -> str:
        lines = [
            f"{counted(self.data.n_rows, 'row')}, {counted(self.data.n_queries, 'query')}, "
            f"{counted(self.data.n_features, 'feature')}"
        ]
        return "\n".join([*lines, *(f"{reason}: {count:,}" for reason, count in self.rows())])

    __repr__ = __str__

    def rows(self) -> list[tuple[str, int]]:
        """Return the reasons and counts that are not 0."""
        return [(reason, count) for reason, count in self.counts.items() if count]


def join(
    judgments: Any,
    features: Any,
    *,
    disagreement: Disagreement = "mean",
    repeated_features: Repeated = "last",
    unjudged: float | None = None,
    min_matched: float = MIN_MATCHED,
    categorical: Sequence[str] | None = None,
    ignore: Sequence[str] | Literal["texts"] | None = None,
    judgment_options: dict[str, Any] | None = None,
    feature_options: dict[str, Any] | None = None,
) -> Joined:
    """Match judgments and logged features by query and document.

    Nothing is left out without being counted. Ids are compared as they are, with case.

    Parameters
    ----------
    judgments : a LogTable of ``read_judgments``, or what it reads
    features : a LogTable of ``read_features``, or what it reads; files are read in batches, of
        which only the rows of judged documents are kept
    disagreement : the grade of a document that was judged several times, with different grades;
        its weight, if there are weights, is the mean
    repeated_features : which row counts of a document whose features were logged several times,
        with different values
    unjudged : grade of documents with features but without a judgment; None leaves them out
    min_matched : least share of the judged documents that must have features, from 0 to 1; fewer
        are an error, for ids that are written in two ways match nearly nothing
    categorical : columns of a table of features whose values are categories, beside those whose
        type says so; other columns of texts are left out and counted
    ignore : columns of a table of features that are no features; ``"texts"``: all that hold no
        numbers
    judgment_options, feature_options : options of reading, such as ``{"query": "keywords"}``
    """
    if disagreement not in get_args(Disagreement):
        raise ValueError(
            f"disagreement must be one of {_listed(Disagreement)}, not {disagreement!r}"
        )
    if repeated_features not in get_args(Repeated):
        raise ValueError(
            f"repeated_features must be one of {_listed(Repeated)}, not {repeated_features!r}"
        )
    if not 0 <= min_matched <= 1:
        raise ValueError(f"min_matched must be a share from 0 to 1, not {min_matched!r}")
    if isinstance(judgments, LogTable):
        judged = judgments
    else:
        with _naming_options("judgment_options"):
            judged = read_judgments(judgments, **judgment_options or {})
    if judged.kind != "judgments":
        raise DataError(f"{judged.source} holds {judged.kind}, not judgments")
    counts = Counter(judged.counts)
    grades = _distinct(judged.table, disagreement, counts)
    columns = {"categorical": categorical, "ignore": ignore}
    reading = {name: given for name, given in columns.items() if given is not None}
    batches = _feature_batches(features, {**(feature_options or {}), **reading}, counts)
    codes = CategoryCodes()
    matched, not_judged = _matched(grades, map(codes.coded, batches), unjudged, counts)
    matched = _without_repetition(matched, repeated_features, counts)
    found = np.unique(matched[_ROW].drop_null().to_numpy().astype(np.int64))
    counts["judged documents without features"] = grades.num_rows - len(found)
    _count_queries(grades, found, counts)
    if len(found) == 0 or len(found) < min_matched * grades.num_rows:
        raise _few_match(grades, found, not_judged, judged.source, features, min_matched)
    return Joined(_dataset(grades, matched, unjudged, codes), counts)


def _feature_batches(
    features: Any, options: dict[str, Any], counts: Counter[str]
) -> Iterator[pa.Table]:
    if isinstance(features, LogTable):
        if features.kind != "features":
            raise DataError(f"{features.source} holds {features.kind}, not features")
        for name in ("categorical", "ignore"):
            if name in options:
                raise ValueError(
                    f"{name}= says how features are read, and these were read before: give it to "
                    "read_features"
                )
        counts.update(features.counts)
        yield features.table
        return
    reading = dict(options)
    format = reading.pop("format", None)
    with _naming_options("feature_options"):
        yield from log_batches("features", features, format, log_options(reading), counts)


@contextmanager
def _naming_options(argument: str) -> Iterator[None]:
    """Name options of reading as ``join`` takes them, in an argument of one of the two sides."""
    names = "|".join(
        option.name for option in fields(LogOptions) if option.name not in ("categorical", "ignore")
    )
    try:
        yield
    except ValueError as error:
        text = re.sub(
            rf"\b({names})=(?:\[\.\.\.\])?(?!\w)", rf"{argument}={{'\1': ...}}", str(error)
        )
        raise (DataError if isinstance(error, DataError) else ValueError)(text) from None


def _distinct(table: pa.Table, disagreement: Disagreement, counts: Counter[str]) -> pa.Table:
    """Return one row per query and document, in order of first appearance."""
    import pyarrow as pa

    table = table.select(
        [n for n in ("query", "document", "grade", "weight") if n in table.column_names]
    )
    numbered = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    groups = numbered.group_by(_KEYS).aggregate([(_ROW, "min")])
    if groups.num_rows == table.num_rows:
        return table
    counts["repeated judgments"] = table.num_rows - groups.num_rows
    groups = groups.append_column("group", pa.array(np.arange(groups.num_rows)))
    joined = numbered.join(groups, keys=_KEYS).sort_by(_ROW)
    group = np.asarray(joined["group"])
    grade = np.asarray(joined["grade"])
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    parts = np.split(grade[order], starts[1:])
    differ = [i for i, part in enumerate(parts) if part.min() != part.max()]
    counts["documents with disagreeing grades"] = len(differ)
    first_rows = order[starts]
    if differ and disagreement == "error":
        row = joined.slice(int(first_rows[differ[0]]), 1).to_pylist()[0]
        raise DataError(
            f"the document {row['document']!r} of the query {row['query']!r} has the grades "
            f"{', '.join(f'{g:g}' for g in parts[differ[0]])}: disagreement= says which counts"
        )
    combined = grade[first_rows].copy()
    for i in differ:
        combined[i] = _COMBINED[disagreement](parts[i])
    result = joined.select(table.column_names).take(first_rows)
    place = result.column_names.index("grade")
    result = result.set_column(place, "grade", pa.array(combined))
    if "weight" in table.column_names:
        sums = np.add.reduceat(np.asarray(joined["weight"])[order], starts)
        means = pa.array(sums / np.diff(np.r_[starts, len(order)]))
        result = result.set_column(result.column_names.index("weight"), "weight", means)
    return result.take(np.argsort(first_rows))


_COMBINED: dict[str, Any] = {
    "mean": np.mean,
    "median": np.median,
    "max": np.max,
    "min": np.min,
    "last": lambda grades: grades[-1],
    "error": None,
}


def _matched(
    grades: pa.Table, batches: Iterator[pa.Table], unjudged: float | None, counts: Counter[str]
) -> tuple[pa.Table, dict[str, Any] | None]:
    """Return the feature rows of judged documents with the row of their judgment (or all rows).

    The second result is the first document with features but without a judgment, if there is one.
    """
    import pyarrow as pa

    keys = grades.select(_KEYS).append_column(_ROW, pa.array(np.arange(grades.num_rows)))
    kept, n_rows, not_judged = [], 0, None
    for batch in batches:
        order = pa.array(np.arange(n_rows, n_rows + batch.num_rows))
        n_rows += batch.num_rows
        how = "inner" if unjudged is None else "left outer"
        found = batch.append_column(_ORDER, order).join(keys, keys=_KEYS, join_type=how)
        without = batch.num_rows - found.num_rows + found[_ROW].null_count
        counts["documents with features but without a judgment"] += without
        if without and not_judged is None:
            others = batch.select(_KEYS).join(keys, keys=_KEYS, join_type="left anti")
            not_judged = others.sort_by(_BY_KEYS).slice(0, 1).to_pylist()[0]
        kept.append(found)
    if not kept:
        raise DataError("the feature log is empty")
    return pa.concat_tables(kept, promote_options="default").sort_by(_ORDER), not_judged


def _without_repetition(matched: pa.Table, rule: Repeated, counts: Counter[str]) -> pa.Table:
    """Keep one row per query and document; equal rows are one, of others the rule decides."""
    import pyarrow as pa

    names = [n for n in matched.column_names if n not in (*_KEYS, _ROW, _ORDER)]
    rules = [(name, rule) for name in names for rule in ("min", "max", "count")]
    ends = [(_ORDER, "min"), (_ORDER, "max"), (_ORDER, "count")]
    if matched.group_by(_KEYS).aggregate([]).num_rows == matched.num_rows:
        return matched
    # The least and largest of numbers pass over NaN: as null, it counts as another value.
    groups = _nan_as_null(matched, names).group_by(_KEYS).aggregate([*ends, *rules])
    counts["repeated feature rows"] = matched.num_rows - groups.num_rows
    orders = np.asarray(matched[_ORDER])
    first = np.searchsorted(orders, np.asarray(groups[f"{_ORDER}_min"]))
    last = np.searchsorted(orders, np.asarray(groups[f"{_ORDER}_max"]))
    differ = np.zeros(len(first), bool)
    for name in names:
        low, high, count = (groups[f"{name}_{rule}"].to_numpy() for rule in ("min", "max", "count"))
        differ |= (low < high) | ((count > 0) & (count < groups[f"{_ORDER}_count"].to_numpy()))
    counts["documents with other features each time"] = int(differ.sum())
    if differ.any() and rule == "error":
        row = matched.slice(int(first[differ][0]), 1).to_pylist()[0]
        raise DataError(
            f"the features of the document {row['document']!r} of the query {row['query']!r} were "
            "logged twice, with different values: repeated_features= says which row counts"
        )
    return matched.take(pa.array(np.sort(last if rule == "last" else first)))


def _nan_as_null(table: pa.Table, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        column = table[name]
        if pa.types.is_floating(column.type):
            numbers = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
            table = table.set_column(table.column_names.index(name), name, numbers)
    return table


def _count_queries(grades: pa.Table, found: npt.NDArray[np.int64], counts: Counter[str]) -> None:
    with_features = grades["query"].take(found).combine_chunks().unique()
    queries = grades["query"].combine_chunks().unique()
    counts["judged queries without features"] = len(queries) - len(with_features)


def _dataset(
    grades: pa.Table, matched: pa.Table, unjudged: float | None, codes: CategoryCodes
) -> Dataset:
    """Return the rows sorted by query, in order of the judgments."""
    rows = matched[_ROW].to_numpy().astype(np.float64)  # NaN: not judged
    queries = matched["query"].combine_chunks()
    number = np.asarray(queries.dictionary_encode().indices)
    first = np.full(number.max() + 1, np.inf)
    np.minimum.at(first, number, np.where(np.isnan(rows), np.inf, rows))
    order = np.lexsort((np.where(np.isnan(rows), np.inf, rows), number, first[number]))
    matched, rows = matched.take(order), rows[order]
    judged = ~np.isnan(rows)
    labels = np.full(len(rows), 0.0 if unjudged is None else float(unjudged))
    labels[judged] = np.asarray(grades["grade"])[rows[judged].astype(np.int64)]
    weights = None
    if "weight" in grades.column_names:
        weights = np.ones(len(rows))
        weights[judged] = np.asarray(grades["weight"])[rows[judged].astype(np.int64)]
    names = [n for n in matched.column_names if n not in (*_KEYS, _ROW, _ORDER)]
    X = np.empty((len(rows), len(names)), np.float32)
    categories = {}
    for j, name in enumerate(names):
        values = matched[name].to_numpy()
        if name in codes:
            X[:, j], categories[j] = codes.column(name, values)
            continue
        with np.errstate(over="ignore"):
            X[:, j] = values
        _refuse_overflow(X[:, j], values, name, matched)
    return Dataset(
        X,
        labels,
        np.asarray(matched["query"].to_pylist(), dtype=object),
        feature_names=names,
        sample_weight=weights,
        doc_ids=matched["document"],
        categories=categories,
    )


def _refuse_overflow(
    written: npt.NDArray[np.float32], values: npt.NDArray[Any], name: str, matched: pa.Table
) -> None:
    large = np.flatnonzero(np.isinf(written) & np.isfinite(values))
    if len(large):
        query, document = (matched[key][int(large[0])].as_py() for key in _KEYS)
        raise DataError(
            f"the feature {name!r} of the document {document!r} of the query {query!r} is "
            f"{values[large[0]]:g}, too large for a 32-bit float"
        )


def _few_match(
    grades: pa.Table,
    found: npt.NDArray[np.int64],
    not_judged: dict[str, Any] | None,
    source: str,
    features: Any,
    min_matched: float,
) -> DataError:
    """Return the error of judgments with features for none or too few of them."""
    is_path = isinstance(features, (str, os.PathLike))
    where = printable(str(features)) if is_path else "the feature log"
    lacking = np.setdiff1d(np.arange(grades.num_rows), found, assume_unique=True)
    judged = grades.slice(int(lacking[0]), 1).to_pylist()[0]
    examples = f"there are no features of {judged['query']!r}, {judged['document']!r}"
    if not_judged is not None:
        examples += f", and no judgment of {not_judged['query']!r}, {not_judged['document']!r}"
    how = f"queries and documents are matched as they are written ({examples})"
    if not len(found):
        return DataError(f"no judgment of {source} has features in {where}: {how}")
    share = len(found) / grades.num_rows
    return DataError(
        f"only {len(found):,} of the {grades.num_rows:,} judged documents of {source} "
        f"({share:.1%}) have features in {where}: {how}. If that is expected, lower min_matched, "
        f"the least share, which is {min_matched:g}"
    )


def _listed(choices: Any) -> str:
    return ", ".join(map(repr, get_args(choices)))
