"""Dropout of trees, against a loop that adds up all trees anew in every step."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.boosting.dropout import TreeDropout
from rankgrove.datasets import make_ranking
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.growing import TreeGrower, apply_binned


def fit_by_definition(X, y, dropout, n_steps, rate, seed):
    binned = bin_matrix(X, find_bins(X))
    grower = TreeGrower(binned, max_leaf_nodes=8, min_samples_leaf=20, min_child_weight=1e-3, l2=1)
    answers, weights = [], []
    for step in range(n_steps):
        dropped = dropout.draw(step)
        kept = [
            w * a for i, (w, a) in enumerate(zip(weights, answers, strict=True)) if i not in dropped
        ]
        scores = y.mean() + sum(kept, np.zeros(len(y)))
        tree = grower.grow((scores - y).astype(np.float32), None, seed=seed + step)
        answers.append(rate / (len(dropped) + 1) * tree.value[apply_binned(tree, binned)])
        weights.append(1.0)
        for number in dropped:
            weights[number] *= len(dropped) / (len(dropped) + 1)
    return y.mean() + sum(w * a for w, a in zip(weights, answers, strict=True))


def test_a_fit_equals_the_definition():
    data = make_ranking(30, seed=4)
    ranker = rankgrove.MART(
        n_estimators=12,
        learning_rate=0.5,
        tree="leafwise",
        max_leaf_nodes=8,
        drop_rate=0.4,
        skip_drop=0.2,
        max_drop=3,
        random_state=1,
    ).fit(data)
    seed = ranker.draw_seed()
    dropout = TreeDropout(0.4, 0.2, 3, seed)
    drawn = [len(dropout.draw(step)) for step in range(12)]
    assert {0, 1, 3} <= {*drawn}
    want = fit_by_definition(data.X, data.y, dropout, 12, 0.5, seed)
    np.testing.assert_allclose(ranker.predict(data), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["lambdamart", "mcrank"])
def test_the_model_is_that_of_the_best_step(name):
    train, valid = make_ranking(40, seed=1), make_ranking(40, seed=2)
    ranker = rankgrove.make_ranker(
        name, n_estimators=40, learning_rate=0.3, drop_rate=0.3, skip_drop=0.0, random_state=0
    ).fit(train, eval_set={"train": train, "valid": valid})
    assert ranker.best_iteration_ < 40
    assert ranker.score(valid) == pytest.approx(ranker.best_score_, abs=1e-9)
    at_best = ranker.evals_result_["train"]["ndcg@10"][ranker.best_iteration_ - 1]
    assert ranker.score(train) == pytest.approx(at_best, abs=1e-9)


def test_draws_are_limited_and_skipped():
    assert TreeDropout(1.0, 0.0, 50, 3).draw(20) == list(range(20))
    assert len(TreeDropout(1.0, 0.0, 7, 3).draw(20)) == 7
    assert TreeDropout(1.0, 1.0, 50, 3).draw(20) == []
    assert TreeDropout(0.5, 0.0, 50, 3).draw(0) == []
    drawn = [len(TreeDropout(0.25, 0.0, 500, 3).draw(400 + i)) / (400 + i) for i in range(50)]
    assert np.mean(drawn) == pytest.approx(0.25, abs=0.01)
