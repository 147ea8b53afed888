"""Description of a data set: counts, shares, and suspicious findings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.feature_matrix import FeatureMatrix

# A feature is near-empty if fewer rows than this share have anything but zero or NaN.
NEAR_EMPTY_SHARE = 0.001


@dataclass(frozen=True)
class Description:
    """Counts and shares of a data set; every field is plain data, ready for JSON.

    Attributes
    ----------
    grades : number of rows per label; real-valued labels are counted in ten equal ranges
    query_lengths : minimum, quantiles, mean and maximum of the number of documents
    missing_share, zero_share : share of NaN and of zeros among all entries
    constant_features : names of features with one value (or none) everywhere
    near_empty_features : names of features that are zero or NaN in almost all rows
    missing_features : share of NaN, for each feature that has any
    categories : number of categories of each categorical feature
    warnings : sentences on findings that a user should check
    """

    source: str | None
    rows: int
    queries: int
    features: int
    grades: dict[str, int]
    query_lengths: dict[str, float]
    missing_share: float
    zero_share: float
    constant_features: list[str]
    near_empty_features: list[str]
    missing_features: dict[str, float]
    categories: dict[str, int]
    warnings: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


def describe(dataset: Dataset) -> Description:
    """Describe a data set."""
    columns = _Columns.of(dataset.matrix)
    columns.zeros[list(dataset.categories)] = 0  # the code of the first category
    names = np.array(dataset.feature_names, dtype=object)
    missing = columns.missing / max(dataset.n_rows, 1)
    constant = columns.low >= columns.high
    constant |= columns.missing == dataset.n_rows
    constant &= (columns.missing == 0) | (columns.missing == dataset.n_rows)
    filled = dataset.n_rows - columns.missing - columns.zeros
    near_empty = (filled < NEAR_EMPTY_SHARE * dataset.n_rows) & ~constant
    entries = max(dataset.X.size, 1)
    return Description(
        source=dataset.source,
        rows=dataset.n_rows,
        queries=dataset.n_queries,
        features=dataset.n_features,
        grades=_grades(dataset.y),
        query_lengths=_lengths(dataset.group_sizes),
        missing_share=float(columns.missing.sum() / entries),
        zero_share=float(columns.zeros.sum() / entries),
        constant_features=names[constant].tolist(),
        near_empty_features=names[near_empty].tolist(),
        missing_features={
            names[j]: round(float(missing[j]), 6) for j in np.flatnonzero(columns.missing)
        },
        categories={names[j]: len(found.values) for j, found in dataset.categories.items()},
        warnings=_warnings(dataset, columns, int(constant.sum()), int(near_empty.sum())),
    )


@dataclass(frozen=True)
class _Columns:
    missing: npt.NDArray[np.int64]
    zeros: npt.NDArray[np.int64]
    infinite: npt.NDArray[np.int64]
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]

    @classmethod
    def of(cls, X: FeatureMatrix) -> _Columns:
        n = X.n_columns
        missing, zeros, infinite = (np.zeros(n, np.int64) for _ in range(3))
        low, high = np.full(n, np.inf, np.float32), np.full(n, -np.inf, np.float32)
        for block in X.row_blocks():
            missing += np.isnan(block).sum(axis=0)
            zeros += (block == 0).sum(axis=0)
            infinite += np.isinf(block).sum(axis=0)
            low = np.fmin(low, np.fmin.reduce(block, axis=0))
            high = np.fmax(high, np.fmax.reduce(block, axis=0))
        return cls(missing, zeros, infinite, low, high)


def _grades(y: npt.NDArray[np.float64]) -> dict[str, int]:
    values, counts = np.unique(y, return_counts=True)
    if len(values) <= 32:
        return {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)}
    counts, edges = np.histogram(y, bins=10)
    return {
        f"{low:.4g} to {high:.4g}": int(count)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    }


def _lengths(sizes: npt.NDArray[np.int64]) -> dict[str, float]:
    if len(sizes) == 0:
        return {}
    shares = {"min": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95}
    quantiles = np.quantile(sizes, list(shares.values()))
    lengths = {name: float(value) for name, value in zip(shares, quantiles, strict=True)}
    return {**lengths, "max": float(sizes.max()), "mean": float(sizes.mean())}


def _warnings(dataset: Dataset, columns: _Columns, constant: int, near_empty: int) -> list[str]:
    if dataset.n_rows == 0:
        return ["the data set has no rows"]
    groups = dataset.groups
    labels = groups.grouped(dataset.y)
    filled = groups.offsets[:-1][groups.sizes > 0]
    highest = np.maximum.reduceat(labels, filled)
    lowest = np.minimum.reduceat(labels, filled)
    none_relevant = int((highest <= 0).sum())
    all_equal = int(((highest == lowest) & (highest > 0)).sum())
    single = int((groups.sizes == 1).sum())
    infinite = int((columns.infinite > 0).sum())
    split = _split_queries(dataset)
    checks = [
        (split, f"{_count(split, 'query', 'queries')} split over the file (rows are not together)"),
        (
            none_relevant,
            f"{_count(none_relevant, 'query', 'queries')} without a relevant document (all labels "
            "0): what a metric makes of them is its rule for empty queries",
        ),
        (
            all_equal,
            f"{_count(all_equal, 'query', 'queries')} with the same label for every document",
        ),
        (single, f"{_count(single, 'query', 'queries')} with one document"),
        (int((groups.sizes == 0).sum()), "queries without documents"),
        (constant, f"{_count(constant, 'feature', 'features')} with one value everywhere"),
        (
            near_empty,
            f"{_count(near_empty, 'feature', 'features')} with a value in fewer than "
            f"{NEAR_EMPTY_SHARE:.1%} of the rows",
        ),
        (infinite, f"{_count(infinite, 'feature', 'features')} with infinite values"),
        (
            int((dataset.y != np.rint(dataset.y)).any()),
            "labels are not whole numbers: exponential gain and class-based rankers may not fit",
        ),
        (
            int(dataset.y.max() > 30),
            f"the largest label is {dataset.y.max():g}: exponential gain (2^label - 1) will drown "
            "all others, linear gain may fit better",
        ),
    ]
    return [text for number, text in checks if number]


def _split_queries(dataset: Dataset) -> int:
    if dataset.groups.order is None:
        return 0
    query = dataset.groups.query_of_row()
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    return int((np.bincount(query[starts]) > 1).sum())


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
