"""Studies whose data and results are in an object store."""

from __future__ import annotations

import json
import tempfile

import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError
from rankgrove.experiments import stored_object
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.running import Run, StudyRun, run_study
from rankgrove.experiments.store import FILE, Store
from support.object_store import BUCKET

pytestmark = pytest.mark.process

RANKERS = ["--ranker", "lambdamart:n_estimators=3", "--ranker", "mart:n_estimators=3"]


@pytest.fixture
def folder(store, request):
    """The address of a folder of the test's own."""
    return f"s3://{BUCKET}/{request.node.name.replace('[', '-').replace(']', '')}"


@pytest.fixture(autouse=True)
def local_folders(tmp_path, monkeypatch):
    """The folder of temporary folders: it must be empty in the end."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def key_of(folder: str) -> str:
    return f"{folder.removeprefix(f's3://{BUCKET}/')}/{FILE}"


@pytest.mark.parametrize("workers", [1, 2])
def test_results_at_an_address_are_those_of_a_folder(
    tiny_study, folder, results, tmp_path, local_folders, workers
):
    with Store(tmp_path / "local") as store:
        run_study(tiny_study, store, Run())
        expected = results(store)
    with Store(folder) as store:
        run_study(tiny_study, store, Run(workers=workers))
    assert not list(local_folders.iterdir())
    with Store.existing(folder) as store:
        assert results(store) == expected


def test_a_stopped_study_goes_on_from_the_object(tiny_study, folder, results, monkeypatch):
    finish = StudyRun.finish
    fits = []

    def stop_after_two(run, cell, outcome):
        finish(run, cell, outcome)
        fits.append(cell)
        if len(fits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(StudyRun, "finish", stop_after_two)
    with pytest.raises(KeyboardInterrupt), Store(folder) as store:
        run_study(tiny_study, store, Run())
    with Store(folder) as store:
        run_study(tiny_study, store, Run())
        assert len(fits) == len(store.results())  # none was fitted twice
        assert {result.status for result in store.results()} == {"done"}


def test_finished_fits_are_uploaded_now_and_then(tiny_study, folder, monkeypatch):
    monkeypatch.setattr(stored_object, "UPLOAD_SECONDS", 0.0)
    finish = StudyRun.finish
    seen = []

    def look(run, cell, outcome):
        finish(run, cell, outcome)
        with Store.existing(folder) as other:
            statuses = [result.status for result in other.results()]
        assert "running" not in statuses
        seen.append(statuses.count("done"))

    monkeypatch.setattr(StudyRun, "finish", look)
    with Store(folder) as store:
        run_study(tiny_study, store, Run())
    assert seen == list(range(1, len(seen) + 1))


def test_what_another_machine_wrote_meanwhile_is_kept(tiny_study, folder):
    fold = next(tiny_study.sources[0].folds())
    one, other = list(tiny_study.cells(fold))[:2]
    with Store(folder) as first:
        first.begin(tiny_study.describe())
        assert first.claim(one)
        first.finish(one.key, CellOutcome(n_steps=1))
        with Store(folder) as second:
            second.begin(tiny_study.describe())
            assert second.claim(other)
            second.finish(other.key, CellOutcome(n_steps=2))
    with Store(folder) as both:
        assert both.outcome(one.key).n_steps == 1
        assert both.outcome(other.key).n_steps == 2


def test_results_that_cannot_be_uploaded_are_kept_and_named(tiny_study, folder, store, results):
    kept = Store(folder)
    run_study(tiny_study, kept, Run())
    expected = results(kept)
    store.denied.add(key_of(folder))
    with pytest.raises(DataError, match=rf"^{folder}/{FILE}: the store denies access") as caught:
        kept.close()
    assert "the results are not uploaded, but kept in" in str(caught.value)
    place = str(caught.value).split("kept in ")[1].split(":")[0]
    with Store.existing(place) as again:
        assert results(again) == expected


def test_an_upload_that_fails_in_between_is_a_warning(tiny_study, folder, store, monkeypatch):
    monkeypatch.setattr(stored_object, "UPLOAD_SECONDS", 0.0)
    with Store(folder) as kept:
        store.denied.add(key_of(folder))
        with pytest.warns(UserWarning, match=rf"{folder}/{FILE}: the store denies access.*later"):
            run_study(tiny_study, kept, Run())
        store.heal()
    with Store.existing(folder) as again:
        assert {result.status for result in again.results()} == {"done"}


def test_results_that_may_not_be_read_are_not_begun_anew(folder, store, local_folders):
    store.put(key_of(folder), b"results of others")
    store.denied.add(key_of(folder))
    with pytest.raises(DataError, match=rf"^{folder}/{FILE}: the store denies access"):
        Store(folder)
    store.heal()
    assert store.get(key_of(folder)) == b"results of others"
    assert not list(local_folders.iterdir())


def test_other_objects_and_absent_places_are_named(folder, store, local_folders):
    store.put(key_of(folder), b"no database" * 100)
    for use in (Store, Store.existing):
        with pytest.raises(DataError, match=rf"^{folder}/{FILE}: file is not a database"):
            use(folder)
    with pytest.raises(DataError, match=r"^s3://no-such-one/results/study.*: .*no such bucket"):
        Store("s3://no-such-one/results")
    with pytest.raises(DataError, match=r"^s3://judgments/nothing holds no results of a study"):
        Store.existing("s3://judgments/nothing")
    assert not list(local_folders.iterdir())


def test_compare_and_report_on_the_command_line(folder, store, tmp_path, capsys):
    data = make_ranking(30, docs_per_query=6, n_features=4, seed=5)
    rg.write_letor(data, tmp_path / "train.txt")
    address = store.put("study/train.txt", tmp_path / "train.txt")
    how = [*RANKERS, "--folds", "3", "--json", "--quiet", "--out"]
    found = []
    for source, out in (
        (str(tmp_path / "train.txt"), str(tmp_path / "results")),
        (address, folder),
    ):
        assert main(["compare", source, *how, out]) == 0
        found.append(json.loads(capsys.readouterr().out))
    values = [
        [(row["data"], row["ranker"], row["ndcg@10"]) for row in document["results"]]
        for document in found
    ]
    assert values[0] == values[1]
    best = f"{folder}/best.rg"
    assert main(["compare", address, *how, folder, "--save-best", best]) == 0
    assert rg.load_model(best).predict(data).shape == (data.n_rows,)
    capsys.readouterr()
    assert main(["report", folder]) == 0
    assert f"the page is {folder}/index.html" in capsys.readouterr().out
    assert b"lambdamart" in store.get(key_of(folder).replace(FILE, "index.html"))
    assert main(["report", folder, "--open"]) == 1
    assert "--open shows a page of this machine" in capsys.readouterr().err


def test_curves_and_searches_on_the_command_line(folder, store, tmp_path, capsys):
    rg.write_letor(make_ranking(30, docs_per_query=6, n_features=4, seed=5), tmp_path / "train.txt")
    address = store.put("curves/train.txt", tmp_path / "train.txt")
    how = ["--folds", "3", "--max-folds", "1", "--quiet", "--json", "--out", folder]
    assert (
        main(["curve", "size", address, "--ranker", "lambdamart", "--points", "2", "4", *how]) == 0
    )
    files = json.loads(capsys.readouterr().out)["files"]
    assert f"{folder}/size.csv" in files
    assert store.get(key_of(folder).replace(FILE, "size.csv")).startswith(b"curve,")
    pytest.importorskip("optuna")
    search = ["tune", "lambdamart:n_estimators=3", address, "--trials", "2", *how]
    answers = []
    for _ in range(2):
        assert main(search) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]


def test_a_study_file_and_given_models_at_addresses(folder, store, tmp_path, capsys):
    data = make_ranking(30, docs_per_query=6, n_features=4, seed=5)
    rg.write_letor(data, tmp_path / "train.txt")
    rg.LambdaMART(n_estimators=3).fit(data).save(f"{folder}/old.rg")
    store.put(key_of(folder).replace(FILE, "train.txt"), tmp_path / "train.txt")
    study = f'data = "train.txt"\nfolds = 3\n[[ranker]]\nuse = "model:{folder}/old.rg"\n'
    study += '[[ranker]]\nuse = "mart"\nn_estimators = 3\n'
    store.put(key_of(folder).replace(FILE, "study.toml"), study.encode())
    how = ["--json", "--quiet", "--out", str(tmp_path / "results")]
    assert main(["compare", "--study", f"{folder}/study.toml", *how]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [row["failure"] for row in found] == ["", ""]
