"""Importing the package is quick: nothing heavy comes with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest

import rankgrove

HEAVY = {"sklearn", "scipy", "pyarrow", "pandas", "polars", "plotly", "numba", "joblib", "rich"}


def modules_after(statement: str) -> set[str]:
    """Return the modules that are loaded, and the packages that they are in."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = json.loads(run.stdout)
    return {*names, *(name.partition(".")[0] for name in names)}


@pytest.mark.process
@pytest.mark.parametrize(
    "statement", ["import rankgrove", "import rankgrove.cli.main", "import rankgrove._native"]
)
def test_no_heavy_library_is_imported(statement):
    assert modules_after(statement) & HEAVY == set()


@pytest.mark.process
def test_training_from_a_small_file_imports_no_heavy_library(tmp_path, monkeypatch):
    from rankgrove.datasets import make_ranking

    monkeypatch.chdir(tmp_path)
    rankgrove.write_letor(make_ranking(20, n_features=5, seed=1), "train.txt")
    command = ["train", "lambdamart", "train.txt", "--n-estimators", "1", "--out", "m.rg"]
    statement = (
        "from rankgrove.cli.main import main\n"
        "import contextlib, io\n"
        f"with contextlib.redirect_stdout(io.StringIO()): code = main({[*command, '--quiet']})\n"
        "assert code == 0"
    )
    loaded = modules_after(statement)
    assert loaded & HEAVY == set()
    assert loaded & {"rankgrove.logs", "numpy.ma"} == set()


def test_public_names_are_listed():
    names = dir(rankgrove)
    assert {"load", "Dataset", "LambdaMART", "RFPoint", "datasets"} <= set(names)
    assert names == sorted(set(names))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'LamdaMART'"):
        _ = rankgrove.LamdaMART


def test_the_version_stands_in_one_place(repository):
    """Packaging reads it from the package; the citation file repeats it."""
    assert metadata.version("rankgrove") == rankgrove.__version__
    (cited,) = re.findall(
        r"^version: (.+)$", (repository / "CITATION.cff").read_text(), re.MULTILINE
    )
    assert cited == rankgrove.__version__
