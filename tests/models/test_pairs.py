"""Pairs of documents: every ordered pair once, and scores as mean chances of winning."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import RankgroveError
from rankgrove.models.pairs import PairsModel, all_pairs, differences
from rankgrove.models.trees import TreesModel
from rankgrove.trees.ensemble import TreeEnsemble

COLUMNS = Columns(("a",), 1)
STUMP = TreeEnsemble(
    n_features=1,
    tree_offsets=np.array([0, 3], np.int64),
    tree_weights=np.ones(1),
    tree_outputs=np.zeros(1, np.int32),
    base_score=np.zeros(1),
    feature=np.array([0, -1, -1], np.int16),
    threshold=np.zeros(3, np.float32),
    left=np.array([1, -1, -1], np.int32),
    missing_left=np.zeros(3, np.uint8),
    value=np.array([0.0, 0.0, 1.0]),
    count=np.array([2, 1, 1], np.uint32),
    gain=np.zeros(3, np.float32),
)
MODEL = PairsModel(columns=COLUMNS, trees=TreesModel(columns=COLUMNS, ensemble=STUMP))


@pytest.mark.parametrize("block", [1, 3, 100])
def test_all_ordered_pairs_of_each_query_come_once(block):
    found = [
        (int(i), int(j))
        for first, second in all_pairs(np.array([0, 3, 3, 5]), block)
        for i, j in zip(first, second, strict=True)
    ]
    assert sorted(found) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (3, 4), (4, 3)]


def test_difference_of_infinities_is_missing():
    X = np.array([[np.inf], [np.inf], [1.0]], np.float32)
    found = differences(X, np.array([0, 0]), np.array([1, 2]))
    np.testing.assert_array_equal(found, [[np.nan], [np.inf]])


def test_scores_are_mean_chances_of_winning():
    X = np.array([[3.0], [1.0], [2.0], [9.0]], np.float32)
    groups = QueryGroups.from_qid(np.array([1, 1, 1, 2]))
    np.testing.assert_allclose(MODEL.scores(X, groups), [1.0, 0.0, 0.5, 0.5])


def test_scores_need_queries():
    with pytest.raises(RankgroveError, match=r"quer|qid"):
        MODEL.scores(np.zeros((2, 1), np.float32))
