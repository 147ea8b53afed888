"""The HTML page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from rankgrove.experiments.comparison import Result
from rankgrove.experiments.convergence import Convergence
from rankgrove.experiments.report import write_report

RESULTS = [
    Result("feature <x>", {"ndcg@10": 0.3, "map": 0.5}),
    Result("A", {"ndcg@10": 0.41, "map": 0.6}, 2.0, 1.25, 10, Convergence([1, 10], [0.3, 0.41])),
    Result("B", {"ndcg@10": 0.45, "map": 0.55}, 4.0, 0.75, 20, Convergence([1, 20], [0.2, 0.45])),
]


class Tables(HTMLParser):
    """Collects the cells of all tables, and whether they are marked."""

    def __init__(self):
        super().__init__()
        self.cells, self.marked, self._inside = [], [], None

    def handle_starttag(self, tag, attributes):
        if tag in ("td", "th"):
            self._inside = dict(attributes).get("class", "")
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            if self._inside == "best":
                self.marked.append(self.cells[-1])
            self._inside = None

    def handle_data(self, data):
        if self._inside is not None:
            self.cells[-1] += data


@pytest.fixture(scope="module")
def page(tmp_path_factory, small_data):
    pytest.importorskip("plotly")
    path = tmp_path_factory.mktemp("page") / "index.html"
    write_report(path, "A & B", "who wins?", RESULTS, small_data, small_data)
    return path.read_text("utf-8")


def test_page_needs_nothing_beside_itself(page):
    outside_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "http" not in outside_scripts
    assert not re.search(r"<script[^>]+src=", page)
    assert not re.search(r"<link", outside_scripts)
    assert page.count("Plotly.newPlot(") == 5


def test_table_has_every_result_and_marks_the_best(page):
    tables = Tables()
    tables.feed(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert tables.cells[:4] == ["ranker", "NDCG@10", "MAP", "trees"]
    assert "feature <x>" in tables.cells
    assert sorted(tables.marked) == ["0.4500", "0.6000", "0.75", "2.00"]


def test_texts_are_escaped(page):
    assert "<title>A &amp; B</title>" in page
    assert "feature &lt;x&gt;" in page
