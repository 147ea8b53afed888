"""``rankgrove export``."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.data.writing import write_letor, write_parquet
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    train, test = make_ranking(20, seed=1), make_ranking(10, seed=2)
    rankgrove.LambdaMART(n_estimators=5, random_state=0).fit(train).save(folder / "model.rg")
    write_letor(test, folder / "test.txt")
    return folder


def run(folder, *words):
    return main(["export", str(folder / "model.rg"), *words])


@pytest.mark.process
def test_a_checked_export(folder, capsys):
    out = str(folder / "model.c")
    assert run(folder, "--to", "c", "--out", out, "--check", str(folder / "test.txt")) == 0
    shown = capsys.readouterr().out
    assert "changed ranks" in shown
    assert "the arithmetic of c" in shown


def test_json(folder, capsys):
    out = str(folder / "model.json")
    words = ["--to", "opensearch", "--out", out, "--with-request", "--json"]
    assert run(folder, *words, "--check", str(folder / "test.txt")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "opensearch"
    assert found["check"][0]["rows"] == len(rankgrove.load(folder / "test.txt").y)
    assert found["check"][0]["changed_ranks"] == 0
    assert found["requests"] == [
        str(folder / f"model.{part}.json") for part in ("featureset", "createmodel", "query")
    ]


@pytest.fixture(scope="module")
def missing(folder):
    """A model of data with missing values, and those data."""
    data = make_ranking(40, docs_per_query=12, seed=3)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(data.X.shape) < 0.3, np.nan, data.X).astype(np.float32)
    data = rankgrove.load(X, data.y, qid=data.qid)
    rankgrove.LambdaMART(n_estimators=20, random_state=0).fit(data).save(folder / "missing.rg")
    write_parquet(data, folder / "missing.parquet")
    return ["export", str(folder / "missing.rg"), "--to", "c", "--out", str(folder / "missing.c")]


@pytest.mark.process
def test_the_check_of_missing_values_as_zero_compares_with_the_trained_model(
    folder, missing, capsys
):
    words = [*missing, "--check", str(folder / "missing.parquet"), "--json"]
    assert main(words) == 0  # as trained: C knows missing values
    capsys.readouterr()
    assert main([*words, "--missing", "zero"]) == 1
    out, err = capsys.readouterr()
    assert "change their rank against the model as trained" in err
    data = rankgrove.load(folder / "missing.parquet")
    ranker = rankgrove.load_model(folder / "missing.rg")
    scores = {"trained": ranker.predict(data), "zero": ranker.predict(np.nan_to_num(data.X))}
    lost = ranker_ndcg(data, scores["trained"]) - ranker_ndcg(data, scores["zero"])
    places = {name: np.lexsort((-own, data.qid)) for name, own in scores.items()}
    for check in json.loads(out)["check"]:
        if check["against"] == "the model as trained":
            assert check["changed_ranks"] == (places["trained"] != places["zero"]).sum() > 100
            assert check["metric_lost"] == pytest.approx(lost)
        else:
            assert check["against"] == "the model with 0 for missing values"
            assert (check["changed_ranks"], check["metric_lost"]) == (0, 0)


def ranker_ndcg(data, scores):
    return rankgrove.evaluate(data, scores, metrics="ndcg@10")["ndcg@10"]


@pytest.mark.process
def test_data_without_labels_are_checked_without_a_metric(folder, missing, capsys):
    frame = pandas.read_parquet(folder / "missing.parquet").drop(columns="label")
    frame.to_parquet(folder / "unlabelled.parquet")
    words = [*missing, "--check", str(folder / "unlabelled.parquet"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["check"][0]["metric_lost"] is None


def test_a_changed_rank_is_a_failure_unless_allowed(folder, capsys, monkeypatch):
    from rankgrove.formats import export_check

    def one_changed(*_):
        return [export_check.Agreement("somebody", 1e-9, 1, 10)]

    monkeypatch.setattr(export_check, "check_export", one_changed)
    words = ["--to", "c", "--out", str(folder / "m.c"), "--check", str(folder / "test.txt")]
    (folder / "m.c").write_text("before")
    assert run(folder, *words) == 1
    out, err = capsys.readouterr()
    assert "m.c is not written: 1 documents change their rank" in err
    assert "wrote" not in out
    assert (folder / "m.c").read_text() == "before"
    assert run(folder, *words, "--allow-changed-ranks", "1") == 0


def test_names_and_known_features(folder, capsys):
    n_features = rankgrove.load_model(folder / "model.rg").n_features_in_
    names = folder / "names.txt"
    names.write_text("\n".join(f"bm25(field{j})" for j in range(n_features)) + "\n")
    words = ["--to", "vespa", "--out", str(folder / "vespa.json"), "--feature-names", str(names)]
    assert run(folder, *words) == 0
    assert "bm25(field0)" in (folder / "vespa.json").read_text()
    known = folder / "known.txt"
    known.write_text("popularity\n")
    assert run(folder, *words, "--known-features", str(known)) == 1
    assert "the 1 known features lack " in capsys.readouterr().err


def test_unknown_targets_are_usage_errors(folder):
    with pytest.raises(SystemExit) as stop:
        run(folder, "--to", "weka", "--out", "m")
    assert stop.value.code == 2


def test_the_file_that_was_checked_is_the_one_that_is_put_in_place(folder, monkeypatch, capsys):
    """A target whose files differ from one writing to the next shows which one it is."""
    from dataclasses import replace

    from rankgrove.formats import exporting

    target, written = exporting.target_of("lightgbm"), []

    def write(plain):
        written.append(target.write(plain) + f"# {len(written)}\n".encode())
        return written[-1]

    monkeypatch.setitem(exporting.TARGETS, "lightgbm", replace(target, write=write))
    out, test = str(folder / "once.txt"), str(folder / "test.txt")
    assert run(folder, "--to", "lightgbm", "--out", out, "--check", test) == 0
    assert len(written) == 1
    assert (folder / "once.txt").read_bytes() == written[0]


def test_the_version_that_missing_values_need_is_told(folder, missing, capsys):
    for target, version in (("opensearch", "OpenSearch 3.6"), ("solr", "Solr 9.2")):
        words = ["export", missing[1], "--to", target, "--out", str(folder / "engine.json")]
        words += ["--feature-names", str(folder / "named.txt")]
        names = [f"feature_{j}\n" for j in range(136)]
        n_features = rankgrove.load_model(missing[1]).n_features_in_
        (folder / "named.txt").write_text("".join(names[:n_features]))
        assert main(words) == 0
        assert f"missing values are kept, which needs {version} or newer" in capsys.readouterr().out
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["missing_since"] == version
        assert main([*words, "--missing", "zero"]) == 0
        assert "or newer" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--allow-changed-ranks", "0"], "--allow-changed-ranks belongs to --check and"),
        (["--label", "grade"], "--label belongs to --check"),
    ],
)
def test_options_of_the_check_are_refused_without_it(folder, capsys, options, message):
    assert run(folder, "--to", "c", "--out", str(folder / "unchecked.c"), *options) == 1
    assert message in capsys.readouterr().err
