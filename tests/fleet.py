"""Real worker processes, kept for all tests of distributed fits, and data to share out."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import secrets
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankgrove.distributed import Hub, Shard, fit_shard, join

TOKEN = secrets.token_bytes(32)
JOINING = {"timeout": 60.0, "patience": 30.0}


def saved(ranker) -> bytes:
    """The bytes that ``save`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rg"
        ranker.save(path)
        return path.read_bytes()


def work(address, rank, size, token, ranker, shard, options) -> Any:
    """What a worker but the first does; exceptions come back as values."""
    try:
        with join(address, rank, size, token, **JOINING) as communicator:
            return saved(fit_shard(ranker, shard, communicator, **options))
    except Exception as error:
        return error


class Fleet:
    """Up to three more workers, as processes."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(3, mp_context=context)

    def fit(self, ranker, shards, **options) -> list[Any]:
        """Fit on as many workers as there are shards; return what each saved, or its exception.

        ``ranker`` is pickled for the others; worker 0 is this process, and its ranker is fitted.
        """
        hub = Hub()
        size = len(shards)
        others = {key: value for key, value in options.items() if key != "on_step"}
        futures = [
            self._pool.submit(work, hub.address, rank, size, TOKEN, ranker, shards[rank], others)
            for rank in range(1, size)
        ]
        try:
            with hub.accept(size, TOKEN, **JOINING) as communicator:
                first = saved(fit_shard(ranker, shards[0], communicator, **options))
        except Exception as error:
            first = error
        return [first, *(future.result(60) for future in futures)]

    def warm_up(self) -> None:
        """Start the processes and let them import."""
        for future in [self._pool.submit(os.getpid) for _ in range(3)]:
            future.result(60)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@dataclass
class Data:
    """Rows in the order of their queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    weight: np.ndarray

    def rows(self, begin, end) -> Data:
        return Data(
            self.X[begin:end], self.y[begin:end], self.qid[begin:end], self.weight[begin:end]
        )


def make_data(n_queries=24, seed=0) -> Data:
    """Queries of 1 to 20 documents: ties, missing values, a constant column, weights of 0."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 21, n_queries)
    sizes[2] = 1
    n = int(sizes.sum())
    X = rng.normal(size=(n, 6)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + X[:, 1] + rng.normal(0, 0.7, n)), 0, 4)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = 7.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[: n // 2, 5] = np.nan
    weight = rng.integers(0, 4, n) / 2.0
    qid = np.repeat(rng.permutation(n_queries) + 100, sizes)
    return Data(X, y, qid, weight)


def cuts(data: Data, size: int, seed=0) -> list[tuple[int, int]]:
    """Ranges of rows of so many shards, cut between queries at random."""
    starts = np.flatnonzero(np.r_[True, data.qid[1:] != data.qid[:-1]])
    places = np.sort(np.random.default_rng(seed).choice(starts[1:], size - 1, replace=False))
    bounds = [0, *places.tolist(), len(data.qid)]
    return list(itertools.pairwise(bounds))


def make_shards(data: Data, size: int, *, valid: Data | None = None, weighted=False, seed=0):
    """The data, and an evaluation set, as shards."""
    own = [data.rows(*ends) for ends in cuts(data, size, seed)]
    eval_sets: list[dict] = [{}] * size
    if valid is not None:
        parts = [valid.rows(*ends) for ends in cuts(valid, size, seed + 1)]
        eval_sets = [{"valid": (p.X, p.y, p.qid), "train": "train"} for p in parts]
    return [
        Shard(d.X, d.y, d.qid, sample_weight=d.weight if weighted else None, eval_set=sets)
        for d, sets in zip(own, eval_sets, strict=True)
    ]


def fit_locally(ranker, data: Data, *, valid: Data | None = None, weighted=False, **options):
    """The same fit by one call on one machine."""
    if valid is not None:
        options["eval_set"] = {
            "valid": (valid.X, valid.y, valid.qid),
            "train": (data.X, data.y, data.qid),
        }
    weight = data.weight if weighted else None
    return ranker.fit(data.X, data.y, qid=data.qid, sample_weight=weight, **options)


def own_objective(scores, y, qid, weight):
    """Depends on the number of the query, which must be that among all queries."""
    return scores - y + qid % 3, np.ones(len(y))
