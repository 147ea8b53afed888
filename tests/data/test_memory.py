"""Limits of memory."""

from __future__ import annotations

import inspect
import resource
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest

import rankgrove as rg
from rankgrove import _memory as memory
from rankgrove.data.scanning.row_batches import Judgments
from support.sanitizers import measures_memory


def test_the_machine_sets_a_limit():
    assert 1 << 20 < memory.memory_limit() < 1 << 60


@pytest.mark.parametrize(
    ("line", "files", "limit"),
    [
        ("0::/a/b", {"a/b/memory.max": "5000", "memory.max": "max"}, 5000),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "4000"}, 4000),
        ("0::/hidden/from/us", {"memory.max": "3000"}, 3000),
        ("4:cpu,memory:/a", {"memory/a/memory.limit_in_bytes": "2000"}, 2000),
        ("4:cpu:/a", {"memory/a/memory.limit_in_bytes": "2000"}, 1 << 62),
    ],
)
def test_limits_of_control_groups_and_those_above_them(tmp_path, line, files, limit):
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    own = tmp_path / "own"
    own.write_text(line + "\n")
    assert memory._control_groups(tmp_path / "cgroup", str(own)) == limit


def test_limits_of_the_process(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (12345, 20000))
    assert memory.memory_limit() == 12345


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux's /proc"
)


def megabytes_of(code, **values):
    """Run code in a process of its own, where nothing else comes and goes; its last word counts."""
    program = f"from pathlib import Path\n{inspect.getsource(resident_megabytes)}\n"
    program += "".join(f"{name} = {value!r}\n" for name, value in values.items())
    program += textwrap.dedent(code)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return float(run.stdout.split()[-1])


@pytest.mark.process
@needs_proc
@measures_memory
def test_memory_that_was_freed_goes_back_to_the_system():
    """Blocks below the last one, which stays, are kept by the allocator until it is told."""
    assert megabytes_of(FREED) > 50


FREED = """
    import numpy as np
    from rankgrove._memory import release_memory

    held = [np.ones(8_000) for _ in range(2_000)]  # 128 MB, of which none is mapped by itself
    last = held[-1]
    del held
    before = resident_megabytes()
    release_memory()
    print(before - resident_megabytes())
"""


@pytest.mark.process
@needs_proc
@measures_memory
def test_finding_bins_keeps_nothing_but_the_bins():
    """Neither do threads keep their room for sorting, nor the allocator what was freed."""
    assert megabytes_of(BINS) < 6  # a column has 12 MB


BINS = """
    import numpy as np
    from rankgrove._memory import release_memory
    from rankgrove.trees.binning import find_bins

    X = np.random.default_rng(0).random((3_000_000, 4), np.float32)
    release_memory()
    before = resident_megabytes()
    find_bins(X, n_jobs=2)
    print(resident_megabytes() - before)
"""


@pytest.mark.process
@needs_proc
@measures_memory
def test_a_large_scan_of_parquet_keeps_no_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((400_000, 40), np.float32)
    data = rg.Dataset(X, np.zeros(len(X)), group_sizes=[len(X)])
    rg.write_parquet(data, tmp_path / "data.parquet")
    rg.write_parquet(data.select_rows(np.arange(10)), tmp_path / "small.parquet")
    assert megabytes_of(SCAN, folder=str(tmp_path)) < 16  # of 64 MB; labels have 3


SCAN = """
    import rankgrove as rg
    from rankgrove._memory import release_memory
    from rankgrove.data.matrix import streamed

    streamed._SMALL_BYTES = 32 << 20

    rg.scan(Path(folder) / "small.parquet").read()  # brings the libraries in
    release_memory()
    before = resident_megabytes()
    scan = rg.scan(Path(folder) / "data.parquet")
    scan.read()
    print(resident_megabytes() - before)
"""


def test_what_is_known_of_the_first_batch_does_not_hold_its_rows():
    first = np.zeros((1000, 3), np.float32)
    held = weakref.ref(first)
    later = (np.ones((2, 3), np.float32), np.zeros(2), np.ones(2, int))
    batches = [(first, np.zeros(1000), np.zeros(1000, int)), later, later]
    del first
    read = rg.scan(batches.pop(0) for _ in range(3)).batches()
    judgments = Judgments("error")
    for _ in range(2):
        judgments.add(next(read))
    assert held() is None


def resident_megabytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")
