"""Bytes of another worker that mean nothing are an error that names it: never a crash or a hang."""

from __future__ import annotations

import secrets
import threading

import numpy as np
import pytest

from rankgrove import make_ranker
from rankgrove.boosting.loop import Boosting
from rankgrove.datasets import make_ranking
from rankgrove.distributed import Hub, Shard, fit_shard, join
from rankgrove.forests.sharded_growing import ShardedGrower
from rankgrove.workers.communicator import Communicator

PATIENCE = 20.0


class Damaging(Communicator):
    """Replaces what worker 1 says in one of the messages, as it arrives.

    Attributes
    ----------
    heard : messages so far that had bytes of worker 1, while ``on``
    chosen : the number of the one that is damaged; None: none
    """

    def __init__(self, inner, chosen=None, damage=None):
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.on, self.heard, self.chosen, self.damage = False, 0, chosen, damage

    def _heard(self, parts):
        if self.on and len(parts[1]):
            if self.heard == self.chosen:
                parts[1] = self.damage(parts[1])
            self.heard += 1
        return parts

    def gather(self, data):
        return self._heard(list(self.inner.gather(data)))

    def exchange(self, parts):
        return self._heard(list(self.inner.exchange(parts)))

    def sum(self, values):
        self.inner.sum(values)

    def maximum(self, values):
        self.inner.maximum(values)

    def sum_scatter(self, values, bounds, extra):
        self.inner.sum_scatter(values, bounds, extra)

    def broadcast(self, data):
        return self.inner.broadcast(data)

    @property
    def traffic(self):
        return self.inner.traffic

    def abort(self, reason):
        self.inner.abort(reason)

    def close(self):
        self.inner.close()


def fit_two(ranker, data, chosen=None, damage=None, *, everywhere=False):
    """Fit on two workers; return what became of them, and how many messages were heard."""
    hub, token = Hub(), secrets.token_bytes(32)
    ends = [0, int(data.groups.offsets[data.n_queries // 2]), data.n_rows]
    found, heard = [None, None], [0]

    def take_part(rank):
        own = slice(ends[rank], ends[rank + 1])
        try:
            with (
                hub.accept(2, token, patience=PATIENCE)
                if rank == 0
                else join(hub.address, rank, 2, token, patience=PATIENCE)
            ) as mesh:
                workers = Damaging(mesh, chosen, damage) if rank == 0 else mesh
                workers.on = everywhere
                try:
                    shard = Shard(data.X[own], data.y[own], data.qid[own])
                    kind, params = ranker
                    made = make_ranker(kind, n_estimators=2, random_state=3, n_jobs=1, **params)
                    found[rank] = fit_shard(made, shard, workers)
                finally:
                    if rank == 0:
                        heard[0] = workers.heard
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=take_part, args=(rank,), daemon=True) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
        assert not thread.is_alive()
    return found, heard[0]


@pytest.fixture
def only_kernels(monkeypatch):
    """Damages what kernels read, nothing else."""

    def during(function):
        def noting(self, *arguments):
            workers = workers_of(self)
            if not isinstance(workers, Damaging):
                return function(self, *arguments)
            workers.on = True
            try:
                return function(self, *arguments)
            finally:
                workers.on = False

        return noting

    def workers_of(of):
        shard = of._shard if isinstance(of, ShardedGrower) else of.sampler.shard
        return shard.communicator

    monkeypatch.setattr(ShardedGrower, "_grow_all", during(ShardedGrower._grow_all))
    monkeypatch.setattr(Boosting, "step", during(Boosting.step))


RANKERS = {
    "leaf-wise": ("lambdamart", {"tree": "leafwise", "max_leaf_nodes": 6}),
    "oblivious": ("lambdamart", {"tree": "oblivious"}),
    "classes": ("rf-point", {}),
    "reals": ("rf", {}),
    "at random": ("rf-rand", {}),
    "entropy": ("extra-trees", {"criterion": "entropy"}),
    "wide codes": ("rf", {"max_bins": 300}),
}
DATA = make_ranking(40, docs_per_query=10, n_features=6, seed=2)


def random_bytes(data):
    return np.random.default_rng(len(data)).bytes(len(data))


def all_ones(data):
    return b"\xff" * len(data)


def one_other_byte(data):
    place = len(data) // 3
    return data[:place] + bytes([data[place] ^ 0x80]) + data[place + 1 :]


@pytest.mark.parametrize("name", RANKERS)
def test_damaged_messages_of_kernels_name_the_worker(name, only_kernels, monkeypatch):
    monkeypatch.setattr("rankgrove.forests.sharded_growing.MOST_MOVED_ROWS", 60)
    (first, second), n_heard = fit_two(RANKERS[name], DATA)
    assert not isinstance(first, Exception), first
    assert not isinstance(second, Exception), second
    assert n_heard > 1
    for number in {0, 1, n_heard // 2, n_heard - 1}:
        for damage in (random_bytes, all_ones):
            (first, second), _ = fit_two(RANKERS[name], DATA, number, damage)
            assert "worker 1 sent a message that cannot be right" in str(first), (number, damage)
            assert isinstance(second, Exception), (number, damage)
        for damage in (lambda data: data[:-1], lambda data: data + b"\0"):
            (first, _), _ = fit_two(RANKERS[name], DATA, number, damage)
            assert "worker 1 sent a message that cannot be right" in str(first), number
        fit_two(RANKERS[name], DATA, number, one_other_byte)  # may be another value: no crash


@pytest.mark.parametrize("name", ["oblivious", "classes"])
def test_any_damaged_message_ends_the_fit_without_a_crash(name):
    _, n_heard = fit_two(RANKERS[name], DATA, everywhere=True)
    named = 0
    for number in range(0, n_heard, max(1, n_heard // 8)):
        for damage in (random_bytes, all_ones):
            (first, _), _ = fit_two(RANKERS[name], DATA, number, damage, everywhere=True)
            named += "worker 1 sent a message" in str(first)
    assert named > 4  # others are numbers of any value
