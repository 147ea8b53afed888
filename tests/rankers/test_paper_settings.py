"""Settings of papers: each table trains, may be overridden, and is refused where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.boosting.objectives.support import run
from tests.oracles import list_losses as oracle

import rankgrove
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.datasets import make_ranking
from rankgrove.experiments.specs import as_spec
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.registry import ranker_class, ranker_names
from support.rankers import SMALL

TABLES = [
    (name, paper) for name in ranker_names() for paper in ranker_class(name).papers or (None,)
]
SIZES = {"n_estimators": 3, "max_iter": 3, "max_passes": 1, "n_restarts": 0}


@pytest.mark.filterwarnings("ignore:the objective of RankSVM may be")
@pytest.mark.parametrize(("name", "paper"), [table for table in TABLES if table[1]])
def test_every_table_is_declared_in_the_ranker_s_own_parameters_and_trains(name, paper):
    cls = ranker_class(name)
    settings = cls.papers[paper]
    constraints = {parameter.name: parameter.constraint for parameter in parameter_table(cls)}
    for key, value in settings.params.items():
        assert constraints[key].accepts(value), key
    for key, values in settings.tuned.items():
        assert settings.params[key] in values, key
        assert all(constraints[key].accepts(value) for value in values), key
    sizes = {key: value for key, value in SIZES.items() if key in constraints}
    data = make_ranking(20, docs_per_query=8, n_features=6, seed=1)
    ranker = cls.as_in_paper(paper, random_state=0, **{**sizes, **SMALL.get(name, {})})
    assert np.isfinite(ranker.fit(data).predict(data)).all()


@pytest.mark.parametrize("name", [name for name, paper in TABLES if paper is None])
def test_a_ranker_without_a_paper_s_settings_is_refused_by_name(name):
    cls = ranker_class(name)
    with pytest.raises(ValueError, match=f"{cls.__name__} has no settings of a paper"):
        cls.as_in_paper()
    with pytest.raises(ValueError, match=f"{name} has no settings of a paper"):
        as_spec(f"{name}:as_in_paper=own")


def test_a_paper_that_does_not_train_the_ranker_is_refused_by_name():
    with pytest.raises(
        ValueError, match=r"PLRank has no settings of a paper 'burges-2010'.*xia-2019"
    ):
        rankgrove.PLRank.as_in_paper("burges-2010")


def test_parameters_that_are_given_take_the_place_of_the_paper_s():
    ranker = rankgrove.LambdaMART.as_in_paper(n_estimators=7, norm=True)
    assert (ranker.n_estimators, ranker.norm, ranker.l2) == (7, True, 0.0)
    assert rankgrove.LambdaMART.as_in_paper("modry-2016").max_leaf_nodes == 64


def test_a_subclass_does_not_inherit_the_tables():
    assert set(rankgrove.RCRank.papers) == {"modry-2016"}


def test_a_spec_takes_the_settings_of_a_paper():
    spec = as_spec("lambdamart:as_in_paper=own,max_leaf_nodes=7|15")
    assert [point["max_leaf_nodes"] for point in spec.settings] == [7, 15]
    assert all(point["truncation"] is None and point["l2"] == 0 for point in spec.settings)
    assert as_spec({"use": "rcrank", "as_in_paper": "modry-2016"}).settings[0]["max_depth"] == 6
    with pytest.raises(ValueError, match="as_in_paper of rcrank must be 'own' or 'modry-2016'"):
        as_spec("rcrank:as_in_paper=burges")


def test_plain_trees_of_lambdamart_are_fitted_by_least_squares_to_all_pairs():
    data = make_ranking(30, docs_per_query=40, n_features=5, seed=2)
    params = {
        "tree": "leafwise",
        "criterion": "least_squares",
        "l2": 0.0,
        "min_samples_leaf": 1,
        "min_child_weight": 0.0,
        "max_bins": 65_534,
        "truncation": None,
        "norm": False,
        "max_leaf_nodes": 30,
    }
    by_hand = rankgrove.LambdaMART(n_estimators=5, random_state=0, **params).fit(data)
    ranker = rankgrove.LambdaMART.as_in_paper(n_estimators=5, random_state=0).fit(data)
    np.testing.assert_array_equal(ranker.predict(data), by_hand.predict(data))


def test_mcrank_from_zero_starts_with_equal_probabilities():
    data = make_ranking(20, n_features=4, seed=3)
    ranker = rankgrove.McRank(n_estimators=1, learning_rate=1e-9, start="zero", random_state=0)
    grades = np.unique(data.y)
    np.testing.assert_allclose(ranker.fit(data).predict(data), grades.mean(), atol=1e-6)


def test_queries_of_equal_labels_count_only_if_kept():
    labels = np.array([1.0, 1.0, 1.0, 2.0, 0.0])
    data = TrainingData(labels, np.array([0, 3, 5]), seed=5)
    scores = np.array([0.5, -1.0, 0.2, 1.5, -0.3])
    skipped, _ = run(PlackettLuceLikelihood(data, n_permutations=10_000), scores)
    kept, _ = run(PlackettLuceLikelihood(data, n_permutations=10_000, keep_equal=True), scores)
    assert (skipped[:3] == 0).all()
    np.testing.assert_array_equal(kept[3:], skipped[3:])
    orders = oracle.ground_truth_permutations(labels[:3])
    mean = np.mean(
        [
            oracle.gradient(lambda s, p=order: oracle.plackett_luce(s, p, 10), scores[:3])
            for order in orders
        ],
        axis=0,
    )
    np.testing.assert_allclose(kept[:3], mean, atol=0.02)


@pytest.mark.parametrize("name", ["plrank", "listmle"])
def test_rankers_keep_queries_of_equal_labels_as_in_the_paper(name):
    data = make_ranking(6, docs_per_query=5, n_features=3, seed=6)
    data.y[data.qid == data.qid[0]] = 1
    skips, keeps = (
        ranker_class(name)(equal_labels=choice, random_state=0).set_params(
            **({"n_estimators": 3} if name == "plrank" else {"max_iter": 9})
        )
        for choice in ("skip", "keep")
    )
    assert (skips.fit(data).predict(data) != keeps.fit(data).predict(data)).any()
