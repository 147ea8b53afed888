"""Comparison of an exported file with the scores that the live engine returned."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.export_check import Agreement, agreement, file_scores
from rankgrove.formats.exporting import Export
from rankgrove.formats.plain_trees import names_or_refusal
from rankgrove.logs.engine_scores import ScoredDocument, read_engine_scores
from rankgrove.models.model import Model

_BY = "the engine"
_TOLERANCE = 1e-5  # of the largest score; engines add up in float32


def check_response(
    model: Model,
    export: Export,
    response: str | os.PathLike[str],
    *,
    log_name: str | None = None,
) -> list[Agreement]:
    """Compare the scores of a response with those that the file gives to its logged features.

    Parameters
    ----------
    model : the model that was exported
    export : what ``export_model`` returned
    response : of the live engine, with the features that it logged beside each document's score
    log_name : name of the log, where the response has several
    """
    if model.columns.categories:
        raise ModelError(
            "a model with categorical features cannot be compared with a response: engines log "
            "numbers"
        )
    documents = read_engine_scores(response, log_name=log_name)
    X = _matrix(documents, export, response)
    groups = QueryGroups.from_qid(np.array([one.response for one in documents]))
    scores = np.array([one.score for one in documents]) - export.shift
    (_, of_file), *_ = file_scores(export, X)
    filled = np.nan_to_num(X) if export.missing == "zero" else X
    expected = {"the file": of_file, "the model": model.without_head().scores(filled)}
    return [agreement(_BY, against, own, scores, groups, None) for against, own in expected.items()]


def refuse_other_scores(found: Sequence[Agreement], response: str | os.PathLike[str]) -> None:
    """Raise ModelError if scores of the engine are not those of the file."""
    for one in found:
        if one.by == _BY and one.largest_difference > _TOLERANCE * max(1.0, one.largest_score):
            raise ModelError(
                f"{response}: scores of the engine differ from those of {one.against} by up to "
                f"{one.largest_difference:.3g}: another model or feature set answered, or the "
                "score of the first query was added (query_weight must be 0)"
            )


def _matrix(
    documents: Sequence[ScoredDocument], export: Export, response: str | os.PathLike[str]
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return the logged features in the columns of the model; NaN where there is no value."""
    names = names_or_refusal(export.names, export.target.name)
    logged = {name for one in documents for name in one.features}
    lacking = [name for name in export.used if name not in logged]
    if lacking:
        shown = ", ".join(map(repr, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
        raise DataError(
            f"{response}: {len(lacking)} features of the model were not logged: {shown}"
        )
    X = np.full((len(documents), len(names)), np.nan, np.float32)
    place = {name: j for j, name in enumerate(names)}
    for row, one in enumerate(documents):
        for name, value in one.features.items():
            if name in place and value is not None:
                X[row, place[name]] = value
    return X
