"""Comparison of the scores of an exported file with those of the model.

The written file is read back and evaluated on the user's data, in the target's own arithmetic and,
where it is installed, by the target's own library. A file that takes missing values for 0 is
compared with the model on such data, and with the model as it was trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.formats.exporting import Export, Floats
from rankgrove.metrics.parsing import metric
from rankgrove.models.model import Model

_LOOKED_AT = 200  # documents whose categories are replaced, for each column


@dataclass(frozen=True)
class Agreement:
    """Differences between the scores of one evaluator of an exported file and the model's.

    Attributes
    ----------
    by : who evaluated the file
    largest_difference : of two scores of one document
    changed_ranks : documents that stand at another rank within their query (documents of equal
        score keep their order)
    rows : documents that were scored
    against : what the scores were compared with
    metric_lost : NDCG@10 of ``against`` minus that of the file; None if no labels were given
    largest_score : magnitude of the largest score that was compared
    """

    by: str
    largest_difference: float
    changed_ranks: int
    rows: int
    against: str = "the model"
    metric_lost: float | None = None
    largest_score: float = 0.0


def check_export(
    model: Model,
    export: Export,
    X: npt.NDArray[Any],
    groups: QueryGroups,
    y: npt.NDArray[Any] | None = None,
) -> list[Agreement]:
    """Score documents with the exported file and compare with the model's scores.

    Parameters
    ----------
    model : the model that was exported
    export : what ``export_model`` returned
    X : documents, with the columns of the model
    groups : their queries
    y : their labels, to report what a metric loses
    """
    found = file_scores(export, X)
    expected = {"the model": model.scores(X)}
    if export.missing == "zero":
        numbers = [j for j in range(X.shape[1]) if j not in model.columns.categories]
        zeros = np.array(X)
        zeros[:, numbers] = np.where(np.isnan(X[:, numbers]), 0, X[:, numbers])
        with_zeros = model.scores(zeros)
        if not np.array_equal(with_zeros, expected["the model"]):
            expected = {
                "the model with 0 for missing values": with_zeros,
                "the model as trained": expected["the model"],
            }
    agreements = [
        agreement(by, against, own, scores, groups, y)
        for by, scores in found
        for against, own in expected.items()
    ]
    return agreements + _check_categories(model, export, X)


def _check_categories(model: Model, export: Export, X: npt.NDArray[Any]) -> list[Agreement]:
    """Compare scores of documents with missing and with unknown categories, if there are any."""
    columns = sorted(model.columns.categories)
    if not columns or export.linear or not len(X):
        return []
    missing, given = [], []
    for j in columns:
        known = model.columns.categories[j]
        for value in (np.nan, len(known.values) + len(known.pooled) + 5):
            some = np.array(X[:_LOOKED_AT])
            some[:, j] = np.nan
            missing.append(some)
            given.append(some.copy())
            given[-1][:, j] = value
    documents = np.concatenate(given)
    rows = np.concatenate(missing)
    if export.missing == "zero":
        numbers = [j for j in range(X.shape[1]) if j not in columns]
        for some in (documents, rows):
            some[:, numbers] = np.where(np.isnan(some[:, numbers]), 0, some[:, numbers])
    expected = model.scores(rows)
    groups = QueryGroups.from_sizes(np.array([len(documents)]))
    found = file_scores(export, documents)
    against = "the model on missing and unknown categories"
    return [agreement(by, against, expected, scores, groups, None) for by, scores in found]


def file_scores(export: Export, X: npt.NDArray[Any]) -> list[tuple[str, Floats]]:
    """Return who scored the documents with the file, and the scores without the file's shift."""
    if export.indicators is not None:
        X = export.indicators.matrix(X)
    evaluate = export.target.evaluate_linear if export.linear else export.target.evaluate
    assert evaluate is not None
    scores = evaluate(export.path.read_bytes(), X, export.names)
    found = [(f"the arithmetic of {export.target.name}", scores)]
    if export.target.library is not None:
        assert isinstance(export.path, Path)  # what goes to a store is checked before
        asked = export.target.library(export.path, X)
        found += [] if asked is None else [asked]
    return [(by, scores - export.shift) for by, scores in found]


def agreement(
    by: str,
    against: str,
    expected: Floats,
    scores: Floats,
    groups: QueryGroups,
    y: npt.NDArray[Any] | None,
) -> Agreement:
    """Compare two scores of each document; labels are for the metric."""
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"{by} gives row {row} the score {scores[row]}")
    difference = float(np.abs(scores - expected).max(initial=0.0))
    changed = int((_ranks(scores, groups) != _ranks(expected, groups)).sum())
    lost = None
    if y is not None:
        measure = metric("ndcg@10")
        lost = measure(y, expected, groups=groups) - measure(y, scores, groups=groups)
    largest = float(np.abs(expected).max(initial=0.0))
    return Agreement(by, difference, changed, len(expected), against, lost, largest)


def _ranks(scores: Floats, groups: QueryGroups) -> npt.NDArray[np.int64]:
    """Return the row at each place of each query's ranking, queries one after the other."""
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    return np.lexsort((-groups.grouped(scores), query)).astype(np.int64)
