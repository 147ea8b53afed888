"""The gallery: every script of ``examples/`` with its output and, if it saves one, its picture."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def gallery(pictures: Path) -> str:
    """Run all examples; return their sections, and write their pictures into a folder."""
    pictures.mkdir(parents=True, exist_ok=True)
    scripts = sorted(EXAMPLES.glob("*.py"))
    with ThreadPoolExecutor(2) as pool:
        return "".join(pool.map(lambda script: section(script, pictures), scripts))


def section(script: Path, pictures: Path) -> str:
    """Run an example; return its title, code and output."""
    code = script.read_text()
    summary = (ast.get_docstring(ast.parse(code)) or "").partition("\n")[0]
    title, _, about = summary.partition(": ")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=folder)
        if run.returncode:
            raise SystemExit(f"{script}: {run.stderr}")
        drawn = Path(folder) / f"{script.stem}.svg"
        picture = ""
        if drawn.is_file():
            (pictures / drawn.name).write_text(drawn.read_text())
            picture = f"\n![{title}]({pictures.name}/{drawn.name})\n"
    about = f"{about[:1].upper()}{about[1:]}\n\n" if about else ""
    body = code.partition('"""\n\n')[2]
    return (
        f"\n## {title.rstrip('.')}\n\n{about}`examples/{script.name}`\n\n```python\n{body}```\n\n"
        f"```{{code-block}} text\n:class: output\n\n{run.stdout.rstrip()}\n```\n{picture}"
    )
