"""Measure every ranker on synthetic data of growing size, and draw its learning curve.

``python tools/ranker_curves.py`` measures the rankers that ``docs/rankers/measured.json`` does not
have yet (``--again NAME ...`` measures some anew) and draws the pictures; the pages of the rankers
quote both.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

from rankgrove import make_ranker
from rankgrove.experiments import Curve, curves_svg

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rankers"
MEASURED = FOLDER / "measured.json"
QUERIES = (20, 40, 80, 160, 320)
SEEDS = (0, 1, 2)
FORESTS = ("rf-point", "rf-list", "rf-hybrid", "rf", "extra-trees", "rf-rand", "rf-pair")
# One ranker of each family, beside which a page shows its own.
BESIDE = ("lambdamart", "mart", "rf-point", "coordinate-ascent", "single-feature", "random")
# What a ranker is given besides its defaults; the pages say it.
GIVEN: dict[str, dict[str, object]] = {
    **{name: {"n_estimators": 100} for name in FORESTS},
    "broof": {"n_estimators": 20},
    "igbrt": {"n_forest_trees": 100},
    "querycrossentropy": {"max_grade": 2},
    "listce": {"max_grade": 2},
}
ABOUT = """\
Mean test NDCG@10 by the number of training queries, over 3 draws of synthetic data (`make_ranking`
with `preset="letor4"`; 150 validation queries for early stopping, 300 test queries). The rankers
have their defaults{given}. `python tools/ranker_curves.py` measures this. The table shows how much
a ranker gains from more queries; use `rankgrove compare` to find the best ranker on your data.
"""


def measure(name: str) -> list[list[float]]:
    """Return the test values: one list per number of queries, one value per draw of the data."""
    from rankgrove.datasets import make_ranking

    values: list[list[float]] = [[] for _ in QUERIES]
    for seed in SEEDS:
        data = make_ranking(max(QUERIES) + 450, preset="letor4", seed=seed)
        test, valid = (data.select_queries(range(*span)) for span in ((0, 300), (300, 450)))
        for k, n in enumerate(QUERIES):
            train = data.select_queries(range(450, 450 + n))
            ranker = make_ranker(name, random_state=seed, **GIVEN.get(name, {}))
            if ranker.stops_early:
                ranker.fit(train, eval_set=valid, early_stopping_rounds=30)
            else:
                ranker.fit(train)
            values[k].append(round(float(ranker.score(test, metric="ndcg@10")), 5))
    return values


def measured() -> dict[str, list[list[float]]]:
    """Return what was measured of every ranker."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def learning_curve(name: str, others: tuple[str, ...] = BESIDE) -> str:
    """Return the picture and the table of a ranker beside others, as Markdown."""
    values = measured()
    rows = list(dict.fromkeys((name, *others)))
    given = "".join(
        f"; {row} has `{key}={value!r}`"
        for row in rows
        for key, value in GIVEN.get(row, {}).items()
    )
    head = " | ".join(f"{n} queries" for n in QUERIES)
    lines = [f"| ranker | {head} |", "| --- |" + " ---: |" * len(QUERIES)]
    for row in rows:
        cells = " | ".join(f"{fmean(draws):.4f}" for draws in values[row])
        lines.append(f"| {'**' + row + '**' if row == name else row} | {cells} |")
    picture = f"![NDCG@10 of {name} by training queries](images/{picture_name(name)})"
    return f"{ABOUT.format(given=given)}\n{picture}\n\n" + "\n".join(lines) + "\n"


def picture_name(name: str) -> str:
    """Return the file of a ranker's picture."""
    return f"{name}-queries.svg"


def drawn(name: str, others: tuple[str, ...]) -> str:
    """Return the picture of a ranker beside others, as SVG."""
    values = measured()
    curves = [
        Curve(row, [fmean(draws) for draws in values[row]], QUERIES)
        for row in dict.fromkeys((name, *others))
    ]
    return curves_svg(curves, f"Learning curve of {name}", "training queries", "test NDCG@10")


def main() -> None:
    """Measure what is missing and draw everything."""
    from ranker_pages import CLASSICAL, NAMES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", nargs="*", default=[], metavar="NAME")
    again = parser.parse_args().again
    every = (*BESIDE, *(n for n in (*CLASSICAL, *FORESTS, "broof", *NAMES) if n not in BESIDE))
    values = {name: found for name, found in measured().items() if name not in again}
    for name in every:
        if name not in values:
            values[name] = measure(name)
            MEASURED.write_text(json.dumps(values, indent=1) + "\n")
            print(name, [round(fmean(draws), 4) for draws in values[name]], flush=True)
    for name in every:
        others = FORESTS if name == FORESTS[0] else BESIDE[:4]
        if name not in FORESTS[1:]:
            (FOLDER / "images" / picture_name(name)).write_text(drawn(name, others))


if __name__ == "__main__":
    main()
