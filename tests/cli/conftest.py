"""Runs the real command."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

TEXT = """\
2 qid:a 1:0.5 2:3 # docid = d1
0 qid:a 1:0.25
1 qid:b 1:1 2:4
0 qid:a 2:1 3:7
0 qid:c 1:0.5
"""


@pytest.fixture
def rankgrove(tmp_path):
    """Run ``rankgrove`` in a temporary folder; returns the finished process."""

    def run(*arguments, input=None):
        return subprocess.run(
            [sys.executable, "-m", "rankgrove", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            input=input,
        )

    return run


@pytest.fixture
def data_file(tmp_path):
    """Five rows, three queries (one of them split, one without a relevant document)."""
    path = tmp_path / "data.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def score_file(tmp_path):
    path = tmp_path / "scores.txt"
    np.savetxt(path, [0.1, 0.5, 0.2, 0.3, 0.0])
    return path
