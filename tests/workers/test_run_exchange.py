"""Values of columns go from worker to worker: bins of one machine, in bounded memory, few bytes."""

from __future__ import annotations

import secrets
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgrove.distributed import Hub, join
from rankgrove.trees.binning import find_bins
from rankgrove.trees.shared_binning import shared_bins
from rankgrove.workers.row_shard import RowShard
from rankgrove.workers.run_exchange import Runs

TOKEN = secrets.token_bytes(32)


class Watched:
    """A communicator that notes how many bytes each exchange brings."""

    def __init__(self, inner):
        self._inner, self.received = inner, []

    def exchange(self, parts):
        found = self._inner.exchange(parts)
        self.received.append(
            sum(len(data) for r, data in enumerate(found) if r != self._inner.rank)
        )
        return found

    def __getattr__(self, name):
        return getattr(self._inner, name)


def bins_in_parts(parts, error=0.0, **options):
    """Return the bins, the traffic and the bytes of every exchange of each worker."""
    size, hub = len(parts), Hub()
    answers: list = [None] * size

    def run(rank):
        make = hub.accept(size, TOKEN) if rank == 0 else join(hub.address, rank, size, TOKEN)
        with make as inner:
            communicator = Watched(inner)
            rows = len(parts[rank])
            shard = RowShard(rows, 1, communicator=communicator, bin_error=error)
            bins = shared_bins(parts[rank], shard, fill=None, n_jobs=1, **options)
            answers[rank] = bins, inner.traffic, communicator.received

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


def assert_same_bins(one, other):
    for own, expected in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_array_equal(own, expected)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 4),
    max_bins=st.sampled_from([2, 3, 7, 30]),
    binning=st.sampled_from(["quantile", "greedy-log-sum"]),
    runs=st.sampled_from([8, 64, 1 << 20]),
)
def test_bins_of_any_parts_and_ranges_are_those_of_one_machine(seed, size, max_bins, binning, runs):
    """Columns with frequent values, infinities and missing values, on workers that differ."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(size, 400))
    X = np.column_stack(
        [
            rng.normal(size=n),
            np.round(np.exp(rng.normal(size=n) * 2)),
            np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n)),
            np.sort(rng.normal(size=n)),  # every worker has a range of its own
            rng.choice([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan], n),
        ]
    ).astype(np.float32)
    edges = np.sort(rng.integers(0, n + 1, size - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankgrove.workers.run_exchange._RANGE_RUNS", runs)
        patch.setattr("rankgrove.workers.run_exchange._SORTED_BYTES", 8 * n * 2)
        answers = bins_in_parts(np.split(X, edges), max_bins=max_bins, binning=binning)
    for bins, _, _ in answers:
        assert_same_bins(bins, find_bins(X, max_bins=max_bins, binning=binning))


def test_an_owner_receives_one_range_at_a_time_however_many_rows_there_are(monkeypatch):
    monkeypatch.setattr("rankgrove.workers.run_exchange._RANGE_RUNS", 1000)
    monkeypatch.setattr("rankgrove.workers.run_exchange._SORTED_BYTES", 1)
    rng = np.random.default_rng(0)
    most = {}
    for n in (5_000, 40_000):
        parts = [rng.normal(size=(n, 3)).astype(np.float32) for _ in range(3)]
        found = bins_in_parts(parts, max_bins=255)
        most[n] = max(max(received) for _, _, received in found)
    # Samples, or a range of 3 x 3 x sqrt(n) runs: 4 bytes of a key, and up to 4 of its rows.
    assert most[40_000] <= 9 * 200 * 8 + 200
    assert most[40_000] < 3.2 * most[5_000]


def test_values_do_not_go_through_worker_0_and_cost_about_4_bytes_once():
    rng = np.random.default_rng(0)
    n, size, width = 30_000, 4, 8
    parts = [rng.normal(size=(n, width)).astype(np.float32) for _ in range(size)]
    sent = [traffic.bytes_sent for _, traffic, _ in bins_in_parts(parts, max_bins=255)]
    values = n * width
    for bytes_sent in sent:
        assert 0.7 * 4 * values < bytes_sent < 1.1 * 4 * values
    assert max(sent) < 1.05 * min(sent)


def test_features_with_few_values_cost_next_to_nothing():
    rng = np.random.default_rng(0)
    n, width = 30_000, 8
    parts = [rng.integers(0, 50, (n, width)).astype(np.float32) for _ in range(3)]
    found = bins_in_parts(parts, max_bins=255)
    assert_same_bins(found[0][0], find_bins(np.concatenate(parts), max_bins=255))
    for _, traffic, _ in found:
        assert traffic.bytes_sent < 0.05 * n * width


@settings(max_examples=50)
@given(
    counts=st.lists(st.integers(1, 50), min_size=1, max_size=200),
    error=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_a_summary_misplaces_at_most_its_error_of_the_rows(counts, error):
    counts = np.array(counts)
    whole = Runs(np.arange(len(counts), dtype=np.uint32), counts, 3)
    short = whole.compressed(error)
    assert short.counts.sum() == counts.sum()
    assert len(short.keys) <= 1 / error + 2 or error * counts.sum() < 2
    below = np.cumsum(counts)
    at = np.searchsorted(short.keys, whole.keys, side="right")
    seen = np.r_[0, np.cumsum(short.counts)][at]
    assert np.abs(seen - below).max() <= error * counts.sum()


def test_summaries_of_all_workers_misplace_bins_by_at_most_their_error_and_save_bytes():
    rng = np.random.default_rng(0)
    error, max_bins = 0.002, 63
    parts = [
        np.column_stack([rng.normal(w, 1, n), rng.integers(0, 9, n)]).astype(np.float32)
        for w, n in enumerate((20_000, 9_000, 31_000))
    ]
    whole = np.concatenate(parts)
    exact = bins_in_parts(parts, max_bins=max_bins)
    rough = bins_in_parts(parts, error, max_bins=max_bins)
    n = len(whole)
    sent = [sum(traffic.bytes_sent for _, traffic, _ in found) for found in (rough, exact)]
    assert sent[0] < 0.1 * sent[1]
    for bins, _, _ in rough:
        np.testing.assert_array_equal(bins.cuts(1), find_bins(whole, max_bins=max_bins).cuts(1))
        sizes = np.diff(np.searchsorted(np.sort(whole[:, 0]), bins.cuts(0), side="right"))
        # A bin ends with the first value that makes it full, and each of its ends may be misplaced.
        assert np.abs(sizes - n / max_bins).max() <= 3 * error * n + 1
    assert rough[0][0].cuts(0).tolist() != exact[0][0].cuts(0).tolist()
