"""Comparisons: what is chosen, averaged and tested."""

from __future__ import annotations

import inspect
import shutil
from dataclasses import fields
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest

import rankgrove
from rankgrove._svg import DOWN, PALE, UP
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataWarning
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.comparing import fit_best
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.significance import compare_pairs
from rankgrove.experiments.sources import read_study_data
from rankgrove.experiments.store import CellResult
from rankgrove.experiments.study import make_study
from rankgrove.experiments.study_options import StudyOptions
from rankgrove.experiments.tables import MoreTables, as_html, as_json, as_latex, as_markdown

N_QUERIES = 40


def comparison(cells, *, metrics=("ndcg@10",), baseline=None, repeats=1):
    """Cells: {ranker: {fold: [(validation, value of each query, or an error) per setting]}}."""
    entries = []
    for ranker, folds in cells.items():
        for fold, settings in folds.items():
            for setting, (validation, values) in enumerate(settings):
                runs = values if isinstance(values, list) else [values]
                for repeat, run in enumerate(runs):
                    outcome = CellOutcome(error=run) if isinstance(run, str) else CellOutcome()
                    if not isinstance(run, str):
                        outcome.per_query = np.tile(run, (len(metrics), 1))
                        outcome.means = outcome.per_query.mean(axis=1)
                        outcome.validation = validation
                    status = "failed" if isinstance(run, str) else "done"
                    entries.append(
                        CellResult(
                            data="d",
                            fold=fold,
                            ranker=ranker,
                            setting=setting,
                            repeat=repeat,
                            params={"s": setting},
                            fingerprint=str(fold),
                            status=status,
                            outcome=outcome,
                        )
                    )
    study = {
        "metrics": list(metrics),
        "baseline": baseline,
        "repeats": repeats,
        "rankers": [{"label": r, "settings": [{}] * 2} for r in cells],
    }
    nothing = np.array([])
    queries = TestQueries(
        np.arange(N_QUERIES).astype(str), nothing, nothing, nothing, nothing, nothing
    )
    return Comparison(study, entries, {str(f): queries for f in (1, 2)})


def values(level, spread=0.01, seed=0):
    return level + spread * np.random.default_rng(seed).standard_normal(N_QUERIES)


def test_the_setting_is_chosen_on_validation_never_on_test():
    found = comparison({"a": {1: [(0.9, values(0.1)), (0.2, values(0.8))]}})
    assert found.results("d")[0].values["ndcg@10"] == pytest.approx(values(0.1).mean())
    assert found.results("d")[0].settings == [{"s": 0}]


def test_each_fold_chooses_for_itself():
    first, second = values(0.3), values(0.6)
    found = comparison({"a": {1: [(0.9, first), (0.2, second)], 2: [(0.1, first), (0.2, second)]}})
    assert found.results("d")[0].settings == [{"s": 0}, {"s": 1}]
    assert found.results("d")[0].fold_values["ndcg@10"] == [first.mean(), second.mean()]


def test_less_is_better_where_the_metric_says_so():
    found = comparison(
        {"a": {1: [(0.9, values(0.1)), (0.2, values(0.8))]}, "b": {1: [(0.1, values(0.5))]}},
        metrics=("rmse",),
    )
    assert found.results("d")[1].settings == [{"s": 1}]
    assert [r.ranker for r in found.results("d")] == ["b", "a"]


@pytest.mark.parametrize("metric", ["rmse", "class-error"])
def test_a_metric_over_documents_is_shown_as_the_mean_that_is_tested(metric):
    data = make_ranking(30, docs_per_query=10, n_features=6, seed=1)
    rankers = {"a": rankgrove.MART(n_estimators=5), "b": rankgrove.MART(n_estimators=1)}
    found = rankgrove.compare(data, rankers, folds=3, metrics=[metric, "ndcg"], baseline="b")
    rows = found.frame().set_index("ranker")
    shown = found.metrics[0]
    for ranker in rankers:
        values = found.per_query("data", ranker, shown)
        assert rows[shown][ranker] == pytest.approx(values.mean(), rel=1e-12)
    gap = rows[shown]["a"] - rows[shown]["b"]
    assert rows["difference"]["a"] == pytest.approx(gap, rel=1e-9)
    for by in ("fold", "cell"):
        frame = found.frame(by).query("ranker == 'a' and fold == 2")
        expected = found.per_query("data", "a", shown, 2).mean()
        assert frame[shown].iloc[0] == pytest.approx(expected, rel=1e-12)
    (setting,) = [row for row in as_json(found)["settings"] if row["ranker"] == "a"]
    folds = found.frame("fold").query("ranker == 'a'")[shown]
    assert setting[shown] == pytest.approx(folds.mean(), rel=1e-12)
    assert f"{metric}: also means of the queries' values" in str(found)


def test_a_setting_that_failed_is_not_chosen_and_a_ranker_that_failed_says_why():
    found = comparison(
        {
            "a": {1: [(0.9, "boom"), (0.2, values(0.8))]},
            "b": {1: [(0.9, values(0.5))]},
            "c": {1: [(0.9, "ValueError: no")]},
        }
    )
    assert [r.ranker for r in found.results("d")] == ["a", "b", "c"]
    assert found.results("d")[0].failure == ""
    assert found.results("d")[2].failure == "ValueError: no"
    assert "c failed: ValueError: no" in str(found)


def test_seeds_are_averaged_per_query_before_testing():
    runs = [values(0.5, 0.2, seed) for seed in range(3)]
    found = comparison(
        {"a": {1: [(0.5, runs)]}, "b": {1: [(0.5, [values(0.4, 0.2, 9)] * 3)]}}, repeats=3
    )
    np.testing.assert_allclose(found.per_query("d", "a", "ndcg@10"), np.mean(runs, axis=0))
    names, table = found.pairs("d")
    expected = compare_pairs(np.stack([np.mean(runs, axis=0), values(0.4, 0.2, 9)]))
    assert names == ["a", "b"]
    assert table.n_queries == N_QUERIES
    assert table.p == pytest.approx(expected.p)


def test_tiers_and_marks():
    found = comparison(
        {
            "good": {1: [(1, values(0.6, seed=1))]},
            "same": {1: [(1, values(0.6, seed=2))]},
            "bad": {1: [(1, values(0.3, seed=3))]},
        },
        baseline="same",
    )
    letters = {r.ranker: (r.tiers["ndcg@10"], r.marks["ndcg@10"]) for r in found.results("d")}
    assert letters == {"good": ("a", 0), "same": ("a", 0), "bad": ("b", -1)}


@pytest.mark.parametrize("seed", range(8))
def test_letters_marks_and_p_values_say_the_same_of_every_pair(seed):
    rng = np.random.default_rng(seed)
    cells = {
        f"r{i}": {1: [(1, np.clip(values(0.5, 0.15, seed=100 * seed + i) + shift, 0, 1))]}
        for i, shift in enumerate(rng.normal(0, 0.05, 9))
    }
    found = comparison(cells, baseline="r0")
    results = {result.ranker: result for result in found.results("d")}
    names, table = found.pairs("d", baseline="r0")
    own = results["r0"].tiers["ndcg@10"]
    for i, first in enumerate(table.first):
        result = results[names[first]]
        real = table.p_holm[i] <= 0.05
        assert real == (not set(result.tiers["ndcg@10"]) & set(own))
        assert result.marks["ndcg@10"] == (np.sign(table.difference[i]) if real else 0)


def test_a_naive_twin_is_judged_by_the_letters_of_the_table():
    base, noise = values(0.5, 0.1), values(0, 1, seed=5)
    noise = (noise - noise.mean()) / noise.std()
    cells = {f"r{i}": {1: [(1, values(0.5, 0.1, seed=i))]} for i in range(10, 17)}
    cells["mart"] = {1: [(1, base + 0.02 + 0.055 * noise)]}
    cells["mart (naive)"] = {1: [(1, base)]}
    found = comparison(cells)
    names, table = found.pairs("d", baseline="mart (naive)")
    place = table.first.tolist().index(names.index("mart"))
    assert table.p[place] <= 0.05 < table.p_holm[place], "a difference that the correction decides"
    tiers = {result.ranker: set(result.tiers["ndcg@10"]) for result in found.results("d")}
    assert tiers["mart"] & tiers["mart (naive)"]
    assert f"p = {table.p_holm[place]:.4f} (Holm): no significant difference" in str(found)


def test_marks_of_folds_say_that_they_are_tested_alone():
    near, far = values(0.5, 0.05), values(0.6, 0.05, seed=1)
    found = comparison(
        {"a": {1: [(1, near)], 2: [(1, far)]}, "b": {1: [(1, far)], 2: [(1, near)]}}, baseline="a"
    )
    assert found.results("d")[1].marks["ndcg@10"] == 0
    folds = as_markdown(found, MoreTables(folds=True)).split("by fold")[1]
    assert {"▲", "▼"} <= set(folds)
    assert "the same tests on the queries of this fold alone" in folds


def test_more_tiers_than_letters_are_drawn_apart():
    cells = {f"r{i:02}": {1: [(1, values(i / 30, 0.001, seed=i))]} for i in range(30)}
    found = comparison(cells, baseline="r01")
    picture = ElementTree.fromstring(str(found.plot()))
    colours = [dot.get("fill") for dot in picture.iter("{http://www.w3.org/2000/svg}circle")]
    assert colours == [UP] * 28 + [PALE, DOWN]


def test_pooled_values_hold_the_queries_of_all_folds():
    found = comparison(
        {"a": {1: [(1, values(0.2))], 2: [(1, values(0.4))]}, "b": {1: [(1, values(0.1))]}}
    )
    assert len(found.per_query("d", "a", "ndcg@10")) == 2 * N_QUERIES
    assert len(found.per_query("d", "a", "ndcg@10", fold=2)) == N_QUERIES


def test_best_goes_by_validation_over_folds():
    found = comparison(
        {
            "a": {1: [(0.9, values(0.1)), (0.5, values(0.9))], 2: [(0.1, values(0.9))]},
            "b": {1: [(0.6, values(0.2))], 2: [(0.7, values(0.2))]},
        }
    )
    assert found.best() == ("b", {"s": 0})


@pytest.fixture(scope="module")
def real(tiny_data):
    return rankgrove.compare(
        tiny_data,
        {
            "boosted": "lambdamart:n_estimators=5",
            "object": rankgrove.MART(n_estimators=3),
            "broken": "rf-list:sampling=bootstrap",
        },
        metrics=["ndcg@5", "map"],
        preset="letor4",
        folds=3,
        repeats=2,
        baseline="boosted",
    )


def test_values_are_those_of_a_loop_by_hand(real, tiny_data):
    metric = rankgrove.metric("ndcg@5", preset="letor4")
    by_hand = []
    for train, valid, test in rankgrove.kfold(tiny_data, 3, seed=0):
        runs = [
            metric.per_query(
                test.y,
                rankgrove.LambdaMART(n_estimators=5, random_state=seed)
                .fit(train, eval_set=valid, eval_metric=metric)
                .predict(test),
                qid=test.qid,
            )
            for seed in (0, 1)
        ]
        by_hand.append(np.mean(runs, axis=0))
    found = real.per_query("data", "boosted", real.metrics[0])
    np.testing.assert_array_equal(found, np.concatenate(by_hand))


def test_frames(real):
    pytest.importorskip("pandas")
    frame = real.frame()
    assert list(frame["ranker"])[-1] == "broken"
    assert frame.set_index("ranker").loc["broken", "failure"].startswith("ValueError")
    cells = real.frame("cell")
    assert len(cells) == 3 * 3 * 2
    assert cells.loc[cells["ranker"] == "boosted", "chosen"].all()
    queries = real.frame("query")
    assert len(queries) == 2 * 36
    means = queries.groupby("ranker")[real.metrics[0]].mean()
    assert means["object"] == pytest.approx(frame.set_index("ranker")[real.metrics[0]]["object"])
    assert set(real.frame("pair")["fold"]) == {"all", "1", "2", "3"}
    assert len(real.frame("fold")) == 6
    with pytest.raises(ValueError, match="by must be one of"):
        real.frame("galaxy")


def test_tables_in_all_formats(real):
    markdown, latex = as_markdown(real, MoreTables(folds=True)), as_latex(real)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert all(row.count("|") == rows[0].count("|") for row in rows[:5])
    assert "by fold" in markdown
    assert "share a letter do not differ significantly" in markdown
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert "_" not in latex.replace(r"\_", "")
    failed = latex.split("broken failed: ")[1].split("Values are means")[0]
    assert failed.endswith(". "), "sentences below a table are separated"
    assert "<table>" in as_html(real)
    assert as_json(real)["best_on_validation"]["ranker"] in ("boosted", "object")


def test_scores_made_elsewhere_stand_in_the_table(tiny_data, tmp_path):
    rng = np.random.default_rng(0)
    scores = tiny_data.y + rng.normal(size=tiny_data.n_rows)
    np.savetxt(tmp_path / "run.txt", scores)
    found = rankgrove.compare(
        tiny_data, [f"mine=scores:{tmp_path}/run.txt", "mart:n_estimators=2"], folds=3
    )
    expected = rankgrove.metric("ndcg@10")(tiny_data.y, scores, qid=tiny_data.qid)
    result = next(r for r in found.results("data") if r.ranker == "mine")
    assert result.values["ndcg@10"] == pytest.approx(expected)
    assert result.fit_seconds is None
    np.savetxt(tmp_path / "run.txt", scores[:-1])
    short = rankgrove.compare(
        tiny_data, [f"mine=scores:{tmp_path}/run.txt", "mart:n_estimators=2"], folds=3
    )
    assert f"but the data has {tiny_data.n_rows} rows" in short.failure("data", "mine")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "lightgbm:lambdarank:n_estimators=5",
        "xgboost:rank:ndcg:n_estimators=5",
        "catboost:YetiRank:iterations=5",
        "sklearn:RandomForestRegressor:n_estimators=5",
        "sklearn:Ridge",
    ],
)
@pytest.mark.parametrize("rounds", [None, 2])
def test_peers_stand_in_the_table(text, rounds, tiny_data):
    pytest.importorskip(text.partition(":")[0])
    found = rankgrove.compare(
        tiny_data, ["mart:n_estimators=2", text], folds=3, early_stopping_rounds=rounds
    )
    assert [result.failure for result in found.results("data")] == ["", ""]


def test_early_stopping_is_for_those_that_learn_in_steps(tiny_data):
    found = rankgrove.compare(
        tiny_data,
        ["mart:n_estimators=50", "rf-point:n_estimators=3"],
        folds=3,
        early_stopping_rounds=1,
    )
    assert [result.failure for result in found.results("data")] == ["", ""]


def test_several_data_sets(tiny_data, small_data):
    found = rankgrove.compare(
        {"one": tiny_data, "two": list(rankgrove.kfold(small_data, 3))},
        "mart:n_estimators=2",
        folds=3,
    )
    assert found.datasets == ["one", "two"]
    assert len(found.per_query("two", "mart", "ndcg@10")) == small_data.n_queries


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/mq.txt", "a/td.txt.gz"], ["mq", "td"]),
        (["a/own.csv", "a/own.parquet", "a/td.txt"], ["own.csv", "own.parquet", "td"]),
        (["a/train.txt", "b/train.txt"], ["a/train", "b/train"]),
        (["a/train.txt", "a/train.txt"], ["a/train (1)", "a/train (2)"]),
    ],
)
def test_data_sets_have_the_shortest_names_that_tell_them_apart(paths, names):
    assert [source.name for source in read_study_data(paths)] == names


def test_the_best_is_trained_for_use(tiny_data):
    study = make_study(
        tiny_data, ["mart:n_estimators=2|9,max_leaf_nodes=4", "sklearn:Ridge"], folds=3
    )
    found = rankgrove.compare(
        tiny_data, ["mart:n_estimators=2|9,max_leaf_nodes=4", "sklearn:Ridge"], folds=3
    )
    label, params = found.best()
    if label == "mart":
        ranker = fit_best(study, found)
        assert ranker.get_params()["n_estimators"] == params["n_estimators"]
    else:
        with pytest.raises(ValueError, match="cannot save"):
            fit_best(study, found)


def test_label_shift_changes_what_is_measured(tiny_data):
    plain, shifted = (
        rankgrove.compare(tiny_data, "mart:n_estimators=2", folds=3, label_shift=shift)
        for shift in (0, 1)
    )
    first, second = (c.results("data")[0].values["ndcg@10"] for c in (plain, shifted))
    assert second > first


def test_a_metric_that_cannot_judge_the_data_stops_the_study_before_training(tiny_data):
    with pytest.raises(rankgrove.DataError, match="exceeds max_grade"):
        rankgrove.compare(tiny_data, "mart", metrics="err", label_shift=1)


@pytest.mark.parametrize("alpha", [0, 1, 5, -0.05, float("nan"), "0.05"])
def test_a_level_of_significance_that_is_none_is_refused(tiny_data, alpha):
    """With 5, any difference would be called significant; with NaN, none."""
    rankers = ["mart:n_estimators=1", "single-feature"]
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        rankgrove.compare(tiny_data, rankers, alpha=alpha, folds=3)


def test_an_unknown_test_is_refused_before_anything_is_fitted(tiny_data, tmp_path):
    with pytest.raises(ValueError, match=r"significance_test must be one of .* not 'f'"):
        rankgrove.compare(tiny_data, ["mart"], significance_test="f", folds=3, out=tmp_path / "out")
    assert not (tmp_path / "out" / "study.sqlite").exists()


def test_what_makes_no_study_is_refused(tiny_data):
    for arguments, message in (
        ({"rankers": []}, "no ranker"),
        ({"rankers": "mart", "baseline": "rcrank"}, "the baseline 'rcrank' is none of mart"),
        ({"rankers": "mart", "repeats": 0}, "repeats must be at least 1, not 0"),
        ({"rankers": "mart", "metrics": []}, "no metric"),
    ):
        with pytest.raises(ValueError, match=message):
            rankgrove.compare(tiny_data, **arguments)


def test_a_frame_is_compared_on_like_its_file():
    data = make_ranking(12, n_features=3, seed=0)
    frame = pandas.DataFrame(data.X, columns=data.feature_names).assign(rated=data.y, qid=data.qid)
    rankers = ["mart:n_estimators=2"]
    of_frame = rankgrove.compare(frame, rankers, folds=3, label="rated").frame("query")
    assert of_frame.equals(rankgrove.compare(data, rankers, folds=3).frame("query"))


def test_compare_has_the_options_of_a_study():
    given = inspect.signature(rankgrove.compare).parameters
    for option in fields(StudyOptions):
        if option.name != "title":
            assert given[option.name].default == option.default


def test_rows_that_the_order_of_documents_decides_are_marked(tiny_data):
    rows = np.lexsort((-tiny_data.y, np.searchsorted(np.unique(tiny_data.qid), tiny_data.qid)))
    ordered = rankgrove.Dataset(tiny_data.X[rows], tiny_data.y[rows], tiny_data.qid[rows])
    tied = rankgrove.MART(n_estimators=1, max_leaf_nodes=2)
    rankers = {"tied": tied, "many": rankgrove.MART(n_estimators=30)}

    def compared(data, **options):
        return rankgrove.compare({"mine": data}, rankers, folds=3, metrics="ndcg@10", **options)

    with pytest.warns(rankgrove.DataWarning, match="mine, fold 1: the order of rows predicts lab"):
        found = compared(ordered, preset="lightgbm")
    (name,) = found.metrics
    results = {result.ranker: result for result in found.results("mine")}
    assert results["tied"].tie_free_values[name] < results["tied"].values[name] - 0.05
    assert "tied*" in str(found)
    assert "* tied has equal scores, whose order is that of the rows" in str(found)
    with pytest.warns(rankgrove.DataWarning, match="count by the mean over their orders"):
        fair = compared(ordered)
    assert "*" not in str(fair)
    results = {result.ranker: result for result in fair.results("mine")}
    again = {result.ranker: result for result in compared(tiny_data).results("mine")}
    value = again["tied"].values["ndcg@10"]
    assert results["tied"].values["ndcg@10"] == pytest.approx(value, rel=1e-9)


def test_the_mean_without_the_order_of_rows_is_over_queries_that_count(tiny_data):
    """Most queries of the first fold have no relevant document and are skipped."""
    y = tiny_data.y.copy()
    y[tiny_data.qid < 10] = 0
    rows = np.lexsort((-y, tiny_data.qid))
    data = rankgrove.Dataset(tiny_data.X[rows], y[rows], tiny_data.qid[rows])
    options = {"folds": 3, "fold_order": "sorted"}
    metric = "ndcg@10(ties=input,empty=skip)"
    tied = rankgrove.MART(n_estimators=1, max_leaf_nodes=2)
    with pytest.warns(rankgrove.DataWarning, match="the order of rows predicts labels"):
        found = rankgrove.compare(data, tied, metrics=metric, **options)
    with pytest.warns(rankgrove.DataWarning, match="the order of rows predicts labels"):
        fair = rankgrove.compare(data, tied, metrics="ndcg@10(empty=skip)", **options)
    (value,) = found.results("data")[0].tie_free_values.values()
    assert value == pytest.approx(fair.frame().iloc[0]["ndcg@10(empty=skip)"], rel=1e-9)


def test_labels_in_markdown_are_no_markup():
    text = "<b>a|b</b> *c* [d](e) `f`"
    found = comparison({text: {1: [(1, values(0.6))]}, "plain": {1: [(1, values(0.3, seed=2))]}})
    row = next(line for line in as_markdown(found).splitlines() if line.startswith("| &lt;"))
    assert row.startswith(r"| &lt;b&gt;a\|b&lt;/b&gt; \*c\* \[d\](e) \`f\` |")


def test_latex_has_bold_first_tiers_and_short_captions():
    found = comparison({"a": {1: [(1, values(0.6))]}, "b": {1: [(1, values(0.3, seed=2))]}})
    latex = as_latex(found)
    caption = next(line for line in latex.splitlines() if line.startswith(r"\caption"))
    assert len(caption.split()) < 12
    rows = {line[0]: line for line in latex.splitlines() if line.startswith(("a &", "b &"))}
    assert r"\textbf{" in rows["a"]
    assert r"\textbf{" not in rows["b"]
    assert latex.count("do not differ significantly") == 1


def test_options_of_reading_are_refused_for_data_in_memory(tiny_data):
    with pytest.raises(ValueError, match="jobs is no option of a study"):
        rankgrove.compare(tiny_data, ["mart:n_estimators=1"], folds=3, jobs=2)
    for name, meant in (("metric", "metrics"), ("n_folds", "folds")):
        with pytest.raises(ValueError, match=rf"^{name} is no .*\(did you mean '{meant}'\?\)"):
            rankgrove.compare(tiny_data, ["mart:n_estimators=1"], **{name: 3})


@pytest.mark.process
def test_names_agree_with_the_options_of_the_command_line(tiny_data):
    rankers = ["mart:n_estimators=1", "random"]
    found = rankgrove.compare(tiny_data, rankers, folds=3, workers=2, significance_test="t")
    assert found.significance.test == "t"


def test_folds_keep_the_numbers_of_their_folders(tiny_data, tmp_path):
    whole, lost = tmp_path / "whole", tmp_path / "lost"
    for number, fold in enumerate(rankgrove.kfold(tiny_data, 3), 1):
        folder = whole / f"Fold{number}"
        folder.mkdir(parents=True)
        for part, name in zip(fold, ("train", "vali", "test"), strict=True):
            rankgrove.write_letor(part, folder / f"{name}.txt")
        np.savetxt(tmp_path / f"perfect{number}.txt", fold.test.y)
    shutil.copytree(whole, lost)
    shutil.rmtree(lost / "Fold2")
    mine = f"mine=scores:{tmp_path}/perfect{{fold}}.txt"
    with pytest.warns(DataWarning, match="Fold2 is missing"):
        found = rankgrove.compare(lost, [mine, "random"], metrics="ndcg(empty=skip)")
    assert list(found.folds("lost")) == [1, 3]
    result = next(r for r in found.results("lost") if r.ranker == "mine")
    assert list(result.values.values()) == [1]


@pytest.mark.parametrize(
    ("option", "words"), [({"folds": 3}, "folds=3"), ({"fold_order": "sorted"}, "fold_order=")]
)
def test_dividing_data_that_bring_their_folds_is_refused(tiny_data, option, words):
    folds = list(rankgrove.kfold(tiny_data, 3))
    with pytest.raises(ValueError, match=f"{words}.* has no effect: .* own folds"):
        make_study(folds, ["random"], **option)
    make_study({"folds": folds, "whole": tiny_data}, ["random"], **option)


@pytest.mark.parametrize("layout", ["file", "folder"])
def test_scores_are_those_of_all_rows_of_the_file_also_of_dropped_ones(tiny_data, tmp_path, layout):
    labels = np.where(np.arange(tiny_data.n_rows) % 4 == 1, -1.0, tiny_data.y)
    data = rankgrove.Dataset(tiny_data.X, labels, tiny_data.qid)
    path, target = tmp_path / "data.txt", tmp_path / "perfect.txt"
    if layout == "file":
        rankgrove.write_letor(data, path)
        np.savetxt(target, labels)
    else:
        path, target = tmp_path / "data", tmp_path / "perfect{fold}.txt"
        for number, fold in enumerate(rankgrove.kfold(data, 3), 1):
            folder = path / f"Fold{number}"
            folder.mkdir(parents=True)
            for part, name in zip(fold, ("train", "vali", "test"), strict=True):
                rankgrove.write_letor(part, folder / f"{name}.txt")
            np.savetxt(str(target).format(fold=number), fold.test.y)
    found = rankgrove.compare(
        path,
        [f"mine=scores:{target}", "random"],
        metrics="ndcg(empty=skip)",
        negative_labels="drop",
        folds=3 if layout == "file" else None,
    )
    result = next(r for r in found.results("data") if r.ranker == "mine")
    assert result.failure == ""
    assert list(result.values.values()) == [1]


def test_a_fold_is_one_fold_and_not_three_data_sets():
    fold = next(rankgrove.kfold(make_ranking(12, n_features=4, seed=1), 3, seed=1))
    found = rankgrove.compare(fold, ["random"], metrics=["ndcg@10"])
    assert found.datasets == rankgrove.compare([fold], ["random"], metrics=["ndcg@10"]).datasets
    assert len(found.datasets) == 1
    with pytest.raises(ValueError, match="may be one fold or three data sets"):
        rankgrove.compare(tuple(fold), ["random"])
