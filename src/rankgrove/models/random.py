"""The model of the random baseline: scores are a hash of the seed and a document's features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.errors import ModelError
from rankgrove.models.model import Arrays, Floats, Matrix, Model, kind, per_feature

_NOT_USED = -1


@kind("random")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RandomModel(Model):
    """A number in [0, 1) per document, by a hash of the seed and its features as float32.

    Equal documents get equal scores, in any batch and any order.

    Attributes
    ----------
    seed : another seed gives other scores
    fill : per feature, the value that stands in for NaN
    keys : number of each feature in the training data, -1 for columns that do not count
    """

    seed: int
    fill: npt.NDArray[np.float32]
    keys: npt.NDArray[np.int64]

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row."""
        total = np.zeros(len(X), np.uint64)
        for feature, column in as_matrix(X).each_column(np.flatnonzero(self.keys != _NOT_USED)):
            with np.errstate(over="ignore"):
                values = column.astype(np.float32)
            values = np.where(np.isnan(values), self.fill[feature], values) + np.float32(0)
            salt = _mixed(np.array([self.seed, self.keys[feature]], np.uint64))
            total += _mixed(values.view(np.uint32).astype(np.uint64) ^ salt[0] ^ ~salt[1])
        return np.asarray((_mixed(total) >> np.uint64(11)) * 2.0**-53)

    def with_columns(self, columns: Columns) -> RandomModel:
        """Find the features among these columns."""
        where = self.columns.places_in(columns, "the data")
        fill = np.zeros(columns.count, np.float32)
        keys = np.full(columns.count, _NOT_USED)
        fill[where], keys[where] = self.fill, self.keys
        return replace(self, columns=columns, fill=fill, keys=keys)

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return seed, fill and keys."""
        return {"seed": self.seed}, {"fill": self.fill, "keys": self.keys}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> RandomModel:
        """Build the model and check it."""
        fill = per_feature(arrays, "fill", columns.count)
        keys = per_feature(arrays, "keys", columns.count, np.int64)
        if fill is None or keys is None or np.isnan(fill).any() or keys.min(initial=0) < _NOT_USED:
            raise ModelError("a random model needs fill and keys")
        if type(values["seed"]) is not int or not 0 <= values["seed"] < 2**32:
            raise ModelError(f"the seed of a random model is {values['seed']!r:.100}")
        return cls(columns=columns, seed=values["seed"], fill=fill, keys=keys)


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash integers with SplitMix64's finaliser: each input bit flips half of the output bits."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
