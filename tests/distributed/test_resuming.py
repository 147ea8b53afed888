"""Fits that are cut off go on to the same bits, with whatever workers are left."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys

import numpy as np
import pytest

from fleet import fit_locally, make_data, make_shards, saved
from rankgrove.distributed import Hub, Shard, WorkerLost, fit_shard
from rankgrove.errors import ModelError
from rankgrove.rankers.base.registry import make_ranker

DATA, VALID = make_data(seed=1), make_data(11, seed=6)
# One output and several, stochastic, with steps of its own for leaves, and stumps.
NAMES = ["lambdamart", "mcrank", "yetirank", "plrank", "rankboost", "rcrank"]


def quick(name, **params):
    return make_ranker(name, **({"n_estimators": 9, "random_state": 3, "n_jobs": 1} | params))


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_fit_has_the_bits_of_an_uninterrupted_one(fleet, name):
    """Interrupted after some steps, then again, each time with another number of workers."""
    local = saved(fit_locally(quick(name), DATA, valid=VALID))
    records: list[bytes] = []

    def keep(until):
        def on_step(step, record, metrics):
            assert step == len(records) + 1
            assert set(metrics) == {"valid", "train"}
            records.append(record)
            return step == until

        return on_step

    for size, until in ((2, 3), (3, 5), (1, 20)):
        shards = make_shards(DATA, size, valid=VALID, seed=size)
        results = fleet.fit(quick(name), shards, resume=list(records), on_step=keep(until))
        assert not isinstance(results[0], Exception), results[0]
    assert results == [local]
    assert len(records) == 9


def test_sampling_and_early_stopping_go_on(fleet):
    params = {"subsample": 0.5, "n_estimators": 40, "max_features": 0.5}
    options = {"early_stopping_rounds": 3}
    ranker = fit_locally(quick("mart", **params), DATA, valid=VALID, **options)
    local, n_steps = saved(ranker), ranker.best_iteration_ + 3
    records: list[bytes] = []
    keep = lambda step, record, metrics: records.append(record)  # noqa: E731
    shards = make_shards(DATA, 2, valid=VALID)
    fleet.fit(quick("mart", **params), shards, fit_options=options, on_step=keep)
    assert len(records) == n_steps
    for kept in (1, n_steps - 1, n_steps):
        more: list[bytes] = []
        results = fleet.fit(
            quick("mart", **params),
            make_shards(DATA, 3, valid=VALID),
            fit_options=options,
            resume=records[:kept],
            on_step=lambda step, record, metrics: more.append(record),  # noqa: B023
        )
        assert results == [local] * 3
        assert len(more) == n_steps - kept


def test_the_seed_of_the_first_attempt_is_kept(fleet):
    records: list[bytes] = []
    keep = lambda step, record, metrics: records.append(record)  # noqa: E731
    params = {"random_state": None, "subsample": 0.5}
    whole = fleet.fit(quick("yetirank", **params), make_shards(DATA, 1), on_step=keep)
    again = fleet.fit(quick("yetirank", **params), make_shards(DATA, 2), resume=records[:4])
    assert again == whole * 2


def first_records(fleet, n=3, weighted=False, **params):
    records: list[bytes] = []
    ranker = quick("mart", n_estimators=n, **params)
    shards = make_shards(DATA, 1, weighted=weighted)
    fleet.fit(ranker, shards, on_step=lambda s, record, m: records.append(record))
    assert len(records) == n
    return records


def newton(factor):
    def gain(g_left, h_left, g_right, h_right):
        return factor * (g_left**2 / (h_left + 1) + g_right**2 / (h_right + 1))

    return gain


def other_data():
    return make_data(seed=2)


def other_labels():
    data = make_data(seed=1)
    data.y = data.y[::-1]
    return data


def other_weights():
    data = make_data(seed=1)
    data.weight = 2.0 * data.weight
    return data


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("params", {"params": {"learning_rate": 0.2}}),
        ("random_state", {"params": {"random_state": 4}}),
        ("rows", {"data": other_data}),
        ("labels", {"data": other_labels}),
        ("weights", {"data": other_weights}),
        ("functions", {"params": {"criterion": newton(0.5)}}),
    ],
)
def test_records_of_another_fit_are_refused(fleet, what, change):
    weighted = what == "weights"
    criterion = {"criterion": newton(1.0)} if what == "functions" else {}
    records = first_records(fleet, weighted=weighted, **criterion)
    data = change.get("data", lambda: DATA)()
    ranker = quick("mart", **change.get("params", {}))
    (error,) = fleet.fit(ranker, make_shards(data, 1, weighted=weighted), resume=records)
    assert isinstance(error, ModelError)
    assert f"belongs to another fit: its {what} is" in str(error)


def test_records_with_another_evaluation_set_are_refused(fleet):
    """Their metrics would be those of the other set, and with them the best step."""
    records: list[bytes] = []
    keep = lambda step, record, metrics: records.append(record)  # noqa: E731
    fleet.fit(quick("mart"), make_shards(DATA, 1, valid=VALID), on_step=keep)
    other = make_data(11, seed=6)
    other.y = other.y[::-1].copy()
    for valid in (other, make_data(11, seed=7)):
        results = fleet.fit(quick("mart"), make_shards(DATA, 2, valid=valid), resume=records[:3])
        assert all(isinstance(result, ModelError) for result in results)
        assert "belongs to another fit: its eval_sets is {'valid'" in str(results[0])


def test_records_out_of_order_are_refused(fleet):
    (error,) = fleet.fit(quick("mart"), make_shards(DATA, 1), resume=first_records(fleet)[::-1])
    assert isinstance(error, ModelError)
    assert "not in order" in str(error)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_records_are_refused(fleet, seed):
    """Bytes changed, or the end cut off: an error that says so, or the same bits after all."""
    rng = np.random.default_rng(seed)
    records = first_records(fleet)
    broken = bytearray(records[1])
    for _ in range(3):
        broken[rng.integers(len(broken))] ^= int(rng.integers(1, 256))
    if seed % 4 == 0:
        broken = broken[: rng.integers(len(broken))]
    whole = saved(fit_locally(quick("mart"), DATA))
    (result,) = fleet.fit(
        quick("mart"), make_shards(DATA, 1), resume=[records[0], bytes(broken), records[2]]
    )
    assert result == whole or (isinstance(result, ModelError) and "record" in str(result))


WORKER = """
import sys
import numpy as np
from rankgrove.distributed import Shard, fit_shard, join
from rankgrove.rankers.base.registry import make_ranker

address, rank, size, token, path = sys.argv[1:]
part = np.load(path)
ranker = make_ranker("lambdamart", n_estimators=2000, random_state=3, n_jobs=1)
try:
    with join(address, int(rank), int(size), bytes.fromhex(token), patience=600) as communicator:
        fit_shard(ranker, Shard(part["X"], part["y"], part["qid"]), communicator)
except BaseException as error:
    print(f"{type(error).__name__}: {error}")
"""


def test_a_killed_worker_costs_the_step_under_way(fleet, tmp_path):
    """kill -9 in the middle of a fit; those who are left go on to the bits of one machine."""
    hub, token = Hub(), secrets.token_bytes(32)
    shards = make_shards(DATA, 3)
    processes = []
    for rank in (1, 2):
        path = tmp_path / f"{rank}.npz"
        np.savez(path, X=shards[rank].X, y=shards[rank].y, qid=shards[rank].qid)
        arguments = [hub.address, str(rank), "3", token.hex(), str(path)]
        processes.append(
            subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE)
        )
    records: list[bytes] = []

    def on_step(step, record, metrics):
        records.append(record)
        if step == 5:
            os.kill(processes[1].pid, signal.SIGKILL)

    ranker = quick("lambdamart", n_estimators=2000)
    with (
        hub.accept(3, token, timeout=200, patience=600) as communicator,
        pytest.raises(WorkerLost, match=r"worker 2 \(127.0.0.1:\d+\) is lost") as caught,
    ):
        fit_shard(ranker, shards[0], communicator, on_step=on_step)
    assert caught.value.rank == 2
    told = processes[0].communicate(timeout=200)[0].decode()
    assert "WorkerLost: worker 2 (127.0.0.1:" in told
    processes[1].communicate(timeout=200)
    assert 5 <= len(records) < 2000

    n = len(records) + 4
    local = saved(fit_locally(quick("lambdamart", n_estimators=n), DATA))
    left = fleet.fit(quick("lambdamart", n_estimators=n), make_shards(DATA, 2), resume=records)
    assert left == [local, local]


def test_an_interrupted_fit_of_one_worker_is_an_error_of_all(fleet):
    """Ctrl-C on one worker must not leave the others with half a model."""

    def on_step(step, record, metrics):
        if step == 2:
            raise RuntimeError("the driver is gone")

    part = make_shards(DATA, 2)
    shards = [Shard(p.X, p.y, p.qid) for p in part]
    hub, other = fleet.fit(quick("mart"), shards, on_step=on_step)
    assert isinstance(hub, RuntimeError)
    assert "gave up: RuntimeError: the driver is gone" in str(other)
