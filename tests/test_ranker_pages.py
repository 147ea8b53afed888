"""The pages of the rankers say what the code says."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(scope="module")
def pages(repository):
    path = repository / "docs" / "ranker_pages.py"
    spec = importlib.util.spec_from_file_location("ranker_pages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date(pages):
    for name in pages.NAMES:
        text = (pages.DOCS / "rankers" / f"{name}.md").read_text()
        assert text == pages.page(name), "run python docs/ranker_pages.py"
        assert (pages.DOCS / "rankers" / "images" / f"{name}.svg").read_text().startswith("<svg")


def test_pages_of_classical_rankers_are_up_to_date(pages):
    for name in pages.CLASSICAL:
        text = (pages.DOCS / "rankers" / f"{name}.md").read_text()
        assert text == pages.classical_page(name), "run python docs/ranker_pages.py"


def test_guide_lists_the_shared_parameters(pages):
    text = (pages.DOCS / "boosting.md").read_text()
    assert text == pages.guide(text), "run python docs/ranker_pages.py"


def test_formulas_become_those_of_markdown(pages):
    text = (
        "Let :math:`x\ny`.\n\n.. math::\n    a = b, \\\\\n    c\n\n"
        "Then ``d``:\n\n.. math:: e\n\nEnd."
    )
    assert pages.markdown(text) == (
        "Let $x y$.\n\n$$\na = b, \\\\\nc\n$$\n\nThen `d`:\n\n$$\ne\n$$\n\nEnd."
    )
