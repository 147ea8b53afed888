"""BROOF: the loop against plain loops on scikit-learn's trees, its weights, its stopping."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles import broof as oracle

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.forests import extension_points
from rankgrove.forests.extension_points import TrainingDocuments
from rankgrove.forests.sampling import TreeSample
from rankgrove.rankers.broof import _TABLES, PRESETS
from rankgrove.workers.row_shard import RowShard


@pytest.fixture(scope="module")
def tiny():
    """Few values per feature: every split lies between two that each bootstrap has."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (80, 4)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.7, 80)), 0, 3)
    return X, y, np.repeat(np.arange(8), 10)


@pytest.mark.parametrize("preset", ["absolute", "median", "height", "gradient"])
def test_presets_are_algorithm_1(tiny, preset):
    X, y, qid = tiny
    ranker = rankgrove.BROOF(
        preset=preset,
        n_estimators=4,
        n_trees=5,
        max_leaf_nodes=2,
        max_features=None,
        learning_rate=0.8,
        random_state=0,
    ).fit(X, y, qid=qid)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))

    def draw(number, weights):
        offsets = np.arange(0, 81, 10)
        sample = TreeSample("bootstrap", 80, weights).native(RowShard.of(offsets))
        return sample.draw(offsets, seed=seed, tree_number=number)

    scores, says = oracle.broof(X, y, qid, preset, 4, 5, 2, 0.8, draw)
    np.testing.assert_allclose(ranker.learner_weights_, says, rtol=1e-6)
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=1e-6)


@pytest.mark.parametrize("name", ["median", "height"])
def test_errors_are_their_definition(name):
    rng = np.random.default_rng(5)
    query = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    y = rng.integers(0, 4, len(query)).astype(float)
    predicted = np.round(rng.random(len(query)), 1)  # ties
    known = rng.random(len(query)) < 0.8
    documents = TrainingDocuments(y, query, y >= 1, rng)
    found = extension_points.ERRORS[name](documents, y, predicted, known)
    expected = oracle.ERRORS[name](y, query, predicted, known)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("preset", ["absolute", "median", "height"])
def test_weights_stay_a_distribution_and_only_out_of_bag_documents_move(monkeypatch, preset):
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    seen = []
    plain = extension_points.of_known

    def spied(weights, errors, beta, known):
        result = plain(weights, errors, beta, known)
        seen.append((weights, errors, known, result))
        return result

    rankgrove.BROOF(
        preset=preset, weight_update=spied, n_estimators=5, n_trees=2, random_state=0
    ).fit(data)
    assert len(seen) >= 2
    for weights, errors, known, result in seen:
        assert weights.sum() == pytest.approx(1.0)
        assert (errors >= 0).all()
        assert errors.max() <= 1.0
        assert 0 < known.sum() < len(known)
        np.testing.assert_array_equal(result[~known], weights[~known])
    assert not np.array_equal(seen[0][0], seen[1][0])


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_gradient_of_one_tree_without_sampling_is_mart():
    data = make_ranking(40, docs_per_query=20, n_features=6, seed=2)
    y = data.y - data.y.mean()  # MART starts at the mean, the forests at 0
    ours = rankgrove.BROOF(
        preset="gradient",
        bootstrap=False,
        n_trees=1,
        n_estimators=5,
        max_features=None,
        max_leaf_nodes=1000,
        min_samples_leaf=60,
        learning_rate=0.3,
        random_state=0,
    ).fit(data.X, y, qid=data.qid)
    mart = rankgrove.MART(
        n_estimators=5,
        learning_rate=0.3,
        tree="levelwise",
        max_leaf_nodes=None,
        min_samples_leaf=60,
        l2=0.0,
        random_state=0,
    ).fit(data.X, y, qid=data.qid)
    assert ours.model_.ensemble.n_leaves.min() >= 4
    np.testing.assert_allclose(ours.predict(data), mart.predict(data), atol=1e-4)


@pytest.mark.parametrize("learner_weight", ["log", "beta", "constant"])
def test_boosting_ends_when_half_of_the_weight_is_wrong(learner_weight):
    """Whatever a forest says; where errors have no say, as in ``gradient``, they end nothing."""
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)

    def two_good_forests():
        seen = iter([0.2, 0.3, 0.6, 0.6])

        def error(documents, targets, predicted, known):
            weak = np.full(len(targets), next(seen))
            weak[np.flatnonzero(known)[0]] = 1.0  # by which all are divided
            return weak

        return error

    params = {"n_trees": 2, "learner_weight": learner_weight, "random_state": 0}
    ranker = rankgrove.BROOF(
        preset="absolute", error=two_good_forests(), n_estimators=4, **params
    ).fit(data)
    assert ranker.model_.n_steps == len(ranker.learner_weights_) == 2
    alone = rankgrove.BROOF(preset="absolute", n_estimators=2, **params).fit(data)
    assert alone.model_.n_steps == 2


def test_errors_without_a_say_end_nothing():
    rng = np.random.default_rng(0)
    X, y, qid = rng.random((200, 3)), rng.integers(0, 2, 200), np.arange(200) // 10
    params = {"n_estimators": 3, "n_trees": 5, "random_state": 0}
    assert rankgrove.BROOF(preset="absolute", **params).fit(X, y, qid=qid).model_.n_steps == 1
    assert rankgrove.BROOF(preset="gradient", **params).fit(X, y, qid=qid).model_.n_steps == 3


def test_training_errors_move_all_weights():
    """Out-of-bag errors leave alone what every tree has seen; they are not to be had then."""
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    params = {"preset": "absolute", "n_estimators": 4, "n_trees": 2, "random_state": 0}
    trained = rankgrove.BROOF(validation="train", **params).fit(data)
    named = rankgrove.BROOF(validation="train", weight_update="train", **params).fit(data)
    np.testing.assert_array_equal(trained.predict(data), named.predict(data))
    with pytest.raises(ValueError, match="weight_update of BROOF must not be 'oob'"):
        rankgrove.BROOF(validation="train", weight_update="oob", **params).fit(data)


def test_validation_on_training_data_is_another_ranker():
    train = make_ranking(40, seed=1)
    oob = rankgrove.BROOF(n_estimators=4, n_trees=5, random_state=0).fit(train)
    seen = rankgrove.BROOF(n_estimators=4, n_trees=5, validation="train", random_state=0).fit(train)
    assert not np.array_equal(oob.predict(train), seen.predict(train))


@pytest.mark.parametrize("preset", ["absolute", "median", "height", "gradient"])
def test_functions_in_place_of_names_are_the_same_ranker(preset):
    """All extension points can be given as functions, those of the preset, too."""
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    names = PRESETS[preset]
    functions = {name: _TABLES[name][value] for name, value in names.items()}
    params = {"preset": preset, "n_estimators": 3, "n_trees": 4, "random_state": 0}
    by_name = rankgrove.BROOF(**params).fit(data)
    by_function = rankgrove.BROOF(**params, **functions).fit(data)
    np.testing.assert_array_equal(by_function.predict(data), by_name.predict(data))
    np.testing.assert_array_equal(by_function.learner_weights_, by_name.learner_weights_)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_validation_set_of_ones_own(bootstrap):
    """It sees the trees and their predictions; what it leaves out does not move."""
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    seen = []

    def even_documents(documents, forest):
        assert forest.trees.n_trees == 4
        assert (forest.n_out_of_bag > 0).any() == bootstrap
        return forest.predict(), np.arange(len(documents.y)) % 2 == 0

    def spied(weights, errors, beta, known):
        result = extension_points.of_known(weights, errors, beta, known)
        seen.append((weights, known, result))
        return result

    rankgrove.BROOF(
        preset="absolute",
        validation=even_documents,
        weight_update=spied,
        bootstrap=bootstrap,
        n_estimators=3,
        n_trees=4,
        random_state=0,
    ).fit(data)
    for weights, known, result in seen:
        np.testing.assert_array_equal(known, np.arange(len(known)) % 2 == 0)
        np.testing.assert_array_equal(result[~known], weights[~known])
        assert not np.array_equal(result[known], weights[known])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(100), "mine must return two arrays"),
        ((np.zeros(100), np.ones(100)), "mine must tell for each of 100 documents"),
        ((np.zeros(3), np.ones(100, bool)), r"mine returned shape \(3,\)"),
        ((np.full(100, np.nan), np.arange(100) == 7), "mine returned nan for document 7"),
    ],
)
def test_a_validation_set_of_nonsense_is_named(answer, message):
    def mine(documents, forest):
        return answer

    X = np.random.default_rng(0).random((100, 3))
    ranker = rankgrove.BROOF(validation=mine, n_estimators=2, n_trees=2)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, np.arange(100) % 3, qid=np.arange(100) // 10)


def test_forests_that_all_fit_the_labels_are_averaged():
    """With a constant say, too: scores stay on the scale of the labels."""
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    ranker = rankgrove.BROOF(
        preset="absolute", learner_weight="constant", n_estimators=5, n_trees=4, random_state=0
    ).fit(data)
    assert data.y.min() <= ranker.predict(data).min()
    assert ranker.predict(data).max() <= data.y.max()


def test_a_function_that_returns_nonsense_is_named():
    data = make_ranking(10, seed=1)

    def my_errors(documents, targets, predicted, known):
        return np.full(len(targets), np.nan)

    ranker = rankgrove.BROOF(preset="absolute", error=my_errors, n_estimators=2, n_trees=2)
    with pytest.raises(ValueError, match="my_errors returned nan for document 0"):
        ranker.fit(data)
    ranker.set_params(error=lambda *_: np.zeros(3))
    with pytest.raises(ValueError, match=r"returned shape \(3,\)"):
        ranker.fit(data)


def test_settings_that_contradict_each_other_are_refused():
    data = make_ranking(10, seed=1)
    for params, message in (
        ({"validation": "oob", "bootstrap": False}, "must be 'train' without bootstrap"),
        ({"weight_update": "train"}, "must not be 'train' with validation='oob'"),
    ):
        with pytest.raises(ValueError, match=message):
            rankgrove.BROOF(**params).fit(data)


def test_stages_are_the_rankers_of_fewer_iterations():
    data = make_ranking(20, seed=1)
    for preset in ("absolute", "gradient"):
        params = {"preset": preset, "n_trees": 3, "random_state": 0}
        whole = rankgrove.BROOF(n_estimators=3, **params).fit(data)
        for n, scores in enumerate(whole.staged_predict(data), start=1):
            part = rankgrove.BROOF(n_estimators=n, **params).fit(data)
            np.testing.assert_allclose(scores, part.predict(data), rtol=1e-9)


def test_extension_points_cannot_change_the_callers_data():
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)

    def in_place(documents, targets, predicted, known, shrinkage):
        targets -= shrinkage * predicted
        return targets

    def weigh(documents):
        documents.y[:] = 0
        return documents.y

    for point in ({"example_update": in_place}, {"initial_weights": weigh}):
        with pytest.raises(ValueError, match="read-only"):
            rankgrove.BROOF(n_estimators=3, n_trees=3, **point).fit(data)


@pytest.mark.parametrize("say", [(0.5, 0.0), (0.5, -1.0), (0.0, 1.0), (np.nan, 1.0), (0.5, np.inf)])
def test_a_say_of_nonsense_is_named(say):
    data = make_ranking(10, docs_per_query=8, n_features=3, seed=1)
    ranker = rankgrove.BROOF(
        preset="absolute",
        learner_weight=lambda error, shrinkage: extension_points.LearnerWeight(*say),
    )
    with pytest.raises(
        ValueError, match=r"learner_weight returned LearnerWeight.*finite and above 0"
    ):
        ranker.fit(data)


def test_a_forest_that_nobody_can_measure_is_the_last():
    data = make_ranking(10, docs_per_query=8, n_features=3, seed=1)

    def nobody(documents, forest):
        return forest.out_of_bag, np.zeros(len(documents.y), bool)

    params = {"preset": "absolute", "n_estimators": 5, "n_trees": 3, "random_state": 0}
    ranker = rankgrove.BROOF(validation=nobody, **params).fit(data)
    assert ranker.learner_weights_.tolist() == [1.0]
