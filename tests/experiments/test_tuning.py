"""Search of parameters."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import write_letor
from rankgrove.experiments import cells, tuning
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.tuning import search_space, tune
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.parameters import Span
from rankgrove.rankers.base.registry import ranker_class

pytest.importorskip("optuna")


@pytest.mark.parametrize("name", rankgrove.ranker_names())
def test_every_value_of_a_search_space_is_allowed(name):
    table = {entry.name: entry for entry in parameter_table(ranker_class(name))}
    for parameter, searched in search_space(name).items():
        values = (searched.low, searched.high) if isinstance(searched, Span) else searched
        for value in values:
            assert table[parameter].constraint.accepts(value), (parameter, value)


@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.parametrize("name", ["lambdamart", "rcrank", "rf-point", "rf-list"])
def test_both_ends_of_a_search_space_can_be_fitted(name, tiny_data):
    for end in ("low", "high"):
        params = {key: getattr(span, end) for key, span in search_space(name).items()}
        rankgrove.make_ranker(name, **{"n_estimators": 2, **params}).fit(tiny_data)


@pytest.fixture
def study(tiny_data):
    return make_study(tiny_data, ["lambdamart:n_estimators=4"], folds=3, metrics="ndcg@5", seed=2)


def test_the_best_has_the_best_mean_on_validation_parts(study, tiny_data):
    with Store(None) as store:
        found = tune(study, store, n_trials=8)
    assert len(found.trials) == 8
    whole = [trial for trial in found.trials if not trial.pruned]
    assert found.best.value == max(trial.value for trial in whole)
    assert any(trial.pruned for trial in found.trials) or len(whole) == 8
    values = []
    for train, valid, _ in rankgrove.kfold(tiny_data, 3, seed=2):
        ranker = rankgrove.LambdaMART(**found.best.params, random_state=2)
        ranker.fit(train, eval_set=valid, eval_metric="ndcg@5")
        values.append(ranker.score(valid, metric="ndcg@5"))
    assert found.best.value == pytest.approx(np.mean(values))
    assert found.best.params["n_estimators"] == 4


def test_test_parts_are_not_ranked(study, tiny_data, monkeypatch):
    def ranked(*arguments, **options):
        raise AssertionError("a test part was measured")

    with Store(None) as store:
        with monkeypatch.context() as patched:
            patched.setattr(cells, "evaluate", ranked)
            found = tune(study, store, n_trials=3)
        assert not any(trial.error for trial in found.trials)
        # A comparison of the same ranker in the same store has results of its own.
        setting = replace(study, specs=[replace(study.specs[0], settings=(found.best.params,))])
        run_study(setting, store, Run())
        assert all(np.isfinite(cell.outcome.means).all() for cell in store.results())


def without_relevance(data, number):
    """Set the labels of the validation part of one of three folds to 0."""
    _, valid, _ = list(rankgrove.kfold(data, 3, seed=2))[number]
    y = np.where(np.isin(data.qid, valid.qid), 0, data.y)
    return rankgrove.Dataset(data.X, y, data.qid, feature_names=data.feature_names)


def test_a_fold_without_a_query_that_counts_has_no_say(tiny_data):
    data = without_relevance(tiny_data, 1)
    options = {"folds": 3, "metrics": "ndcg@5(empty=skip)", "seed": 2}
    study = make_study(data, ["lambdamart:n_estimators=2"], **options)
    with Store(None) as store, pytest.warns(rankgrove.DataWarning):
        found = tune(study, store, n_trials=6)
    whole = [trial for trial in found.trials if not trial.pruned]
    assert np.isnan(found.best.values[1])
    assert found.best.value == max(trial.value for trial in whole)


def test_a_search_without_any_query_that_counts_is_an_error(tiny_data):
    data = rankgrove.Dataset(tiny_data.X, 0 * tiny_data.y, tiny_data.qid)
    options = {"folds": 3, "metrics": "ndcg@5(empty=skip)", "seed": 2}
    study = make_study(data, ["lambdamart:n_estimators=2"], **options)
    with (
        Store(None) as store,
        pytest.warns(rankgrove.DataWarning),
        pytest.raises(ValueError, match="no trial has a value of ndcg@5"),
    ):
        tune(study, store, n_trials=2)


def test_a_trial_without_a_value_is_not_the_best(study, monkeypatch):
    real, values = tuning.run_cell, iter([np.nan] * 3)

    def first_without(*arguments, **options):
        outcome = real(*arguments, **options)
        return replace(outcome, validation=next(values, outcome.validation))

    monkeypatch.setattr(tuning, "run_cell", first_without)
    with Store(None) as store:
        found = tune(study, store, n_trials=5)
    assert np.isnan(found.trials[0].value)
    assert not found.trials[0].pruned
    assert np.isfinite(found.best.value)


def test_metrics_of_probabilities_are_refused(tiny_data):
    with pytest.raises(ValueError, match="ece measures probabilities, and rankers are compared"):
        make_study(tiny_data, ["mart"], metrics=["ndcg@5", "ece"])


def test_a_search_goes_on_where_it_was_stopped_with_the_same_bits(study, tmp_path, monkeypatch):
    with Store(None) as store:
        wanted = tune(study, store, n_trials=6)
    calls = []
    real = tuning.run_cell

    def counted(*arguments, **options):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(tuning, "run_cell", counted)
    with pytest.raises(KeyboardInterrupt), Store(tmp_path) as store:
        tune(study, store, n_trials=6)
    with Store(tmp_path) as store:
        found = tune(study, store, n_trials=6)
    assert found.trials == wanted.trials
    assert len(calls) == 1 + sum(len(trial.values) for trial in wanted.trials)


def test_what_cannot_be_searched_is_refused(tiny_data):
    for rankers, message in (
        (["mart", "rcrank"], "one ranker"),
        (["mart:n_estimators=2|3"], "without a grid"),
        (["sklearn:Ridge"], "of rankgrove"),
    ):
        with Store(None) as store, pytest.raises(ValueError, match=message):
            tune(make_study(tiny_data, rankers), store, n_trials=2)


def test_the_command_prints_a_ranker_that_compare_takes(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main
    from rankgrove.experiments.specs import as_spec

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["tune", "mart:n_estimators=3", "data.txt", "--trials", "3", "--folds", "3"]
    assert main([*command, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    spec = as_spec(found["best"])
    assert spec.use == "mart"
    assert spec.settings[0]["n_estimators"] == 3


def test_a_search_is_no_comparison_to_report(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main

    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    of_data = ["data.txt", "--folds", "3", "--out", "both", "--quiet"]
    assert main(["tune", "mart:n_estimators=3", "--trials", "2", *of_data]) == 0
    assert main(["report", "both"]) == 1
    assert "both holds no comparison" in capsys.readouterr().err
    assert main(["compare", "--ranker", "mart:n_estimators=2", *of_data]) == 0
    assert main(["tune", "mart:n_estimators=3", "--trials", "3", *of_data]) == 0
    capsys.readouterr()
    assert main(["report", "both"]) == 0
    assert "studies" not in capsys.readouterr().out
    assert "1 rankers on 0 data sets" not in (tmp_path / "both" / "index.html").read_text()


def test_a_search_that_is_interrupted_tells_how_it_goes_on(
    tiny_data, tmp_path, monkeypatch, capsys
):
    from rankgrove.cli.main import INTERRUPTED, main

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    monkeypatch.setattr(tuning, "run_cell", interrupted)
    command = ["tune", "mart:n_estimators=3", "data.txt", "--trials", "3", "--folds", "3"]
    assert main([*command, "--out", "found"]) == INTERRUPTED
    assert "kept in found; the same command goes on from there" in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb", ["tune mart data.txt", "compare data.txt --ranker mart --ranker random"]
)
def test_too_few_folds_are_told_as_they_were_asked_for(
    verb, tiny_data, tmp_path, monkeypatch, capsys
):
    from rankgrove.cli.main import main

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    assert main([*verb.split(), "--folds", "2"]) == 1
    told = capsys.readouterr().err
    assert "folds must be at least 3" in told
    assert "n_folds" not in told
