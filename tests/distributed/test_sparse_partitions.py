"""Sparse parts of data stay sparse on their way between workers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import rankgrove
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.distributed import fit
from rankgrove.distributed.arrow_bytes import rows_from_bytes, rows_to_bytes
from rankgrove.distributed.engine import DataSource
from rankgrove.distributed.partitions import Partition, read_partition
from rankgrove.formats.container import to_bytes


@pytest.fixture(autouse=True)
def nothing_may_become_dense(monkeypatch):
    monkeypatch.setattr("rankgrove.data.matrix.sparse.MAX_DENSE_BYTES", 1000)


def make_data(n_rows=240, n_features=40, seed=1):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_features), density=0.1, random_state=rng, format="csr")
    X = sparse.csr_matrix(X.astype(np.float32))
    y = np.minimum(4, np.asarray(X[:, :8].sum(axis=1)).ravel() * 3).round()
    return X, y, rng.permutation(np.arange(n_rows) % 12)  # queries are spread over all parts


class SparseBlocks:
    """Mixed into an engine of threads: data are a list of (X, y, qid)."""

    def source(self, name, data, arrays, options):
        parts = [Partition(i, f"block {i}", FitData(*block)) for i, block in enumerate(data)]
        return DataSource(name, options, frame=parts)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "ranker",
    [
        rankgrove.LambdaMART(n_estimators=6, random_state=3, min_samples_leaf=3),
        rankgrove.RFPoint(n_estimators=4, random_state=3, oob_score=True),
    ],
)
def test_fits_of_sparse_blocks(thread_engine, ranker, size):
    X, y, qid = make_data()
    engine = type("Engine", (SparseBlocks, thread_engine), {})(size)
    cuts = [slice(0, 90), slice(90, 100), slice(100, 100), slice(100, 240)]
    local = type(ranker)(**ranker.get_params()).fit(X, y, qid=qid)
    far = fit(ranker, [(X[cut], y[cut], qid[cut]) for cut in cuts], on=engine)
    assert to_bytes(far) == to_bytes(local)


def test_a_sparse_matrix_of_the_driver(two_threads):
    X, y, qid = make_data()
    ranker = rankgrove.MART(n_estimators=3, random_state=3)
    local = rankgrove.MART(n_estimators=3, random_state=3).fit(X, y, qid=qid)
    assert to_bytes(fit(ranker, X, y, qid=qid, on=two_threads)) == to_bytes(local)


def test_wide_text_files(two_threads, tmp_path):
    """Text of many features is loaded sparse."""
    rng = np.random.default_rng(0)
    for name in "ab":
        lines = [
            f"{rng.integers(3)} qid:{name}{i // 10} {rng.integers(1, 3000)}:1.5 4000:{i}"
            for i in range(100)
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    assert isinstance(rankgrove.load(files).X, SparseMatrix)
    ranker = rankgrove.MART(n_estimators=3, random_state=3, min_samples_leaf=2)
    far = fit(ranker, [str(file) for file in files], on=two_threads)
    local = rankgrove.MART(n_estimators=3, random_state=3, min_samples_leaf=2)
    assert to_bytes(far) == to_bytes(local.fit(rankgrove.load(files)))


@pytest.mark.slow
def test_dask_arrays_of_sparse_blocks():
    arrays = pytest.importorskip("dask.array")
    from rankgrove.distributed.on_dask import _blocks

    X, y, qid = make_data()
    chunks = (100, X.shape[1])
    lazy = arrays.from_array(X.toarray(), chunks=chunks).map_blocks(sparse.csr_matrix)
    sides = [arrays.from_array(side, chunks=100) for side in (y, qid)]
    parts = _blocks(FitData(lazy, *sides), "X")
    rows = [read_partition(Partition(p.number, p.name, p.content.compute()), {}, 1) for p in parts]
    assert all(isinstance(one.X, SparseMatrix) for one in rows)
    assert sum(one.X.n_stored for one in rows) == X.nnz


@pytest.mark.parametrize("absent", [0.0, np.nan])
@pytest.mark.parametrize("rows", [slice(0, 240), slice(17, 60), slice(3, 3)])
def test_rows_as_bytes(rows, absent):
    X, y, _ = make_data()
    features = SparseMatrix.of(X, absent)[rows]
    back, sides = rows_from_bytes(rows_to_bytes(features, {"y": y[rows], "weight": None}))
    np.testing.assert_array_equal(back.toarray(), features.toarray())
    assert back.shape == features.shape
    np.testing.assert_array_equal(sides["y"], y[rows])
