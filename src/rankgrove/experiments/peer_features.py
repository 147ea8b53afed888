"""Features for other libraries: sparse if they support it, with their own categorical type.

Categories get the codes that they have in the training part, and each library is told which columns
hold codes. What the training part does not know is missing, as it is to our rankers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.dense import as_matrix

Matrix = Any  # a float32 array, a scipy CSR matrix, or a frame with codes of categories

# What entries that a scipy matrix does not store are to a library; others get arrays.
_ABSENT = {"lightgbm": 0.0, "catboost": 0.0, "xgboost": np.nan}


@dataclass(frozen=True)
class PeerFeatures:
    """What a library gets of the features of data.

    Attributes
    ----------
    library : which gets them
    columns : of the training part
    """

    library: str
    columns: Columns

    @property
    def categorical(self) -> list[int]:
        """The numbers of the categorical columns."""
        return sorted(self.columns.categories)

    def of(self, data: Dataset) -> Matrix:
        """Return the features of some data, in the order of their rows."""
        if not self.columns.categories and not data.categories:
            return self._of_numbers(data.X)
        codes = self.columns.match(data, "data", self.library).to_array(self._what)
        return self._with_whole_codes(codes) if self.library == "catboost" else codes

    @property
    def _what(self) -> str:
        return f"{self.library} in a comparison"

    def _of_numbers(self, X: Any) -> Matrix:
        """Return features without categories: sparse if absent entries mean the same."""
        entries = as_matrix(X).entries
        if entries is None:
            return X
        if np.array_equal(_ABSENT.get(self.library, np.inf), entries.absent, equal_nan=True):
            from scipy.sparse import csr_matrix

            return csr_matrix((entries.values, entries.columns, entries.starts), shape=X.shape)
        return X.to_array(self._what)

    def _with_whole_codes(self, codes: Any) -> Matrix:
        """Return a frame whose codes are whole numbers, -1 where they are missing."""
        import pandas as pd

        columns = {}
        for j in range(codes.shape[1]):
            column = codes[:, j]
            if j in self.columns.categories:
                column = np.where(np.isnan(column), -1, column).astype(np.int32)
            columns[j] = column
        return pd.DataFrame(columns)
