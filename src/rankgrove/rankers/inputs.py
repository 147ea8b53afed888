"""From what a caller hands to fit or predict to checked arrays.

Matrices stay in the caller's order and layout (the engine and the scorer read any strides); labels
and weights come back in grouped order, as kernels want them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.features import feature_matrix, is_dataset
from rankgrove.data.queries import QueryGroups
from rankgrove.errors import DataError


@dataclass(frozen=True)
class RankingInput:
    """Checked data of one fit or one evaluation.

    Attributes
    ----------
    X : float32 matrix in the caller's row order, any strides
    y : float64 labels in grouped order
    groups : the queries; ``groups.order`` are the rows of X in grouped order
    weight : float64 document weights in grouped order, or None
    feature_names : names of the columns, or None if the caller gave none
    """

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.float64]
    groups: QueryGroups
    weight: npt.NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None


def ranking_input(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group_sizes: Any = None,
    sample_weight: Any = None,
    what: str = "fit",
) -> RankingInput:
    """Check a Dataset, or a matrix with labels and queries; ``what`` starts the error messages."""
    if is_dataset(X):
        if y is not None or qid is not None or group_sizes is not None:
            raise DataError(f"{what}: a Dataset brings its labels and queries, give X alone")
        groups, y = X.groups, X.y
        if sample_weight is None:
            sample_weight = getattr(X, "sample_weight", None)
        matrix, names = feature_matrix(X)
    else:
        if y is None:
            raise DataError(f"{what}: y is missing: give labels, or a Dataset")
        matrix, names = feature_matrix(X)
        groups = query_groups(qid, group_sizes, len(matrix), what)
    if len(matrix) == 0:
        raise DataError(f"{what}: there are no rows")
    if matrix.shape[1] == 0:
        raise DataError(f"{what}: there are no features")
    if matrix.dtype != np.float32:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which splits as it should
            matrix = matrix.astype(np.float32)
    return RankingInput(
        X=matrix,
        y=np.ascontiguousarray(groups.grouped(row_values(y, len(matrix), "y"))),
        groups=groups,
        weight=_weights(sample_weight, groups),
        feature_names=names,
    )


def query_groups(qid: Any, group_sizes: Any, n_rows: int, what: str = "fit") -> QueryGroups:
    """Group rows by ids or by sizes; exactly one of them must be given."""
    if qid is None and group_sizes is None:
        raise DataError(
            f"{what} needs the queries: pass qid (one query id per row) or group_sizes (documents "
            "per query), or a Dataset"
        )
    if qid is not None and group_sizes is not None:
        raise DataError(f"{what}: pass either qid or group_sizes, not both")
    if group_sizes is not None:
        return QueryGroups.from_sizes(group_sizes, n_rows)
    groups = QueryGroups.from_qid(qid)
    if groups.n_rows != n_rows:
        raise DataError(
            f"{what}: qid has {groups.n_rows} entries but X has {n_rows} rows: give one id per row "
            "(or documents per query as group_sizes)"
        )
    return groups


def row_values(values: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Check one finite number per row."""
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}") from error
    if result.ndim != 1:
        raise DataError(f"{name} must have one dimension, not shape {result.shape}")
    if len(result) != n_rows:
        raise DataError(f"{name} has {len(result)} entries but X has {n_rows} rows")
    bad = np.flatnonzero(~np.isfinite(result))
    if len(bad):
        raise DataError(f"{name} of row {bad[0]} is {result[bad[0]]}, not a finite number")
    return result


def _weights(sample_weight: Any, groups: QueryGroups) -> npt.NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weight = row_values(sample_weight, groups.n_rows, "sample_weight")
    if weight.min() < 0:
        row = int(weight.argmin())
        raise DataError(f"sample_weight of row {row} is {weight[row]}, less than 0")
    if weight.max() == 0:
        raise DataError("sample_weight is 0 in every row")
    return np.ascontiguousarray(groups.grouped(weight))
