"""Draw how the cost of training grows: docs/assets/training-cost.svg.

Usage: python tools/cost_picture.py [FILE]

Reads benchmarks/results/scaling.json, which ``benchmarks/bench_scaling.py`` writes. One panel per
size of the work, both axes logarithmic: milliseconds per tree with one thread and with two.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PANEL, GAP, MARGIN = 190, 50, 45
LINES = (("step1", "#b4512d", "one thread"), ("step2", "#2d6ab4", "two threads"))


def main(path: Path) -> None:
    """Read the measurements and write the picture."""
    found = json.loads((ROOT / "benchmarks/results/scaling.json").read_text())
    parts = {name: runs for name, runs in found.items() if name != "phases"}
    width = 2 * MARGIN + len(parts) * PANEL + (len(parts) - 1) * GAP
    body = [
        panel(name, runs, MARGIN + number * (PANEL + GAP))
        for number, (name, runs) in enumerate(parts.items())
    ]
    legend = "".join(
        f'<text x="{MARGIN + 110 * number}" y="14" fill="{colour}">{label}</text>'
        for number, (_, colour, label) in enumerate(LINES)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {PANEL + 80}" '
        f'font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="#fff"/>{legend}{"".join(body)}</svg>\n'
    )


def panel(name: str, runs: list[dict[str, Any]], left: float) -> str:
    """Return one panel, whose axes span the measured values."""
    top, bottom = 30, 30 + PANEL
    sizes = [run["size"] for run in runs]
    times = [run[key] for run in runs for key, _, _ in LINES]
    low, high = min(times), max(times) * 1.0001

    def x(size: float) -> float:
        return left + PANEL * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def y(milliseconds: float) -> float:
        return bottom - PANEL * math.log(milliseconds / low) / math.log(high / low)

    parts = [
        f'<rect x="{left}" y="{top}" width="{PANEL}" height="{PANEL}" fill="none" stroke="#999"/>',
        f'<text x="{left + PANEL / 2}" y="{bottom + 32}" text-anchor="middle">{name}</text>',
        f'<text x="{left}" y="{bottom + 15}" text-anchor="middle">{sizes[0]:,}</text>',
        f'<text x="{left + PANEL}" y="{bottom + 15}" text-anchor="middle">{sizes[-1]:,}</text>',
        f'<text x="{left - 4}" y="{bottom}" text-anchor="end">{low:.3g}</text>',
        f'<text x="{left - 4}" y="{top + 10}" text-anchor="end">{high:.3g}</text>',
    ]
    for key, colour, _ in LINES:
        points = [(x(run["size"]), y(run[key])) for run in runs]
        text = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points
        ]
    return "".join(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/assets/training-cost.svg")
