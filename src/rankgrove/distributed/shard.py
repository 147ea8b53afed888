"""One worker's part of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Shard:
    """Whole queries, which follow those of the shard before (in order of rank).

    All shards together are what ``fit`` would be given on one machine, in the same order. They need
    not be equally large, and one may have no rows (then X has no rows but all columns). Every
    worker gives the same kinds of things: names of columns, weights and sets to be watched are
    there on all workers or on none. A query id in two shards is refused.

    Attributes
    ----------
    X : matrix, data frame or Dataset, as for ``fit``
    y, qid, group_sizes, sample_weight : as for ``fit``; a Dataset brings its own
    eval_set : shards of the sets to be watched, by name, the same names in the same order on all
        workers: each a Dataset, a tuple (X, y, qid), or ``"train"`` for the training data
    """

    X: Any
    y: Any = None
    qid: Any = None
    group_sizes: Any = None
    sample_weight: Any = None
    eval_set: Mapping[str, Any] = field(default_factory=dict)
