"""Curves of convergence: the test metric after every step of a fit."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import write_letor
from rankgrove.experiments import curve_studies
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.curve_studies import run_curve
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.significance import bootstrap_interval
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study

BROOF = {"n_estimators": 8, "n_trees": 5}
BROOF_TEXT = "broof:n_estimators=8,n_trees=5"
NEAR_TIES = 0.01  # of BROOF, which are not the same in evaluation sets (see its docstring)


def as_text(name, params):
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in params.items())


def convergence_of(study, folder=None):
    with Store(folder) as store:
        (curve,), _ = run_curve("convergence", study, store, Run(n_jobs=1))
    return curve


def histories(data, name, params, folds, seeds=(0,)):
    """The evaluated test part of each fold, and its number of queries."""
    found = []
    for fold in rankgrove.kfold(data, folds, seed=0):
        for seed in seeds:
            ranker = rankgrove.make_ranker(name, random_state=seed, n_jobs=1, **params)
            ranker.fit(fold.train, eval_set={"test": fold.test}, eval_metric="ndcg@10")
            found.append((ranker.evals_result_["test"]["ndcg@10"], fold.test.n_queries))
    return found


def pooled(found):
    """Mean by step over all queries; what ended goes on with its last value."""
    longest = max(len(values) for values, _ in found)
    return [
        sum(n * values[min(step, len(values) - 1)] for values, n in found)
        / sum(n for _, n in found)
        for step in range(longest)
    ]


@pytest.mark.parametrize(
    ("name", "params", "tolerance"),
    [
        ("broof", BROOF, NEAR_TIES),
        ("mart", {"n_estimators": 40, "learning_rate": 0.5}, 1e-9),
        ("rankboost", {"n_estimators": 5}, 1e-9),
    ],
)
def test_every_planned_step_of_every_fold_is_there(name, params, tolerance, tiny_data):
    study = make_study(tiny_data, [as_text(name, params)], folds=5, metrics="ndcg@10")
    curve = convergence_of(study)
    assert list(curve.x) == list(range(1, params["n_estimators"] + 1))
    expected = pooled(histories(tiny_data, name, params, 5))
    np.testing.assert_allclose(curve.values, expected, rtol=tolerance)


@pytest.mark.parametrize(
    ("name", "params", "tolerance"),
    [
        ("broof", {"preset": "absolute", "n_estimators": 30, "n_trees": 3}, NEAR_TIES),
        ("listmle", {"normalisation": "none"}, 1e-9),
        ("listmle", {"normalisation": "query-zscore"}, 1e-9),
    ],
)
def test_folds_that_end_by_themselves_go_on_with_their_last_value(
    name, params, tolerance, tiny_data
):
    found = histories(tiny_data, name, params, 3)
    lengths = {len(values) for values, _ in found}
    assert len(lengths) > 1
    curve = convergence_of(
        make_study(tiny_data, [as_text(name, params)], folds=3, metrics="ndcg@10")
    )
    assert len(curve.values) == max(lengths)
    np.testing.assert_allclose(curve.values, pooled(found), rtol=tolerance)


def test_a_fold_without_a_step_counts_with_the_scores_it_starts_from(tiny_data):
    from rankgrove.experiments.curve_studies import _mean_by_step

    study = make_study(tiny_data, ["mart:n_estimators=2"], folds=3, metrics="ndcg@10")
    with Store(None) as store:
        run_curve("convergence", study, store, Run(n_jobs=1))
        entries = Comparison.from_store(store).results("data")[0].cells
    idle = entries[0].outcome
    idle.curve_values = np.empty(0)
    idle.means = np.array([0.25])
    others = sum(entry.outcome.curve_values for entry in entries[1:])
    found = _mean_by_step(entries, study.metrics[0])
    np.testing.assert_allclose(found, (0.25 + others) / 3)  # folds of one size


def test_intervals_are_those_of_the_values_per_query(tiny_data):
    """Each query counts once, with its mean over repeats, after each step."""
    params = {"n_estimators": 6, "subsample": 0.5}
    study = make_study(
        tiny_data, [as_text("lambdamart", params)], folds=3, metrics="map", repeats=2
    )
    curve = convergence_of(study)
    by_fold = []
    for fold in rankgrove.kfold(tiny_data, 3, seed=0):
        repeats = []
        for seed in (0, 1):
            ranker = rankgrove.make_ranker("lambdamart", random_state=seed, n_jobs=1, **params)
            ranker.fit(fold.train)
            scores = [ranker.predict(fold.test, n_steps=step) for step in range(1, 7)]
            repeats.append(
                [rankgrove.evaluate(fold.test, s, metrics="map").values("map") for s in scores]
            )
        by_fold.append(np.mean(repeats, axis=0))
    rows = np.concatenate(by_fold, axis=1)
    np.testing.assert_allclose(curve.values, rows.mean(axis=1))
    np.testing.assert_allclose(curve.interval, bootstrap_interval(rows))


def test_long_curves_have_intervals_of_every_step(tiny_data, monkeypatch):
    study = make_study(tiny_data, ["mart:n_estimators=11"], folds=3, metrics="ndcg@10")
    whole = convergence_of(study)
    monkeypatch.setattr(curve_studies, "_BLOCK_ROWS", 4)
    assert convergence_of(study) == whole
    low, high = whole.interval
    assert len(low) == len(high) == 11
    assert all(a <= b <= c for a, b, c in zip(low, whole.values, high, strict=True))


def test_nothing_stops_early(tiny_data):
    text = "mart:n_estimators=30,learning_rate=0.5"
    study = make_study(
        tiny_data, [text], folds=3, metrics="ndcg@10", early_stopping_rounds=1, baseline="mart"
    )
    curve = convergence_of(study)
    assert len(curve.values) == 30
    assert curve == convergence_of(replace(study, early_stopping_rounds=None))


def test_all_repeats_count(tiny_data):
    study = make_study(tiny_data, [BROOF_TEXT], folds=3, metrics="ndcg@10", repeats=2)
    expected = pooled(histories(tiny_data, "broof", BROOF, 3, seeds=(0, 1)))
    np.testing.assert_allclose(convergence_of(study).values, expected, rtol=NEAR_TIES)


def test_cells_of_a_comparison_are_not_taken_for_those_of_the_curve(tiny_data, tmp_path):
    study = make_study(tiny_data, [BROOF_TEXT], folds=3, metrics="ndcg@10")
    with Store(tmp_path) as store:  # what older versions drew
        run_study(study, store, Run(n_jobs=1))
        cut = [entry.outcome.means for entry in store.results()]
        assert min(entry.outcome.n_steps for entry in store.results()) < 8
    assert convergence_of(study, tmp_path) == convergence_of(study)
    with Store(tmp_path) as store:  # nor the other way round
        run_study(study, store, Run(n_jobs=1))
        assert [entry.outcome.means for entry in store.results()] == cut


def test_it_goes_on_where_it_was_interrupted(tiny_data, tmp_path, monkeypatch):
    study = make_study(tiny_data, [BROOF_TEXT], folds=3, metrics="ndcg@10")
    whole = convergence_of(study)
    fit, fitted = rankgrove.BROOF.fit, []

    def interrupted(self, *arguments, **options):
        fitted.append(self)
        if len(fitted) == 2:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    monkeypatch.setattr(rankgrove.BROOF, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convergence_of(study, tmp_path)
    assert convergence_of(study, tmp_path) == whole
    assert len(fitted) == 4
    monkeypatch.setattr(rankgrove.BROOF, "fit", None)  # all is finished
    assert convergence_of(study, tmp_path) == whole


def test_a_ranker_that_fails_in_a_fold_has_no_curve(tiny_data, monkeypatch):
    fit, fitted = rankgrove.BROOF.fit, []

    def failing(self, *arguments, **options):
        fitted.append(self)
        if len(fitted) == 2:
            raise ValueError("it broke")
        return fit(self, *arguments, **options)

    monkeypatch.setattr(rankgrove.BROOF, "fit", failing)
    study = make_study(tiny_data, [BROOF_TEXT], folds=3, metrics="ndcg@10")
    with pytest.raises(ValueError, match=r"broof has no convergence: .*it broke \(in 1 of 3 folds"):
        convergence_of(study)


def test_the_command_writes_all_steps_everywhere(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["curve", "convergence", "data.txt", "--ranker", BROOF_TEXT, "--folds", "3"]
    assert main([*command, "--n-jobs", "1", "--out", "mine", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["steps"] for point in points] == list(range(1, 9))
    with (tmp_path / "mine" / "convergence.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["ndcg@10"]) for row in rows] == [point["ndcg@10"] for point in points]
    study = make_study("data.txt", [BROOF_TEXT], folds=3, metrics="ndcg@10")
    assert list(convergence_of(study).values) == [point["ndcg@10"] for point in points]
    drawn = (tmp_path / "mine" / "convergence.svg").read_text()
    assert drawn.count("<circle") == 3 * 8  # of the metric, of training and of scoring
    assert "fit seconds" in drawn
    seconds = [point["fit seconds"] for point in points]
    assert seconds == sorted(seconds)


def test_errors_are_means_of_the_queries_errors_as_in_comparisons(tiny_data):
    study = make_study(tiny_data, ["mart:n_estimators=3"], folds=3, metrics="rmse")
    with Store(None) as store:
        (curve,), _ = run_curve("convergence", study, store, Run(n_jobs=1))
        (result,) = Comparison.from_store(store).results("data")
    errors = np.concatenate([cell.outcome.per_query[0] for cell in result.cells])
    assert curve.values[-1] == pytest.approx(errors.mean(), rel=1e-12)
    assert result.values["rmse"] == pytest.approx(errors.mean(), rel=1e-12)
