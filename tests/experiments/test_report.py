"""The HTML page: what it holds, and how it behaves in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.report import content, write_report
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.terms import TERMS

pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def comparison():
    def judged(seed):
        data = rankgrove.datasets.make_ranking(45, docs_per_query=12, n_features=15, seed=seed)
        ids = [f"doc<{i}>" for i in range(data.n_rows)]
        return rankgrove.Dataset(
            data.X, data.y, data.qid, feature_names=data.feature_names, doc_ids=ids
        )

    return rankgrove.compare(
        {"first set": judged(1), "second </script> set": judged(2)},
        {
            "boosted": "lambdamart:n_estimators=8,max_leaf_nodes=4|8",
            "forest": "rf-point:n_estimators=8",
            "pairs": "rf-pair:n_estimators=4",
            "broken": "rf-list:sampling=bootstrap",
        },
        metrics=["ndcg@5", "map", "rmse"],
        folds=3,
        baseline="forest",
    )


@pytest.fixture(scope="module")
def page(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "index.html"
    write_report(path, comparison)
    return path


@pytest.mark.slow
def test_the_page_needs_nothing_beside_itself(page):
    text = page.read_text("utf-8")
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.findall(r"(?:src|href)=[\"'](?!#|data:)[^\"']*", outside)
    assert "@import" not in outside
    assert "</script> set" not in outside


def test_curves_of_other_libraries_are_drawn_and_missing_ones_are_explained(comparison):
    for library in ("lightgbm", "xgboost", "catboost"):
        pytest.importorskip(library)
    data = make_ranking(30, docs_per_query=10, seed=1)
    peers = {
        "lightgbm": "lightgbm:lambdarank:n_estimators=6,min_child_samples=2",
        "xgboost": "xgboost:rank:ndcg:n_estimators=6",
        "catboost": "catboost:QueryRMSE:iterations=6",
        "trees": "sklearn:DecisionTreeRegressor",
    }
    compared = rankgrove.compare(data, peers, folds=3, metrics=["ndcg@5"])
    found = content(compared)["data"][0]
    assert set(found["curves"]) == {"lightgbm", "xgboost", "catboost"}
    assert found["without_curve"] == {"trees": "there are no scores after single steps"}
    for cell in compared.cells:
        if cell.ranker != "trees":  # all kept trees give what the table shows
            assert cell.outcome.curve_steps[-1] == cell.outcome.n_steps
            assert cell.outcome.curve_values[-1] == pytest.approx(cell.outcome.means[0])
    pairs = content(comparison)["data"][0]["without_curve"]["pairs"]
    assert pairs == "there are no scores after single steps"


def test_a_curve_of_folds_with_other_numbers_of_steps_ends_at_the_value_of_the_table():
    data = make_ranking(31, docs_per_query=10, seed=1)  # folds of 10 and 11 queries
    compared = rankgrove.compare(data, ["lambdamart:n_estimators=40"], folds=3, metrics=["ndcg@5"])
    (result,) = compared.results(compared.datasets[0])
    steps = [cell.outcome.n_steps for cell in result.cells]
    assert min(steps) < max(steps)
    curve = content(compared)["data"][0]["curves"]["lambdamart"]
    assert curve["steps"][-1] == max(steps)
    assert curve["values"][-1] == pytest.approx(result.values["ndcg@5"], abs=1e-5)


def test_values_and_documents_are_those_of_the_comparison(comparison):
    found = content(comparison)
    json.dumps(found, allow_nan=False)
    data = found["data"][0]
    row = next(row for row in data["rows"] if row["ranker"] == "boosted")
    result = next(r for r in comparison.results("first set") if r.ranker == "boosted")
    assert row["values"] == [result.values[name] for name in comparison.metrics]
    assert next(r for r in data["rows"] if r["ranker"] == "broken")["failure"]
    assert found["greater"] == [True, True, False]
    assert len(data["ids"]) == 45 == len(data["queries"]["forest"][0])
    # The documents on top give the metric: NDCG@5 of the first query, by hand.
    labels = [grade for _, grade in data["top"]["boosted"]["0"]][:5]
    queries = comparison.queries("first set", 1)
    ideal = np.sort(queries.labels[: queries.offsets[1]])[::-1][:5]
    discount = 1 / np.log2(np.arange(2, 7))
    gain = [(2.0 ** np.array(grades) - 1) @ discount[: len(grades)] for grades in (labels, ideal)]
    assert data["queries"]["boosted"][0][0] == pytest.approx(gain[0] / gain[1], abs=1e-4)
    assert all(name.startswith("doc<") for name, _ in data["top"]["boosted"]["0"])
    for shares in data["heat"]["forest"]:
        assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert data["curves"]["boosted"]["steps"][0] == 1
    assert "pairs" not in data["curves"]
    assert data["importances"]["forest"][0][1] >= data["importances"]["forest"][1][1]


@pytest.fixture(scope="module")
def odd_page(tmp_path_factory):
    """A metric that counts no query, one whose name is long, and labels that look like tags."""
    data = rankgrove.datasets.make_ranking(30, docs_per_query=8, n_features=6, seed=1)
    parts = [data.select_queries(np.arange(30) % 3 == part) for part in range(3)]
    blank = rankgrove.Dataset(parts[2].X, np.zeros(parts[2].n_rows), parts[2].qid)
    metrics = ["ndcg@5(empty=skip)", "map", "ndcg@10(gain=linear,discount=letor,short=zero)", "err"]
    with pytest.warns(rankgrove.DataWarning, match="every label is 0"):
        comparison = rankgrove.compare(
            {"nothing to find": [(*parts[:2], blank)], "data": [parts]},
            ["lambdamart:n_estimators=3", "depth <b>4=mart:n_estimators=3"],
            metrics=metrics,
            baseline="lambdamart",
        )
    assert "there is nothing to compare" in str(comparison)
    path = tmp_path_factory.mktemp("odd") / "index.html"
    write_report(path, comparison)
    return path


@pytest.fixture(scope="module")
def empty_page(tiny_data, tmp_path_factory):
    """A study that has just begun."""
    study = make_study(tiny_data, ["mart", "lambdamart"], folds=3, baseline="mart")
    with Store(tmp_path_factory.mktemp("results")) as store:
        store.begin(study.describe())
        fold = next(study.sources[0].folds())
        store.plan(list(study.cells(fold)), TestQueries.of(fold.parts), 0)
        comparison = Comparison.from_store(store)
        path = store.folder / "index.html"
    write_report(path, comparison)
    return path


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromium-driver are not installed")
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(driver)) as chrome:
        chrome.set_page_load_timeout(120)
        yield chrome


def open_page(browser, page, width=1280, height=900, scheme="light"):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.as_uri())
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, 60)
    wait.until(lambda browser: names(browser), "the table was not drawn")
    wait.until(lambda browser: browser.find_elements("css selector", "#data option"))


def names(browser):
    script = (
        "return [...document.querySelectorAll('#table tbody tr')].map(r => r.cells[0].innerText)"
    )
    return [name.removesuffix(" (baseline)") for name in browser.execute_script(script)]


def find(browser, selector):
    return browser.find_element("css selector", selector)


@pytest.mark.process
def test_the_table_sorts_and_filters_by_mouse_and_keys(browser, page, comparison):
    open_page(browser, page)
    by_metric = [result.ranker for result in comparison.results("first set")]
    assert names(browser) == by_metric
    find(browser, "#table th:first-child button").click()
    assert names(browser) == sorted(by_metric)
    find(browser, "#table th:first-child button").send_keys("\ue007")  # Enter
    assert names(browser) == sorted(by_metric, reverse=True)
    assert find(browser, "#table th:first-child").get_attribute("aria-sort") == "descending"
    find(browser, "#table th:nth-child(4) button").click()  # RMSE: less is better, comes first
    values = {r.ranker: r.values.get("rmse", np.inf) for r in comparison.results("first set")}
    assert names(browser) == sorted(values, key=values.__getitem__)
    find(browser, "#filter").send_keys("for")
    assert names(browser) == ["forest"]


def test_words_are_those_of_the_glossary(repository):
    glossary = (repository / "docs/reference/glossary.md").read_text("utf-8")
    assert [t.word for t in TERMS if f"| {t.word} | {t.text} |" not in glossary] == []


@pytest.mark.process
def test_words_are_explained_by_mouse_and_keys(browser, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    open_page(browser, page)
    texts = {form: term.text.replace("`", "") for term in TERMS for form in term.forms}
    marked = {
        node.text.lower().split("@")[0]: node
        for node in browser.find_elements("css selector", "[data-term]")
        if node.is_displayed()
    }
    assert {"ndcg", "map", "folds", "tier", "steps", "µs/doc", "grade"} <= marked.keys()
    tip = find(browser, "#tip")
    for form, node in marked.items():
        browser.execute_script("arguments[0].focus()", node)
        assert browser.switch_to.active_element == node
        assert tip.text == texts[form]
        described = find(browser, f"#{node.get_attribute('aria-describedby')}")
        assert described.get_attribute("textContent") == texts[form]
        ActionChains(browser).send_keys("\ue00c").perform()  # Escape
        assert not tip.is_displayed()

    def hovered(browser):
        # The page may still be scrolling to what had the focus: move again.
        ActionChains(browser).move_by_offset(0, 1).move_to_element(marked["folds"]).perform()
        return tip.text

    assert WebDriverWait(browser, 30).until(hovered) == texts["folds"]
    box, width = tip.rect, browser.execute_script("return innerWidth")
    assert 0 <= box["x"] <= box["x"] + box["width"] <= width


@pytest.mark.process
def test_plots_answer_the_mouse_and_documents_follow(browser, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    open_page(browser, page)
    bar = find(browser, "#difference-chart .bars .point path")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)

    def hovered(browser):
        # A move that comes before the chart listens is lost: move again.
        ActionChains(browser).move_by_offset(0, 1).move_to_element(bar).perform()
        found = browser.find_elements("css selector", "#difference-chart .hoverlayer .hovertext")
        return found and found[0].text

    hover = WebDriverWait(browser, 30).until(hovered)
    assert "query" in hover
    assert "difference" in hover
    before = find(browser, "#documents").text
    options = browser.find_elements("css selector", "#query option")
    options[-1].click()
    assert find(browser, "#documents").text != before
    assert "doc<" in find(browser, "#documents").text


@pytest.mark.process
def test_data_sets_change_places(browser, page):
    open_page(browser, page)
    browser.find_elements("css selector", "#data option")[1].click()
    assert len(names(browser)) == 4
    assert "broken failed: ValueError" in find(browser, "#failures").text


@pytest.mark.process
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 820, 390])
def test_no_errors_and_nothing_wider_than_the_screen(browser, page, width, scheme, tmp_path):
    """The screenshots are for eyes: ``tmp_path`` keeps them."""
    open_page(browser, page, width, scheme=scheme)
    wide = "return document.documentElement.scrollWidth"
    assert browser.execute_script(wide) <= width
    too_wide = (
        "return [...document.querySelectorAll('.chart svg.main-svg')]"
        ".filter(s => s.getBoundingClientRect().right > innerWidth).length"
    )
    assert browser.execute_script(too_wide) == 0
    height = browser.execute_script("return document.documentElement.scrollHeight")
    open_page(browser, page, width, height, scheme)
    assert browser.save_screenshot(str(tmp_path / f"report-{width}-{scheme}.png"))
    assert browser.get_log("browser") == []


@pytest.mark.process
@pytest.mark.parametrize("name", ["odd_page", "empty_page"])
def test_pages_without_values_are_drawn_to_their_end(browser, name, request):
    open_page(browser, request.getfixturevalue(name))
    for option in browser.find_elements("css selector", "#data option"):
        option.click() if option.is_displayed() else None
        assert len(browser.find_elements("css selector", "#settings-table tbody tr")) == 2
    assert browser.get_log("browser") == []


@pytest.mark.process
def test_labels_are_shown_as_they_are_written(browser, odd_page):
    open_page(browser, odd_page)
    browser.find_elements("css selector", "#data option")[1].click()
    script = "return [...document.querySelectorAll(arguments[0])].map(t => t.textContent)"
    for chart in ("#fit-chart .textpoint text", "#curve-chart .legendtext"):
        assert "depth <b>4" in browser.execute_script(script, chart)


@pytest.mark.process
def test_every_value_can_be_seen_on_a_phone(browser, odd_page):
    open_page(browser, odd_page, 390)
    browser.find_elements("css selector", "#data option")[1].click()
    script = """return [...document.querySelectorAll('#table td, #settings-table td')].map(cell => {
        const content = document.createRange();
        content.selectNodeContents(cell);
        return [content.getBoundingClientRect().right, cell.scrollWidth - cell.clientWidth]; })"""
    ends, hidden = np.transpose(browser.execute_script(script))
    assert len(ends) == 2 * (1 + 4 + 4) + 2 * 3
    assert max(ends) <= 390
    assert max(hidden) <= 1


@pytest.mark.process
def test_the_page_prints(browser, page):
    open_page(browser, page)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 20_000


@pytest.mark.process
def test_charts_have_the_width_of_paper_while_they_are_printed(browser, page):
    open_page(browser, page, 1600)
    widths = "return [...document.querySelectorAll('.chart .main-svg')].map(s => s.clientWidth)"
    on_screen = browser.execute_script(widths)
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert set(browser.execute_script(widths)) == {660}
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(widths) == on_screen


@pytest.mark.process
def test_a_curve_of_few_steps_can_be_seen(browser, page):
    open_page(browser, page)
    steps = browser.execute_script("return content.data[0].curves.boosted.steps.length")
    assert steps < 10
    drawn = browser.find_elements("css selector", "#curve-chart .scatterlayer .trace .points path")
    assert len(drawn) > steps


def test_results_that_cannot_be_written_to_can_be_read():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        results = Path(folder) / "results"
        data = make_ranking(12, n_features=3, seed=0)
        written = rankgrove.compare(data, ["mart:n_estimators=1"], folds=3, out=results)
        for path, mode in ((results / "study.sqlite", 0o444), (results, 0o555)):
            path.chmod(mode)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)  # root may write everywhere
            with Store.existing(results) as store:
                again = Comparison.from_store(store)
        finally:
            os.seteuid(user)
            results.chmod(0o755)
        assert again.frame("query").equals(written.frame("query"))


def test_swapped_arguments_are_told(comparison, tmp_path):
    with pytest.raises(TypeError, match="path of the page and a Comparison, in this order"):
        write_report(comparison, tmp_path / "page.html")
