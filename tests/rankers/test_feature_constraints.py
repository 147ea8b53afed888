"""Interaction and monotone constraints of boosted rankers."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, n_features=6, seed=1)


def paths(ensemble):
    """The sets of features on the way to each leaf."""
    found = []
    for tree in range(ensemble.n_trees):
        begin, end = ensemble.tree_offsets[tree : tree + 2]
        above = {0: frozenset()}
        for node in range(end - begin):
            feature, left = ensemble.feature[begin + node], ensemble.left[begin + node]
            if feature < 0:
                found.append(above[node])
            else:
                above[left] = above[left + 1] = above[node] | {int(feature)}
    return found


@pytest.mark.parametrize("tree", ["leafwise", "levelwise", "oblivious"])
@pytest.mark.parametrize("more", [{}, {"max_features": 0.5}, {"max_features_tree": 0.7}])
def test_features_on_the_way_to_a_leaf_are_in_one_group(data, tree, more):
    groups = [[0, 1, 2], [2, 3]]
    ranker = rankgrove.LambdaMART(
        n_estimators=15, tree=tree, interactions=groups, random_state=0, **more
    ).fit(data)
    found = set(paths(ranker.model_.ensemble))
    allowed = [{0, 1, 2}, {2, 3}, {4}, {5}]
    assert all(any(path <= group for group in allowed) for path in found)
    assert any(len(path) > 1 for path in found)
    free = rankgrove.LambdaMART(n_estimators=15, tree=tree, random_state=0, **more).fit(data)
    assert any(len(path & {0, 4, 5}) > 1 for path in paths(free.model_.ensemble))


def test_names_and_numbers_of_columns_are_the_same_groups(data):
    names = data.feature_names
    by_name = rankgrove.MART(
        n_estimators=5, interactions=[names[:2], [names[3], names[1]]], random_state=0
    )
    by_number = rankgrove.MART(n_estimators=5, interactions=[[0, 1], [3, 1]], random_state=0)
    np.testing.assert_array_equal(
        by_name.fit(data).predict(data), by_number.fit(data).predict(data)
    )


def test_more_groups_than_bits_of_a_word(data):
    rng = np.random.default_rng(0)
    wide = np.hstack([data.X] * 30)
    groups = [rng.choice(180, 2, replace=False).tolist() for _ in range(100)]
    ranker = rankgrove.MART(n_estimators=5, interactions=groups, random_state=0)
    found = paths(ranker.fit(wide, data.y, data.qid).model_.ensemble)
    assert all(len(path) == 1 or sorted(path) in map(sorted, groups) for path in found)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["f1", "f99"]], "interactions names the column 'f99', which the data do not have"),
        ([[0, 6]], "the column number 6, but the data has 6 features"),
        ([], "must be None or a list of lists"),
        ([[]], "must be None or a list of lists"),
        (["f1"], "must be None or a list of lists"),
        ([[-1]], "must be None or a list of lists"),
        ([[0.5]], "must be None or a list of lists"),
    ],
)
def test_groups_that_make_no_sense_are_refused(data, groups, message):
    named = rankgrove.Dataset(
        data.X, data.y, data.qid, feature_names=[f"f{i}" for i in range(1, 7)]
    )
    with pytest.raises(ValueError, match=message):
        rankgrove.MART(n_estimators=2, interactions=groups).fit(named)


def test_a_model_file_keeps_the_groups(data, tmp_path):
    ranker = rankgrove.MART(n_estimators=2, interactions=[[0, 1]]).fit(data)
    ranker.save(tmp_path / "model.rg")
    assert rankgrove.load_model(tmp_path / "model.rg").interactions == [[0, 1]]


@pytest.mark.parametrize("criterion", ["newton", "least_squares"])
@pytest.mark.parametrize("name", ["LambdaMART", "PairLogit"])
def test_a_constraint_that_the_data_keep_changes_no_value(name, criterion):
    """The limits of leaves are Newton steps, also where least squares chose the splits."""
    random = np.random.default_rng(0)
    X = random.integers(2, size=(600, 2)).astype(np.float32)
    y = 3 * X[:, 0] + X[:, 1]
    options = {"tree": "leafwise", "criterion": criterion, "n_estimators": 10, "random_state": 0}
    free, kept = (
        getattr(rankgrove, name)(max_leaf_nodes=4, monotone=monotone, **options)
        .fit(X, y, np.arange(600) // 10)
        .predict(X)
        for monotone in (None, [0, 1])
    )
    np.testing.assert_array_equal(kept, free)
