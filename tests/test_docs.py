"""Every code block of the documentation runs.

The blocks of one page run in order, ``python`` blocks in one namespace and ``bash`` blocks that
call ``rankgrove`` through the command line, all in one temporary folder. A ``python`` block with a
name of a file behind the word is that file, for the commands after it. Blocks of any other
language (``text``, ``console``, ...) are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankgrove.data.writing import write_letor
from rankgrove.datasets import make_ranking
from rankgrove.forests import criteria
from rankgrove.metrics import registry as metrics_registry
from rankgrove.rankers.base import registry as rankers_registry

pytestmark = [pytest.mark.docs, pytest.mark.timeout(1200)]

REPOSITORY = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    language: str
    code: str
    line: int
    file: str = ""


def blocks_of(text: str) -> list[Block]:
    return [
        Block(match[1], match[3], text.count("\n", 0, match.start()) + 2, match[2].strip())
        for match in BLOCK.finditer(text)
    ]


def commands_of(code: str) -> list[str]:
    """Return the ``rankgrove`` commands of a shell block, with continued lines joined."""
    lines = (line.strip() for line in code.replace("\\\n", " ").splitlines())
    return [line for line in lines if line.startswith("rankgrove ")]


def runnable(block: Block) -> bool:
    return block.language == "python" or (
        block.language == "bash" and bool(commands_of(block.code))
    )


PAGES = [
    path
    for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    if path.is_file() and any(runnable(block) for block in blocks_of(path.read_text()))
]


@pytest.fixture(scope="module")
def shell_path(tmp_path_factory) -> str:
    """Return a PATH on which ``rankgrove`` is the package under test."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "rankgrove"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rankgrove "$@"\n')
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def write_files_of_your_own() -> None:
    """Write the files that the README expects its reader to have."""
    for seed, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        write_letor(make_ranking(30, seed=seed), name)


@pytest.fixture
def own_modules(monkeypatch, tmp_path):
    """Let a page import the files that it shows; forget afterwards what they registered."""
    monkeypatch.syspath_prepend(tmp_path)
    rankers_registry.registered()
    metrics_registry.metric_names()
    for holder, name in [
        (rankers_registry, "_REGISTERED"),
        (metrics_registry, "_families"),
        (metrics_registry, "_other_names"),
        (criteria, "_registered"),
    ]:
        monkeypatch.setattr(holder, name, dict(getattr(holder, name)))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.filterwarnings("ignore:X has names for its columns")
@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(REPOSITORY)) for p in PAGES])
@pytest.mark.usefixtures("own_modules")
def test_page_runs(page, tmp_path, monkeypatch, shell_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", shell_path)
    if page.name == "README.md":
        write_files_of_your_own()
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page.read_text()):
        if block.language == "python" and block.file:
            Path(block.file).write_text(block.code)
        elif block.language == "python":
            # Empty lines in front make tracebacks name the line of the page.
            code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
            exec(code, namespace)
        elif block.language == "bash":
            for command in commands_of(block.code):
                run = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True
                )
                assert run.returncode == 0, f"{page}:{block.line}: {command}\n{run.stderr}"


def test_blocks_are_found_with_their_lines():
    text = "# Title\n\n```python\nx = 1\n```\n\n```bash\nrankgrove info \\\n  a.txt # why\n```\n"
    python, bash, file = blocks_of(text + "```python own.py\ny = 2\n```\n")
    assert (python.language, python.code, python.line) == ("python", "x = 1\n", 4)
    assert bash.line == 8
    assert (python.file, file.file, file.code) == ("", "own.py", "y = 2\n")
    assert commands_of(bash.code) == ["rankgrove info    a.txt # why"]


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
TEXTS = [
    *REPOSITORY.glob("*.md"),
    *(REPOSITORY / "docs").rglob("*.md"),
]


@pytest.mark.parametrize("page", TEXTS, ids=[str(p.relative_to(REPOSITORY)) for p in TEXTS])
def test_links_lead_somewhere(page):
    targets = LINK.findall(page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_reachable_from_the_index():
    index = REPOSITORY / "docs" / "index.md"
    seen, wanted = set(), [index]
    while wanted:
        page = wanted.pop()
        if page in seen:
            continue
        seen.add(page)
        links = LINK.findall(page.read_text())
        wanted += [(page.parent / link).resolve() for link in links if link.endswith(".md")]
    missing = {p.resolve() for p in (REPOSITORY / "docs").rglob("*.md")} - seen
    assert sorted(str(page.relative_to(REPOSITORY)) for page in missing) == []
