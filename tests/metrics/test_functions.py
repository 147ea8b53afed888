"""A metric may be a plain function wherever a name is accepted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.metrics import registry


def top_is_relevant(labels):
    return float(labels[0] > 0)


def mean_label(labels, k=3):
    return float(labels[:k].mean())


def squared_loss(labels, scores):
    return float(np.mean((labels - scores) ** 2))


squared_loss.greater_is_better = False


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=8, n_features=5, seed=3)


@pytest.fixture
def unregistered(monkeypatch):
    registry.metric_names()
    monkeypatch.setattr(registry, "_families", dict(registry._families))


def test_evaluate_takes_functions(data):
    scores = data.X[:, 0] + 1e-3 * np.arange(len(data.y))  # without ties
    found = rankgrove.evaluate(data, scores, metrics=["ndcg@5", top_is_relevant, squared_loss])
    expected = [
        data.y[data.qid == q][np.argsort(-scores[data.qid == q], kind="stable")[0]] > 0
        for q in np.unique(data.qid)
    ]
    assert found["top_is_relevant"] == found[top_is_relevant] == pytest.approx(np.mean(expected))
    assert found.to_dict().keys() == {"ndcg@5", "top_is_relevant", "squared_loss"}
    one = rankgrove.evaluate(data, scores, metrics=top_is_relevant)
    assert list(one.to_dict()) == ["top_is_relevant"]


def test_cut_offs_and_parameters_of_functions(data):
    assert str(rankgrove.metric(mean_label, k=5)) == "mean_label@5"
    assert not rankgrove.metric(squared_loss).greater_is_better


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
def test_fit_evaluates_a_function(data):
    ranker = rankgrove.MART(n_estimators=20, random_state=0)
    ranker.fit(data, eval_set=make_ranking(20, n_features=5, seed=4), eval_metric=squared_loss)
    losses = ranker.evals_result_["valid"]["squared_loss"]
    assert ranker.best_iteration_ == int(np.argmin(losses)) + 1


@pytest.mark.parametrize("name", ["coordinate-ascent", "single-feature", "adarank"])
def test_rankers_optimise_a_function(name, data, tmp_path):
    ranker = rankgrove.make_ranker(name, metric=top_is_relevant, random_state=0).fit(data)
    assert ranker.score(data, metric=top_is_relevant) > 0
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    assert np.array_equal(loaded.predict(data), ranker.predict(data))
    with pytest.raises(ValueError, match="metric"):
        loaded.fit(data)


@pytest.mark.usefixtures("unregistered")
def test_compare_takes_functions(data):
    found = rankgrove.compare(
        data, ["random", "single-feature"], metrics=[top_is_relevant, "ndcg@5"], folds=3
    )
    assert "top_is_relevant" in str(found)


def test_compare_refuses_a_function_without_a_name(data):
    with pytest.raises(ValueError, match=r"register_metric"):
        rankgrove.compare(data, ["random"], metrics=[lambda labels: labels[0]], folds=3)


def test_a_registered_function_goes_by_its_name(unregistered):
    rankgrove.register_metric("first", of="ranked")(top_is_relevant)
    assert str(rankgrove.metric(top_is_relevant)) == "first"


def test_functions_that_cannot_be_told_apart_are_refused(data):
    functions = [lambda labels: labels[0], lambda labels: labels[-1]]
    with pytest.raises(ValueError, match=r"two metrics are called 'lambda'.*register_metric"):
        rankgrove.evaluate(data, data.X[:, 0], metrics=functions)


def test_a_function_that_bears_the_name_of_a_metric_is_refused():
    def ndcg(labels):
        return 0.0

    with pytest.raises(ValueError, match="name of another metric"):
        rankgrove.metric(ndcg)


def test_a_function_of_other_arguments_is_refused():
    with pytest.raises(ValueError, match=r"labels, scores"):
        rankgrove.metric(lambda a, b, c: 0.0)


def test_a_function_travels_in_a_pickle(data):
    measure = pickle.loads(pickle.dumps(rankgrove.metric(mean_label, k=2)))
    assert str(measure) == "mean_label@2"
    assert measure(data, data.X[:, 0]) == rankgrove.metric(mean_label, k=2)(data, data.X[:, 0])


def test_scores_before_labels_are_refused_by_their_names():
    def top(y_pred, y_true):
        return float(y_true[np.argmax(y_pred)])

    with pytest.raises(ValueError, match=r"must take \(labels, scores\), not \(y_pred, y_true\)"):
        rankgrove.evaluate([1, 0], [0.5, 0.2], qid=[1, 1], metrics=[top])
