"""Curves of rankers over one varied quantity."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import write_letor
from rankgrove.errors import DataWarning
from rankgrove.experiments.curve_studies import KINDS, curve_rows, run_curve
from rankgrove.experiments.running import Run
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.tree_strength import tree_rows


def curves_and_reasons(kind, data, rankers, points=None):
    study = make_study(data, rankers, folds=3, metrics="ndcg")
    with Store(None) as store:
        return run_curve(kind, study, store, Run(), points)


def curves(kind, data, rankers, points=None):
    found, reasons = curves_and_reasons(kind, data, rankers, points)
    assert reasons == []
    return found


@pytest.mark.parametrize(
    ("kind", "ranker", "points"),
    [
        ("learning", "mart:n_estimators=3", [0.5, 1.0]),
        ("size", "rf-point", [2, 4]),
        ("subsample", "rf-point:n_estimators=3", [0.5, 1.0]),
        ("n-min", "rf-point:n_estimators=3", [2, 50]),
        ("levels", "rf-hybrid:n_estimators=3", [0, 1, 2]),
        ("features", "mart:n_estimators=3", [2, 12]),
    ],
)
def test_points_are_pooled_means_of_fits_by_hand(kind, ranker, points, tiny_data):
    (curve,) = curves(kind, tiny_data, [ranker], points)
    assert list(curve.x) == points
    if KINDS[kind].parameter is None:
        return
    value = int(points[1]) if points[1] > 1 else points[1]
    name, _, fixed = ranker.partition(":")
    fixed = dict(part.split("=") for part in fixed.split(",") if part)
    params = {key: int(text) for key, text in fixed.items()} | {KINDS[kind].parameter: value}
    values = [
        rankgrove.metric("ndcg").per_query(
            fold.test.y,
            rankgrove.make_ranker(name, random_state=0, **params)
            .fit(fold.train)
            .predict(fold.test),
            qid=fold.test.qid,
        )
        for fold in rankgrove.kfold(tiny_data, 3, seed=0)
    ]
    pooled = np.concatenate(values)
    assert curve.values[1] == pytest.approx(pooled.mean())
    low, high = (ends[1] for ends in curve.interval)
    error = pooled.std() / np.sqrt(len(pooled))
    assert low < curve.values[1] < high
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)


def test_more_queries_hold_the_fewer(tiny_data):
    from rankgrove.experiments.views import View, viewed

    fold = next(rankgrove.kfold(tiny_data, 3))
    half, whole = (viewed(fold, View(train_share=share)).train for share in (0.5, 1.0))
    assert set(half.groups.ids) < set(whole.groups.ids) == set(fold.train.groups.ids)
    few = viewed(fold, View(n_features=3))
    assert few.train.feature_names == few.test.feature_names
    assert len(few.train.feature_names) == 3
    column = fold.test.feature_names.index(few.test.feature_names[0])
    np.testing.assert_array_equal(few.test.X[:, 0], fold.test.X[:, column])


def test_convergence_ends_at_the_whole_model(tiny_data):
    study = make_study(tiny_data, ["rf-point:n_estimators=9"], folds=3, metrics="ndcg")
    with Store(None) as store:
        (curve,), _ = run_curve("convergence", study, store, Run())
    assert (curve.x[0], curve.x[-1]) == (1, 9)
    found = rankgrove.compare(tiny_data, "rf-point:n_estimators=9", folds=3, metrics="ndcg")
    assert curve.values[-1] == pytest.approx(found.results("data")[0].values["ndcg"])


def test_strength_and_correlation_are_those_of_the_forest_on_both_parts(tiny_data):
    study = make_study(tiny_data, ["rf-point:n_estimators=4"], folds=3, metrics="ndcg")
    with Store(None) as store:
        found, _ = run_curve("strength", study, store, Run())
        rows = tree_rows(study, store)
    assert [curve.name for curve in found] == ["rf-point", "rf-point, training part"]
    assert [(row["forest"], row["part"]) for row in rows] == [
        ("rf-point", "test"),
        ("rf-point", "training"),
    ]
    for part, curve, row in zip(("test", "train"), found, rows, strict=True):
        expected, trees = [], []
        for fold in rankgrove.kfold(tiny_data, 3, seed=0):
            forest = rankgrove.RFPoint(n_estimators=4, random_state=0).fit(fold.train)
            data = getattr(fold, part)
            strength = forest.strength_curve(data, metric="ndcg").thinned()
            expected.append(np.interp(curve.x, strength.n_splits, strength.mean))
            trees.append(forest.tree_correlation(data))
        np.testing.assert_allclose(curve.values, np.mean(expected, axis=0), rtol=1e-12)
        for name in ("strength", "correlation", "tree_error", "forest_error"):
            mean = np.mean([getattr(tree, name) for tree in trees])
            assert row[name.replace("_", " ")] == pytest.approx(mean, rel=1e-12)


def test_strength_has_the_time_of_one_tree(tiny_data):
    study = make_study(tiny_data, ["rf-point:n_estimators=4"], folds=3, metrics="ndcg")
    with Store(None) as store:
        (test, train), _ = run_curve("strength", study, store, Run())
        outcomes = [cell.outcome for cell in store.results()]
    for curve in (test, train):
        assert curve.fit_seconds[0] == 0
        assert curve.fit_seconds[-1] == pytest.approx(
            np.mean([outcome.fit_seconds / 4 for outcome in outcomes])
        )
        assert curve.score_microseconds[-1] == pytest.approx(
            np.mean([outcome.score_microseconds / 4 for outcome in outcomes])
        )
        assert np.all(np.diff(curve.fit_seconds) >= 0)


def test_work_of_a_tree_counts_the_documents_of_split_nodes(tiny_data):
    forest = rankgrove.RFPoint(n_estimators=1, random_state=0, max_depth=2).fit(tiny_data)
    trees = forest.model_.ensemble
    work = forest.strength_curve(tiny_data).work
    split = [trees.count[node] for node in range(len(trees.left)) if trees.left[node] >= 0]
    assert work.tolist() == pytest.approx([0, *(np.cumsum(split) / np.sum(split))])


def test_the_command_prints_the_correlation_of_trees(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["curve", "strength", "data.txt", "--folds", "3", "--ranker"]
    assert main([*command, "rf-point:n_estimators=3", "--out", "three"]) == 0
    out = capsys.readouterr().out
    assert "trees of rf-point, test part: strength 0." in out
    header = "forest,part,strength,correlation,tree error,forest error"
    assert (tmp_path / "three" / "trees.csv").read_text().splitlines()[0] == header
    assert main([*command, "rf-point:n_estimators=1", "--out", "one"]) == 0  # no two trees
    assert not (tmp_path / "one" / "trees.csv").exists()


def test_an_interrupted_curve_of_strength_goes_on(tiny_data, tmp_path, monkeypatch):
    rankers = ["rf-point:n_estimators=4", "rf-list:n_estimators=2"]
    study = make_study(tiny_data, rankers, folds=3, metrics="ndcg")
    with Store(None) as store:
        whole, _ = run_curve("strength", study, store, Run())
    fitted, points = [], []
    fit, fit_point = rankgrove.RFList.fit, rankgrove.RFPoint.fit

    def counted(self, *arguments, **options):
        points.append(self)
        return fit_point(self, *arguments, **options)

    def interrupted(self, *arguments, **options):
        fitted.append(self)
        if len(fitted) == 1:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    monkeypatch.setattr(rankgrove.RFList, "fit", interrupted)
    monkeypatch.setattr(rankgrove.RFPoint, "fit", counted)
    with Store(tmp_path) as store, pytest.raises(KeyboardInterrupt):
        run_curve("strength", study, store, Run())
    assert points  # these are finished
    with Store(tmp_path) as store:
        assert run_curve("strength", study, store, Run()) == (whole, [])
    assert len(fitted) == 1 + 3
    assert len(points) == 3


@pytest.mark.slow
@pytest.mark.parametrize("run", [Run(), Run(workers=2)])
def test_features_are_ordered_once_per_fold(run, tiny_data, tmp_path, monkeypatch):
    from rankgrove.experiments import views

    study = make_study(tiny_data, ["mart:n_estimators=2"], folds=3, repeats=2)
    if run.workers == 1:
        order, calls = views._most_split_first, []
        monkeypatch.setattr(
            views, "_most_split_first", lambda *given: calls.append(1) or order(*given)
        )
    with Store(tmp_path) as store:
        run_curve("features", study, store, run, [2, 5])
    assert len(list(tmp_path.glob(".views/*/feature-order.arrays"))) == 3
    if run.workers == 1:
        assert len(calls) == 3
    fold = next(rankgrove.kfold(tiny_data, 3))
    first = views.viewed(fold, views.View(n_features=2)).train
    values = [
        rankgrove.MART(n_estimators=2, random_state=seed)
        .fit(first, eval_set=views.viewed(fold, views.View(n_features=2)).validation)
        .predict(views.viewed(fold, views.View(n_features=2)).test)
        for seed in (0, 1)
    ]
    with Store(tmp_path) as store:
        entries = [e for e in store.results() if e.fold == 1 and e.ranker == "mart @ 2"]
    for entry, scores in zip(entries, values, strict=True):
        expected = rankgrove.metric("ndcg@10").per_query(fold.test.y, scores, qid=fold.test.qid)
        np.testing.assert_array_equal(entry.outcome.per_query[0], expected)


@pytest.mark.parametrize(
    ("kind", "ranker", "message"),
    [
        ("levels", "mart", "mart has no parameter listwise_levels"),
        ("n-min", "rf-point", "must be a whole number >= 2"),
        ("size", "mart:max_leaf_nodes=3|4", "without a grid"),
        ("strength", "mart:n_estimators=2", "no forest"),
    ],
)
def test_what_makes_no_curve_is_refused(kind, ranker, message, tiny_data):
    with pytest.raises(ValueError, match=message):
        curves(kind, tiny_data, [ranker], [1] if KINDS[kind].points else None)


def test_the_command_writes_data_and_plots(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["curve", "size", "data.txt", "--ranker", "rf-point", "--points", "2", "4"]
    assert main([*command, "--folds", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["trees"] for point in found["points"]] == [2, 4]
    header = (tmp_path / "curves" / "size.csv").read_text().splitlines()[0]
    assert header == "curve,trees,ndcg@10,low,high,fit seconds,score microseconds"
    assert "<svg" in (tmp_path / "curves" / "size.svg").read_text()


def test_the_bar_of_a_curve_counts_all_its_points(tiny_data):
    from rankgrove.experiments.progress import StudyProgress

    class Heard(StudyProgress):
        def fold(self, fold, cells):
            super().fold(fold, cells)
            totals.append(self._bars.tasks[self._study].total)

    totals = []
    study = make_study(tiny_data, ["mart"], folds=3)
    with Store(None) as store, Heard() as progress:
        run_curve("size", study, store, Run(), [1, 2], progress)
    assert totals == [6, 6, 6]


def test_a_curve_that_is_interrupted_tells_how_it_goes_on(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import INTERRUPTED, main
    from rankgrove.experiments import running

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    monkeypatch.setattr(running, "run_cell", interrupted)
    command = ["curve", "size", "data.txt", "--ranker", "mart", "--points", "2", "--folds", "3"]
    assert main([*command, "--out", "mine"]) == INTERRUPTED
    assert "kept in mine; the same command goes on" in capsys.readouterr().err


def test_points_that_are_no_counts_are_refused(tiny_data):
    with pytest.raises(ValueError, match="whole number"):
        curves("size", tiny_data, ["mart"], [1.5])


@pytest.mark.parametrize("kind", ["convergence", "strength"])
def test_curves_without_points_to_choose_refuse_them(kind, tiny_data):
    with pytest.raises(ValueError, match="no points to choose"):
        curves(kind, tiny_data, ["rf-point:n_estimators=2"], [2])


def test_points_that_cannot_be_measured_are_told(tiny_data):
    with pytest.warns(DataWarning, match="mart has no point at 99: .*features, not 99"):
        (curve,) = curves("features", tiny_data, ["mart:n_estimators=2"], [1, 2, 99])
    assert list(curve.x) == [1, 2]


@pytest.mark.filterwarnings("ignore:.*every document gets the same score")
@pytest.mark.parametrize(
    ("kind", "other", "reason"),
    [
        ("convergence", "sklearn:RandomForestRegressor:n_estimators=2", "has no convergence"),
        ("convergence", "single-feature", "has no convergence"),
        ("strength", "mart:n_estimators=2", "is no forest"),
        ("size", "ranksvm", "ranksvm has no parameter n_estimators"),
        ("subsample", "mine=ranksvm", "mine has no parameter subsample"),
        ("n-min", "mart:n_estimators=2", "mart has no parameter min_samples_split"),
        ("levels", "rf-point:n_estimators=2", "rf-point has no parameter listwise_levels"),
        ("learning", "mart:n_estimators=2,monotone=[1]", "has no point: .*1 entries"),
        ("features", "mart:n_estimators=2,monotone=[1]", r"mart: monotone=\[1\] counts features"),
    ],
)
def test_rankers_without_a_curve_are_told_and_the_others_drawn(kind, other, reason, tiny_data):
    points = {"size": [2], "learning": [1.0], "features": [3], "levels": [0, 1]}
    able = "rf-hybrid" if kind == "levels" else "rf-point"
    rankers = [other, f"able={able}:n_estimators=2"]
    found, (told,) = curves_and_reasons(kind, tiny_data, rankers, points.get(kind))
    assert re.search(reason, told)
    parts = ["able", "able, training part"] if kind == "strength" else ["able"]
    assert [curve.name for curve in found] == parts


def test_without_any_ranker_that_has_the_curve_nothing_is_fitted(tiny_data, monkeypatch):
    from rankgrove.experiments import running

    monkeypatch.setattr(running, "run_cell", None)
    both = "ranksvm has no parameter subsample.*; listmle has no parameter subsample"
    with pytest.raises(ValueError, match=both):
        curves("subsample", tiny_data, ["ranksvm", "listmle"])
    with pytest.raises(ValueError, match="sklearn:RandomForestRegressor has no convergence"):
        curves("convergence", tiny_data, ["sklearn:RandomForestRegressor"])


def test_points_that_a_ranker_refuses_are_told(tiny_data):
    with pytest.warns(DataWarning, match="rf-point has no point at 1: .*whole number >= 2"):
        (curve,) = curves("n-min", tiny_data, ["rf-point:n_estimators=2"], [1, 5])
    assert list(curve.x) == [5]


@pytest.mark.filterwarnings("ignore::rankgrove.errors.DataWarning")
@pytest.mark.parametrize("kind", ["convergence", "size"])
def test_curves_without_a_value_are_refused(kind, tiny_data):
    data = rankgrove.Dataset(tiny_data.X, np.zeros(tiny_data.n_rows), tiny_data.qid)
    study = make_study(data, ["mart:n_estimators=2"], folds=3, metrics="ndcg(empty=skip)")
    with Store(None) as store, pytest.raises(ValueError, match="mart has no value: no test query"):
        run_curve(kind, study, store, Run(), [2] if kind == "size" else None)


def test_the_command_tells_of_rankers_without_a_curve(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["curve", "size", "data.txt", "--folds", "3", "--points", "2", "--json"]
    assert main([*command, "--ranker", "ranksvm", "--ranker", "mart"]) == 1
    found = capsys.readouterr()
    assert {point["curve"] for point in json.loads(found.out)["points"]} == {"mart"}
    assert "ranksvm has no parameter n_estimators" in found.err
    assert main([*command, "--ranker", "ranksvm"]) != 0
    assert "ranksvm has no parameter n_estimators" in capsys.readouterr().err


def test_points_tell_what_they_took(tiny_data):
    (curve,) = curves("size", tiny_data, ["mart"], [1, 3])
    rows = curve_rows([curve], "size", "ndcg")
    assert all(row["fit seconds"] > 0 and row["score microseconds"] > 0 for row in rows)
