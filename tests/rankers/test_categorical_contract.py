"""Every ranker of trees learns from categorical columns, with the same bits in every way."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.categories import Categories
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.formats.container import load_model
from rankgrove.rankers.base.registry import make_ranker, ranker_class

pytestmark = [pytest.mark.filterwarnings("ignore::rankgrove.errors.DataWarning")]

BRANDS = [f"brand {number}" for number in range(12)]
BOOSTED = {"n_estimators": 8, "random_state": 1}
SMALL = {"n_estimators": 3, "random_state": 1}
RANKERS = {
    "lambdamart": BOOSTED,
    "mart": BOOSTED,
    "rcrank": BOOSTED,
    "mcrank": BOOSTED,
    "rankboost": BOOSTED,
    "gbrt": BOOSTED,
    "igbrt": {"random_state": 1, "n_estimators": 5, "forest": {"n_estimators": 3}},
    "broof": SMALL,
    "rf-point": SMALL,
    "rf-list": SMALL,
    "rf-hybrid": SMALL,
    "rf-rand": SMALL,
    "extra-trees": SMALL,
}


def data(n_queries=40):
    rng = np.random.default_rng(2)
    n = 12 * n_queries
    codes = rng.integers(len(BRANDS), size=n).astype(np.float32)
    effect = rng.permutation(len(BRANDS)) / 3
    X = np.column_stack([rng.normal(size=n), codes, rng.normal(size=n)]).astype(np.float32)
    y = np.clip(np.round(effect[codes.astype(int)] - 1 + 0.3 * rng.normal(size=n)), 0, 3)
    X[rng.random(n) < 0.05, 1] = np.nan
    matrix = DenseMatrix(X, ("price", "brand", "age"), {1: Categories.of(BRANDS)})
    return matrix, y, np.repeat(np.arange(n_queries), 12)


def fitted(name, n_jobs=1, **more):
    settings = {**RANKERS[name], **more}
    forest = settings.pop("forest", None)
    if forest is not None:
        settings["forest"] = make_ranker("rf", random_state=1, **forest)
    if "min_samples_category" in ranker_class(name)._get_param_names():
        settings["min_samples_category"] = 5
    matrix, y, qid = data()
    return make_ranker(name, n_jobs=n_jobs, **settings).fit(matrix, y, qid=qid)


@pytest.mark.parametrize("name", RANKERS)
def test_categories_are_learnt_and_kept(name, tmp_path):
    ranker = fitted(name)
    matrix, _, _ = data()
    scores = ranker.predict(matrix)
    assert ranker.model_.columns.categories == matrix.categories
    sums = {number: scores[matrix.values[:, 1] == number].mean() for number in range(len(BRANDS))}
    assert max(sums.values()) > min(sums.values())
    np.testing.assert_array_equal(fitted(name, n_jobs=2).predict(matrix), scores)
    ranker.save(tmp_path / "m.rg")
    again = load_model(tmp_path / "m.rg")
    assert again.model_.columns == ranker.model_.columns
    np.testing.assert_array_equal(again.predict(matrix), scores)


@pytest.mark.parametrize("name", ["lambdamart", "mart", "rcrank", "rf-point"])
def test_explanations_add_up(name):
    ranker = fitted(name)
    matrix, _, _ = data()
    explanation = ranker.explain(matrix)
    total = explanation.values.sum(axis=1) + explanation.expected
    np.testing.assert_allclose(total, ranker.predict(matrix), rtol=1e-9, atol=1e-9)
    assert np.abs(explanation.values[:, 1]).sum() > 0


def test_the_best_documents_are_those_of_predict():
    ranker = fitted("lambdamart", n_estimators=30)
    matrix, _, _ = data()
    one_query = matrix.slice_rows(0, 200)
    rows, scores = ranker.compile().top_k(one_query, 10)
    expected = ranker.predict(one_query)
    np.testing.assert_array_equal(scores, expected[rows])
    np.testing.assert_array_equal(rows, np.argsort(-expected, kind="stable")[:10])


def test_pairs_have_the_category_of_the_first_document(tmp_path):
    matrix, y, qid = data(10)
    ranker = make_ranker("rf-pair", n_estimators=5, random_state=1)
    scores = ranker.fit(matrix, y, qid=qid).predict(matrix, qid=qid)
    assert ranker.model_.trees.ensemble.categorical_features.tolist() == [1]
    renamed = matrix.values.copy()
    renamed[:, 1] = 0.0  # all alike: no pair knows a category
    same = DenseMatrix(renamed, matrix.names, matrix.categories)
    correlation = np.corrcoef(scores, y)[0, 1]
    assert correlation > np.corrcoef(ranker.predict(same, qid=qid), y)[0, 1] + 0.2
    ranker.save(tmp_path / "m.rg")
    np.testing.assert_array_equal(load_model(tmp_path / "m.rg").predict(matrix, qid=qid), scores)


@pytest.mark.parametrize("tree", ["leafwise", "levelwise", "oblivious"])
def test_codes_of_another_order_give_the_same_scores(tree):
    """What a category is called does not matter, but for ties."""
    matrix, y, qid = data()
    order = np.random.default_rng(0).permutation(len(BRANDS))
    renamed = matrix.values.copy()
    known = ~np.isnan(renamed[:, 1])
    renamed[known, 1] = order[renamed[known, 1].astype(int)]
    other = DenseMatrix(renamed, matrix.names, matrix.categories)
    settings = {"n_estimators": 5, "random_state": 0, "tree": tree, "min_samples_category": 5}
    one = make_ranker("lambdamart", **settings).fit(matrix, y, qid=qid).predict(matrix)
    two = make_ranker("lambdamart", **settings).fit(other, y, qid=qid).predict(other)
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_parameters_of_categories_need_categories():
    matrix, y, qid = data()
    ranker = make_ranker("lambdamart", n_estimators=2, category_l2=1.0)
    with pytest.raises(ValueError, match=r"category_l2.*without categorical columns"):
        ranker.fit(matrix.values, y, qid=qid)
    assert ranker.fit(matrix, y, qid=qid).n_features_in_ == 3


def test_a_direction_of_categories_is_refused_by_name():
    matrix, y, qid = data()
    with pytest.raises(ValueError, match=r"'brand'.*no order"):
        make_ranker("mart", n_estimators=2, monotone={"brand": 1}).fit(matrix, y, qid=qid)
    free = fitted("mart", monotone={"price": 1})
    assert free.model_.ensemble.categorical_features.tolist() == [1]


def test_models_with_other_dictionaries_are_not_continued():
    matrix, y, qid = data()
    first = fitted("lambdamart")
    more = make_ranker("lambdamart", **BOOSTED).fit(matrix, y, qid=qid, init_model=first)
    assert more.model_.ensemble.n_trees == 16
    assert more.model_.columns.categories == matrix.categories
