"""Partial dependence on models whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.data.core.columns import Columns
from rankgrove.errors import DataError, ModelError
from rankgrove.explain import partial_dependence
from rankgrove.models.linear import LinearModel

NAMES = ("a", "b", "c")


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)).astype(np.float32), np.repeat(
        np.arange(6), [3, 5, 7, 9, 16, 20]
    )


def linear(weights) -> LinearModel:
    return LinearModel(
        columns=Columns(NAMES, 3), weights=np.array(weights), fill=np.zeros(3, np.float32)
    )


def test_a_linear_model_gives_its_line(documents):
    X, qid = documents
    found = partial_dependence(linear([2.0, 0.0, -1.0]), X, "a", qid, n_values=7)
    assert found.features == ("a",)
    np.testing.assert_allclose(np.diff(found.values), 2.0 * np.diff(found.grids[0]), atol=1e-6)
    means = [X[qid == q, 0].mean(dtype=float) for q in range(6)]
    np.testing.assert_allclose(
        found.values, 2.0 * (found.grids[0] - np.mean(means)), rtol=1e-5, atol=1e-5
    )


def test_what_a_query_has_in_common_does_not_matter(documents):
    X, qid = documents
    shifted = X.copy()
    shifted[:, 1] += 100.0 * qid
    model = linear([1.0, 1.0, 0.0])
    np.testing.assert_allclose(
        partial_dependence(model, shifted, "a", qid).values,
        partial_dependence(model, X, "a", qid).values,
        atol=1e-3,
    )


def test_interaction_tells_sums_from_products():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(2000, 3)).astype(np.float32)
    qid = np.repeat(np.arange(100), 20)

    def measured(y):
        ranker = rankgrove.MART(n_estimators=60, max_leaf_nodes=16, random_state=0)
        ranker.fit(X, y - y.min(), qid=qid)
        return partial_dependence(ranker, X, (0, 1), qid, n_values=8).interaction

    assert measured(X[:, 0] + X[:, 1]) < 0.05
    assert measured(X[:, 0] * X[:, 1]) > 0.7


def test_bad_input_is_named(documents):
    X, qid = documents
    model = linear([1.0, 1.0, 1.0])
    with pytest.raises(DataError, match="no feature 'd'"):
        partial_dependence(model, X, "d", qid)
    with pytest.raises(DataError, match="no feature 3"):
        partial_dependence(model, X, 3, qid)
    with pytest.raises(ValueError, match="one or two features, not 3"):
        partial_dependence(model, X, NAMES, qid)
    with pytest.raises(ValueError, match="n_values must be at least 2, not 1"):
        partial_dependence(model, X, "a", qid, n_values=1)
    with pytest.raises(DataError, match="needs the queries"):
        partial_dependence(model, X, "a")
    X = X.copy()
    X[:, 1] = np.nan
    with pytest.raises(DataError, match="'b' has no value"):
        partial_dependence(model, X, "b", qid)


def test_models_that_compare_documents_are_refused(documents):
    X, qid = documents
    ranker = rankgrove.RFPair(n_estimators=2, random_state=0).fit(X, (X[:, 0] > 0) * 1.0, qid=qid)
    with pytest.raises(ModelError, match="kind 'pairs' cannot tell partial dependence"):
        partial_dependence(ranker, X, 0, qid)


def test_rare_categories_that_are_not_tried_are_counted():
    brands = np.repeat(["a", "b", "c", "d"], [40, 30, 20, 10])
    frame = pd.DataFrame({"qid": np.arange(100) % 10, "label": np.arange(100) % 3, "brand": brands})
    data = rankgrove.load(frame, categorical=["brand"])
    ranker = rankgrove.MART(n_estimators=2, random_state=0).fit(data)
    found = partial_dependence(ranker, data, "brand", n_values=2)
    assert found.shown(0) == ["a", "b"]
    assert found.n_untried == (2,)
    assert found.to_dict()["untried"] == [2]
    assert partial_dependence(ranker, data, "brand").n_untried == (0,)
