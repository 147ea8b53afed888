"""Workers that MPI has started."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fleet import fit_locally, make_data, saved
from rankgrove.rankers.base.registry import make_ranker

WORKER = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from fleet import make_data, make_shards, saved
    from rankgrove.distributed import Shard, fit_shard
    from rankgrove.distributed.mpi import MPICommunicator
    from rankgrove.rankers.base.registry import make_ranker

    with MPICommunicator() as communicator:
        shard = make_shards(make_data(), communicator.size)[communicator.rank]
        if sys.argv[3] == "wrong" and communicator.rank == 1:
            shard = Shard(shard.X, shard.y[:-1], shard.qid)
        ranker = make_ranker("plrank", n_estimators=3, random_state=3, n_jobs=1)
        fit_shard(ranker, shard, communicator)
        assert communicator.traffic.messages > 20
        with open(f"{sys.argv[2]}/{communicator.rank}", "wb") as file:
            file.write(saved(ranker))
"""


def run(folder, how):
    works = subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], capture_output=True)
    if works.returncode != 0:
        pytest.skip("mpi4py is not installed, or finds no MPI library")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    tests = str(Path(__file__).parents[1])
    command = [mpiexec, "-n", "2", sys.executable, "-c", textwrap.dedent(WORKER)]
    return subprocess.run(
        [*command, tests, str(folder), how], capture_output=True, text=True, timeout=120
    )


@pytest.mark.process
def test_a_fit_over_mpi_has_the_bits_of_one_machine(tmp_path):
    done = run(tmp_path, "right")
    assert done.returncode == 0, done.stderr
    local = saved(fit_locally(make_ranker("plrank", n_estimators=3, random_state=3), make_data()))
    assert [(tmp_path / rank).read_bytes() for rank in "01"] == [local, local]


@pytest.mark.process
def test_an_error_of_one_worker_ends_all_and_is_told(tmp_path):
    done = run(tmp_path, "wrong")
    assert done.returncode != 0
    assert "worker 1 gave up: DataError" in done.stderr
