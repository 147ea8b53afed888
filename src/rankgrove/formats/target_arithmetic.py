"""Evaluation of trees by the rules of a target: number type, comparison, missing values.

Used to check what was written: each format reads its own file back into ``TargetTree``s and names
its rule. Nothing here is shared with rankgrove's scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# (values, thresholds, directions of missing values) -> which rows go left
GoesLeft = Callable[[Matrix, Matrix, npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class TargetTree:
    """One tree as read from an exported file: node 0 is the root, -1 marks leaves.

    Splits on categories send these ``left_codes`` left and everything else right.
    """

    feature: npt.NDArray[np.int64]
    threshold: Matrix
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    missing_left: npt.NDArray[np.bool_]
    value: Matrix
    left_codes: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)


def sum_of_trees(
    trees: Iterable[TargetTree],
    X: Matrix,
    goes_left: GoesLeft,
    *,
    compare: type[np.floating[Any]],
    add: type[np.floating[Any]],
    start: float = 0.0,
) -> Floats:
    """Return the sum of all trees; comparisons and sums may use different number types."""
    with np.errstate(over="ignore"):
        values = np.asarray(X).astype(compare)
    total = np.full(len(values), start, add)
    for tree in trees:
        node = np.zeros(len(values), np.int64)
        rows = np.arange(len(values))
        while len(rows := rows[tree.left[node[rows]] >= 0]):
            at = node[rows]
            left = goes_left(
                values[rows, tree.feature[at]],
                tree.threshold[at].astype(compare),
                tree.missing_left[at],
            )
            for split, codes in tree.left_codes.items():
                here = at == split
                if here.any():
                    left = np.where(here, np.isin(values[rows, tree.feature[split]], codes), left)
            node[rows] = np.where(left, tree.left[at], tree.right[at])
        total = (total + tree.value[node].astype(add)).astype(add)
    return total.astype(np.float64)


def at_most_else_default(x: Matrix, threshold: Matrix, missing_left: Matrix) -> Matrix:
    """Compare ``x <= threshold``; NaN goes in the default direction of the split."""
    return np.where(np.isnan(x), missing_left, x <= threshold)


def below_else_default(x: Matrix, threshold: Matrix, missing_left: Matrix) -> Matrix:
    """Compare ``x < threshold``; NaN goes in the default direction of the split."""
    return np.where(np.isnan(x), missing_left, x < threshold)


def at_most_missing_zero(x: Matrix, threshold: Matrix, missing_left: Matrix) -> Matrix:
    """Compare ``x <= threshold``; NaN counts as 0."""
    return np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf) <= threshold


def below_missing_zero(x: Matrix, threshold: Matrix, missing_left: Matrix) -> Matrix:
    """Compare ``x < threshold``; NaN counts as 0."""
    return np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf) < threshold


class TreeRows:
    """Collects the nodes of one tree from nested JSON objects, without recursion."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []

    def read(self, root: Any, describe: Callable[[Any], tuple[Any, ...] | float]) -> TargetTree:
        """Read a tree of objects.

        ``describe`` gives a leaf's value, or (feature, threshold, missing_left, left, right); an
        array of codes in place of the threshold is a split on categories.
        """
        waiting = [(root, -1, 0)]
        while waiting:
            node, parent, side = waiting.pop()
            number = len(self.rows)
            if parent >= 0:
                self.rows[parent][3 + side] = number
            found = describe(node)
            if isinstance(found, tuple):
                feature, threshold, missing_left, left, right = found
                self.rows.append([feature, threshold, missing_left, -1, -1, 0.0])
                waiting += [(right, number, 1), (left, number, 0)]
            else:
                self.rows.append([-1, 0.0, False, -1, -1, found])
        left_codes = {
            node: row[1] for node, row in enumerate(self.rows) if isinstance(row[1], np.ndarray)
        }
        for node in left_codes:
            self.rows[node][1] = 0.0
        feature, threshold, missing, left, right, value = zip(*self.rows, strict=True)
        return TargetTree(
            feature=np.array(feature, np.int64),
            threshold=np.array(threshold, np.float64),
            left=np.array(left, np.int64),
            right=np.array(right, np.int64),
            missing_left=np.array(missing, bool),
            value=np.array(value, np.float64),
            left_codes=left_codes,
        )
