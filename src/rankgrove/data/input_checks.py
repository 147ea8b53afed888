"""Checks of the data that a caller passes to fit, predict or score.

Matrices stay in the caller's order and layout (the engine and the scorer read any strides); labels
and weights come back in grouped order, as kernels want them.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns, refuse_other_reading, refuse_readings
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.pandas_index import warn_of_other_order
from rankgrove.data.core.queries import QueryGroups, query_groups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.core.shown_positions import propensities, shown_positions
from rankgrove.data.matrix.conversion import in_place, refuse_absent_rows
from rankgrove.data.matrix.numbers import row_labels, row_numbers
from rankgrove.data.reading.table_columns import answers_among, outcomes_among
from rankgrove.data.scanning.scan import Scan, as_scan
from rankgrove.errors import DataError, DataWarning

_LARGEST_WEIGHT = 1e30  # gradients are float32
_LEAST_WEIGHT = 1e-30  # of the heaviest row: sums of less, and their squares, would vanish


def ranking_input(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group_sizes: Any = None,
    sample_weight: Any = None,
    position: Any = None,
    propensity: Any = None,
    columns: Columns | None = None,
    absent: str | None = None,
    what: str = "fit",
    may_be_empty: bool = False,
) -> RankingInput:
    """Check a Dataset, a scan (or what one is made of), or a matrix with labels and queries.

    Parameters
    ----------
    sample_weight : weights of the rows; those of a Dataset are not asked for here, because they
        belong to training: what is measured, is measured on all rows
    position, propensity : of the rows, where labels are clicks; a scan brings its own
    columns : the columns that X must have, matched by name where names are known; None: any
    absent : how features absent from text must have been read; None: any way
    what : how error messages start
    may_be_empty : whether there may be no rows, as in a part of the data
    """
    refuse_absent_rows(X, what)
    X = as_scan(X)
    if isinstance(X, Scan):
        if y is not None or qid is not None or group_sizes is not None:
            raise DataError(f"{what}: a scan brings its labels and queries, give X alone")
        return _scanned_input(X, sample_weight, columns, absent, what, may_be_empty)
    if isinstance(X, Dataset):
        if y is not None or qid is not None or group_sizes is not None:
            raise DataError(f"{what}: a Dataset brings its labels and queries, give X alone")
        y = X.y
    elif y is None:
        raise DataError(
            f"{what} requires y to be passed, but the target y is None: give labels, or a "
            "Dataset (rankgrove.load makes one of a file or a frame)"
        )
    beside = {"sample_weight": sample_weight, "position": position, "propensity": propensity}
    warn_of_other_order(what, 5, X=X, y=y, qid=qid, **beside)
    if columns is None:
        matrix = in_place(X.matrix if isinstance(X, Dataset) else X)
        columns = Columns(matrix.names, matrix.n_columns, categories=matrix.categories)
        if columns.names is not None and not isinstance(X, Dataset):
            _warn_of_answers(columns.names, what)
    else:
        matrix = columns.match(X, what, zero_copy=True)
    refuse_other_reading(X, absent, what)
    groups = groups_of(X, qid, group_sizes, len(matrix), what)
    _refuse_nothing(matrix.shape, may_be_empty, what)
    n_given = len(matrix)
    labels = row_labels(_flat_labels(y), n_given, "y" if what == "fit" else f"{what}: y")
    weight = _weights(sample_weight, groups, what, may_be_empty)
    counting: npt.NDArray[np.int64] | None = None
    if weight is not None and weight.min(initial=1) == 0:  # as if the row were not there
        counting = np.flatnonzero(weight)
        matrix, labels, weight = matrix.select_rows(counting), labels[counting], weight[counting]
        groups = QueryGroups.from_qid(groups.query_of_row()[counting])
    return RankingInput(
        X=matrix,
        y=np.ascontiguousarray(groups.grouped(labels)),
        groups=groups,
        weight=None if weight is None else np.ascontiguousarray(groups.grouped(weight)),
        columns=columns,
        absent=X.absent if isinstance(X, Dataset) else None,
        n_given=n_given,
        counting=counting,
        **_shown(position, propensity, n_given, groups, counting),
    )


def _shown(
    position: Any,
    propensity: Any,
    n_rows: int,
    groups: QueryGroups,
    counting: npt.NDArray[np.int64] | None,
) -> dict[str, npt.NDArray[Any]]:
    """Return positions and propensities in grouped order, of those that are given."""
    found: dict[str, npt.NDArray[Any]] = {}
    if position is not None:
        found["position"] = shown_positions(position, n_rows)
    if propensity is not None:
        found["propensity"] = propensities(propensity, n_rows)
    chosen = slice(None) if counting is None else counting
    return {
        name: np.ascontiguousarray(groups.grouped(values[chosen])) for name, values in found.items()
    }


def _flat_labels(y: Any) -> Any:
    """Return labels as one dimension; a column of them warns, as scikit-learn does."""
    if getattr(y, "ndim", 1) != 2 or y.shape[1] != 1:
        return y
    from sklearn.exceptions import DataConversionWarning

    message = "A column-vector y was passed when a 1d array was expected"
    warnings.warn(message, DataConversionWarning, stacklevel=4)
    return np.ravel(y)


def _warn_of_answers(names: tuple[str, ...], what: str) -> None:
    """Warn of feature columns that look like labels, ids, ranks or scores."""
    suspicious = (*answers_among(names), *outcomes_among(names))
    if suspicious:
        shown = ", ".join(map(repr, suspicious))
        warnings.warn(
            f"{what}: X has columns that look like labels, ids, ranks or scores, and they are "
            f"features: {shown} (rankgrove.load(frame) tells labels and queries from features)",
            DataWarning,
            stacklevel=6,
        )


def _scanned_input(
    scan: Scan,
    sample_weight: Any,
    columns: Columns | None,
    absent: str | None,
    what: str,
    may_be_empty: bool,
) -> RankingInput:
    """Read a scan once; its matrix stays out of core."""
    data = (scan if columns is None else scan.like(columns, absent, what)).read()
    refuse_readings(data.absent, absent, what)
    _refuse_nothing(data.X.shape, may_be_empty, what)
    weight = _weights(sample_weight, data.groups, what, may_be_empty)
    if weight is not None and weight.min(initial=1) == 0:
        raise DataError(
            f"{what}: the weight of row {int(weight.argmin())} is 0: leave such rows out of data "
            "that are streamed"
        )
    return replace(data, weight=weight, columns=data.columns if columns is None else columns)


def _refuse_nothing(shape: tuple[int, ...], may_be_empty: bool, what: str) -> None:
    if shape[0] == 0 and not may_be_empty:
        raise DataError(f"{what}: there are no rows")
    if shape[1] == 0:
        raise DataError(
            f"{what}: X has 0 feature(s) (shape={shape}) while a minimum of 1 is required: no "
            "column is left besides labels, queries, ids and columns that are left out"
        )


def groups_of(X: Any, qid: Any, group_sizes: Any, n_rows: int, what: str) -> QueryGroups:
    """Return the queries of a Dataset, or those given by ids or sizes."""
    if isinstance(X, Dataset):
        if qid is not None or group_sizes is not None:
            raise DataError(f"{what}: a Dataset brings its queries, give X alone")
        return X.groups
    return query_groups(n_rows, qid=qid, group_sizes=group_sizes, what=what)


def row_values(values: Any, n_rows: int, name: str, what: str = "fit") -> npt.NDArray[np.float64]:
    """Check one finite number per row."""
    return row_numbers(values, n_rows, name if what == "fit" else f"{what}: {name}")


def refuse_vanishing_weights(heaviest: float) -> None:
    """Refuse weights that are all so small that sums over them vanish."""
    if heaviest < _LEAST_WEIGHT:
        raise DataError(
            f"sample_weight is at most {heaviest:g}: below {_LEAST_WEIGHT:g} sums vanish; multiply "
            "all weights by the same number"
        )


def _weights(
    sample_weight: Any, groups: QueryGroups, what: str, may_be_empty: bool
) -> npt.NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    if np.shape(sample_weight) == (groups.n_queries,) and groups.n_queries != groups.n_rows:
        raise DataError(
            f"sample_weight has {groups.n_queries} entries, one per query, but X has "
            f"{groups.n_rows} rows: repeat the weight of each query for its documents, as "
            "np.repeat(sample_weight, group_sizes) or [weight_of[query] for query in qid]"
        )
    weight = row_values(sample_weight, groups.n_rows, "sample_weight", what)
    if weight.min(initial=0) < 0:
        row = int(weight.argmin())
        raise DataError(f"sample_weight of row {row} is {weight[row]}, less than 0")
    if weight.max(initial=0) > _LARGEST_WEIGHT:
        row = int(weight.argmax())
        raise DataError(
            f"sample_weight of row {row} is {weight[row]}: above {_LARGEST_WEIGHT:g} sums "
            "overflow; divide all weights by the same number"
        )
    if weight.max(initial=0) == 0 and not may_be_empty:
        raise DataError("sample_weight is 0 in every row")
    return weight
