"""Trees with sets of categories: every way to score, to explain, to join and to keep them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import scoring
from tests.oracles import shapley as shapley_oracle
from tests.oracles.ensembles import random_ensemble, rows_with_codes, with_sets

from rankgrove.data.core.categories import Categories
from rankgrove.data.core.columns import Columns
from rankgrove.errors import ModelError
from rankgrove.explain.shapley import shapley_values
from rankgrove.models.model import pack_model, unpack_model
from rankgrove.models.trees import TreesModel
from rankgrove.trees.category_sets import CategorySets
from rankgrove.trees.growing import Tree
from rankgrove.trees.packing import pack_trees, unpack_trees
from rankgrove.trees.scorer import Scorer, check_ensemble

METHODS = ({}, {"vector_bits": 256}, {"vector_bits": 0}, {"walk": True})


def categorical(seed=0, n_categories=50, **shape):
    return with_sets(random_ensemble(seed, **shape), seed, n_categories)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_leaves=st.sampled_from([1, 2, 5, 31, 100, 300]),
    n_features=st.integers(1, 9),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_outputs=st.integers(1, 2),
    n_rows=st.sampled_from([1, 8, 9, 33, 100]),
    n_categories=st.sampled_from([1, 2, 31, 32, 33, 500]),
    options=st.tuples(st.booleans(), st.booleans()),
)
def test_scores_and_leaves_are_those_of_the_plain_walk(
    seed, n_leaves, n_features, shape, n_outputs, n_rows, n_categories, options
):
    with_fill, precise = options
    trees = categorical(
        seed,
        n_categories,
        n_leaves=n_leaves,
        n_features=n_features,
        shape=shape,
        n_outputs=n_outputs,
    )
    X = rows_with_codes(trees, n_rows, seed, n_categories)
    if precise:
        trees = replace(trees, precise=np.nan_to_num(trees.threshold.astype(np.float64)) + 1e-9)
        X = X.astype(np.float64)
    fill = np.zeros(n_features, np.float32) if with_fill else None
    expected = scoring.predict(trees, X, fill)
    for method in METHODS:
        scores = Scorer(trees, fill, **method).predict(X)
        np.testing.assert_array_equal(scores, expected, strict=True)
    if not with_fill and not precise:
        leaves = TreesModel(columns=Columns(None, n_features), ensemble=trees).leaves(X)
        for tree in range(trees.n_trees):
            at = [scoring.leaf_of(trees, tree, row) - trees.tree_offsets[tree] for row in X]
            np.testing.assert_array_equal(leaves[:, tree], at)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_leaves=st.integers(1, 12),
)
def test_shapley_values_are_those_of_the_definition(seed, shape, n_leaves):
    trees = categorical(seed, 10, n_trees=2, n_leaves=n_leaves, n_features=4, shape=shape)
    trees = shapley_oracle.with_counts(trees, seed)
    X = rows_with_codes(trees, 3, seed, 10)
    expected = shapley_oracle.shapley_values(trees, X)
    np.testing.assert_allclose(shapley_values(trees, X), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", ["random", "oblivious"])
def test_heads_tails_and_joints_keep_their_sets(shape):
    one, other = categorical(1, shape=shape), categorical(2, shape=shape)
    plain = random_ensemble(3, shape=shape)
    plain = replace(plain, feature=np.where(plain.feature >= 0, 1, -1))  # which is numeric
    X = rows_with_codes(one, 50, 4, 50)
    joint = one.followed_by(plain, other)
    parts = [scoring.predict(part, X) for part in (one, plain, other)]
    np.testing.assert_allclose(Scorer(joint).predict(X), sum(parts), rtol=1e-12)
    for cut in range(joint.n_trees + 1):
        halves = Scorer(joint.head(cut)).predict(X) + Scorer(joint.tail(cut)).predict(X)
        np.testing.assert_allclose(halves, Scorer(joint).predict(X), rtol=1e-12, atol=1e-12)
    narrow, used = joint.narrowed()
    np.testing.assert_array_equal(Scorer(narrow).predict(X[:, used]), Scorer(joint).predict(X))


def test_a_model_file_keeps_sets_and_dictionaries():
    trees = categorical(5, 20)
    found = {column: Categories.of(range(20)) for column in (0, 2)}
    model = TreesModel(columns=Columns(None, 4, categories=found), ensemble=trees.head(3))
    values, arrays = pack_model(model)
    again = unpack_model(values, arrays)
    assert again.columns == model.columns
    X = rows_with_codes(trees, 50, 6, 20)
    np.testing.assert_array_equal(again.scores(X), model.scores(X))
    used = trees.head(3).category_sets.of_node.max() + 1
    assert len(arrays["trees/category_sets/offsets"]) == used + 1
    for damaged in ({**values, "categories": {}}, {**values, "categories": {"0": {}}}):
        with pytest.raises(ModelError):
            unpack_model(damaged, arrays)
    numeric = {str(column): found[0].get_state() for column in range(4)}
    with pytest.raises(ModelError, match="has categories, but"):
        unpack_model({**values, "categories": numeric}, arrays)


def test_packed_trees_keep_their_sets():
    arrays = {
        "feature": np.array([0, -1, -1], np.int32),
        "threshold": np.zeros(3, np.float32),
        "left": np.array([1, -1, -1], np.int32),
        "missing_left": np.zeros(3, np.uint8),
        "value": np.arange(3.0),
        "count": np.ones(3, np.uint32),
        "gain": np.zeros(3, np.float32),
    }
    plain = Tree(**arrays)
    sets = CategorySets.of_codes([[1, 40], None, None])
    split = Tree(**arrays, category_sets=tuple(sets.arrays().values()))
    packed = pack_trees([plain, split, plain, split])
    again = unpack_trees(packed)
    assert [tree.category_sets is None for tree in again] == [True, False, True, False]
    for tree in (again[1], again[3]):
        assert CategorySets(*tree.category_sets).codes(0).tolist() == [1, 40]
    with pytest.raises(ValueError, match="set of categories"):
        unpack_trees({**packed, "category_sets/of_node": np.full(12, 9, np.int32)})
    assert "category_sets/words" not in pack_trees([plain])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"of_node": np.zeros(3, np.int32)}, "nodes of"),
        ({"words": np.zeros(3, np.int64)}, "words"),
        ({"offsets": np.zeros((2, 2), np.int64)}, "offsets"),
        ({"offsets": np.array([0, 5, 2**40])}, "do not end"),
        ({"offsets": np.array([0, -5, 9])}, "words|do not end"),
        ({"of_node": 99}, "the set"),
        ({"of_node": -2}, "the set"),
        ({"of_node": "leaf"}, "the set"),
        ({"of_node": "numeric"}, "some a threshold"),
    ],
)
def test_hostile_sets_are_refused(change, message):
    trees = categorical(7, 20)
    ((name, value),) = change.items()
    sets = trees.category_sets
    if not isinstance(value, np.ndarray):
        changed = sets.of_node.copy()
        if value == "leaf":
            changed[np.flatnonzero(trees.feature < 0)[0]] = 0
        elif value == "numeric":
            changed[np.flatnonzero(trees.feature == 1)[0]] = 0
        else:
            changed[np.flatnonzero(changed >= 0)[0]] = value
        value = changed
    with pytest.raises(ModelError, match=message):
        check_ensemble(replace(trees, category_sets=replace(sets, **{name: value})))
