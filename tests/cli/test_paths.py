"""What is read is never replaced, and ``-`` means what it means to other tools."""

from __future__ import annotations

import contextlib
import json
import os

import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.formats.container import load_model, to_bytes


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rg.write_letor(make_ranking(20, n_features=4, seed=1), "data.txt")

    def call(words):
        code = main(words.split())
        out, err = capfd.readouterr()
        return code, out, err

    assert call("train mart data.txt --n-estimators 2 --quiet --out model.rg")[0] == 0
    assert call("predict model.rg data.txt --out scores.txt")[0] == 0
    return call


@pytest.mark.parametrize(
    "words",
    [
        "predict model.rg data.txt --out data.txt",
        "predict model.rg data.txt --out model.rg",
        "predict model.rg data.txt --out link.txt",
        "evaluate scores.txt data.txt --per-query data.txt",
        "evaluate scores.txt data.txt --per-query scores.txt",
        "export model.rg --to lightgbm --out model.rg",
        "export model.rg --to lightgbm --out data.txt --check data.txt",
        "convert data.txt data.txt --omit zero",
        "split data.txt --share 0.5 0.5 --out part.txt data.txt",
        "train mart plain --n-estimators 2 --out plain",
        "compare plain --ranker random --folds 3 --save-best plain",
        "compare data.txt --ranker model:model.rg --ranker random --folds 3 --save-best model.rg",
        "compare data.txt --ranker model:model{fold}.rg --folds 3 --save-best model2.rg",
        "compare --study study.toml --save-best study.toml",
        "compare --study study.toml --save-best plain",
        "train mart data.txt --init-model model.rg --out new.rg --card model.rg",
    ],
)
def test_a_file_that_is_read_is_not_replaced(run, tmp_path, words):
    (tmp_path / "link.txt").symlink_to("data.txt")
    (tmp_path / "plain").write_bytes((tmp_path / "data.txt").read_bytes())
    (tmp_path / "study.toml").write_text('data = ["plain"]\n[[ranker]]\nuse = "random"\n')
    for fold in "123":
        (tmp_path / f"model{fold}.rg").write_bytes((tmp_path / "model.rg").read_bytes())
    names = ("data.txt", "model.rg", "model2.rg", "scores.txt", "plain", "study.toml")
    files = [tmp_path / name for name in names]
    before = [path.read_bytes() for path in files]
    code, _, err = run(words)
    assert code == 1
    assert "would be lost" in err
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("card", ["new.rg", "./new.rg", "model.rg", "link.md"])
def test_the_model_card_needs_a_file_of_its_own(run, tmp_path, card):
    (tmp_path / "link.md").symlink_to("model.rg")
    out = "new.rg" if "new" in card else "model.rg"
    before = (tmp_path / "model.rg").read_bytes()
    code, _, err = run(f"train mart data.txt --n-estimators 2 --quiet --out {out} --card {card}")
    assert (code, "--card is the file of --out" in err) == (1, True)
    assert not (tmp_path / "new.rg").exists()
    with pytest.raises(ValueError, match="is the model file: give the card a file of its own"):
        load_model("model.rg").save(out, card=card)
    assert (tmp_path / "model.rg").read_bytes() == before


@pytest.mark.parametrize("words", ["data.txt", "model.rg"])
def test_a_report_does_not_replace_data_or_a_model(run, tmp_path, words):
    before = (tmp_path / words).read_bytes()
    run("compare data.txt --ranker random --folds 3 --quiet")
    code, _, err = run(f"report results --out {words}")
    assert code == 1
    assert f"a report is written as .html, not as '{words}'" in err
    assert (tmp_path / words).read_bytes() == before
    assert run("report results --out page.HTML")[0] == 0


def test_save_best_under_a_foreign_suffix_is_refused_before_the_study(run, tmp_path):
    code, _, err = run("compare data.txt --ranker random --folds 3 --save-best best.json")
    assert (code, "whose files end in .rg" in err) == (1, True)
    assert not (tmp_path / "results").exists()


def test_a_model_may_take_the_place_of_the_one_it_continues(run):
    code, _, _ = run("train mart data.txt --init-model model.rg --n-estimators 2 --out model.rg")
    assert code == 0
    assert rg.load_model("model.rg").model_.ensemble.n_trees == 4


@pytest.mark.parametrize(
    "words",
    [
        "info - --json",
        "convert - copy.txt --json",
        "predict model.rg -",
        "predict model.rg - --out -",
        "evaluate scores.txt - --json",
        "explain model.rg - --json",
        "train mart - --n-estimators 2 --quiet --out other.rg",
    ],
)
def test_a_dash_is_standard_input(run, words):
    expected = run(words.removesuffix(" --out -").replace(" -", " data.txt", 1))
    with piped("data.txt"):
        found = run(words)
    assert (found[0], expected[0]) == (0, 0), found
    if "train" not in words:
        assert found[1] == expected[1].replace("data.txt", "/dev/stdin")


@contextlib.contextmanager
def piped(path):
    """Make a file the standard input of this process."""
    kept = os.dup(0)
    with open(path, "rb") as file:
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(kept, 0)
            os.close(kept)


def test_standard_input_is_read_once(run):
    code, _, err = run("evaluate - -")
    assert code == 1
    assert "cannot both be standard input" in err


@pytest.mark.parametrize(
    "words",
    [
        "train mart data.txt --n-estimators 2 --out -",
        "export model.rg --to c --out -",
        "evaluate scores.txt data.txt --per-query -",
    ],
)
def test_a_dash_is_no_file_to_write(run, tmp_path, words):
    with pytest.raises(SystemExit) as stop:
        run(words)
    assert stop.value.code == 2
    assert not (tmp_path / "-").exists()


def test_verbose_logs_every_step_without_a_terminal(run):
    words = "train mart data.txt --valid data.txt --n-estimators 3 --out other.rg"
    _, _, silent = run(words)
    code, _, err = run(words + " --verbose")
    assert code == 0
    assert "[3/3]" in err
    assert "ndcg@10" in err
    assert "[3/3]" not in silent


def test_values_may_begin_with_a_minus(run):
    code, _, err = run("train mart data.txt --n-estimators 2 --monotone -1,0,0,1 --out other.rg")
    assert code == 0, err
    assert rg.load_model("other.rg").get_params()["monotone"] == [-1, 0, 0, 1]


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_files_that_share_queries_are_joined_as_one_says(run, tmp_path, how):
    (tmp_path / "again.txt").write_bytes((tmp_path / "data.txt").read_bytes())
    words = f"train mart data.txt again.txt --n-estimators 2 {how} --json --out other.rg"
    code, _, err = run(words)
    assert code == 1
    assert "--shared-queries" in err
    code, out, _ = run(words + " --shared-queries apart")
    assert (code, json.loads(out)["queries"]) == (0, 40)


@pytest.mark.parametrize("option", ["--metric map", "--shuffles 2", "--seed 1"])
def test_options_of_permutation_are_refused_elsewhere(run, option):
    code, _, err = run(f"explain model.rg data.txt {option}")
    assert code == 1
    assert "no effect without --permutation" in err
    assert run(f"explain model.rg data.txt --permutation {option}")[0] == 0


def test_dependence_wants_two_different_features(run):
    code, _, err = run("explain model.rg data.txt --dependence f1 f1")
    assert code == 1
    assert "two different features" in err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_score_bench_wants_some_time(run, seconds):
    with pytest.raises(SystemExit) as stop:
        run(f"score-bench model.rg data.txt --seconds {seconds}")
    assert stop.value.code == 2


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A folder of two files, the same documents in one file, and a model of them."""
    data = make_ranking(8, docs_per_query=5, n_features=3, seed=0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    rg.write_letor(data, "all.txt")
    first = [query < 4 for query in range(8)]
    rg.write_letor(data.select_queries(first), "parts/a.txt")
    rg.write_letor(data.select_queries([not chosen for chosen in first]), "parts/b.txt")
    rg.MART(n_estimators=2, min_samples_leaf=2).fit(data).save("m.rg")


@pytest.mark.parametrize(
    "words", ["predict m.rg {}", "explain m.rg {} --json", "explain m.rg {} --permutation --json"]
)
def test_a_folder_is_read_as_its_files(parts, words, capsys):
    assert main(words.format("all.txt").split()) == 0
    expected = capsys.readouterr().out
    assert main(words.format("parts").split()) == 0
    assert capsys.readouterr().out == expected


def test_a_quoted_pattern_stands_for_its_files(parts, tmp_path, capsys):
    for name, data in (("a", "all.txt"), ("b", "parts/*.txt")):
        words = ["--n-estimators", "2", "--quiet", "--out", f"{name}.rg"]
        assert main(["train", "mart", data, *words]) == 0
    models = [load_model(tmp_path / name) for name in ("a.rg", "b.rg")]
    for model in models:
        model.provenance_ = None  # names the files
    assert to_bytes(models[0]) == to_bytes(models[1])
    assert main(["predict", "m.rg", "parts/a*"]) == 0
    assert main(["predict", "m.rg", "nothing*"]) == 1
    assert main(["predict", "m.rg", "parts/*.txt"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["score-bench", "m.rg", "parts/*.txt"])
    assert "'parts/*.txt' matches 2 files" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["info", ""],
        ["train", "mart", "", "--out", "x.rg"],
        ["train", "mart", "data.txt", "--valid", "", "--out", "x.rg"],
        ["train", "mart", "data.txt", "--out", ""],
        ["predict", "model.rg", ""],
    ],
)
def test_an_empty_name_is_not_the_current_folder(run, words, capfd):
    """As of a shell variable that is not set."""
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "the name of the file is empty" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "train mart - --valid - --out x.rg",
        "train mart - --test /dev/stdin --out x.rg",
        "predict model.rg - -",
        "compare - - --ranker random",
    ],
)
def test_standard_input_is_read_only_once(run, words):
    code, _, err = run(words)
    assert (code, "standard input can be read only once" in err) == (1, True)
