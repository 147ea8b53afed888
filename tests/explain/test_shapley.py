"""Shapley values of trees beside their definition, shap and LightGBM."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import shapley as oracle
from oracles.ensembles import random_ensemble, rows_for
from oracles.scoring import predict
from rankgrove.errors import ModelError
from rankgrove.explain.shap_trees import shap_trees
from rankgrove.explain.shapley import expected_outputs, shapley_interactions, shapley_values
from rankgrove.models.model import Columns
from rankgrove.models.trees import TreesModel

shap = pytest.importorskip("shap")

CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def counted(seed: int, empty: float = 0.0, **shape):
    return oracle.with_counts(random_ensemble(seed, **shape), seed, empty)


def as_model(trees, fill=None):
    return TreesModel(columns=Columns(None, trees.n_features), ensemble=trees, fill=fill)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 12),
    n_features=st.integers(1, 5),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_outputs=st.integers(1, 2),
    empty=st.sampled_from([0.0, 0.3]),
)
def test_values_are_those_of_the_definition(seed, n_leaves, n_features, shape, n_outputs, empty):
    trees = counted(
        seed,
        empty,
        n_trees=2,
        n_leaves=n_leaves,
        n_features=n_features,
        shape=shape,
        n_outputs=n_outputs,
    )
    X = rows_for(trees, 3, seed)
    np.testing.assert_allclose(shapley_values(trees, X), oracle.shapley_values(trees, X), **CLOSE)
    np.testing.assert_allclose(
        expected_outputs(trees), oracle.game(trees, X[0])(frozenset()), **CLOSE
    )


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 10),
    n_features=st.integers(1, 4),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_outputs=st.integers(1, 2),
)
def test_interactions_are_those_of_the_definition(seed, n_leaves, n_features, shape, n_outputs):
    trees = counted(
        seed,
        n_trees=2,
        n_leaves=n_leaves,
        n_features=n_features,
        shape=shape,
        n_outputs=n_outputs,
    )
    X = rows_for(trees, 2, seed)
    np.testing.assert_allclose(
        shapley_interactions(trees, X), oracle.shapley_interactions(trees, X), **CLOSE
    )


@pytest.mark.parametrize("shape", ["random", "chain", "oblivious"])
@pytest.mark.parametrize("n_leaves", [2, 31, 700])
def test_values_add_up_to_the_score(shape, n_leaves):
    if shape == "chain":
        n_leaves = min(n_leaves, 200)
    trees = counted(3, 0.1, n_trees=4, n_leaves=n_leaves, n_features=20, shape=shape)
    X = rows_for(trees, 50, 1)
    total = shapley_values(trees, X).sum(axis=2)[:, 0] + expected_outputs(trees)[0]
    np.testing.assert_allclose(total, predict(trees, X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("n_leaves", "n_features", "shape"),
    [(31, 12, "random"), (64, 8, "oblivious"), (25, 20, "chain"), (400, 30, "random")],
)
def test_values_are_those_of_shap(n_leaves, n_features, shape):
    trees = counted(7, n_trees=5, n_leaves=n_leaves, n_features=n_features, shape=shape)
    trees = replace(trees, threshold=np.clip(trees.threshold, -1e30, 1e30))
    X = np.random.default_rng(0).normal(size=(33, n_features)).astype(np.float32)
    X[::3, 1] = np.nan
    explainer = shap.TreeExplainer(shap_trees(as_model(trees)))
    np.testing.assert_allclose(
        shapley_values(trees, X)[:, 0], explainer.shap_values(X), rtol=1e-9, atol=1e-9
    )
    assert expected_outputs(trees)[0] == pytest.approx(explainer.expected_value, abs=1e-9)


def test_shap_takes_trees_with_nodes_that_no_document_reached():
    trees = counted(9, 0.4, n_trees=5, n_leaves=64, n_features=8, shape="oblivious")
    trees = replace(trees, threshold=np.clip(trees.threshold, -1e30, 1e30))
    assert (trees.count == 0).sum() > 20
    X = np.random.default_rng(0).normal(size=(33, 8)).astype(np.float32)
    explainer = shap.TreeExplainer(shap_trees(as_model(trees)))
    np.testing.assert_allclose(
        shapley_values(trees, X)[:, 0], explainer.shap_values(X), rtol=1e-9, atol=1e-9
    )
    assert (trees.count == 0).sum() > 20


def test_interactions_are_those_of_shap():
    trees = counted(8, n_trees=4, n_leaves=20, n_features=7)
    trees = replace(trees, threshold=np.clip(trees.threshold, -1e30, 1e30))
    X = np.random.default_rng(0).normal(size=(21, 7)).astype(np.float32)
    explainer = shap.TreeExplainer(shap_trees(as_model(trees)))
    np.testing.assert_allclose(
        shapley_interactions(trees, X)[:, 0],
        explainer.shap_interaction_values(X),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.slow
@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_values_are_those_of_lightgbm(zero_as_missing):
    import lightgbm

    import rankgrove

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 15)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = 0.0 if zero_as_missing else np.nan
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0.2).astype(int)
    booster = lightgbm.train(
        {
            "objective": "lambdarank",
            "num_leaves": 31,
            "min_data_in_leaf": 2,
            "verbose": -1,
            "zero_as_missing": zero_as_missing,
        },
        lightgbm.Dataset(X, y, group=[20] * 30),
        20,
    )
    model = rankgrove.from_lightgbm(booster).model_
    theirs = booster.predict(X, pred_contrib=True)
    values = shapley_values(model.ensemble, X, model.fill, model.missing_up_to)[:, 0]
    np.testing.assert_allclose(values, theirs[:, :-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(expected_outputs(model.ensemble)[0], theirs[0, -1], atol=1e-9)


def test_fill_stands_in_for_missing_values():
    trees = counted(5, n_trees=6, n_leaves=20, n_features=6)
    X = rows_for(trees, 40, 5)
    fill = np.array([0.5, np.nan, -1.0, 0.0, np.inf, 2.0], np.float32)
    filled = np.where(np.isnan(X), fill, X)
    np.testing.assert_array_equal(shapley_values(trees, X, fill), shapley_values(trees, filled))


@pytest.mark.parametrize("n_rows", [0, 1, 5, 33, 300])
def test_bits_depend_on_neither_threads_nor_layout_nor_company(n_rows):
    trees = counted(11, n_trees=12, n_leaves=40, n_features=9, n_outputs=2)
    X = rows_for(trees, n_rows, 2)
    expected = shapley_values(trees, X, n_jobs=1)
    assert expected.shape == (n_rows, 2, 9)
    for other in (X, np.asfortranarray(X), X.astype(np.float64), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(shapley_values(trees, other, n_jobs=3), expected)
    one_by_one = [shapley_values(trees, X[i : i + 1]) for i in range(min(n_rows, 5))]
    np.testing.assert_array_equal(
        np.concatenate([expected[:0], *one_by_one]), expected[: len(one_by_one)]
    )
    pairs = shapley_interactions(trees, X, n_jobs=1)
    np.testing.assert_array_equal(shapley_interactions(trees, X, n_jobs=3), pairs)


def test_trees_without_counts_are_refused():
    trees = random_ensemble(1, n_trees=3, n_leaves=4)
    with pytest.raises(ModelError, match="tree 1 does not tell how many training documents"):
        shapley_values(replace(trees, count=np.zeros_like(trees.count)), np.zeros((1, 4)))


def test_a_chain_of_many_features_is_explained():
    trees = counted(2, n_trees=1, n_leaves=300, n_features=400, shape="chain")
    X = np.random.default_rng(1).normal(size=(4, 400)).astype(np.float32)
    total = shapley_values(trees, X).sum(axis=2)[:, 0] + expected_outputs(trees)[0]
    np.testing.assert_allclose(total, predict(trees, X), rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_ctrl_c_stops_promptly():
    trees = counted(4, n_trees=300, n_leaves=200, n_features=30)
    X = np.random.default_rng(1).normal(size=(200_000, 30)).astype(np.float32)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # the whole would take longer than a test may
        shapley_values(trees, X, n_jobs=2)
