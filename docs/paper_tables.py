"""Tables that ``benchmarks/bench_papers.py`` measured, as the pages of the rankers quote them.

Results that are new come into the pages by ``python docs/ranker_pages.py`` and ``python
docs/forest_page.py``.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
_SECTION = re.compile(r"^## (?P<caption>.+)\n\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)


def quoted(study: str, collection: str) -> str:
    """Return the tables of a collection of documents, and how they were measured; "" without any.

    Parameters
    ----------
    study : what ``bench_papers.py --table`` is given
    collection : as its tables name it
    """
    path = RESULTS / f"papers-{study}.md"
    text = path.read_text() if path.is_file() else ""
    found = [
        f"{match['caption']}:\n\n{match['rows'].replace('|  |', '| |', 1)}"
        for match in _SECTION.finditer(text)
        if re.match(rf"{re.escape(collection)}(:|, preset)", match["caption"])
    ]
    if not found:
        return ""
    how = (
        f"By `benchmarks/bench_papers.py --table {study}`, with {_amount(text)}: means of five "
        "folds, ± the standard deviation over seeds. "
        f"`benchmarks/results/papers-{study}.md` has the settings, and more data."
    )
    return "\n".join([textwrap.fill(how, 100) + "\n", *found])


def _amount(text: str) -> str:
    share = re.search(r"bench_papers\.py .*--share ([0-9.]+)", text)
    if share is None or float(share[1]) == 1:
        return "the paper's numbers of trees"
    return f"{100 * float(share[1]):.3g} % of the paper's numbers of trees"
