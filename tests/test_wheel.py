"""``pip wheel .`` makes a wheel that works in an empty environment outside the tree."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(1200)]

PROGRAM = """
import rankgrove
from rankgrove import _native, datasets
from rankgrove._threads import resolve_n_jobs

assert "site-packages" in rankgrove.__file__, rankgrove.__file__
assert "site-packages" in _native.__file__, _native.__file__
assert resolve_n_jobs(-1) >= 1
data = datasets.make_ranking(20, seed=1)
ranker = rankgrove.LambdaMART(n_estimators=5, random_state=1).fit(data)
assert ranker.score(data) > rankgrove.metric("ndcg@10")(data.y, data.X[:, 0], qid=data.qid) > 0
print(rankgrove.__version__)
"""


def build_tools_are_here() -> bool:
    return all(importlib.util.find_spec(name) for name in ("scikit_build_core", "nanobind"))


@pytest.fixture(scope="module")
def wheel(repository, tmp_path_factory) -> Path:
    """Build the wheel; a compiler's work of an earlier build in build/ is used again."""
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if build_tools_are_here() else []
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", *isolation, "-w", str(folder)]
    run = subprocess.run([*command, str(repository)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    (path,) = folder.glob("*.whl")
    return path


def test_content(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert "rankgrove/include/rankgrove.h" in names
    assert {"rankgrove/py.typed", "rankgrove/_native.pyi", "rankgrove/__main__.py"} <= set(names)
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert len([name for name in names if name.endswith(".so")]) == 1
    assert {re.split("[/-]", name)[0] for name in names} == {"rankgrove"}
    folders = {part for name in names for part in name.split("/")[:-1]}
    assert not folders & {"tests", "native"}
    assert not any(name.endswith((".cpp", ".hpp", "conftest.py")) for name in names)


def test_stable_abi_is_used_where_it_exists(wheel):
    major, minor = sys.version_info[:2]
    tag = "cp312-abi3" if minor >= 12 else f"cp{major}{minor}-cp{major}{minor}"
    assert tag in wheel.name


def linked_dependencies(requirements: list[str], folder: Path) -> None:
    """Link the packages that the wheel declares, and what they need, and nothing else."""
    wanted, seen = list(requirements), set()
    while wanted:
        requirement, _, marker = wanted.pop().partition(";")
        name = re.split(r"[^\w.-]", requirement.strip())[0]
        if name in seen or "extra" in marker or "python_version" in marker:
            continue
        seen.add(name)
        distribution = metadata.distribution(name)
        wanted += distribution.requires or []
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))


def test_works_in_an_empty_environment(wheel, tmp_path):
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    install = ["install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), *install],
        check=True,
        capture_output=True,
    )
    (site,) = home.glob("lib/python*/site-packages")
    (installed,) = metadata.distributions(name="rankgrove", path=[str(site)])
    linked_dependencies(installed.requires or [], site)
    for command in ([str(python), "-I", "-c", PROGRAM], [str(home / "bin/rankgrove"), "--version"]):
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert run.stdout.split()[-1] == installed.version
