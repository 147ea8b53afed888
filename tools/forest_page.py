"""Renew the tables in the pages of forests, BROOF and data: parameters, and what was measured.

``python tools/forest_page.py`` renews the tables, ``--plots`` also draws the strength curves. A
test sees to it that the tables are up to date.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from paper_settings import settings_section
from paper_tables import quoted
from ranker_advice import WHEN
from ranker_curves import BESIDE, FORESTS, learning_curve
from ranker_pages import parameter_rows

from rankgrove import make_ranker
from rankgrove.extending import BaseRanker, ForestRanker, parameter_table, ranker_class

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rankers"
PAGES = (FOLDER / "forests.md", FOLDER / "broof.md", FOLDER.parent / "how-to" / "data.md")
_PARAMETERS = re.compile(r"(<!-- parameters of (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_PAPERS = re.compile(r"(<!-- papers of (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_CURVE = re.compile(r"(<!-- learning curve of (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_WHEN = re.compile(r"(<!-- when to choose (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_MEASURED = re.compile(r"(<!-- measured: (\S+), (.+?) -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def renewed(text: str) -> str:
    """Return the page with all tables renewed; those that were not measured anew stay."""
    text = _PARAMETERS.sub(lambda match: f"{match[1]}{table_of(match[2])}\n{match[3]}", text)
    text = _PAPERS.sub(lambda match: f"{match[1]}{settings_section(match[2])}{match[3]}", text)
    text = _CURVE.sub(lambda match: f"{match[1]}{curve_of(match[2])}{match[3]}", text)
    text = _WHEN.sub(lambda match: f"{match[1]}{WHEN[match[2]]}\n{match[3]}", text)
    return _MEASURED.sub(
        lambda match: f"{match[1]}{quoted(match[2], match[3]) or match[4]}{match[5]}", text
    )


def table_of(name: str) -> str:
    """Return the parameters that every forest has, or those that a ranker adds or changes."""
    if name == "every-forest":
        return parameter_rows(parameter_table(ForestRanker))
    cls = ranker_class(name)
    base = ForestRanker if issubclass(cls, ForestRanker) else BaseRanker
    shared = {parameter.name: parameter for parameter in parameter_table(base)}
    own = [
        parameter
        for parameter in parameter_table(cls)
        if parameter.name not in shared or parameter.default != shared[parameter.name].default
    ]
    return parameter_rows(own) if own else "It has no parameters of its own."


def curve_of(name: str) -> str:
    """Return the learning curve of all forests, or of one ranker beside the usual ones."""
    return learning_curve(name, (*FORESTS, *BESIDE) if name in FORESTS else BESIDE)


def strength_plot() -> str:
    """Grow trees of RF-point and RF-list and draw their strength."""
    from rankgrove.datasets import make_ranking
    from rankgrove.experiments import Curve, curves_svg

    sets = {
        "train": make_ranking(300, preset="letor4", seed=1),
        "test": make_ranking(150, preset="letor4", seed=2),
    }
    curves = []
    for name in ("rf-point", "rf-list"):
        forest = make_ranker(name, n_estimators=20, random_state=0).fit(sets["train"])
        for split, data in sets.items():
            strength = forest.strength_curve(data).thinned()
            curves.append(Curve(f"{name}, {split}", strength.mean, strength.n_splits))
    return curves_svg(curves, "Strength of single trees", x_title="splits")


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plots", action="store_true", help="grow trees, draw the plot")
    draws = parser.parse_args().plots
    for page in PAGES:
        page.write_text(renewed(page.read_text()))
    if draws:
        (FOLDER / "images" / "strength.svg").write_text(strength_plot())


if __name__ == "__main__":
    main()
