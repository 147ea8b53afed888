"""First trees and losses that are CatBoost's own, where definitions agree."""

import numpy as np
import pytest
from tests.boosting.objectives.support import run

import rankgrove
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.groupquantile import mean_absolute_error
from rankgrove.boosting.objectives.stochasticfilter import ExpectedFilteredDCG
from rankgrove.boosting.objectives.stochasticrank import SmoothedMetric

catboost = pytest.importorskip("catboost")

SIZES = [1, 7, 12, 30, 5, 20, 2]


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (sum(SIZES), 4)).astype(np.float32)  # ties, also inside queries
    X[:, 3] = 2.0
    y = random.integers(0, 4, len(X)) + (X[:, 0] > 2)
    return X, y.astype(float), np.repeat(np.arange(len(SIZES)), SIZES)


def first_tree_of_catboost(loss, X, y, qid, depth=2, leaves="Newton", **pool):
    model = catboost.CatBoost(
        {
            "loss_function": loss,
            "iterations": 1,
            "learning_rate": 1.0,
            "depth": depth,
            "l2_leaf_reg": 3.0,
            "bootstrap_type": "No",
            "random_strength": 0,
            "boost_from_average": False,
            "leaf_estimation_method": leaves,
            "leaf_estimation_iterations": 1,
            "leaf_estimation_backtracking": "No",
            "score_function": "L2",
            "thread_count": 1,
            "verbose": 0,
            "allow_writing_files": False,
        }
    )
    return model.fit(catboost.Pool(X, y, group_id=qid, **pool)).predict(X)


def first_tree(name, X, y, qid, depth=2, **params):
    common = {"n_estimators": 1, "learning_rate": 1.0, "tree": "oblivious", "max_depth": depth}
    ranker = rankgrove.make_ranker(name, **common, l2=3.0, **params)
    return ranker.fit(X, y, qid=qid).predict(X)


@pytest.mark.parametrize(
    ("loss", "name", "params"),
    [
        ("QueryRMSE", "queryrmse", {}),
        ("PairLogit", "pairlogit", {}),
        ("QuerySoftMax", "querysoftmax", {}),
        ("QuerySoftMax:beta=0.5;lambda=0.2", "querysoftmax", {"beta": 0.5, "damping": 0.2}),
    ],
)
def test_first_tree_is_that_of_catboost(loss, name, params, data):
    want = first_tree_of_catboost(loss, *data)
    assert len(np.unique(want)) > 2
    got = first_tree(name, *data, **params)
    level = want[0] - got[0] if name == "pairlogit" else 0.0  # CatBoost centres leaves of pairs
    np.testing.assert_allclose(got + level, want, atol=1e-6)


@pytest.mark.parametrize("params", [{}, {"alpha": 0.8, "delta": 0.01}])
def test_first_tree_of_group_quantile_is_that_of_catboost(params, data):
    text = ";".join(f"{key}={value}" for key, value in params.items())
    want = first_tree_of_catboost(f"GroupQuantile:{text}".rstrip(":"), *data, leaves="Gradient")
    assert len(np.unique(want)) > 2
    scale = 2 * mean_absolute_error(TrainingData(data[1], np.r_[0, np.cumsum(SIZES)]))
    got = first_tree("groupquantile", *data, **params) / scale
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "options", "grades"),
    [
        ("metric=NDCG", {}, lambda y: y),
        ("metric=NDCG;type=Exp;top=5", {"k": 5, "gain": "exp"}, lambda y: y),
        (
            "metric=DCG;mu=0.1;lambda=0.3;nu=2",
            {"metric": "dcg", "mu": 0.1, "sfa": 0.3, "nu": 2.0},
            lambda y: y,
        ),
        ("metric=MRR", {"metric": "mrr"}, lambda y: (y > 3) * 1.0),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_stochasticrank_has_the_expected_gradients_of_catboost(loss, options, grades, data):
    """Both draw noise: with much of it, leaves of CatBoost are the means of our gradients."""
    X, y, qid = data
    scores = np.random.default_rng(5).normal(size=len(y)) + 0.3 * y
    text = f"StochasticRank:{loss};num_estimations=20000"
    want = first_tree_of_catboost(
        text, X, grades(y), qid, depth=1, leaves="Gradient", baseline=scores
    )
    training = TrainingData(grades(y), np.r_[0, np.cumsum(SIZES)], seed=1)
    options = {"gain": "linear", **options, "n_permutations": 20_000}
    gradients, _ = run(SmoothedMetric(training, **options), scores)
    assert len(np.unique(want)) == 2
    for leaf in np.unique(want):
        inside = want == leaf
        step = -gradients[inside].sum() / (inside.sum() + 3.0)
        assert step == pytest.approx(leaf, rel=0.03, abs=2e-4)


@pytest.mark.slow
def test_stochasticfilter_has_the_expected_gradients_of_catboost(data):
    """CatBoost draws filters: with many of them, its leaves are the means of our gradients."""
    X, y, qid = data
    y = y - 1.0
    scores = np.random.default_rng(5).normal(size=len(y))
    text = "StochasticFilter:sigma=1;num_estimations=100000"
    want = first_tree_of_catboost(text, X, y, qid, depth=2, leaves="Gradient", baseline=scores)
    training = TrainingData(y, np.r_[0, np.cumsum(SIZES)])
    gradients, _ = run(ExpectedFilteredDCG(training), scores)
    assert len(np.unique(want)) > 2
    for leaf in np.unique(want):
        inside = want == leaf
        step = -gradients[inside].sum() / (inside.sum() + 3.0)
        assert step == pytest.approx(leaf, rel=0.03, abs=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_first_tree_of_given_pairs_is_that_of_catboost(weighted, data):
    X, y, qid = data
    random = np.random.default_rng(1)
    pairs = [
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if qid[i] == qid[j] and y[i] > y[j] and random.random() < 0.2
    ]
    weight = random.integers(1, 5, len(pairs)) / 2
    given = {"pairs": pairs, **({"pairs_weight": weight} if weighted else {})}
    want = first_tree_of_catboost("PairLogit", X, y, qid, **given)
    table = np.column_stack([pairs, weight]) if weighted else pairs
    got = first_tree("pairlogit", X, y, qid, pairs=table)
    assert len(np.unique(want)) > 2
    np.testing.assert_allclose(got + want[0] - got[0], want, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "params", "grades"),
    [
        ("mode=NDCG", {"metric": "ndcg", "gain": "linear"}, lambda y: y),
        ("mode=NDCG;dcg_type=Exp;top=5", {"metric": "ndcg@5", "gain": "exp"}, lambda y: y),
        ("mode=MRR", {"metric": "mrr"}, lambda y: (y > 3) * 1.0),
        ("mode=ERR", {"metric": "err", "gain": "linear", "max_grade": 1.0}, lambda y: y / 5),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_yetiloss_has_the_expected_first_tree_of_catboost(loss, params, grades, data):
    """Both draw permutations: with many of them, the two leaves are as far apart."""
    X, y, qid = data
    want = first_tree_of_catboost(f"YetiRank:{loss};permutations=10000", X, grades(y), qid, depth=1)
    got = first_tree(
        "yetiloss", X, grades(y), qid, depth=1, n_permutations=10_000, random_state=0, **params
    )
    assert np.ptp(want) > 0
    np.testing.assert_array_equal(got > got.mean(), want > want.mean())
    assert np.ptp(got) == pytest.approx(np.ptp(want), rel=0.03)
