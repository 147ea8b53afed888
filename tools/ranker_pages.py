"""Write the pages of boosted and classical rankers from their docstrings and parameters.

``python tools/ranker_pages.py`` writes the pages, ``--plots`` also trains the boosted rankers and
draws their convergence. ``tools/ranker_curves.py`` measures all rankers and draws their learning
curves. A test sees to it that the pages are up to date.
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path

from paper_settings import settings_section
from paper_tables import quoted
from ranker_advice import WHEN
from ranker_curves import learning_curve

from rankgrove import make_ranker
from rankgrove.extending import BoostedRanker, RankerParameter, parameter_table, ranker_class

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = (
    "gbrt",
    "igbrt",
    "mart",
    "lambdamart",
    "mcrank",
    "plrank",
    "cosmart",
    "klmart",
    "xendcg",
    "yetirank",
    "queryrmse",
    "querysoftmax",
    "querycrossentropy",
    "listce",
    "pairlogit",
    "lambdaloss",
    "yetiloss",
    "stochasticrank",
    "stochasticfilter",
    "groupquantile",
    "rcrank",
)
CLASSICAL = (
    "coordinate-ascent",
    "listmle",
    "ranksvm",
    "adarank",
    "rankboost",
    "single-feature",
    "random",
)
# Rankers that are made of others, and the guides that describe them.
GUIDES = {
    "auto": "how-to/which-ranker",
    "bagged": "how-to/bagging-and-blending",
    "blend": "how-to/bagging-and-blending",
    "calibrated": "how-to/calibration",
}
FOREST_PAGES = dict.fromkeys(
    ("rf", "extra-trees", "rf-point", "rf-list", "rf-hybrid", "rf-rand", "rf-pair"), "forests"
)
# The study of a paper in which a ranker stands, and the documents whose table its page shows.
IN_PAPER = {
    "gbrt": ("igbrt", "MQ2008, WEB10K sample"),
    "igbrt": ("igbrt", "MQ2008, WEB10K sample"),
    "plrank": ("plrank", "MQ2008, WEB10K sample"),
    "rcrank": ("rcrank", "WEB10K sample"),
    **dict.fromkeys(("mart", "lambdamart", "mcrank", "cosmart", "klmart"), ("plrank", "MQ2008")),
}
# What an example gives besides the number of iterations.
EXTRA = {
    "igbrt": {"n_forest_trees": 100},
    "querycrossentropy": {"max_grade": 4},
    "listce": {"max_grade": 4},
}
# The metric of an example, where it is not NDCG@10.
MEASURED_BY = {"stochasticfilter": "filtered-dcg"}
BEGIN, END = "<!-- parameters of every boosted ranker -->\n", "<!-- end -->\n"

PAGE = """\
# {cls} (`{name}`)

{body}

## When to choose it

{when}

## Use

```python
import rankgrove
from rankgrove.datasets import make_ranking

train, valid = make_ranking(60, seed=1), make_ranking(40, seed=2)
ranker = rankgrove.{cls}(n_estimators=20, {extra}random_state=0)
ranker.fit(train, eval_set={{"train": train, "valid": valid}}, eval_metric="{metric}")
print(ranker.best_iteration_, ranker.score(valid))
```

```text
rankgrove train {name} train.txt --valid vali.txt --metric {metric} --out model.rg
```

## Parameters

{own}

The parameters of every boosted ranker are in
[Boosted rankers](../how-to/boosting.md#parameters){changed}.

## Convergence

NDCG@10 per iteration on 300 training and 150 validation queries of
`make_ranking(preset="letor4")`, drawn with `rankgrove.experiments.history_svg`:

![Train and validation NDCG@10 of {cls} per iteration](images/{name}.svg)

## Learning curve

{curve}{in_paper}
## As in the papers

{settings}"""

IN_PAPER_SECTION = """
## Compared with the other methods of a paper

{tables}"""

NO_SETTINGS = """\
rankgrove has no settings of a paper for this ranker. Its defaults are those of its family.
"""

CLASSICAL_PAGE = """\
# {cls} (`{name}`)

{body}

## When to choose it

{when}

## Use

```python
import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(40, seed=2)
ranker = rankgrove.{cls}(random_state=0).fit(train)
print(ranker.score(test, metric="ndcg@10"))
```

```text
rankgrove train {name} train.txt --test test.txt --metric ndcg@10 --out model.rg
```

## Parameters

{parameters}

## Learning curve

{curve}
## As in the papers

{settings}"""


def classical_page(name: str) -> str:
    """Return the text of the page of a ranker that is not boosted trees or a forest."""
    cls = ranker_class(name)
    return CLASSICAL_PAGE.format(
        name=name,
        cls=cls.__name__,
        body=body(cls),
        parameters=parameter_rows(parameter_table(cls)),
        when=WHEN[name],
        curve=learning_curve(name),
        settings=as_in_papers(name),
    )


def page(name: str) -> str:
    """Return the text of a boosted ranker's page."""
    cls = ranker_class(name)
    shared = {parameter.name: parameter for parameter in parameter_table(BoostedRanker)}
    table = parameter_table(cls)
    own = [parameter for parameter in table if parameter.name not in shared]
    changed = [
        f"`{p.name}={p.default!r}`"
        for p in table
        if p.name in shared and p.default != shared[p.name].default
    ]
    return PAGE.format(
        name=name,
        cls=cls.__name__,
        body=body(cls),
        metric=MEASURED_BY.get(name, "ndcg@10"),
        extra="".join(f"{key}={value}, " for key, value in EXTRA.get(name, {}).items()),
        own=parameter_rows(own) if own else "This ranker has no parameters of its own.",
        changed=f"; this ranker has {', '.join(changed)} by default" if changed else "",
        when=WHEN[name],
        curve=learning_curve(name),
        in_paper=in_paper(name),
        settings=as_in_papers(name),
    )


def as_in_papers(name: str) -> str:
    """Return what the papers give a ranker, or that there is nothing."""
    return settings_section(name) or NO_SETTINGS


def in_paper(name: str) -> str:
    """Return what ``bench_papers.py`` measured of the paper that compares a ranker, if any."""
    tables = quoted(*IN_PAPER[name]) if name in IN_PAPER else ""
    return IN_PAPER_SECTION.format(tables=tables) if tables else ""


def body(cls: type) -> str:
    """Return the text of a docstring, without its lists of parameters and attributes."""
    text = inspect.getdoc(cls) or ""
    return markdown(re.split(r"\n\n(?:Parameters|Attributes)\n-+\n", text)[0])


def markdown(text: str) -> str:
    """Turn the formulas of a docstring into Markdown's."""

    def block(match: re.Match[str]) -> str:
        lines = [line.strip() for line in (match[1] + match[2]).strip().splitlines()]
        return "$$\n" + "\n".join(lines) + "\n$$\n\n"

    text = re.sub(r"^\.\. math::(.*)\n((?:\n?[ ]{4}.*\n?)*)", block, text + "\n", flags=re.M)
    text = re.sub(r":math:`([^`]+)`", lambda match: f"${match[1].replace(chr(10), ' ')}$", text)
    return re.sub(r"\n{3,}", "\n\n", text).replace("``", "`").strip()


def parameter_rows(table: list[RankerParameter]) -> str:
    """Return parameters as a Markdown table."""
    lines = ["| parameter | default | values | meaning |", "| --- | --- | --- | --- |"]
    for parameter in table:
        values = parameter.constraint.describe().replace("|", "\\|")
        meaning = parameter.meaning.replace("``", "`").replace("|", "\\|")
        lines.append(f"| `{parameter.name}` | `{parameter.default!r}` | {values} | {meaning} |")
    if any(parameter.name == "metric" for parameter in table):
        lines.append(
            "\nOn the command line, `metric` is `--train-metric` (`--metric` is what is reported)."
        )
    return "\n".join(lines)


def guide(text: str) -> str:
    """Return the guide with its table of shared parameters renewed."""
    before, _, rest = text.partition(BEGIN)
    return (
        f"{before}{BEGIN}{parameter_rows(parameter_table(BoostedRanker))}\n{END}"
        + (rest.partition(END)[2])
    )


def plot(name: str) -> str:
    """Train a ranker and draw how its metric develops."""
    from rankgrove.datasets import make_ranking
    from rankgrove.experiments import history_svg

    train, valid = (make_ranking(n, preset="letor4", seed=s) for n, s in ((300, 1), (150, 2)))
    ranker = make_ranker(name, n_estimators=150, random_state=0, **EXTRA.get(name, {}))
    ranker.fit(train, eval_set={"train": train, "valid": valid})
    return history_svg(ranker, title=type(ranker).__name__)


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plots", action="store_true", help="train the rankers, draw the plots")
    draws = parser.parse_args().plots
    for name in NAMES:
        (DOCS / "rankers" / f"{name}.md").write_text(page(name))
        if draws:
            (DOCS / "rankers" / "images" / f"{name}.svg").write_text(plot(name))
    for name in CLASSICAL:
        (DOCS / "rankers" / f"{name}.md").write_text(classical_page(name))
    path = DOCS / "how-to" / "boosting.md"
    path.write_text(guide(path.read_text()))


if __name__ == "__main__":
    main()
