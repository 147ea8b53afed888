"""The automatic choice: what decides it, and the model that it ends in."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.rankers.auto import CANDIDATES, FEWEST_QUERIES, LINEAR, _decided


@pytest.fixture(scope="module")
def data():
    return make_ranking(100, docs_per_query=10, n_features=6, seed=3)


def auto(**params):
    return rankgrove.Auto(
        **{"n_bags": 2, "n_estimators": 5, "random_state": 0, "n_jobs": 1, **params}
    )


def test_winner_must_be_better_by_more_than_a_standard_error():
    rng = np.random.default_rng(0)
    base = rng.random(50)
    noise = rng.normal(0, 0.1, 50)
    noise -= noise.mean()
    values = dict.fromkeys(CANDIDATES, base)
    metric = rankgrove.metric("ndcg@10")
    assert _decided(values, metric, 50).text == CANDIDATES[0]
    values[CANDIDATES[1]] = base + noise + 0.005  # the standard error is about 0.014
    assert _decided(values, metric, 50).text == CANDIDATES[0]
    values[CANDIDATES[2]] = base + noise + 0.03
    found = _decided(values, metric, 50)
    assert found.text == CANDIDATES[2]
    assert found.reason.startswith(f"{CANDIDATES[2]}: +0.0300 (standard error 0.01")
    values[LINEAR] = base + noise + 0.05
    assert _decided(values, metric, 50).text == LINEAR


@pytest.mark.parametrize(("metric", "sign"), [("tau", 1), ("rmse", -1)])
def test_values_of_the_race_keep_their_sign(metric, sign):
    noise = np.random.default_rng(0).normal(0, 0.01, 50)
    noise -= noise.mean()
    values = {name: np.full(50, -0.3) for name in CANDIDATES}
    values[LINEAR] = noise - 0.3 + sign * 0.1
    found = _decided(values, rankgrove.metric(metric), 50)
    assert found.text == LINEAR
    assert found.values == pytest.approx(
        {**dict.fromkeys(CANDIDATES, -0.3), LINEAR: -0.3 + sign * 0.1}
    )
    assert found.reason.startswith(f"{LINEAR}: {sign * 0.1:+.4f} (standard")
    assert f"{CANDIDATES[0]} -0.3000" in found.reason


def test_metrics_of_probabilities_are_refused(data):
    with pytest.raises(ValueError, match="metric of Auto must measure scores, not probabilities"):
        auto(metric="ece").fit(data)


def test_ends_in_an_ordinary_model(data, tmp_path):
    ranker = auto().fit(data)
    assert set(ranker.race_) == {*CANDIDATES, LINEAR}
    assert ranker.reason_.startswith(ranker.chosen_)
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    assert (loaded.chosen_, loaded.reason_, loaded.race_) == (
        ranker.chosen_,
        ranker.reason_,
        ranker.race_,
    )
    again = auto().fit(data)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_linear_data_choose_the_linear_ranker():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    utility = X @ rng.normal(size=20) + 0.1 * rng.normal(size=3000)
    y = np.digitize(utility, [2, 4, 6])
    ranker = auto(n_estimators=20).fit(X, y, group_sizes=[20] * 150)
    assert ranker.chosen_ == LINEAR
    assert "listmle: +" in ranker.reason_


def test_pictures_of_digits_choose_leaf_wise_trees():
    from sklearn.datasets import load_digits

    pictures, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(len(pictures), 41, replace=False) for _ in range(200)])
    X = np.abs(pictures[rows[:, 1:]] - pictures[rows[:, :1]]).reshape(-1, 64)
    y = (digit[rows[:, 1:]] == digit[rows[:, :1]]).astype(int).ravel()
    ranker = auto(n_estimators=60, n_bags=1).fit(X, y, group_sizes=[40] * 200)
    assert ranker.chosen_ == "yetirank:tree=leafwise"
    assert "tree=leafwise: +" in ranker.reason_


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
