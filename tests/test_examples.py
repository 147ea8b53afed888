"""Every example runs and prints a result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docs, pytest.mark.process, pytest.mark.timeout(1200)]

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs(script, tmp_path):
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {f"{script.stem}.svg"}  # nothing but the picture of the gallery


def test_there_are_examples():
    assert 15 <= len(EXAMPLES) <= 25
