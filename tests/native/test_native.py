"""Runs the native tests: each case of the program that ``make native-tests`` builds is one here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "native-tests" / "native_tests"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def names() -> list[str]:
    return run("--list").stdout.splitlines() if PROGRAM.is_file() else []


@pytest.mark.skipif(not PROGRAM.is_file(), reason="built by `make native-tests`")
@pytest.mark.parametrize("name", names())
def test_native(name):
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
