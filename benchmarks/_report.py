"""What every benchmark prints and writes: the machine, an aligned table, ratios, peak memory.

A benchmark is a script like this::

    from _report import Report, benchmark_arguments

    arguments = benchmark_arguments(__doc__).parse_args()
    report = Report("reading", arguments, libraries=["scikit-learn", "lightgbm"])
    report.table(
        ["reader", "seconds", "MB/s", "rankgrove is"],
        [["rankgrove", 0.41, 1210.0, ""], ["lightgbm", 4.9, 101.2, ratio(4.9, 0.41)]],
        caption="Reading 720k x 136",
    )
    report.write()
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
REMARKS = "## Remarks"  # from here on a result file is written by hand, and kept

# Flags of /proc/cpuinfo, the widest instructions first. The kernels ask for these AVX-512 parts.
_VECTOR_FLAGS = (
    ("avx512_vbmi2", "AVX-512"),
    ("avx512f", "AVX-512 without VBMI2"),
    ("avx2", "AVX2"),
    ("sse4_2", "SSE4.2"),
)


def benchmark_arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--threads", type=int, default=2, help="threads of every library")
    parser.add_argument("--no-write", action="store_true", help="print, but write no result file")
    return parser


def ratio(theirs: float, ours: float) -> str:
    """Say how many times faster (or smaller) ours is."""
    if ours <= 0:
        return "-"
    value = theirs / ours
    return f"{value:.2f} x" if value < 10 else f"{value:.1f} x" if value < 100 else f"{value:.0f} x"


def best_time(
    function: Callable[[], Any], repeats: int = 3, at_least: float = 0.0
) -> tuple[float, Any]:
    """Return the shortest wall-clock time of several runs, and the last result.

    Runs are repeated until ``at_least`` seconds have passed, if that takes more than ``repeats``.
    """
    best, spent, runs, result = float("inf"), 0.0, 0, None
    while runs < repeats or spent < at_least:
        start = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best, result


def run_apart(code: str, *arguments: Any) -> dict[str, Any]:
    """Run Python code in a process of its own and return what it stores in ``result``.

    ``arguments`` (anything JSON can hold) are in the variable ``arguments``. The answer also has
    ``peak_mb`` (largest resident size of the process) and ``seconds`` (its wall-clock time).
    """
    program = (
        "import json, resource, sys\n"
        "arguments = json.loads(sys.argv[1])\nresult = {}\n"
        f"{code}\n"
        "result['peak_mb'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "print('\\n' + json.dumps(result))\n"
    )
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", program, json.dumps(arguments)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    if run.returncode:
        raise RuntimeError(f"a measured process failed:\n{run.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return {"seconds": time.perf_counter() - start} | answer


def peak_mb() -> float:
    """Return the largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Report:
    """Prints tables as they come, and writes all of them to one Markdown file."""

    def __init__(self, name: str, arguments: argparse.Namespace, libraries: Sequence[str] = ()):
        self.name = name
        self.arguments = arguments
        self.n_tables = 0
        lines = environment(libraries, arguments.threads)
        print("\n".join(lines), flush=True)
        self.parts = [f"# {name}", "\n".join(f"- {line}" for line in lines)]

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        """Print an aligned table and keep it for the file."""
        self.n_tables += 1
        cells = [[_cell(value) for value in row] for row in rows]
        widths = [max(len(row[j]) for row in [list(columns), *cells]) for j in range(len(columns))]

        def line(row: Sequence[str]) -> str:
            return "  ".join(
                text.rjust(width) if j else text.ljust(width)
                for j, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()

        rule = "  ".join("-" * width for width in widths)
        print("\n".join(["", *filter(None, [caption]), line(columns), rule, *map(line, cells)]))
        sys.stdout.flush()
        marks = ["---", *["---:"] * (len(columns) - 1)]
        body = [f"| {' | '.join(row)} |" for row in [list(columns), marks, *cells]]
        self.parts.append("\n".join([*([f"## {caption}\n"] if caption else []), *body]))

    def heading(self, text: str) -> None:
        """Print the heading of tables that have no caption of their own."""
        self.note(f"## {text}")

    def note(self, text: str) -> None:
        """Print a remark and keep it for the file."""
        print(f"\n{text}", flush=True)
        self.parts.append(text)

    def write(self, folder: Path = RESULTS) -> None:
        """Write the file, above the remarks that it has.

        A quick run is no result and goes to a name of its own.
        """
        if self.arguments.no_write:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}{'.quick' if self.arguments.quick else ''}.md"
        given = shlex.join(sys.argv[1:])
        command = f"`python benchmarks/{Path(sys.argv[0]).name} {given}".rstrip()
        old = path.read_text() if path.is_file() else ""
        remarks = [old[old.index(REMARKS) :].rstrip()] if REMARKS in old else []
        parts = [*self.parts[:1], f"{command}`", *self.parts[1:], *remarks]
        path.write_text("\n\n".join(parts) + "\n")
        print(f"\nwritten to {os.path.relpath(path)}")


def environment(libraries: Sequence[str], threads: int) -> list[str]:
    """Describe the machine and the versions that were measured."""
    versions = [f"{name} {version(name)}" for name in ["rankgrove", "numpy", *libraries]]
    return [
        f"CPU: {machine()}, {threads} threads used",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        f"Versions: {', '.join(versions)}",
        f"Date: {time.strftime('%Y-%m-%d')}",
    ]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        digits = (
            0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 3 if abs(value) >= 1 else 4
        )
        return f"{value:.{digits}f}"
    return str(value)


def version(package: str) -> str:
    if package == "rankgrove":
        from rankgrove import __version__

        return __version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # the module of another distribution: xgboost-cpu
        found = metadata.packages_distributions().get(package)
        return metadata.version(found[0]) if found else "(not installed)"


def machine() -> str:
    """Tell this machine from others: processor, widest vector instructions, logical cores."""
    return f"{processor(_cpuinfo())}, {os.cpu_count()} logical cores"


def processor(cpuinfo: str) -> str:
    """Describe the first processor of ``/proc/cpuinfo``.

    Virtual machines give processors of different ages one name: family, model and vector
    instructions tell these apart.
    """
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags", "").split()
    vectors = [name for flag, name in _VECTOR_FLAGS if flag in flags]
    numbers = [
        f"{name.removeprefix('cpu ')} {fields[name]}"
        for name in ("cpu family", "model")
        if name in fields
    ]
    named = fields.get("model name") or platform.processor() or platform.machine()
    return ", ".join([named, *numbers, *vectors[:1]])


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
