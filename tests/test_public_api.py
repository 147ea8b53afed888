"""What users and their tools see of the package: names, types, signatures, modules."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rankgrove
from rankgrove.rankers.base import registry

# What a user writes, and what a type checker must say of the line (None: nothing).
USER_FILE = {
    "import rankgrove": None,
    "from rankgrove import LambdaMART, RFList, evaluate, load": None,
    "ranker = LambdaMART(n_estimators=3, sigma=2.0, max_depth=None, random_state=1)": None,
    "fitted: LambdaMART = ranker.fit([[1.0]], [1], qid=[1], eval_set=None)": None,
    "forest: rankgrove.RFList = rankgrove.RFList(n_estimators=5).fit(load('train.txt'))": None,
    "scores = rankgrove.metrics.evaluate([1], [1.0], qid=[1]).to_dict()": None,
    "app = rankgrove.serving.Limits()": None,
    "LambdaMART(n_estimator=3)": "n_estimator",
    "RFList(sigma=1.0)": "sigma",
    "LambdaMART(learning_rate='fast')": "learning_rate|float",
    "ranker.fit([[1.0]], [1], eval_sets=None)": "eval_sets|Never",
    "rankgrove.LamdaMART()": "LamdaMART",
    "number: int = fitted": "int",
}


def rankgrove_modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name for name in json.loads(run.stdout) if name.partition(".")[0] == "rankgrove"}


def own_classes() -> dict[str, str]:
    return {class_name: module for module, class_name in registry.OWN_RANKERS.values()}


def names_for_type_checkers() -> dict[str, str]:
    """Names that `rankgrove/__init__.py` imports for type checkers, with their modules."""
    tree = ast.parse(Path(rankgrove.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_see_what_is_there():
    expected = {**rankgrove._PUBLIC, **own_classes()}
    expected |= dict.fromkeys(rankgrove._MODULES, "rankgrove")
    assert names_for_type_checkers() == expected
    assert sorted(rankgrove.__all__) == sorted({"__version__", *expected})


@pytest.mark.parametrize("name", rankgrove.__all__)
def test_every_public_name_is_there(name):
    value = getattr(rankgrove, name)
    module = names_for_type_checkers().get(name)
    if module not in (None, "rankgrove"):
        assert value is getattr(importlib.import_module(module), name)


@pytest.mark.process
def test_importing_the_package_imports_none_of_its_modules():
    assert rankgrove_modules_after("import rankgrove") == {"rankgrove"}


@pytest.mark.process
@pytest.mark.parametrize(
    "statement",
    [
        "import rankgrove; rankgrove.LambdaMART",
        "import rankgrove; rankgrove.make_ranker('lambdamart')",
        "import rankgrove; dir(rankgrove); rankgrove.ranker_names(); rankgrove.LambdaMART",
    ],
)
def test_one_ranker_imports_no_other(statement):
    own = {module for module, _ in registry.OWN_RANKERS.values()}
    assert rankgrove_modules_after(statement) & own == {"rankgrove.rankers.lambdamart"}


def test_the_table_of_rankers_is_what_their_modules_register():
    found = {
        name: (entry.cls.__module__, entry.cls.__qualname__)
        for name, entry in registry.registered().items()
        if entry.cls.__module__.startswith("rankgrove.")
    }
    assert found == registry.OWN_RANKERS
    folder = Path(importlib.import_module("rankgrove.rankers").__file__).parent
    modules = {module for module, _ in found.values()}
    assert {f"rankgrove.rankers.{path.stem}" for path in folder.glob("[a-z]*.py")} <= modules
    listed = {name for name in found if registry.registered()[name].listed}
    assert listed == set(registry.OWN_RANKERS) - registry._NOT_LISTED


@pytest.mark.process
def test_a_name_of_ours_is_refused_before_our_class_is_imported():
    code = (
        "import sys\nfrom rankgrove.extending import BoostedRanker, register_ranker\n"
        "assert 'rankgrove.rankers.klmart' not in sys.modules\n"
        "try:\n    register_ranker('klmart')(type('KLMART', (BoostedRanker,), {}))\n"
        "except ValueError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "the name 'klmart' belongs to rankgrove.rankers.klmart already\n"


def test_documented_modules_and_names_can_be_imported(repository):
    pages = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    text = "\n".join(page.read_text() for page in pages)
    paths = set(re.findall(r"\b(?:from|import) (rankgrove(?:\.\w+)*)", text))
    paths |= set(re.findall(r"`(rankgrove(?:\.[A-Za-z_]\w*)+)[`(]", text))
    paths -= {"rankgrove.h", "rankgrove.rankers", "rankgrove.metrics", "rankgrove.criteria"}
    if find_spec("pyspark") is None:
        paths -= {path for path in paths if path.startswith("rankgrove.integrations.spark_ml")}
    assert "rankgrove.serving" in paths
    for path in paths:
        pkgutil.resolve_name(path)


@pytest.fixture
def user_file(tmp_path) -> Path:
    path = tmp_path / "user.py"
    path.write_text("\n".join(USER_FILE) + "\n")
    return path


def expect(found: dict[int, str]) -> None:
    """Compare messages by line with what USER_FILE expects."""
    for number, (line, expected) in enumerate(USER_FILE.items(), start=1):
        if expected is None:
            assert number not in found, f"{line}: {found[number]}"
        else:
            assert re.search(expected, found.get(number, "")), line


@pytest.mark.process
def test_pyright_understands_a_users_file(user_file):
    command = [sys.executable, "-m", "pyright"]
    try:
        subprocess.run([*command, "--version"], capture_output=True, check=True, timeout=60)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"pyright does not run here: {error}")
    run = subprocess.run(
        [*command, "--outputjson", "--pythonpath", sys.executable, str(user_file)],
        capture_output=True,
        text=True,
        cwd=user_file.parent,
    )
    messages = json.loads(run.stdout)["generalDiagnostics"]
    expect({m["range"]["start"]["line"] + 1: m["message"] for m in messages})


@pytest.mark.process
def test_mypy_understands_a_users_file(user_file, repository):
    config = ["--config-file", str(repository / "pyproject.toml")]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *config, "--follow-imports=silent", str(user_file)],
        capture_output=True,
        text=True,
        cwd=repository,
    )
    lines = re.findall(r"user\.py:(\d+): error: (.*)", run.stdout)
    expect({int(number): message for number, message in lines})


def test_code_of_the_documentation_imports_public_modules_only(repository):
    public = {"rankgrove", *(f"rankgrove.{name}" for name in rankgrove._MODULES)}
    public |= {"rankgrove.experiments.curves", "rankgrove.experiments.significance"}
    public |= {"rankgrove.distributed.mpi", "rankgrove.integrations.spark_ml"}
    files = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    for path in [*files, *sorted((repository / "docs").glob("*.py"))]:
        found = re.findall(r"^\s*(?:from|import) (rankgrove[\w.]*)", path.read_text(), re.MULTILINE)
        assert set(found) <= public, path


def test_every_public_name_of_experiments_is_there():
    from rankgrove import experiments

    for name in experiments.__all__:
        assert getattr(experiments, name).__name__ == name
    declared = {name for names in experiments._MODULES.values() for name in names}
    assert declared == set(experiments.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Tiers'"):
        _ = experiments.Tiers
