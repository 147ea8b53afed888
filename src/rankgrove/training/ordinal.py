"""Grades as binary problems: for each grade but the lowest, whether a document has at least it.

Mohan, Chen and Weinberger (2011, section 6, after Li, Burges and Wu) learn P(y < c) for each grade
c by least squares on 0 and 1, and rank by the expected grade. Here the outputs are P(y >= c), which
are one less the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError
from rankgrove.trees.links import IDENTITY, GradeSum, Link
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]

TASKS = ("regression", "classification")
MAX_GRADES = 100


@dataclass(frozen=True)
class Problems:
    """Targets of one or several problems (n_outputs, n_documents), and the link to a score."""

    targets: Floats
    link: Link


def problems_of(y: Floats, task: str, owner: str, shard: RowShard | None = None) -> Problems:
    """Return the labels as one target, or as a binary target per grade but the lowest.

    ``shard`` is the position of these labels among those of all workers; None: they are all.
    """
    if task == "regression":
        return Problems(y[None], IDENTITY)
    grades = np.unique(y) if shard is None else shard.distinct(y)
    if not 2 <= len(grades) <= MAX_GRADES:
        raise DataError(
            f"{owner} with task='classification' learns one problem per grade: y has {len(grades)} "
            f"different labels, not 2 to {MAX_GRADES}"
        )
    targets = (y[None] >= grades[1:, None]).astype(np.float64)
    return Problems(targets, GradeSum(tuple(grades.tolist())))
