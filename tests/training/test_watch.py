"""Which of the watched sets decides."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def parts():
    data = make_ranking(80, n_features=8, seed=5)
    train = np.isin(data.qid, np.unique(data.qid)[:50])
    return data, train


def part(data, rows):
    return data.X[rows], data.y[rows], data.qid[rows]


def fitted(parts, eval_set, **options):
    data, train = parts
    X, y, qid = part(data, train)
    ranker = rankgrove.LambdaMART(n_estimators=40, learning_rate=0.3, random_state=0)
    return ranker.fit(X, y, qid=qid, eval_set=eval_set, early_stopping_rounds=5, **options)


@pytest.mark.filterwarnings("ignore:eval_set 'seen' holds the training data")
@pytest.mark.parametrize("name", ["train", "seen"])
def test_fresh_slices_of_the_training_data_do_not_decide(parts, name):
    data, train = parts
    alone = fitted(parts, {"valid": part(data, ~train)})
    both = fitted(parts, {name: part(data, train), "valid": part(data, ~train)})
    after = fitted(parts, {"valid": part(data, ~train), name: part(data, train)})
    assert both.best_iteration_ == after.best_iteration_ == alone.best_iteration_


def test_the_last_set_that_is_not_training_data_decides(parts):
    data, train = parts
    held_out = np.unique(data.qid[~train])
    first, last = (part(data, np.isin(data.qid, q)) for q in (held_out[:8], held_out[8:]))
    alone = fitted(parts, {"last": last})
    assert fitted(parts, {"first": first, "last": last}).best_iteration_ == alone.best_iteration_


@pytest.mark.filterwarnings("ignore:eval_set 'seen' holds the training data")
def test_training_data_alone_cannot_stop_a_fit(parts):
    data, train = parts
    with pytest.raises(ValueError, match="eval_set holds the training data alone"):
        fitted(parts, {"seen": part(data, train)})
