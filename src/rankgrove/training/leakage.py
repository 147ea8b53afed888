"""Validation sets that hold what was trained on."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataWarning
from rankgrove.training.inputs import RankingInput

_LOOKED_AT = 100  # queries


def warn_of_shared_queries(train: RankingInput, held_out: RankingInput, name: str) -> None:
    """Warn if a set that is held out has queries of the training data, with the same documents.

    Equal ids alone tell nothing: every file may count its queries from 1.
    """
    place = {query: i for i, query in enumerate(train.groups.ids.tolist())}
    others = enumerate(held_out.groups.ids.tolist())
    pairs = [(place[query], i) for i, query in others if query in place]
    if not any(_same_document(train, held_out, *pair) for pair in pairs[:_LOOKED_AT]):
        return
    warnings.warn(
        f"{name} shares {len(pairs):,} of its {held_out.groups.n_queries:,} queries with the "
        "training data: its metrics, and what is chosen by them, say nothing about new queries. "
        "Split by query, as rankgrove.kfold does",
        DataWarning,
        stacklevel=5,
    )


def _same_document(train: RankingInput, held_out: RankingInput, query: int, other: int) -> bool:
    rows, others = _rows(train, query), _rows(held_out, other)
    equal = (rows[:, None] == others[None]) | (np.isnan(rows[:, None]) & np.isnan(others[None]))
    return bool(equal.all(axis=2).any())


def _rows(data: RankingInput, query: int) -> npt.NDArray[np.float32]:
    """Return up to 64 documents of a query."""
    first, last = data.groups.offsets[query : query + 2]
    places = np.arange(first, min(last, first + 64))
    order = data.groups.order
    return data.X[places if order is None else order[places]]
