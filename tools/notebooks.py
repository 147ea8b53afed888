"""Turn a page of the tutorials into a notebook, run it, and put its outputs into the page.

The page is the one source: its ``python`` blocks become code cells, a block that has the name of a
file becomes a cell that writes it, ``bash`` blocks that call ``rankgrove`` become shell cells, and
everything between them is text.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

_BLOCK = re.compile(r"^```(python|bash)([^\n]*)\n(.*?)^```\s*?$", re.MULTILINE | re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|.*\r(?!\n)")
# A page shows at most this many lines of one output; the notebook has all.
_SHOWN_LINES = 40


def notebook_of(text: str) -> Any:
    """Return the notebook of a page, not yet run."""
    cells, end = [], 0
    for match in _BLOCK.finditer(text):
        code = cell_code(match[1], match[2].strip(), match[3].rstrip("\n"))
        if code is None:
            continue
        cells += text_cells(text[end : match.start()])
        cells.append(new_code_cell(code))
        end = match.end()
    cells += text_cells(text[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same file on every build
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def cell_code(language: str, file: str, code: str) -> str | None:
    """Return the code of a cell; None if the block is not run."""
    if language == "bash":
        return f"%%bash\n{code}" if re.search(r"^rankgrove ", code, re.MULTILINE) else None
    return f"%%writefile {file}\n{code}" if file else code


def text_cells(text: str) -> list[Any]:
    """Return a cell of Markdown, or none for an empty text."""
    return [new_markdown_cell(text.strip())] if text.strip() else []


def run(notebook: Any, name: str) -> None:
    """Run all cells in an empty folder; an error of a cell ends the build."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as commands:
        command = Path(commands) / "rankgrove"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rankgrove "$@"\n')
        command.chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "OMP_WAIT_POLICY": "passive",  # threads of other libraries sleep while they wait
        }
        client = NotebookClient(
            notebook,
            timeout=240,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--IPKernelApp.log_level=40"],  # (it warns of ports on loopback)
        )
        try:
            client.execute(env=environment)
        except Exception as error:
            raise SystemExit(f"{name}: {error}") from error
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = plain(output["text"].replace(folder, "."))


def plain(text: str) -> str:
    """Return what a terminal would show: no colours, no lines that were overwritten."""
    return _ESCAPE.sub("", text)


def write(notebook: Any, path: Path) -> None:
    """Write a notebook file."""
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n")


def page_with_outputs(text: str, notebook: Any) -> str:
    """Return the page with the outputs of the notebook below its blocks."""
    cells = iter([cell for cell in notebook.cells if cell["cell_type"] == "code"])

    def with_output(match: re.Match[str]) -> str:
        if cell_code(match[1], match[2].strip(), match[3]) is None:
            return match[0]
        shown = [shown_output(output) for output in next(cells)["outputs"]]
        return "\n\n".join([match[0].rstrip("\n"), *filter(None, shown)])

    return _BLOCK.sub(with_output, text)


def shown_output(output: Any) -> str:
    """Return an output as Markdown."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return f'```{{raw}} html\n<div class="output">{data["image/svg+xml"]}</div>\n```'
    lines = str(output.get("text") or data.get("text/plain", "")).rstrip().splitlines()
    if not lines or output.get("name") == "stderr":
        return ""
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], "..."]
    return "```{code-block} text\n:class: output\n\n" + "\n".join(lines) + "\n```"
