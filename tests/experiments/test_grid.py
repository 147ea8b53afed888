import numpy as np
import pytest

from rankgrove import RCRank, kfold
from rankgrove.data.dataset import Dataset
from rankgrove.datasets import make_ranking
from rankgrove.experiments.grid import best_cell, run_grid
from rankgrove.metrics.metric import metric


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, seed=2)


def test_every_setting_is_trained_and_tested_on_every_fold(data):
    cells = run_grid(
        kfold(data, 3, 0), leaves=(4, 8), learning_rates=(0.1, 0.3), n_estimators=4, random_state=0
    )
    assert len(cells) == 2 * 2 * 2 * 2
    assert all(len(cell.values) == len(cell.n_trees) == 3 for cell in cells)
    assert {cell.ranker for cell in cells} == {"rcrank", "lambdamart"}
    best = best_cell(cells, "rcrank", 1)
    assert best.mean == max(c.mean for c in cells if c.ranker == "rcrank" and c.label_shift == 1)


def test_a_cell_is_the_model_that_one_would_train_by_hand(data):
    train, valid, test = next(kfold(data, 3, 0))
    [cell] = run_grid(
        [(train, valid, test)],
        rankers=["rcrank"],
        leaves=[8],
        learning_rates=[0.2],
        label_shifts=[1],
        n_estimators=5,
        random_state=1,
    )
    plus_one = [Dataset(part.X, part.y + 1, part.qid) for part in (train, valid, test)]
    model = RCRank(
        max_leaf_nodes=8, max_depth=None, learning_rate=0.2, n_estimators=5, random_state=1
    ).fit(plus_one[0], eval_set=plus_one[1], eval_metric="ndcg@10")
    expected = metric("ndcg@10")(plus_one[2].y, model.predict(test), groups=test.groups)
    assert cell.values == [expected]
    assert max(model.model_.ensemble.n_leaves) <= 8


def test_shifted_labels_raise_every_ndcg(data):
    cells = run_grid(
        kfold(data, 3, 0), rankers=["lambdamart"], leaves=[8], learning_rates=[0.1], n_estimators=5
    )
    plain, shifted = cells
    assert np.all(np.array(shifted.values) > np.array(plain.values))
