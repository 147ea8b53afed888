"""The documentation site builds without a warning and needs no network."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.docs, pytest.mark.process, pytest.mark.timeout(1200)]

FETCHED = re.compile(r'<(?:script|link|img|source)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
FETCHED_BY_STYLE = re.compile(r"(?:@import|url\()\s*['\"(]*\s*(?:https?:)?//[^)'\"]+")


@pytest.fixture(scope="module")
def site(repository, tmp_path_factory):
    for name in ("sphinx", "myst_parser", "pydata_sphinx_theme", "latex2mathml", "nbclient"):
        pytest.importorskip(name, reason="make docs installs what builds the site")
    out = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, str(repository / "tools" / "build_site.py"), "--out", str(out)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


def test_every_page_of_docs_is_on_the_site(site, repository):
    docs = repository / "docs"
    pages = [path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md")]
    assert [str(page) for page in pages if not (site / page).is_file()] == []


def test_every_tutorial_is_offered_as_a_notebook_with_outputs(site, repository):
    import nbformat

    found = {path.stem: nbformat.read(path, as_version=4) for path in site.rglob("*.ipynb")}
    assert set(found) == {path.stem for path in (repository / "docs" / "tutorials").glob("*.md")}
    for name, notebook in found.items():
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert outputs, name
        assert [output for output in outputs if output["output_type"] == "error"] == []


def test_nothing_is_fetched_from_elsewhere(site):
    found = {
        str(path.relative_to(site)): (FETCHED if path.suffix == ".html" else FETCHED_BY_STYLE)
        .findall(path.read_text())
        for kind in ("*.html", "*.css")
        for path in site.rglob(kind)
    }  # fmt: skip
    assert {name: urls for name, urls in found.items() if urls} == {}


def test_reference_has_options_parameters_and_formulas(site):
    assert "--early-stopping-rounds" in (site / "reference" / "commands.html").read_text()
    rankers = (site / "reference" / "api" / "rankers.html").read_text()
    assert 'id="rankgrove.make_ranker"' in rankers
    assert "../../rankers/lambdamart.html" in rankers
    assert "<math" in (site / "rankers" / "lambdamart.html").read_text()
    assert "lambdamart" in (site / "searchindex.js").read_text()
