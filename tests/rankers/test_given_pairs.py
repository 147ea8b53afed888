"""PairLogit on pairs that the caller lists."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rankgrove
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.given_pairs import GivenPairs
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError


@pytest.fixture(scope="module")
def data():
    return make_ranking(15, seed=3)


def all_pairs(y, qid):
    better = (qid[:, None] == qid) & (y[:, None] > y)
    return np.argwhere(better)


def test_gradients_equal_the_definition():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(1, 9)) * 30
    winner, loser = np.array([0, 0, 3, 8, 3]), np.array([1, 2, 1, 4, 1])
    weight, document = np.array([1.0, 0.0, 2.5, 1.0, 1.0]), rng.random(9)
    objective = GivenPairs(
        TrainingData(np.zeros(9), np.array([0, 9]), document), winner, loser, weight
    )
    g, h = np.empty((2, 1, 9), np.float32)
    objective.gradients(scores, g, h, 0)
    want = np.zeros((2, 9))
    for i, j, w in zip(winner, loser, weight, strict=True):
        rho = 1 / (1 + np.exp(scores[0, i] - scores[0, j]))
        want[0, i] -= w * rho
        want[0, j] += w * rho
        want[1, [i, j]] += w * rho * (1 - rho)
    np.testing.assert_allclose([g[0], h[0]], want * document, rtol=1e-5, atol=1e-12)


def test_all_pairs_listed_give_the_scores_of_all_pairs(data):
    plain = rankgrove.PairLogit(n_estimators=5, random_state=0).fit(data)
    listed = rankgrove.PairLogit(
        n_estimators=5, random_state=0, pairs=all_pairs(data.y, np.asarray(data.qid))
    ).fit(data)
    np.testing.assert_allclose(listed.predict(data), plain.predict(data), rtol=1e-3, atol=1e-4)


def test_rows_are_numbered_as_the_caller_has_them(data):
    """Queries interleaved, rows of weight 0 left out."""
    order = np.random.default_rng(1).permutation(len(data.y))
    X, y, qid = np.asarray(data.X)[order], data.y[order], np.asarray(data.qid)[order]
    weight = np.ones(len(y))
    weight[5] = 0.0
    pairs = np.array([pair for pair in all_pairs(y, qid) if 5 not in pair])
    listed = rankgrove.PairLogit(n_estimators=5, random_state=0, pairs=pairs)
    listed.fit(X, y, qid=qid, sample_weight=weight)
    plain = rankgrove.PairLogit(n_estimators=5, random_state=0)
    plain.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(listed.predict(X), plain.predict(X), rtol=1e-3, atol=1e-4)
    with pytest.raises(
        DataError, match=r"pair 0 of pairs is \[5.0, 6.0\]: a row of sample_weight 0"
    ):
        listed.set_params(pairs=[[5, 6]]).fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.empty((0, 2)), "pairs is empty"),
        ([[0, 1], [0, 10**6]], r"pair 1 of pairs is \[0.0, 1000000.0\]: row numbers"),
        ([[0, -1]], "pair 0 .* row numbers are whole numbers from 0"),
        ([[0, 0.5]], "pair 0 .* row numbers"),
        ([[0, np.nan]], "pair 0 .* row numbers"),
        ([[3, 3]], "a document is no pair with itself"),
        ([[0, 1, -1]], "a weight is a number of at least 0"),
        ([[0, 1, np.inf]], "a weight is a number of at least 0"),
        ([[0, 1, 0]], "weights that are all 0"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(pairs, message, data):
    with pytest.raises(DataError, match=message):
        rankgrove.PairLogit(n_estimators=2, pairs=pairs).fit(data)


def test_pairs_across_queries_are_refused_by_the_names_of_the_queries(data):
    qid = np.array([f"q{q}" for q in data.qid])
    other = int(np.flatnonzero(qid != qid[0])[0])
    with pytest.raises(
        DataError, match=rf"pair 1 .* belong to the queries {qid[0]} and {qid[other]}"
    ):
        rankgrove.PairLogit(n_estimators=2, pairs=[[0, 1], [0, other]]).fit(data.X, data.y, qid=qid)


def test_settings_that_do_not_go_with_pairs_are_refused(data):
    pairs = all_pairs(data.y, np.asarray(data.qid))
    with pytest.raises(ValueError, match=r"difference_power .* beside pairs"):
        rankgrove.PairLogit(n_estimators=2, pairs=pairs, difference_power=1.0).fit(data)
    with pytest.raises(ValueError, match="hard-negatives"):
        rankgrove.PairLogit(
            n_estimators=2, pairs=pairs, sampling="hard-negatives", subsample=0.5
        ).fit(data)
    for wrong in ("0,1", [1, 2], [[1, 2, 3, 4]], [["a", "b"]]):
        with pytest.raises(ValueError, match="parameter pairs of PairLogit must be"):
            rankgrove.PairLogit(n_estimators=2, pairs=wrong).fit(data)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("lambdarank", "lambdamart"),
        ("rank:pairwise", "pairlogit"),
        ("rank_xendcg", "xendcg"),
        ("YetiRankPairwise", "yetirank"),
        ("PairLogitPairwise", "pairlogit"),
        ("ranknet", "pairlogit"),
        ("ndcgLoss2PP", "lambdaloss"),
        ("NDCG-Loss2++", "lambdaloss"),
        ("ARP-Loss1", "lambdaloss"),
        ("CatBoostRanker", "yetirank"),
        ("XGBRanker", "lambdamart"),
        ("random_forests", "rf"),
        ("xe_ndcg_mart", "xendcg"),
        ("rank:map", "lambdamart"),
        ("LambdaMart:metric=NDCG", "lambdamart"),
        ("StochasticRank:metric=NDCG;type=Exp", "stochasticrank"),
        ("YetiRank:mode=MRR", "yetiloss"),
        ("Logloss:border=0.5", "querycrossentropy"),
        ("YetiRank:permutations=5", "yetirank"),
        ("GroupQuantile:alpha=0.7", "groupquantile"),
        ("MAE", "groupquantile"),
        ("multi:softprob", "mcrank"),
    ],
)
def test_losses_of_other_libraries_are_answered_with_ours(name, ours):
    message = re.escape(f"unknown ranker '{name}': did you mean '{ours}'")
    with pytest.raises(ValueError, match=message):
        rankgrove.make_ranker(name)
