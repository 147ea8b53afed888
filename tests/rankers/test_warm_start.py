"""What warm_start refuses to add to the trees of the last fit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rankgrove
from rankgrove.errors import ModelError


def test_warm_start_does_not_mix_leaf_scores(small_data, tmp_path):
    forest = rankgrove.RFPoint(n_estimators=2, random_state=0, warm_start=True).fit(small_data)
    forest.save(tmp_path / "forest.rg")
    for grown in (forest, rankgrove.load_model(tmp_path / "forest.rg")):
        before = grown.predict(small_data)
        grown.set_params(n_estimators=4, leaf_score="power")
        with pytest.raises(ModelError, match="'label' and 'power' do not mix"):
            grown.fit(small_data)
        assert (grown.predict(small_data) == before).all()
        assert grown.set_params(leaf_score="label").fit(small_data).model_.ensemble.n_trees == 4
    forest = rankgrove.RFPoint(n_estimators=2, random_state=0, warm_start=True).fit(small_data)
    copied = copy.deepcopy(forest.set_params(n_estimators=4, leaf_score="power"))
    with pytest.raises(ModelError, match="'label' and 'power' do not mix"):
        copied.fit(small_data)


def test_warm_start_goes_on_after_the_last_tree_of_parts_in_any_order(small_data):
    def part(first, n):
        forest = rankgrove.RFPoint(n_estimators=n, first_tree=first, random_state=0)
        return forest.fit(small_data)

    grown = rankgrove.merge(part(2, 3), part(0, 2)).set_params(warm_start=True, n_estimators=7)
    grown.fit(small_data)
    assert grown.tree_numbers_.tolist() == [2, 3, 4, 0, 1, 5, 6]
    expected = part(0, 7).predict(small_data)
    np.testing.assert_allclose(grown.predict(small_data), expected, rtol=1e-12)


@pytest.mark.parametrize("missing", ["keep", "zero", "mean", "inf"])
@pytest.mark.parametrize("name", ["RFPoint", "RandomForest"])
def test_trees_with_target_statistics_are_those_of_one_fit(name, missing):
    pandas = pytest.importorskip("pandas")
    x = np.where(np.arange(60) % 11 == 0, np.nan, np.arange(60) % 7)
    X = pandas.DataFrame({"x": x, "k": pandas.Categorical([*"abcdef"] * 10)})
    y, qid = np.arange(60) % 3, np.arange(60) // 6
    options = {"random_state": 0, "missing": missing, "category_splits": "both"}
    grown = getattr(rankgrove, name)(n_estimators=2, warm_start=True, **options).fit(X, y, qid)
    grown.set_params(n_estimators=5).fit(X, y, qid)
    whole = getattr(rankgrove, name)(n_estimators=5, **options).fit(X, y, qid)
    np.testing.assert_allclose(grown.predict(X), whole.predict(X), rtol=1e-12)


def test_trees_are_not_added_on_statistics_instead_of_categories():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"x": np.arange(40) % 7, "k": pandas.Categorical([*"abcd"] * 10)})
    y, qid = np.arange(40) % 3, np.arange(40) // 5
    forest = rankgrove.RFPoint(
        n_estimators=2, random_state=0, warm_start=True, category_splits="statistics"
    ).fit(X, y, qid)
    before = forest.predict(X)
    forest.set_params(n_estimators=4)
    with pytest.raises(ModelError, match="category_splits='both' adds ordered target statistics"):
        forest.fit(X, y, qid)
    assert (forest.predict(X) == before).all()
    assert forest.set_params(category_splits="both").fit(X, y, qid).model_.ensemble.n_trees == 4
