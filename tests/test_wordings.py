"""Mistakes that people make are answered by what to do."""

from __future__ import annotations

import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.models.sums import MAX_PARTS, add_up


@pytest.fixture(scope="module")
def data():
    return make_ranking(8, docs_per_query=6, n_features=4, seed=0)


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.LambdaMART(n_estimators=2).fit(data)


def evaluated(data, ranker, **options):
    return rankgrove.evaluate(data, ranker.predict(data), **options)


@pytest.mark.parametrize(
    ("mistake", "answer"),
    [
        (lambda d, m: evaluated(d, m, metrics=["ndgc@10"]), "did you mean 'ndcg'"),
        (lambda d, m: evaluated(d, m, metrics="map", preset="letor"), "did you mean 'letor"),
        (
            lambda d, m: evaluated(d, m, metrics=[rankgrove.metric("map")], preset="letor4"),
            "preset 'letor4' has no effect",
        ),
        (lambda d, m: rankgrove.MART().fit(d, init_model="m.rg"), r"load_model\('m.rg'\)"),
        (lambda d, m: m.importances("permutation", d, n_repeats=0), "n_repeats must be at least 1"),
        (lambda d, m: broof(lambda error, rate: 3.0).fit(d), "must return a Say"),
        (lambda d, m: add_up(alternating(d, m)), "at most 1,000"),
    ],
)
def test_the_message_says_what_to_do(mistake, answer, data, ranker):
    with pytest.raises(ValueError, match=answer):
        mistake(data, ranker)


def broof(learner_weight):
    return rankgrove.BROOF(n_estimators=2, n_trees=2, learner_weight=learner_weight)


def alternating(data, ranker):
    """Models that do not melt into one another."""
    single = rankgrove.SingleFeature(feature=0).fit(data)
    return [ranker.model_, single.model_] * (MAX_PARTS // 2 + 1)


def test_a_model_is_not_taken_for_data(ranker, tmp_path):
    ranker.save(tmp_path / "m.rg")
    with pytest.raises(ValueError, match="is a model of rankgrove, not data"):
        rankgrove.load(tmp_path / "m.rg")
