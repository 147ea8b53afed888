"""Blends: weights on unseen queries, the model as a sum, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.core.queries import QueryGroups
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning, ModelError
from rankgrove.models.ranks import places
from rankgrove.rankers.base.blending import blend_weights
from support.rankers import quick

TREES = ["mart:n_estimators=5", "lambdamart:n_estimators=5"]


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=12, n_features=6, seed=3)


@pytest.fixture(scope="module")
def valid():
    return make_ranking(30, docs_per_query=12, n_features=6, seed=4)


def blend(rankers, **params):
    return rankgrove.Blend(rankers=rankers, **{"random_state": 0, "n_jobs": 1, **params})


def test_score_is_the_weighted_sum_of_standardised_scores(data, valid):
    rankers = [quick("mart"), quick("listmle"), quick("rf-pair")]
    found = blend(rankers).fit(data, eval_set=valid)
    expected = np.zeros(data.n_rows)
    for name, weight in zip(("mart", "listmle", "rf-pair"), found.weights_, strict=True):
        alone = quick(name).fit(data, eval_set=valid)
        scores = alone.predict(valid)
        means = np.bincount(valid.groups.query_of_row(), scores) / valid.group_sizes
        spread = np.sqrt(np.mean((scores - np.repeat(means, valid.group_sizes)) ** 2))
        expected += weight * alone.predict(data) / spread
    np.testing.assert_allclose(found.predict(data), expected, rtol=1e-9, atol=1e-12)
    assert found.weights_.sum() == pytest.approx(1)
    assert (found.weights_ >= 0).all()


def test_blend_is_never_worse_than_its_best_ranker_where_weights_were_chosen(data, valid):
    for by in ("score", "rank"):
        for options in ({"eval_set": valid}, {}):
            found = blend([*TREES, "listmle"], by=by).fit(data, **options)
            assert found.blend_value_ >= found.single_values_.max()
    assert found.blend_value_ != found.score(data)  # out of fold


def test_weights_are_those_of_forward_selection():
    rng = np.random.default_rng(0)
    groups = QueryGroups.from_sizes([5] * 20)
    truth = rng.normal(size=100)
    scores = np.stack([truth + rng.normal(size=100), truth + rng.normal(size=100), -truth])

    def closeness(total):
        return float(np.corrcoef(total, truth)[0, 1])

    found = blend_weights(scores, groups, "score", closeness, 1)
    assert found.weights[2] == 0
    assert (found.weights[:2] > 0.2).all()
    assert found.value > found.single_values.max()
    downwards = blend_weights(scores, groups, "score", lambda total: -closeness(total), -1)
    np.testing.assert_array_equal(downwards.weights, found.weights)


def test_the_value_is_that_of_the_blend_also_for_metrics_of_the_size_of_scores(data, valid):
    def distance(labels, scores):
        return -float(np.abs(labels - scores).mean())

    found = blend([*TREES, "listmle"], metric=distance).fit(data, eval_set=valid)
    values = rankgrove.metric(distance).per_query(valid, found.predict(valid))
    assert found.blend_value_ == pytest.approx(values.mean())
    assert (found.weights_ > 0).sum() > 1


def test_scores_that_differ_by_rounding_alone_are_not_blown_up():
    groups = QueryGroups.from_sizes([7] * 9)
    truth = np.random.default_rng(0).normal(size=63)
    constant = np.full(63, 0.1)
    assert np.add.reduceat(constant, [0, 7])[0] / 7 != 0.1
    found = blend_weights(np.stack([constant, truth]), groups, "score", lambda _: 0.0, 1)
    assert found.scales[0] == 0
    assert found.scales[1] > 0.5


def test_blend_of_rankers_that_learn_nothing_has_ordinary_scores():
    y = np.random.default_rng(1).integers(0, 3, 60)
    found = blend(["mart:n_estimators=7", "rf-point:n_estimators=3"], n_folds=2, random_state=3)
    with pytest.warns(DataWarning, match="every document gets the same score"):
        found.fit(np.zeros((60, 3)), y, qid=np.repeat(range(6), 10))
    assert np.abs(found.predict(np.zeros((60, 3)))).max() < 10


def test_places_share_ties():
    groups = QueryGroups.from_qid(np.array([1, 2, 1, 1, 3, 2]))
    scores = np.array([5.0, 1.0, 7.0, 5.0, 0.0, 2.0])
    np.testing.assert_allclose(places(scores, groups), [0.25, 0, 1, 0.25, 0.5, 1])


def test_trees_become_one_ensemble_that_exports(data, valid, tmp_path):
    found = blend(["mart:n_estimators=5", "rf-point:n_estimators=3"]).fit(data, eval_set=valid)
    assert found.model_.kind == "trees"
    found.export(tmp_path / "model.txt", to="lightgbm")
    explained = found.explain(data)
    np.testing.assert_allclose(
        explained.expected + explained.values.sum(axis=1), found.predict(data), atol=1e-6
    )


@pytest.mark.parametrize("by", ["score", "rank"])
def test_file_keeps_the_blend(data, valid, by, tmp_path):
    found = blend([quick("mart"), "listmle", quick("rf-pair")], by=by).fit(data, eval_set=valid)
    found.save(tmp_path / "blend.rg")
    loaded = rankgrove.load_model(tmp_path / "blend.rg")
    np.testing.assert_array_equal(loaded.predict(data), found.predict(data))
    assert loaded.named_weights_ == found.named_weights_
    assert loaded.blend_value_ == found.blend_value_


def test_fitted_rankers_are_matched_by_name(data, valid, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"column {j}" for j in range(6)]
    frame = pandas.DataFrame(data.X, columns=names)
    turned = frame[names[::-1]]
    first = quick("mart").fit(frame, data.y, qid=data.qid)
    second = quick("rf-point").fit(turned, data.y, qid=data.qid)
    check = pandas.DataFrame(valid.X, columns=names)
    found = blend([first, second]).fit(
        frame, data.y, qid=data.qid, eval_set=(check, valid.y, valid.qid)
    )
    weights = found.weights_
    assert weights.max() < 1
    together = found.predict(check)
    parts = np.stack([first.predict(check), second.predict(check)])
    solution, *_ = np.linalg.lstsq(parts.T, together, rcond=None)
    np.testing.assert_allclose(solution @ parts, together, atol=1e-9)
    found.save(tmp_path / "blend.rg")
    np.testing.assert_array_equal(
        rankgrove.load_model(tmp_path / "blend.rg").predict(check), together
    )
    other = quick("mart").fit(frame.rename(columns={"column 2": "else"}), data.y, qid=data.qid)
    with pytest.raises(ModelError, match=r"the fitted MART of the blend does not fit .*'else'"):
        blend([first, other]).fit(frame, data.y, qid=data.qid, eval_set=(check, valid.y, valid.qid))
    with pytest.raises(ModelError, match="the fitted MART needs eval_set"):
        blend([first, second]).fit(frame, data.y, qid=data.qid)


def test_what_cannot_be_blended_is_refused(data):
    with pytest.raises(ValueError, match="a blend takes at least two"):
        blend(["mart"]).fit(data)
    with pytest.raises(ValueError, match="parameter rankers of Blend must be a list of rankers"):
        blend("mart").fit(data)
    with pytest.raises(ModelError, match="n_folds of Blend is 50, but the data have 40 queries"):
        blend(TREES, n_folds=50).fit(data)
    with pytest.raises(DataError, match="QueryCrossEntropy takes labels"):
        blend(["mart", "querycrossentropy"]).fit(data)
    for metric in ("rmse", "class-error", "err-bound", "ece"):
        with pytest.raises(ValueError, match="metric of Blend must depend on the order of the sc"):
            blend(TREES, metric=metric).fit(data)


def test_compare_adds_a_blend(data):
    found = rankgrove.compare(data, ["mart:n_estimators=5", "listmle"], folds=3, blend=True)
    assert found.rankers == ["mart", "listmle", "blend"]
    assert not any(result.failure for result in found.results(found.datasets[0]))
    for rankers, message in (
        (["mart", "scores:column=1"], "'scores:column=1' cannot be blended"),
        (["mart"], "needs at least two rankers"),
        (["mart", "rcrank:max_depth=3|4"], "'rcrank' has several settings"),
    ):
        with pytest.raises(ValueError, match=message):
            rankgrove.compare(data, rankers, folds=3, blend=True)
