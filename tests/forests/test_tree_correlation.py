"""Strength and correlation of trees, against every pair of trees of scikit-learn's arithmetic."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.metrics.parsing import metric
from rankgrove.rankers.base.registry import make_ranker


@pytest.mark.parametrize("name", ["rf", "rf-list", "rf-rand"])
def test_correlation_is_that_of_all_pairs_of_residuals(name):
    train, test = make_ranking(30, seed=1), make_ranking(20, seed=2)
    limits = {"max_depth": 4, "min_samples_leaf": 1}
    forest = make_ranker(name, n_estimators=6, random_state=0, **limits).fit(train)
    trees = [
        make_ranker(name, n_estimators=1, first_tree=t, random_state=0, **limits).fit(train)
        for t in range(6)
    ]
    for data in (train, test):
        found = forest.tree_correlation(data)
        answers = [tree.predict(data) for tree in trees]
        residuals = [answer - data.y for answer in answers]
        pairs = list(combinations(residuals, 2))
        covariance = sum(np.cov(a, b, bias=True)[0, 1] for a, b in pairs)
        spread = sum(a.std() * b.std() for a, b in pairs)
        assert found.correlation == pytest.approx(covariance / spread, rel=1e-6)
        ndcg = [metric("ndcg")(data, answer) for answer in answers]
        assert found.strength == pytest.approx(np.mean(ndcg), rel=1e-6)
        assert found.tree_error == pytest.approx(np.mean(np.square(residuals)), rel=1e-6)
        mean = np.mean(residuals, axis=0)
        assert found.forest_error == pytest.approx(np.mean(mean**2), rel=1e-6)


def test_trees_that_are_alike_are_fully_correlated(small_data):
    forest = make_ranker(
        "rf", n_estimators=3, subsample=1.0, sampling="queries", max_features="all", max_depth=3
    ).fit(small_data)
    assert forest.tree_correlation(small_data).correlation == pytest.approx(1.0)


def test_what_has_no_trees_to_compare_is_refused(small_data):
    single = make_ranker("rf", n_estimators=1, max_depth=2).fit(small_data)
    with pytest.raises(ValueError, match="needs at least 2"):
        single.tree_correlation(small_data)
    pairs = make_ranker("rf-pair", n_estimators=2, max_depth=2).fit(small_data)
    with pytest.raises(ModelError, match="trees compared"):
        pairs.tree_correlation(small_data)
