"""The store of studies: plans, claims, and files that are full, foreign or damaged."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.data.reading.folds import kfold
from rankgrove.errors import DataError
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.store import FILE, Store
from rankgrove.experiments.study import make_study


@pytest.fixture
def planned(tiny_study, tmp_path):
    """A store with the plan of one fold, and the cells."""
    fold = next(tiny_study.sources[0].folds())
    cells = list(tiny_study.cells(fold))
    with Store(tmp_path) as store:
        store.begin(tiny_study.describe())
        store.plan(cells, TestQueries.of(fold.parts), 0)
        yield store, cells


def outcome():
    return CellOutcome(
        per_query=np.array([[0.5, np.nan]]), means=np.array([0.5]), validation=0.25, n_steps=3
    )


def test_a_cell_is_waiting_then_running_then_done(planned):
    store, (first, *others) = planned
    assert [result.status for result in store.results()] == ["waiting"] * (1 + len(others))
    assert store.claim(first)
    assert store.results()[0].status == "running"
    assert not store.claim(first)
    assert store.outcome(first.key) is None
    store.finish(first.key, outcome())
    result = store.results()[0]
    assert (result.status, result.seed, result.params) == ("done", first.seed, first.all_params)
    np.testing.assert_array_equal(result.outcome.per_query, [[0.5, np.nan]])
    assert (result.outcome.validation, result.outcome.n_steps) == (0.25, 3)
    assert store.open_cells() == (len(others), 0)


def test_claims_are_given_up_when_the_store_is_closed(planned, tmp_path):
    store, (first, second, *_) = planned
    with Store(tmp_path) as other:
        assert other.claim(first)
        assert not store.claim(first)
        assert store.open_cells()[1] == 1
    assert store.claim(first)
    store.release([first.key])
    assert store.claim(first)
    assert store.claim(second)


def test_results_of_a_claim_that_was_lost_are_not_written(planned):
    store, (first, *_) = planned
    store.finish(first.key, outcome())
    assert store.outcome(first.key) is None


def test_failed_cells_can_be_forgotten(planned):
    store, (first, second, *_) = planned
    for cell, result in ((first, CellOutcome(error="no")), (second, outcome())):
        store.claim(cell)
        store.finish(cell.key, result)
    assert store.outcome(first.key).error == "no"
    store.forget_failures()
    assert store.outcome(first.key) is None
    assert store.outcome(second.key) is not None


def test_studies_in_one_folder_have_their_own_results(tiny_data, tmp_path):
    studies = [
        make_study(tiny_data, f"mart:n_estimators={n}", folds=3, metrics=["ndcg@5"]) for n in (2, 3)
    ]
    with Store(tmp_path) as one, Store(tmp_path) as two:
        # Both are planned before either is read, as by two processes.
        for study, store in zip(studies, (one, two), strict=True):
            run_study(study, store, Run())
        for n, store in ((2, one), (3, two)):
            comparison = Comparison.from_store(store)
            assert comparison.study["rankers"][0]["settings"] == [{"n_estimators": n}]
            assert {result.params["n_estimators"] for result in store.results()} == {n}
            assert len(store.results()) == 3
    with Store.existing(tmp_path) as store:  # the last one begun is what a report shows
        assert {result.params["n_estimators"] for result in store.results()} == {3}
        assert len(store.studies()) == 2


def test_studies_of_other_data_under_the_same_description_have_their_own_results(tmp_path):
    made = [rankgrove.datasets.make_ranking(20, docs_per_query=8, seed=seed) for seed in (1, 2)]
    studies = [
        make_study({"mine": list(kfold(data, 3))}, "mart:n_estimators=2", metrics=["ndcg@5"])
        for data in made
    ]
    description = studies[0].describe()
    with Store(tmp_path) as one, Store(tmp_path) as two:
        for study, store in zip(studies, (one, two), strict=True):
            fold = next(study.sources[0].folds())
            store.begin(description)
            store.plan(list(study.cells(fold)), TestQueries.of(fold.parts), 0)
        prints = [[result.fingerprint for result in store.results()] for store in (one, two)]
        assert prints[0] != prints[1]


def test_the_last_study_is_the_last_though_the_clock_was_set_back(
    tiny_study, tmp_path, monkeypatch
):
    fold = next(tiny_study.sources[0].folds())
    cells = list(tiny_study.cells(fold))
    times = iter([2e9, 1e9, 1e9])
    monkeypatch.setattr("rankgrove.experiments.store.time.time", lambda: next(times))
    for title in ("first", "second", "first"):
        with Store(tmp_path) as store:
            store.begin({"title": title})
            store.plan(cells, TestQueries.of(fold.parts), 0)
        with Store.existing(tmp_path) as store:
            assert store.study["title"] == title
            assert store.studies()[0]["title"] == title


def test_a_study_whose_data_cannot_be_read_does_not_hide_the_one_before(tiny_data, tmp_path):
    for data in (tiny_data, tmp_path / "absent.txt"):
        with contextlib.suppress(FileNotFoundError, DataError):
            rankgrove.compare(data, ["mart:n_estimators=1"], folds=3, out=tmp_path / "out")
    with Store.existing(tmp_path / "out") as store:
        assert len(store.studies()) == 1
        assert len(store.results()) == 3
    with contextlib.suppress(FileNotFoundError, DataError):
        rankgrove.compare(tmp_path / "absent.txt", ["mart"], folds=3, out=tmp_path / "new")
    with (
        Store.existing(tmp_path / "new") as store,
        pytest.raises(DataError, match="holds no study yet"),
    ):
        store.results()


def values_of(folds, out):
    found = rankgrove.compare({"mine": folds}, ["mart:n_estimators=2"], metrics=["ndcg@5"], out=out)
    return found.folds("mine"), found.results("mine")[0].values["ndcg@5"]


def test_a_fold_that_is_gone_counts_no_more(tiny_data, tmp_path):
    folds = list(kfold(tiny_data, 4))
    assert values_of(folds, tmp_path / "out")[0] == [1, 2, 3, 4]
    left = values_of(folds[:3], tmp_path / "out")
    assert left == values_of(folds[:3], tmp_path / "fresh")
    assert left[0] == [1, 2, 3]
    with Store.existing(tmp_path / "out") as store:
        assert {result.fold for result in store.results()} == {1, 2, 3}


def test_a_folder_that_lost_a_fold_counts_it_no_more(tiny_data, tmp_path):
    for number, fold in enumerate(kfold(tiny_data, 3), 1):
        for name, part in zip(("train", "vali", "test"), fold, strict=True):
            path = tmp_path / "data" / f"Fold{number}" / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            rankgrove.write_letor(part, path)

    def folds():
        study = make_study(str(tmp_path / "data"), "mart:n_estimators=2", metrics=["ndcg@5"])
        with Store(tmp_path / "out") as store:
            run_study(study, store, Run())
            return Comparison.from_store(store).folds("data")

    assert folds() == [1, 2, 3]
    for path in (tmp_path / "data" / "Fold3").iterdir():
        path.unlink()
    (tmp_path / "data" / "Fold3").rmdir()
    assert folds() == [1, 2]


def test_curves_of_several_kinds_in_one_folder_are_several_studies(tiny_study):
    from rankgrove.experiments.views import View

    (spec, *_) = tiny_study.specs
    shown = [
        replace(tiny_study, specs=[replace(spec, view=view)]).describe()
        for view in (View(), View(curve="convergence"), View(train_share=0.5))
    ]
    assert all(a != b for i, a in enumerate(shown) for b in shown[:i])


def test_another_build_makes_other_cells(tiny_study, monkeypatch):
    from rankgrove.experiments import study

    fold = next(tiny_study.sources[0].folds())
    keys = []
    for build in ("one", "one", "two"):
        monkeypatch.setattr(study, "build_digest", lambda build=build: build)
        keys.append(next(tiny_study.cells(fold)).key)
    assert keys[0] == keys[1] != keys[2]


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(rankgrove.DataError, match="holds no results of a study"):
        Store.existing(tmp_path)
    with Store(tmp_path) as store, pytest.raises(rankgrove.DataError, match="holds no study yet"):
        store.results()


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / FILE
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE meta (other TEXT)")
    content = path.read_bytes()
    with pytest.raises(rankgrove.DataError, match=f"{FILE} is an SQLite file of another program"):
        Store(tmp_path)
    assert path.read_bytes() == content


def test_a_file_of_another_format_is_refused(tmp_path):
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("UPDATE meta SET value = '1'")
    with pytest.raises(rankgrove.DataError, match=f"{FILE} has the format 1.*another folder"):
        Store(tmp_path)


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path):
    (tmp_path / FILE).write_text("this is text, and long enough to be looked at" * 100)
    with pytest.raises(rankgrove.DataError, match=f"{FILE}: file is not a database"):
        Store(tmp_path)


def test_damaged_results_name_the_file_and_the_cell(planned, tmp_path):
    store, (first, *_) = planned
    store.claim(first)
    store.finish(first.key, outcome())
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("UPDATE cells SET arrays = substr(arrays, 1, 50)")
        base.execute("UPDATE queries SET content = x'00'")
    with pytest.raises(rankgrove.DataError, match=f"{FILE} is damaged .lambdamart, data, fold 1"):
        store.results()
    with pytest.raises(rankgrove.DataError, match=f"{FILE} is damaged .test queries"):
        store.queries(first.fingerprint)


def test_a_full_disk_names_the_file(planned):
    store, (first, *_) = planned
    store.claim(first)
    store._base.execute("PRAGMA max_page_count = 1")  # SQLite then says what it says of a full disk
    full = replace(outcome(), per_query=np.random.default_rng(0).random((1, 100_000)))
    with pytest.raises(rankgrove.DataError, match=f"{FILE}: database or disk is full"):
        store.finish(first.key, full)
