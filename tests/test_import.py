"""Importing the package is quick: nothing heavy comes with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import rankgrove

HEAVY = {"sklearn", "scipy", "pyarrow", "pandas", "polars", "plotly", "numba", "joblib", "rich"}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(run.stdout)}


@pytest.mark.process
@pytest.mark.parametrize(
    "statement", ["import rankgrove", "import rankgrove.cli.main", "import rankgrove._native"]
)
def test_no_heavy_library_is_imported(statement):
    assert modules_after(statement) & HEAVY == set()


def test_public_names_are_listed():
    import rankgrove

    names = dir(rankgrove)
    assert {"load", "Dataset", "LambdaMART", "RFPoint", "datasets"} <= set(names)
    assert names == sorted(set(names))


def test_unknown_name_is_an_attribute_error():
    import rankgrove

    with pytest.raises(AttributeError, match="no attribute 'LamdaMART'"):
        _ = rankgrove.LamdaMART


def test_the_version_is_that_of_the_package(repository):
    text = (repository / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.+)"$', text, re.MULTILINE)
    assert version == rankgrove.__version__
