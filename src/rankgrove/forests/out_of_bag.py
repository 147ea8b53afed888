"""Out-of-bag predictions of training documents, by the trees whose samples exclude them."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.matrix.feature_matrix import FeatureMatrix, StoredEntries
from rankgrove.errors import DataWarning, ModelError
from rankgrove.models.trees import TreesModel
from rankgrove.training.ordinal import Problems
from rankgrove.trees.links import Link
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
_LABELS = 2**32
_BLOCK = 2**20  # entries of a sparse matrix per block


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Sums over the trees whose sample did not hold a document, per training document.

    While trees grow, a worker has those of its own documents; in the end, all have those of all.

    Attributes
    ----------
    sums : of their values, shape (n_problems, n_rows), in the caller's row order
    counts : their number; all problems of a forest draw the same samples
    link : from the means of the problems to the score
    ndcg : NDCG@10 over the queries all of whose documents have a prediction; NaN without any
    documents : checksums of labels (the lower 32 bits) and features in the caller's order, by which
        the documents are recognised in any order of their columns; older files have that of
        the labels alone, or None
    """

    sums: Floats
    counts: npt.NDArray[np.int32]
    link: Link
    ndcg: float
    documents: int | None = None

    @classmethod
    def empty(cls, n_rows: int, problems: Problems) -> OutOfBag:
        """Return sums of 0."""
        sums = np.zeros((len(problems.targets), n_rows))
        return cls(sums, np.zeros(n_rows, np.int32), problems.link, float("nan"))

    def pack(self, values: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Add the sums to the state for a model file."""
        values |= {"oob_score": self.ndcg, "oob_documents": self.documents}
        arrays |= {"oob_sum": self.sums, "oob_count": self.counts}

    @classmethod
    def unpack(
        cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], trees: TreesModel
    ) -> OutOfBag:
        """Build the sums from the state of ``pack``; refuse those that do not fit the forest."""
        sums, counts = np.atleast_2d(arrays["oob_sum"]), arrays["oob_count"]
        wanted = (trees.ensemble.n_outputs, *counts.shape)
        if sums.dtype != np.float64 or counts.dtype != np.int32 or sums.shape != wanted:
            raise ModelError("oob_sum and oob_count do not go together")
        documents = values.get("oob_documents")
        if documents is not None and type(documents) is not int:
            raise ModelError(f"oob_documents is {documents!r:.100}")
        return cls(sums, counts, trees.link, float(values["oob_score"]), documents)

    def of_problem(self, number: int) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Return sums and counts to add to; all problems draw the same samples, so one counts."""
        counts = self.counts if number == 0 else np.zeros_like(self.counts)
        return self.sums[number], counts

    @property
    def means(self) -> Floats:
        """Mean of each problem, (n_problems, n_rows); NaN where every tree saw the document."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = np.where(self.counts > 0, self.sums / self.counts, np.nan)
        return mean

    @property
    def prediction(self) -> Floats:
        """Score per document; NaN where every tree saw it."""
        return self.link.apply(self.means)

    def grouped(self, data: RankingInput, shard: RowShard) -> OutOfBag:
        """Return a copy in the grouped order of the same data, to add to."""
        own = shard.given_numbers(data.n_given)
        rows = slice(None) if data.counting is None else data.counting
        sums, counts = self.sums[:, own][:, rows], self.counts[own][rows]
        return replace(
            self,
            sums=np.array(data.groups.grouped(sums.T).T, order="C"),
            counts=data.groups.grouped(counts).copy(),
        )

    def finished(self, data: RankingInput, shard: RowShard, measured: bool) -> OutOfBag:
        """Gather sums in the caller's order, from grouped order; evaluate them if requested."""
        ndcg = self._ndcg(data, shard) if measured else float("nan")
        own = np.ascontiguousarray(data.restored(self.sums.T.copy(), 0.0).T)
        sums = np.stack([shard.gather_given(of_problem) for of_problem in own])
        counts = data.restored(self.counts, 0)
        if not shard.single_worker:
            counts = shard.gather_given(counts.astype(np.float64)).astype(np.int32)
        if measured and np.isnan(ndcg):
            warnings.warn(_why_unknown(counts), DataWarning, stacklevel=5)
        return replace(
            self,
            sums=sums,
            counts=counts,
            ndcg=ndcg,
            documents=_checksum(data, shard),
        )

    def is_of(self, data: RankingInput, shard: RowShard) -> bool:
        """Return whether the sums belong to the documents of the data; a collective call."""
        checksum = _checksum(data, shard)
        if len(self.counts) != int(shard.sum(data.n_given)):
            return False
        if self.documents is None or self.documents < _LABELS:
            return self.documents in (None, checksum % _LABELS)
        return self.documents == checksum

    def _ndcg(self, data: RankingInput, shard: RowShard) -> float:
        offsets = data.filled_offsets
        complete = np.zeros(0, bool)
        if len(offsets) > 1:
            complete = np.minimum.reduceat(self.counts, offsets[:-1]) > 0
        rows = np.repeat(complete, np.diff(offsets))
        sizes = shard.gather(np.diff(offsets)[complete].astype(np.float64)).astype(np.int64)
        y, scores = shard.gather(data.y[rows]), shard.gather(self.prediction[rows])
        return oob_metric(y, scores, sizes) if len(sizes) else float("nan")


def _why_unknown(counts: npt.NDArray[np.int32]) -> str:
    if counts.any():
        return (
            "oob_score_ is NaN, because in every query some document is in the sample of every "
            "tree: grow more trees"
        )
    return (
        "oob_score has no effect, because every tree saw every document: set subsample below 1, or "
        "sampling='bootstrap'"
    )


def _checksum(data: RankingInput, shard: RowShard) -> int:
    labels = zlib.crc32(shard.gather_given(data.restored(data.y)).tobytes())
    rows = np.zeros(0, np.uint64) if len(data.X) == 0 else _row_sums(data.X)
    return labels + _LABELS * zlib.crc32(shard.gather_given(rows.view(np.float64)).tobytes())


def _row_sums(X: FeatureMatrix) -> npt.NDArray[np.uint64]:
    """Return a checksum of the float32 bits of each row, independent of the column order."""
    entries = X.entries
    if entries is None:
        return np.concatenate([_bits(block).sum(axis=1) for block in X.row_blocks()])
    blocks = np.array_split(np.arange(len(X)), min(len(X), 1 + len(entries.values) // _BLOCK))
    return np.concatenate(
        [_sparse_row_sums(entries, X.n_columns, rows[0], rows[-1] + 1) for rows in blocks]
    )


def _sparse_row_sums(
    X: StoredEntries, n_columns: int, begin: int, end: int
) -> npt.NDArray[np.uint64]:
    """Return the checksums of some rows of a sparse matrix."""
    starts = X.starts[begin : end + 1]
    before = np.r_[np.uint64(0), np.cumsum(_bits(X.values[starts[0] : starts[-1]]))]
    stored = np.diff(before[starts - starts[0]])
    n_absent = (n_columns - np.diff(starts)).astype(np.uint64)
    return np.asarray(stored + n_absent * _bits(X.absent))


def _bits(values: Any) -> npt.NDArray[np.uint64]:
    floats = np.asarray(values, np.float32) + np.float32(0)  # -0 equals 0
    floats = np.where(np.isnan(floats), np.float32(np.nan), floats)
    return np.asarray(floats.view(np.uint32), np.uint64)


def oob_metric(y: Floats, scores: Floats, sizes: npt.NDArray[np.int64]) -> float:
    """NDCG@10, by which out-of-bag predictions are measured."""
    from rankgrove.metrics.parsing import metric

    return float(metric("ndcg@10")(y, scores, group_sizes=sizes))


def merged(parts: Sequence[OutOfBag | None]) -> OutOfBag | None:
    """Add the sums of parts of a forest; None if a part has none or other documents.

    The labels are not known any more, so that NDCG is NaN.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({(p.sums.shape, p.documents) for p in known}) != 1:
        return None
    sums = np.add.reduce([part.sums for part in known])
    counts = np.add.reduce([part.counts for part in known], dtype=np.int32)
    return OutOfBag(sums, counts, known[0].link, float("nan"), known[0].documents)
