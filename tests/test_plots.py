"""Pictures and rich displays of rankers, models, explanations and comparisons."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import rankgrove
from rankgrove._svg import PALE, UP, Drawing
from rankgrove.explain import partial_dependence

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: Drawing) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(str(drawing)).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def data():
    found = rankgrove.datasets.make_ranking(30, docs_per_query=8, n_features=6, seed=4)
    names = ["a<b>", *(f"f{j}" for j in range(5))]
    return rankgrove.Dataset(found.X, found.y, found.qid, feature_names=names)


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.LambdaMART(n_estimators=4, n_jobs=1).fit(
        data, eval_set={"train": data}, eval_metric=["ndcg@5", "map"]
    )


@pytest.fixture(scope="module")
def comparison(data):
    return rankgrove.compare(
        {"first": data, "second": data},
        {
            "boosted": "lambdamart:n_estimators=4",
            "by chance": "random",
            "broken": "rf-list:sampling=bootstrap",
        },
        metrics=["ndcg@5", "rmse"],
        folds=3,
        baseline="by chance",
    )


def test_a_picture_shows_itself_and_is_saved(ranker, tmp_path):
    picture = ranker.plot_importances()
    assert picture._repr_svg_() == str(picture)
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text() == str(picture)
    picture.save(tmp_path / "picture.html")
    assert str(picture) in (tmp_path / "picture.html").read_text()
    with pytest.raises(ValueError, match=r"not as 'picture\.png'"):
        picture.save("picture.png")


def test_importances_are_the_largest_first(ranker, data):
    named = ranker.named_importances("split")
    found = texts(ranker.plot_importances("split", n_features=3))
    assert found[0] == "lambdamart: importance by split"
    assert found[1::2] == list(named.index[:3])
    assert len(texts(ranker.plot_importances("permutation", X=data, n_repeats=1))) == 1 + 2 * 6
    with pytest.raises(ValueError, match="n_features must be at least 1, not 0"):
        ranker.plot_importances(n_features=0)


def test_history_is_a_curve_per_set(ranker, data):
    picture = ElementTree.fromstring(str(ranker.plot_history("map")))
    (line,) = picture.findall(f"{SVG}polyline")
    assert len(line.get("points").split()) == len(ranker.evals_result_["train"]["map"])
    assert "train map" in texts(ranker.plot_history("map"))
    with pytest.raises(ValueError, match="'err' was not recorded"):
        ranker.plot_history("err")
    with pytest.raises(ValueError, match="fit with eval_set"):
        rankgrove.MART(n_estimators=1, n_jobs=1).fit(data).plot_history()


def test_unfitted_rankers_have_no_pictures():
    from sklearn.exceptions import NotFittedError

    for plot in (rankgrove.MART().plot_history, rankgrove.MART().plot_importances):
        with pytest.raises(NotFittedError, match="call fit first"):
            plot()


def test_explanations_are_drawn(ranker, data):
    explanation = ranker.explain(data)
    sizes = explanation.importances()
    assert texts(explanation.plot())[1] == explanation.features[int(np.argmax(sizes))]
    document = texts(explanation.plot(3))
    assert f"{explanation.scores[3]:.4f}" in document
    assert f"{explanation.expected:.4f}" in document
    with pytest.raises(rankgrove.DataError, match="there is no row 9999"):
        explanation.plot(9999)
    pair = explanation.compare(0, 1)
    assert {f"{pair.first_score:.4f}", f"{pair.second_score:.4f}"} <= set(texts(pair.plot()))
    top = explanation.query(data.qid[0])
    assert f"1. {top.documents[0].name}" in texts(top.plot())
    curve = partial_dependence(ranker, data, "a<b>", n_values=5)
    assert "a<b>" in texts(curve.plot())
    for found in (explanation, pair, top, curve):
        assert found._repr_html_() == str(found.plot())


def test_a_comparison_is_drawn_against_its_baseline(comparison):
    found = texts(comparison.plot())
    assert found[0] == "first: ndcg@5, difference from by chance with 95 % interval"
    first, second = (r for r in comparison.results("first") if not r.failure)
    assert found.index("boosted") < found.index("by chance") < found.index("broken")
    assert {f"{r.values['ndcg@5']:.4f}" for r in (first, second)} <= set(found)
    assert "no result" in found
    assert texts(comparison.plot("rmse", "second"))[0].startswith("second: rmse, difference")
    with pytest.raises(ValueError, match="there is no metric 'err': there are ndcg@5"):
        comparison.plot("err")
    with pytest.raises(ValueError, match="there is no data set 'third'"):
        comparison.plot(data="third")


def test_a_comparison_draws_the_differences_of_its_tests(comparison):
    _, table = comparison.pairs("first", baseline="by chance")
    picture = ElementTree.fromstring(str(comparison.plot()))
    dots = {float(dot.get("cy")): float(dot.get("cx")) for dot in picture.iter(f"{SVG}circle")}
    boosted, chance = (dots[y] for y in sorted(dots))
    lines = [line for line in picture.iter(f"{SVG}line") if line.get("stroke-width") == "3"]
    low, high = sorted((float(lines[0].get("x1")), float(lines[0].get("x2"))))
    scale = (boosted - chance) / table.difference[0]
    assert low == pytest.approx(chance + scale * table.low[0], abs=0.2)
    assert high == pytest.approx(chance + scale * table.high[0], abs=0.2)


def test_colours_say_what_the_tiers_say(comparison):
    picture = ElementTree.fromstring(str(comparison.plot()))
    colours = [dot.get("fill") for dot in picture.iter(f"{SVG}circle")]
    first, chance = (r for r in comparison.results("first") if not r.failure)
    alike = bool(set(first.tiers["ndcg@5"]) & set(chance.tiers["ndcg@5"]))
    assert colours == [PALE if alike else UP, PALE]


def test_one_ranker_is_no_comparison(data):
    alone = rankgrove.compare(data, ["mart:n_estimators=1"], folds=3)
    with pytest.raises(ValueError, match="there is nothing to compare"):
        alone.plot()


def test_notebooks_show_parameters_and_what_was_learnt(ranker):
    before, after = rankgrove.LambdaMART(n_estimators=4)._repr_html_(), ranker._repr_html_()
    assert "LambdaMART" in before
    assert "what was learnt" not in before
    for text in ("what was learnt", "4 trees", "a&lt;b&gt;"):
        assert text in after
    assert "a&lt;b&gt;" in ranker.model_._repr_html_()
    assert repr(ranker.model_).startswith("<TreesModel: 4 trees, ")  # and no arrays
