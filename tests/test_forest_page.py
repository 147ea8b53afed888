"""The tables of the page of the forests are those of the rankers."""

from __future__ import annotations

import importlib


def test_tables_of_the_forests_are_up_to_date(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "tools"))
    page = importlib.import_module("forest_page")
    for path in page.PAGES:
        text = path.read_text()
        assert text.count("| `n_estimators` | `500` | a whole number") == (
            path.name != "data.md"
        ), path
        assert "<!-- measured: " in text, path
        assert text == page.renewed(text), "run python tools/forest_page.py"
