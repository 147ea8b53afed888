"""Threads of the native core as a program meets them: forks, other threads, limits, Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from rankgrove import LambdaMART
from rankgrove._native import most_threads, usable_cores
from rankgrove._threads import resolve_n_jobs
from rankgrove.datasets import make_ranking
from rankgrove.trees.growing import add_leaf_values
from rankgrove.trees.scorer import Scorer
from support.sanitizers import measures_memory


@pytest.fixture(scope="module")
def data():
    return make_ranking(150, preset="mslr", seed=11)


@pytest.fixture(scope="module")
def fitted(data):
    return LambdaMART(n_estimators=20, n_jobs=2, random_state=0).fit(data)


def test_n_jobs_counts_from_the_usable_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert resolve_n_jobs(None) == resolve_n_jobs(-1) == usable_cores()
    assert resolve_n_jobs(-(10**6)) == 1
    assert resolve_n_jobs(10**9) == most_threads()
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        resolve_n_jobs(0)
    with pytest.raises(TypeError, match=r"n_jobs must be a whole number or None, not 1\.5"):
        resolve_n_jobs(1.5)


@pytest.mark.parametrize(
    ("setting", "threads"),
    [
        ("1", 1),
        ("1,2", 1),
        ("100000", usable_cores()),
        ("0", usable_cores()),
        ("x", usable_cores()),
    ],
)
def test_omp_num_threads_lowers_the_default_and_never_raises_it(monkeypatch, setting, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert resolve_n_jobs(None) == threads


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("work", ["fit", "predict"])
def test_a_forked_child_works_with_threads_of_its_own(work, data, fitted):
    expected = fitted.predict(data)  # the parent has used threads now
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)

    def child() -> None:
        ranker = fitted if work == "predict" else LambdaMART(**fitted.get_params()).fit(data)
        sender.send_bytes(ranker.predict(data).tobytes())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    try:
        assert receiver.poll(60), f"{work} hangs in the child"
        assert receiver.recv_bytes() == expected.tobytes()
    finally:
        process.kill()
        process.join()


@pytest.mark.slow
def test_many_python_threads_share_the_workers(data, fitted):
    expected = fitted.predict(data)
    failures: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            if number % 2:
                same = np.array_equal(fitted.predict(data), expected)
            else:
                again = LambdaMART(**{**fitted.get_params(), "n_estimators": 3}).fit(data)
                same = np.array_equal(again.model_.ensemble.value, first_three)
            if not same:
                failures.append(number)

    first_three = (
        LambdaMART(**{**fitted.get_params(), "n_estimators": 3}).fit(data).model_.ensemble.value
    )
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_failure_in_any_thread_reaches_the_caller():
    leaves = np.zeros(1_000_000, np.int32)
    leaves[::5000] = 7
    for _ in range(20):
        with pytest.raises(ValueError, match="names a node that is not there"):
            add_leaf_values(np.zeros(len(leaves)), leaves, np.ones(7), n_jobs=2)
    scores = np.zeros(len(leaves))
    add_leaf_values(scores, leaves, np.ones(8), n_jobs=2)  # and the threads go on serving
    assert (scores == 1).all()


OUT_OF_MEMORY = """
import resource
import numpy as np
from rankgrove.datasets import make_ranking
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.growing import TreeGrower
X = np.random.default_rng(0).normal(size=(300_000, 40)).astype(np.float32)
binned = bin_matrix(X, find_bins(X, n_jobs=2), n_jobs=2)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
try:
    grower = TreeGrower(binned, n_jobs=2)
    for seed in range(100):
        grower.grow(np.ones(len(X), np.float32), None, seed=seed)
except MemoryError:
    print("MemoryError")
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@measures_memory
def test_memory_that_runs_out_in_a_loop_of_threads_is_a_memory_error():
    run = subprocess.run([sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "MemoryError\n"), run.stderr


@pytest.mark.process
def test_no_thread_can_be_started_and_the_work_is_done_by_the_caller(data, fitted, tmp_path):
    resource = pytest.importorskip("resource")
    fitted.save(tmp_path / "model.rg")
    np.save(tmp_path / "X.npy", data.X)
    code = (
        "import resource, numpy, rankgrove\n"
        "model = rankgrove.load_model('model.rg')\n"
        "model.n_jobs = 2\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, resource.RLIM_INFINITY))\n"
        "print(model.predict(numpy.load('X.npy')).tobytes().hex())\n"
    )
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the stack is limited")
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert bytes.fromhex(run.stdout) == fitted.predict(data).tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_prediction(data, fitted, n_jobs):
    scorer = Scorer(fitted.model_.ensemble, walk=True)
    X = np.broadcast_to(data.X[0], (10_000_000, data.n_features))
    scores = np.full(len(X), np.nan)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        scorer.predict(X, n_jobs=n_jobs, out=scores)
    timer.join()
    assert np.isnan(scores[-1])


@pytest.mark.process
def test_nobody_waits_for_a_thread_that_ends_before_it_has_begun(tmp_path):
    """As threads do where memory is short: fits and readers hung."""
    code = """
import _thread, sys, threading
import rankgrove as rg
from rankgrove.data.reading import letor
from rankgrove.datasets import make_ranking

data = make_ranking(20, seed=1)
rg.write_letor(data, "data.txt")
letor.BLOCK_BYTES = 1 << 12
_thread.start_new_thread = threading._start_new_thread = lambda *_: 0
assert rg.load("data.txt").n_rows == data.n_rows
for ranker in (rg.MART(n_estimators=3, n_jobs=2), rg.RFPoint(n_estimators=4, n_jobs=2)):
    ranker.fit(data).predict(data)
print("done")
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.stdout == "done\n", run.stderr
