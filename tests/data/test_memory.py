"""Limits of memory."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from rankgrove.data import memory


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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_that_was_freed_goes_back_to_the_system():
    """Blocks below the last one, which stays, are kept by the allocator until it is told."""
    held = [np.ones(8_000) for _ in range(2_000)]  # 128 MB, of which none is mapped by itself
    last = held[-1]
    del held
    before = resident_megabytes()
    memory.give_back_memory()
    assert resident_megabytes() < before - 50
    assert last.all()


def resident_megabytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")
