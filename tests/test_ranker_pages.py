"""The pages of the rankers say what the code says."""

from __future__ import annotations

import importlib
import re

import pytest

from rankgrove.rankers.base.registry import OWN_RANKERS, ranker_class, registered


@pytest.fixture(scope="module")
def pages(repository):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "tools"))
        return importlib.import_module("ranker_pages")


def test_every_ranker_has_a_page_and_every_page_a_ranker(repository, pages):
    docs = repository / "docs"
    titles = {path.stem: path.read_text().partition("\n")[0] for path in docs.glob("rankers/*.md")}
    sections = re.findall(r"^## ([a-z-]+)$", (docs / "rankers/forests.md").read_text(), re.M)
    listed = {name for name in OWN_RANKERS if registered()[name].listed}
    assert sorted(titles.keys() - {"forests"} | {*sections}) == sorted(listed - {*pages.GUIDES})
    assert sorted(sections) == sorted(pages.FOREST_PAGES)
    for name in listed - {*sections}:
        cls = ranker_class(name).__name__
        if name in pages.GUIDES:
            assert cls in (docs / f"{pages.GUIDES[name]}.md").read_text(), name
        else:
            assert titles[name] == f"# {cls} (`{name}`)"


def test_pages_are_up_to_date(pages):
    for name in pages.NAMES:
        text = (pages.DOCS / "rankers" / f"{name}.md").read_text()
        assert text == pages.page(name), "run python tools/ranker_pages.py"
        assert (pages.DOCS / "rankers" / "images" / f"{name}.svg").read_text().startswith("<svg")


def test_pages_of_classical_rankers_are_up_to_date(pages):
    for name in pages.CLASSICAL:
        text = (pages.DOCS / "rankers" / f"{name}.md").read_text()
        assert text == pages.classical_page(name), "run python tools/ranker_pages.py"


def test_guide_lists_the_shared_parameters(pages):
    text = (pages.DOCS / "how-to" / "boosting.md").read_text()
    assert text == pages.guide(text), "run python tools/ranker_pages.py"


def test_formulas_become_those_of_markdown(pages):
    text = (
        "Let :math:`x\ny`.\n\n.. math::\n    a = b, \\\\\n    c\n\n"
        "Then ``d``:\n\n.. math:: e\n\nEnd."
    )
    assert pages.markdown(text) == (
        "Let $x y$.\n\n$$\na = b, \\\\\nc\n$$\n\nThen `d`:\n\n$$\ne\n$$\n\nEnd."
    )


def test_pages_quote_what_was_measured(pages, tmp_path, monkeypatch):
    import paper_tables

    monkeypatch.setattr(paper_tables, "RESULTS", tmp_path)
    assert paper_tables.quoted("forests", "MQ2008") == ""
    head = "# papers-forests\n\n`python benchmarks/bench_papers.py --table forests{}`\n\n"
    rows = "|  | NDCG@10 |\n| --- | ---: |\n| rf-point | 0.2{} |\n"
    captions = ("MQ2008, preset letor4", "MQ2008 by fold", "OHSUMED, preset letor3", "MQ2008: more")
    tables = [f"## {name}\n\n{rows.format(i)}" for i, name in enumerate(captions)]
    path = tmp_path / "papers-forests.md"
    path.write_text(head.format(" --share 0.05") + "\n".join(tables))
    found = paper_tables.quoted("forests", "MQ2008")
    assert "5 % of the paper's trees of forests" in found.replace("\n", " ")
    assert [f"0.2{i}" in found for i in range(4)] == [True, False, False, True]
    found = paper_tables.quoted("forests", "OHSUMED, MQ2008")
    assert [f"0.2{i}" in found for i in range(4)] == [True, False, True, True]
    for options, amount in (
        ("", "with the paper's numbers of trees: means"),
        (" --sample-share 0.03", "the paper's numbers of trees (3 % on the sample of WEB10K)"),
        (" --share 0.1 --sample-share 0.3", "trees of forests (3 % on the sample of WEB10K)"),
    ):
        path.write_text(head.format(options) + "\n".join(tables))
        assert amount in paper_tables.quoted("forests", "MQ2008").replace("\n", " ")
    path.write_text(head.format(" --share 0.05 --sample-share 0.5") + "\n".join(tables))
    found = paper_tables.quoted("forests", "MQ2008").replace("\n", " ")
    assert "trees of forests (2.5 % on the sample of WEB10K)" in found
    path.write_text(head.format("") + "\n".join(tables))
    found = paper_tables.quoted("forests", "OHSUMED")
    assert "with the paper's numbers of trees" in found.replace("\n", " ")
    assert found.endswith("OHSUMED, preset letor3:\n\n" + rows.format(2).replace("|  |", "| |"))
