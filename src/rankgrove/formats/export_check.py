"""Does an exported model score as the model does?

The written file is read back and evaluated on the user's data, in the target's own arithmetic and,
where it is installed, by the target's own library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.formats.exporting import Export, Floats
from rankgrove.models.model import Model


@dataclass(frozen=True)
class Agreement:
    """How the scores of one evaluator compare with the model's own.

    Attributes
    ----------
    by : who evaluated the file
    largest_difference : of two scores of one document
    changed_ranks : documents that stand at another rank within their query (documents of equal
        score keep their order)
    rows : documents that were scored
    """

    by: str
    largest_difference: float
    changed_ranks: int
    rows: int


def check_export(
    model: Model, export: Export, X: npt.NDArray[Any], groups: QueryGroups
) -> list[Agreement]:
    """Score documents by the written file and compare.

    Parameters
    ----------
    model : what was exported
    export : what ``export_model`` returned
    X : documents, with the columns of the model
    groups : their queries
    """
    expected = model.scores(_as_exported(X, export))
    data = export.path.read_bytes()
    evaluate = export.target.evaluate_linear if export.linear else export.target.evaluate
    assert evaluate is not None
    found = [(f"the arithmetic of {export.target.name}", evaluate(data, X, export.names))]
    if export.target.library is not None:
        asked = export.target.library(export.path, X)
        found += [] if asked is None else [asked]
    return [_agreement(by, expected, scores, groups) for by, scores in found]


def _as_exported(X: npt.NDArray[Any], export: Export) -> npt.NDArray[Any]:
    """Return the documents with 0 for missing values, if that was asked for."""
    return np.where(np.isnan(X), 0, X).astype(X.dtype) if export.missing == "zero" else X


def _agreement(by: str, expected: Floats, scores: Floats, groups: QueryGroups) -> Agreement:
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"{by} gives row {row} the score {scores[row]}")
    difference = float(np.abs(scores - expected).max(initial=0.0))
    changed = int((_ranks(scores, groups) != _ranks(expected, groups)).sum())
    return Agreement(by, difference, changed, len(expected))


def _ranks(scores: Floats, groups: QueryGroups) -> npt.NDArray[np.int64]:
    """Rows in the order of each query's ranking: equal at a place if the same row stands there."""
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    return np.lexsort((-groups.grouped(scores), query)).astype(np.int64)
