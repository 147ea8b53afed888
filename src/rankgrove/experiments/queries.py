"""The test queries of a fold, as a report shows them: ids, grades and documents."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.folds import Fold


@dataclass(frozen=True, eq=False)
class TestQueries:
    """Test queries in order of first appearance; documents in grouped order.

    Attributes
    ----------
    ids : of the queries, as texts
    offsets : where each query's documents begin, and where the last one's end
    labels : of the documents
    doc_ids : of the documents, as texts; empty if they have none
    feature_names : of the columns
    sizes : queries and documents of the training, validation and test part, (3, 2)
    """

    __test__ = False  # this is no test, whatever pytest makes of the name

    ids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    labels: npt.NDArray[np.float64]
    doc_ids: npt.NDArray[Any]
    feature_names: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, fold: Fold) -> TestQueries:
        """Collect the test queries of a fold."""
        test: Dataset = fold.test
        texts = test.doc_ids
        return cls(
            ids=np.array([str(name) for name in test.groups.ids.tolist()]),
            offsets=test.groups.offsets,
            labels=test.groups.grouped(test.y),
            doc_ids=np.array([])
            if texts is None
            else test.groups.grouped(np.array([str(text or "") for text in texts])),
            feature_names=np.array(test.feature_names),
            sizes=np.array([[part.n_queries, part.n_rows] for part in fold], np.int64),
        )

    def to_bytes(self) -> bytes:
        """Return the queries as bytes for a store."""
        stream = io.BytesIO()
        np.savez_compressed(stream, **vars(self))
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> TestQueries:
        """Restore queries from ``to_bytes``."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return cls(**{name: found[name] for name in found.files})
