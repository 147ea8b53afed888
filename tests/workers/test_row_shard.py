"""Sums over the parts of workers do not depend on how the documents are parted."""

from __future__ import annotations

import math
import secrets
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.distributed import Hub, join
from rankgrove.training.missing import fill_values
from rankgrove.trees.binning import find_bins
from rankgrove.trees.shared_binning import shared_bins
from rankgrove.workers.row_shard import RowShard

TOKEN = secrets.token_bytes(32)
NUMBERS = st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 1e-320, -5e-324, 0.1, 1e16])


def in_parts(values, bounds, ask):
    """Ask every worker's shard of the values; all must answer alike."""
    edges = [0, *sorted(bounds), len(values)]
    size = len(edges) - 1
    hub = Hub()
    answers: list = [None] * size

    def run(rank):
        with (
            hub.accept(size, TOKEN, timeout=30)
            if rank == 0
            else join(hub.address, rank, size, TOKEN, timeout=30)
        ) as communicator:
            own = values[edges[rank] : edges[rank + 1]]
            shard = RowShard.of(np.array([0, len(own)], np.int64), communicator)
            answers[rank] = ask(shard, own)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def whole(values):
    return RowShard.of(np.array([0, len(values)], np.int64))


@settings(max_examples=25)
@given(st.data())
def test_totals_are_exact_enough_and_the_same_for_any_parts(data):
    values = np.array(data.draw(st.lists(NUMBERS, min_size=1, max_size=40)))
    bounds = data.draw(st.lists(st.integers(0, len(values)), max_size=2))
    alone = whole(values).total(values)
    for answer in in_parts(values, bounds, lambda shard, own: shard.total(own)):
        assert np.float64(answer).tobytes() == np.float64(alone).tobytes()
    size = np.abs(values).max()
    assert abs(alone / size - math.fsum(values / size)) < 1e-12 if size else alone == 0


@settings(max_examples=15)
@given(st.data())
def test_extremes_distinct_and_gathered_values_are_those_of_all(data):
    values = np.array(data.draw(st.lists(NUMBERS, min_size=1, max_size=20)))
    bounds = data.draw(st.lists(st.integers(0, len(values)), max_size=2))

    def ask(shard, own):
        return shard.maximum(own, -np.inf), shard.distinct(own), shard.gather(own)

    for largest, distinct, gathered in in_parts(values, bounds, ask):
        assert largest == values.max()
        np.testing.assert_array_equal(distinct, np.unique(values))
        assert not np.signbit(distinct[distinct == 0]).any()
        np.testing.assert_array_equal(gathered, values)


def test_numbers_of_rows_and_queries():
    sizes = [np.array([0, 2, 2, 5]), np.array([0]), np.array([0, 4])]
    edges = np.arange(3)

    def ask(shard, own):
        offsets = sizes[int(own[0])]
        return RowShard.of(offsets.astype(np.int64), shard.communicator)

    first, second, third = in_parts(edges, [1, 2], ask)
    assert (first.n_rows, first.n_queries, first.n_nonempty_queries) == (9, 4, 3)
    assert (second.first_row, second.first_query, second.first_nonempty_query) == (5, 3, 2)
    assert (third.first_row, third.first_query, third.first_nonempty_query) == (5, 3, 2)


MATRIX = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
MATRIX[np.random.default_rng(1).random(MATRIX.shape) < 0.4] = 0.0
MATRIX[np.random.default_rng(2).random(MATRIX.shape) < 0.1] = np.nan
MATRIX[7, 1], MATRIX[9, 2], MATRIX[150, 2] = np.inf, 1e30, -np.inf
MATRIX[:, 4] = np.nan


@pytest.mark.parametrize("policy", ["mean", "median"])
@pytest.mark.parametrize("sparse", [False, True])
def test_fill_values_are_those_of_all_rows(policy, sparse):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    alone = fill_values(MATRIX, policy)
    finite = np.where(np.isfinite(MATRIX), MATRIX, np.nan).astype(np.float64)
    plain = (np.nanmean if policy == "mean" else np.nanmedian)(finite[:, :4], axis=0)
    np.testing.assert_allclose(alone[:4], plain, rtol=1e-6)
    assert alone[4] == 0.0

    def ask(shard, own):
        own = SparseMatrix.of(scipy_sparse.csr_array(own)) if sparse else own
        return fill_values(own, policy, shard)

    for answer in in_parts(MATRIX, [20, 150], ask):
        assert answer.tobytes() == alone.tobytes()
    by_columns = fill_values(np.asfortranarray(MATRIX), policy)
    assert by_columns.tobytes() == alone.tobytes()


@pytest.mark.parametrize("max_bins", [4, 31, 255])
@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("binning", ["quantile", "greedy-log-sum"])
@pytest.mark.parametrize("small", [False, True])
def test_bins_are_those_of_all_rows(max_bins, size, binning, small, monkeypatch):
    if small:  # many groups of columns, and many ranges of values
        monkeypatch.setattr("rankgrove.workers.run_exchange._SORTED_BYTES", 1000)
        monkeypatch.setattr("rankgrove.workers.run_exchange._RANGE_RUNS", 40)
    fill = np.array([np.nan, 0.5, np.nan, np.inf, np.nan], np.float32)
    options = {"max_bins": max_bins, "binning": binning, "fill": fill, "n_jobs": 1}
    alone = find_bins(MATRIX, **options).arrays()
    bounds = np.linspace(0, 200, size + 1).astype(int)[1:-1].tolist()

    def ask(shard, own):
        return shared_bins(own, shard, **options).arrays()

    for answer in in_parts(MATRIX, bounds, ask):
        for own, expected in zip(answer, alone, strict=True):
            np.testing.assert_array_equal(own, expected)
