"""Warnings about held-out sets that share queries with the training data."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import DataWarning

Queries = RankingInput | Dataset

_LOOKED_AT = 20  # most queries that are compared
_LARGEST = 1 << 22  # values of the documents of one of them


def warn_of_shared_queries(
    train: Queries, held_out: Queries, name: str, source: str = "the training data"
) -> None:
    """Warn if a held-out set shares queries with other data, with the same documents.

    Equal ids alone tell nothing: every file may count its queries from 1. Ids are compared as
    texts: a table may hold as texts what a file of text holds as integers. A stream is not read
    again for this. Each worker of a distributed fit looks at its own shards alone.
    """
    if not all(_matrix(data).is_available for data in (train, held_out)):
        return
    place = {str(query): i for i, query in enumerate(train.groups.ids.tolist())}
    others = enumerate(map(str, held_out.groups.ids.tolist()))
    pairs = [(place[query], i) for i, query in others if query in place]
    if not _share_documents(train, held_out, pairs[:_LOOKED_AT]):
        return
    warnings.warn(
        f"{name} shares {len(pairs):,} of its {held_out.groups.n_queries:,} queries with "
        f"{source}: its metrics, and what is chosen by them, say nothing about new queries. "
        "Split by query, as rankgrove.kfold (rankgrove split on the command line) does",
        DataWarning,
        stacklevel=5,
    )


def warn_of_training_data(name: str) -> None:
    """Warn that a validation set is a copy of the training data."""
    warnings.warn(
        f"{name} holds the training data: it does not decide where training stops, and its "
        "metrics say nothing about new queries. Split by query, as rankgrove.kfold (rankgrove "
        "split on the command line) does; a set of the name 'train' may hold them",
        DataWarning,
        stacklevel=5,
    )


def same_documents(train: RankingInput, data: RankingInput) -> bool:
    """Return whether the first queries of data with equal offsets have the same documents.

    Streams are not read again for this, and count as different.
    """
    if not (train.X.is_available and data.X.is_available):
        return False
    queries = np.flatnonzero(train.groups.sizes)[:_LOOKED_AT].tolist()
    return all(_documents(train, query) == _documents(data, query) for query in queries)


def _matrix(data: Queries) -> FeatureMatrix:
    return data.matrix if isinstance(data, Dataset) else data.X


def _share_documents(train: Queries, held_out: Queries, pairs: list[tuple[int, int]]) -> bool:
    """Return whether most documents of a pair of queries, and more than one, are equal.

    Documents that other queries have, too, tell nothing: few features of few values make many
    of them equal.
    """
    ours = [_documents(train, query) for query, _ in pairs]
    theirs = [_documents(held_out, query) for _, query in pairs]
    frequent = _in_several(ours) | _in_several(theirs)
    return any(
        len((own & other) - frequent) > max(1, min(len(own), len(other)) // 2)
        for own, other in zip(ours, theirs, strict=True)
    )


def _in_several(queries: list[set[bytes]]) -> set[bytes]:
    """Return the documents of more than one query."""
    counts = Counter(document for documents in queries for document in documents)
    return {document for document, count in counts.items() if count > 1}


def _documents(data: Queries, query: int) -> set[bytes]:
    """Return up to 1000 documents of a query, fewer wide ones; equal ones have the same bytes."""
    first, last = data.groups.offsets[query : query + 2]
    X = _matrix(data)
    most = min(1000, max(2, _LARGEST // X.n_columns))
    places = np.arange(first, min(last, first + most))
    order = data.groups.order
    rows = X.take_rows(places if order is None else order[places])
    alike = np.where(np.isnan(rows), np.float32(np.nan), rows) + np.float32(0)  # -0 is 0
    return {row.tobytes() for row in alike}
