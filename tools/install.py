"""Run ``pip install`` with the given arguments and show the steps of the compiler on a terminal.

``python tools/install.py --no-build-isolation -e .`` is quiet if its output is not a terminal. What
pip wrote is shown in full if it fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

# A line of ninja: "[17/111] Building CXX object ...".
STEP = re.compile(r"\s*(\[\d+/\d+\]) (.*)")


def main(arguments: list[str]) -> int:
    """Install; return the exit code of pip."""
    pip = [sys.executable, "-m", "pip", "install", *arguments]
    if not sys.stdout.isatty():
        return subprocess.run([*pip, "-q"]).returncode
    lines = []
    with subprocess.Popen(
        [*pip, "-v"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},  # lines arrive as they are written
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if step := STEP.match(line):
                print(f"\r\033[K{step[1]} {step[2]:.60}", end="", flush=True)
    print("\r\033[K", end="", flush=True)
    if process.returncode:
        sys.stderr.writelines(lines)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
