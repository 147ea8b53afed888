"""Workers that MPI has started."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fleet import fit_locally, make_data, saved
from rankgrove.rankers.base.registry import make_ranker

WORKER = """
    import os, signal, sys, time
    # Messages go to a file: the launcher may drop output that it has not forwarded at the end.
    messages = os.open(f"{sys.argv[2]}/messages", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(messages, 2)
    sys.path.insert(0, sys.argv[1])
    from fleet import make_data, make_shards, saved
    from rankgrove.distributed import Shard, fit_shard
    from rankgrove.distributed.mpi import MPICommunicator
    from rankgrove.rankers.base.registry import make_ranker

    fault, patience = sys.argv[3], float(sys.argv[4])

    def on_step(step, record, metrics):
        if fault == "slow worker 0":
            time.sleep(0.5)
        if fault == "stopped worker 0":
            os.kill(os.getpid(), signal.SIGSTOP)

    with MPICommunicator(patience=patience) as communicator:
        shard = make_shards(make_data(), communicator.size)[communicator.rank]
        if communicator.rank == 1:
            if fault == "wrong data":
                shard = Shard(shard.X, shard.y[:-1], shard.qid)
            elif fault == "error before the fit":
                raise RuntimeError("no such file")
            elif fault == "early exit":
                sys.exit(3)
            elif fault == "late":
                time.sleep(2)
            elif fault == "stopped":
                os.kill(os.getpid(), signal.SIGSTOP)
            elif fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
        ranker = make_ranker("plrank", n_estimators=3, random_state=3, n_jobs=1)
        fit_shard(ranker, shard, communicator, on_step=None if communicator.rank else on_step)
        assert communicator.traffic.messages > 20
        with open(f"{sys.argv[2]}/{communicator.rank}", "wb") as file:
            file.write(saved(ranker))
"""


def run(folder, fault="none", patience=600):
    works = subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], capture_output=True)
    if works.returncode != 0:
        pytest.skip("mpi4py is not installed, or finds no MPI library")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    tests = str(Path(__file__).parents[1])
    command = [mpiexec, "-n", "2", sys.executable, "-c", textwrap.dedent(WORKER)]
    arguments = [tests, str(folder), fault, str(patience)]
    (folder / "messages").unlink(missing_ok=True)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, (folder / "messages").read_text()


@pytest.mark.process
@pytest.mark.parametrize("fault", ["none", "late", "slow worker 0"])
def test_a_fit_over_mpi_has_the_bits_of_one_machine(tmp_path, fault):
    status, messages = run(tmp_path, fault)
    assert status == 0, messages
    local = saved(fit_locally(make_ranker("plrank", n_estimators=3, random_state=3), make_data()))
    assert [(tmp_path / rank).read_bytes() for rank in "01"] == [local, local]


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("wrong data", "worker 1 gave up: DataError"),
        ("error before the fit", "worker 1 gave up: RuntimeError: no such file"),
        ("early exit", "worker 1 gave up: SystemExit: 3"),
    ],
)
def test_an_error_of_one_worker_ends_all_and_is_told(tmp_path, fault, words):
    status, messages = run(tmp_path, fault)
    assert status != 0
    assert words in messages


@pytest.mark.process
@pytest.mark.parametrize(("fault", "lost"), [("stopped", 1), ("stopped worker 0", 0)])
def test_a_stopped_worker_ends_all_after_the_time_out(tmp_path, fault, lost):
    start = time.monotonic()
    run(tmp_path)
    patience = math.ceil(
        4 + 3 * (time.monotonic() - start)
    )  # a worker that is not stopped needs less
    status, messages = run(tmp_path, fault, patience)
    assert status != 0
    assert f"worker {1 - lost} gave up: it has waited for {patience} seconds" in messages
    assert f"for worker {lost}: stopped" in messages


@pytest.mark.process
def test_a_killed_worker_ends_all(tmp_path):
    status, _ = run(tmp_path, "killed")
    assert status != 0
    assert [path.name for path in tmp_path.iterdir()] == ["messages"]
