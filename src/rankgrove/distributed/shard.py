"""One worker's shard of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rankgrove.data.core.fit_data import FitData
from rankgrove.training.fit_evaluation import TRAIN


@dataclass(frozen=True, eq=False)
class Shard(FitData):
    """Whole queries of one worker, which follow those of the previous rank.

    All shards together are what ``fit`` would be given on one machine, in the same order. They need
    not be equally large, and one may have no rows (then X has no rows but all columns). All
    shards must be alike: names of columns, weights and evaluation sets are given on all workers
    or on none. A query id in two shards is refused.

    Attributes
    ----------
    eval_set : shards of the evaluation sets, by name, the same names in the same order on all
        workers: each a Dataset, a tuple (X, y, qid), or ``"train"`` for the training data
    row_numbers : numbers of the rows in the whole data set, if these are in another order than the
        shards: out-of-bag predictions of forests are in the order of the data set
    """

    eval_set: Mapping[str, Any] = field(default_factory=dict)
    row_numbers: Any = None

    def fit_eval_set(self) -> dict[str, Any] | None:
        """Return the evaluation sets in the form that a fit takes; None if there are none."""
        sets = {
            name: TRAIN if isinstance(entry, str) and entry == "train" else entry
            for name, entry in self.eval_set.items()
        }
        return sets or None

    def settings(self) -> dict[str, Any]:
        """Return the settings that must be the same on all workers."""
        return {
            "eval_set": [
                [name, entry if isinstance(entry, str) else "data"]
                for name, entry in self.eval_set.items()
            ]
        }
