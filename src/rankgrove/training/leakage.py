"""Validation sets that hold what was trained on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.matrix.streamed import StreamedMatrix
from rankgrove.data.ranking_input import RankingInput
from rankgrove.errors import DataWarning

Queries = RankingInput | Dataset

_LOOKED_AT = 20  # queries
_LARGEST = 1 << 22  # values of the documents of one of them


def warn_of_shared_queries(train: Queries, held_out: Queries, name: str) -> None:
    """Warn if a set that is held out has queries of the training data, with the same documents.

    Equal ids alone tell nothing: every file may count its queries from 1. A stream is not read
    again for this. Each worker of a distributed fit looks at its own shards alone.
    """
    if not all(_at_hand(data.X) for data in (train, held_out)):
        return
    place = {query: i for i, query in enumerate(train.groups.ids.tolist())}
    others = enumerate(held_out.groups.ids.tolist())
    pairs = [(place[query], i) for i, query in others if query in place]
    if not any(_same_query(train, held_out, *pair) for pair in pairs[:_LOOKED_AT]):
        return
    warnings.warn(
        f"{name} shares {len(pairs):,} of its {held_out.groups.n_queries:,} queries with the "
        "training data: its metrics, and what is chosen by them, say nothing about new queries. "
        "Split by query, as rankgrove.kfold does",
        DataWarning,
        stacklevel=5,
    )


def _at_hand(X: Any) -> bool:
    return not isinstance(X, StreamedMatrix) or X.at_hand


def _same_query(train: Queries, held_out: Queries, query: int, other: int) -> bool:
    """Tell whether most documents are the same, and more than one: one may be so by chance."""
    ours, theirs = _documents(train, query), _documents(held_out, other)
    return len(ours & theirs) > max(1, min(len(ours), len(theirs)) // 2)


def _documents(data: Queries, query: int) -> set[bytes]:
    """Return up to 1000 documents of a query, fewer wide ones; equal ones have the same bytes."""
    first, last = data.groups.offsets[query : query + 2]
    most = min(1000, max(2, _LARGEST // data.X.shape[1]))
    places = np.arange(first, min(last, first + most))
    order = data.groups.order
    if isinstance(data.X, StreamedMatrix):  # grouped as it is
        some = data.X.values.rows(int(first), int(first) + len(places))
    else:
        some = data.X[places if order is None else order[places]]
    rows = some.toarray() if isinstance(some, SparseMatrix) else some
    alike = np.where(np.isnan(rows), np.float32(np.nan), rows) + np.float32(0)  # -0 is 0
    return {row.tobytes() for row in alike}
