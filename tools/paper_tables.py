"""Tables that ``benchmarks/bench_papers.py`` measured, as the pages of the rankers quote them.

Results that are new come into the pages by ``python tools/ranker_pages.py`` and ``python
tools/forest_page.py``.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
# Studies whose methods have training times in a study of their own.
_TIMED = ("igbrt", "broof", "plrank")
# Studies that compare nothing on folds.
_OF_ONE_FIT = ("tree-sizes", "contexts")
_SECTION = re.compile(r"^## (?P<caption>.+)\n\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)


def quoted(study: str, collections: str) -> str:
    """Return the tables of collections of documents, and how they were measured; "" without any.

    Parameters
    ----------
    study : what ``bench_papers.py --table`` is given
    collections : as its tables name them, separated by commas
    """
    path = RESULTS / f"papers-{study}.md"
    text = path.read_text() if path.is_file() else ""
    names = "|".join(map(re.escape, collections.split(", ")))
    found = [
        f"{match['caption']}:\n\n{match['rows'].replace('|  |', '| |', 1)}"
        for match in _SECTION.finditer(text)
        if re.match(rf"({names})(:|, preset)", match["caption"])
    ]
    if not found:
        return ""
    amount = "" if study in _OF_ONE_FIT else f", with {_amount(text)}: means of five folds"
    amount += ", ± the standard deviation over seeds" if amount and "±" in "".join(found) else ""
    how = (
        f"Measured by `benchmarks/bench_papers.py --table {study}`{amount}. "
        f"`benchmarks/results/papers-{study}.md` has the settings, and more data."
    )
    if study in _TIMED:
        how += " Training times are in `benchmarks/results/papers-times.md`."
    return "\n".join([textwrap.fill(how, 100, break_on_hyphens=False) + "\n", *found])


def _amount(text: str) -> str:
    share = _option("share", text)
    amount = "the paper's numbers of trees"
    if share != 1:
        amount = f"{100 * share:.3g} % of the paper's trees of forests"
    sample = _option("sample-share", text)
    if sample == 1:
        return amount
    return f"{amount} ({100 * share * sample:.3g} % on the sample of WEB10K)"


def _option(name: str, text: str) -> float:
    """Return a share of the command of a result file; 1 if it is not given."""
    given = re.search(rf"bench_papers\.py .*--{name} ([0-9.]+)", text)
    return float(given[1]) if given else 1.0
