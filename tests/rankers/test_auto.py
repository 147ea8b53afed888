"""The automatic choice: what decides it, and the model that it ends in."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.auto import BAGGED, CANDIDATES, FEWEST_QUERIES, Chosen, level, winner


@pytest.fixture(scope="module")
def data():
    return make_ranking(100, docs_per_query=10, n_features=6, seed=3)


def auto(**params):
    return rankgrove.Auto(
        **{"n_bags": 2, "n_estimators": 5, "random_state": 0, "n_jobs": 1, **params}
    )


def values_of_queries(**shifts):
    """Values of 50 queries by candidate; noise has a standard error of about 0.014."""
    rng = np.random.default_rng(0)
    base = rng.random(50)
    noise = rng.normal(0, 0.1, 50)
    noise -= noise.mean()
    values = dict.fromkeys(CANDIDATES, base)
    return values | {name: base + noise + shift for name, shift in shifts.items()}


def test_winner_must_be_better_by_more_than_a_standard_error():
    first = CANDIDATES[0]
    assert winner(values_of_queries(), "ndcg@10", 50).names == (first,)
    assert winner(values_of_queries(queryrmse=0.005), "ndcg@10", 50).names == (first,)
    found = winner(values_of_queries(queryrmse=0.03), "ndcg@10", 50)
    assert found.names == ("queryrmse",)
    assert found.reason.startswith("queryrmse: +0.0300 (standard error 0.01")
    found = winner(values_of_queries(queryrmse=0.03, listmle=0.05), "ndcg@10", 50)
    assert found.names == ("listmle",)


def test_those_within_a_standard_error_of_the_best_are_level():
    everybody = level(values_of_queries(queryrmse=0.005), "ndcg@10", 50)
    assert everybody.names == ("queryrmse", "yetirank", "listmle", "extra-trees")
    assert "within a standard error of the best" in everybody.reason
    alone = level(values_of_queries(listmle=0.05), "ndcg@10", 50)
    assert alone.names == ("listmle",)
    assert "all others are worse" in alone.reason
    worse = level(values_of_queries(listmle=-0.05), "ndcg@10", 50)
    assert "listmle" not in worse.names


def test_a_query_without_a_value_decides_nothing():
    values = values_of_queries(listmle=0.05)
    alone = np.arange(50) == np.argmin(values["yetirank"])
    values["yetirank"] = np.where(alone, values["yetirank"], np.nan)
    assert set(level(values, "ndcg@10", 50).names) == {"listmle", "yetirank"}


@pytest.mark.parametrize("given", [False, True], ids=["without eval_set", "with eval_set"])
def test_ends_in_an_ordinary_model(data, tmp_path, given):
    options = {"eval_set": make_ranking(40, docs_per_query=10, n_features=6, seed=4)}
    options = options if given else {}
    ranker = auto().fit(data, **options)
    assert set(ranker.race_) == set(CANDIDATES)
    assert ranker.reason_.startswith(f"{ranker.chosen_}: ")
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    assert (loaded.chosen_, loaded.reason_, loaded.race_) == (
        ranker.chosen_,
        ranker.reason_,
        ranker.race_,
    )
    again = auto(n_jobs=2).fit(data, **options)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_score_is_the_mean_of_comparable_scores(data, monkeypatch):
    """Each part alone, divided by its spread within queries, is a quarter of the blend."""
    unseen = make_ranking(40, docs_per_query=10, n_features=6, seed=4)

    def fitted(*names):
        monkeypatch.setattr(
            "rankgrove.rankers.auto.level", lambda *_: Chosen(names, ": ".join(names), {})
        )
        return auto().fit(data, eval_set=unseen)

    def comparable(name):
        scores = fitted(name).predict(unseen)
        means = {query: scores[unseen.qid == query].mean() for query in set(unseen.qid)}
        centred = scores - [means[query] for query in unseen.qid]
        return scores / np.sqrt(np.mean(centred**2))

    together = fitted(*CANDIDATES).predict(unseen)
    expected = sum(comparable(name) for name in CANDIDATES) / len(CANDIDATES)
    np.testing.assert_allclose(together, expected, rtol=1e-6)


def test_trees_of_a_blend_are_one_ensemble(data, monkeypatch):
    names = ("yetirank", "extra-trees", "queryrmse")
    monkeypatch.setattr(
        "rankgrove.rankers.auto.level", lambda *_: Chosen(names, " + ".join(names), {})
    )
    ranker = auto().fit(data)
    assert isinstance(ranker.model_, TreesModel)
    assert ranker.model_.ensemble.n_trees > 200


def test_without_blend_one_candidate_is_taken(data):
    ranker = auto(blend=False).fit(data)
    assert ranker.chosen_ in CANDIDATES


def test_linear_data_choose_the_linear_ranker():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    utility = X @ rng.normal(size=20) + 0.1 * rng.normal(size=3000)
    y = np.digitize(utility, [2, 4, 6])
    for blend in (False, True):
        ranker = auto(n_estimators=20, blend=blend).fit(X, y, group_sizes=[20] * 150)
        assert ranker.chosen_ == "listmle"
        assert ranker.reason_.startswith("listmle: ")


def test_large_data_race_without_the_linear_ranker_and_the_forest(data, monkeypatch):
    monkeypatch.setattr("rankgrove.rankers.auto._MOST_SINGLE_VALUES", data.X.size - 1)
    assert set(auto().fit(data).race_) == set(BAGGED)


def test_few_queries_and_other_labels_decide_without_a_race(data):
    few = data.select_queries(np.arange(FEWEST_QUERIES))
    ranker = auto().fit(few)
    assert ranker.chosen_ == CANDIDATES[0]
    assert "fewer than 20" in ranker.reason_
    ranker = auto().fit(data.X, data.y - 2.5, qid=data.qid)
    assert ranker.chosen_ == CANDIDATES[1]
    assert "cannot measure these labels" in ranker.reason_


def test_command_says_what_was_chosen(data, tmp_path, capsys):
    from rankgrove.cli.main import main

    rankgrove.write_letor(data, tmp_path / "train.txt")
    arguments = [
        "train",
        "auto",
        str(tmp_path / "train.txt"),
        "--n-bags",
        "2",
        "--n-estimators",
        "5",
    ]
    main([*arguments, "--out", str(tmp_path / "model.rg"), "--quiet", "--n-jobs", "1"])
    chosen = rankgrove.load_model(tmp_path / "model.rg").reason_
    assert f"chosen: {chosen}" in capsys.readouterr().out
    main([*arguments, "--out", str(tmp_path / "model.rg"), "--quiet", "--json"])
    assert json.loads(capsys.readouterr().out)["chosen"] == chosen
