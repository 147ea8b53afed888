"""Trees as a model: scores, stages, columns and state of two stumps built by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankgrove import MART
from rankgrove.data.core.columns import Columns
from rankgrove.datasets import make_ranking
from rankgrove.models.trees import TreesModel
from rankgrove.trees.ensemble import TreeEnsemble

X = np.array([[0.0, 5.0], [2.0, -1.0], [np.nan, np.nan]], np.float32)


def stumps(features=(0, 1), base=0.5, n_features=2):
    """Return one stump per feature: -1 up to threshold 1, +2 above it; NaN goes right."""
    n = len(features)
    return TreeEnsemble(
        n_features=n_features,
        tree_offsets=np.arange(n + 1, dtype=np.int64) * 3,
        tree_weights=np.ones(n),
        tree_outputs=np.zeros(n, np.int32),
        base_score=np.array([base]),
        feature=np.array([[f, -1, -1] for f in features], np.int16).reshape(-1),
        threshold=np.tile(np.array([1, 0, 0], np.float32), n),
        left=np.tile(np.array([1, -1, -1], np.int32), n),
        missing_left=np.zeros(3 * n, np.uint8),
        value=np.tile(np.array([0.0, -1.0, 2.0]), n),
        count=np.tile(np.array([3, 1, 2], np.uint32), n),
        gain=np.tile(np.array([4, 0, 0], np.float32), n),
    )


def model(**changes):
    return TreesModel(columns=Columns(("a", "b"), 2), ensemble=stumps(), **changes)


def test_scores_are_base_score_plus_leaf_values():
    np.testing.assert_array_equal(model().scores(X), [1.5, 1.5, 4.5])


def test_fill_replaces_missing_values():
    fill = np.array([0.0, np.nan], np.float32)
    np.testing.assert_array_equal(model(fill=fill).scores(X), [1.5, 1.5, 1.5])


def test_model_without_fill_scores_the_same():
    filled = model(fill=np.array([0.0, 7.0], np.float32))
    moved = filled.without_fill()
    assert moved.fill is None
    np.testing.assert_array_equal(moved.scores(X), filled.scores(X))


def test_stages_add_one_tree_at_a_time():
    first, second = model().stages(X)
    np.testing.assert_array_equal(first, [-0.5, 2.5, 2.5])
    np.testing.assert_array_equal(second, model().scores(X))


def test_reordered_columns_keep_scores():
    moved = model().with_columns(Columns(("b", "new", "a"), 3))
    values = np.column_stack([X[:, 1], [9, 9, 9], X[:, 0]]).astype(np.float32)
    np.testing.assert_array_equal(moved.scores(values), model().scores(X))


def test_importances_count_splits_and_add_gains():
    np.testing.assert_array_equal(model().importances("split"), [1, 1])
    np.testing.assert_array_equal(model().importances("gain"), [4, 4])


def test_init_model_and_new_trees_become_one_model():
    both = model().followed_by(replace(model(), n_init_trees=0))
    assert both is not None
    assert (both.ensemble.n_trees, both.n_init_trees, both.n_steps) == (4, 2, 2)
    np.testing.assert_array_equal(both.scores(X), 2 * model().scores(X))


@pytest.mark.parametrize("fill", [None, np.array([0.0, 1.0], np.float32)])
def test_state_brings_back_the_same_scores(fill):
    own = model(fill=fill)
    again = TreesModel.from_state(*own.get_state(), own.columns)
    np.testing.assert_array_equal(again.scores(X), own.scores(X))


def test_steps_of_a_continued_model_are_summed_as_the_whole_model():
    """To the last bit, however many steps are taken at once."""
    data = make_ranking(30, n_features=8, seed=1)
    base = MART(n_estimators=10, random_state=0).fit(data)
    ranker = MART(n_estimators=10, random_state=0).fit(data, init_model=base)
    for n, scores in enumerate(ranker.staged_predict(data), start=1):
        np.testing.assert_array_equal(ranker.predict(data, n_steps=n), scores)
    np.testing.assert_array_equal(scores, ranker.predict(data))
