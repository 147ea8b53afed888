"""``rankgrove train`` and ``rankgrove predict``, from files to scores."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.formats.container import load_model, to_bytes


def write_letor(path, data):
    with path.open("w") as file:
        for features, label, query in zip(data.X, data.y, data.qid, strict=True):
            cells = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(features.tolist()) if v)
            file.write(f"{label:g} qid:{query} {cells}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, seed in (("train", 1), ("vali", 2), ("test", 3)):
        write_letor(folder / f"{name}.txt", make_ranking(30, n_features=6, seed=seed))
    return folder


@pytest.fixture
def run(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)

    def call(command):
        code = main(command.split())
        out, err = capfd.readouterr()
        return code, out, err

    return call


TRAIN = "train lambdamart train.txt --n-estimators 8 --n-jobs 1"


def test_train_then_predict_is_the_python_api(run, folder):
    code, out, err = run(f"{TRAIN} --valid vali.txt --metric ndcg@5 --metric map --out a.rg")
    assert (code, err) == (0, "")
    assert "valid: ndcg@5 0." in out
    train, vali, test = (
        rankgrove.load(folder / f"{name}.txt", n_features=6) for name in ("train", "vali", "test")
    )
    ranker = rankgrove.LambdaMART(n_estimators=8, random_state=0, missing="zero").fit(
        train, eval_set=vali, eval_metric=["ndcg@5", "map"]
    )
    assert run("predict a.rg test.txt --out scores.txt") == (0, "", "")
    scores = np.loadtxt(folder / "scores.txt")
    np.testing.assert_array_equal(scores, ranker.predict(test))
    code, out, _ = run("predict a.rg test.txt")
    assert out == (folder / "scores.txt").read_text()


@pytest.fixture(scope="module")
def tables(folder):
    """Judged rows with column names of their own, and the same rows without labels and queries."""
    data = make_ranking(30, n_features=3, seed=1)
    header = "rating,search,bm25,links,clicks"
    rows = [
        f"{label:g},{query}," + ",".join(map(repr, features))
        for label, query, features in zip(data.y, data.qid, data.X.tolist(), strict=True)
    ]
    (folder / "judged.csv").write_text("\n".join([header, *rows]) + "\n")
    bare = [line.split(",", 2)[2] for line in (header, *rows)]
    (folder / "bare.csv").write_text("\n".join(bare) + "\n")
    (folder / "listed.csv").write_text(
        "\n".join(line.split(",", 1)[1] for line in (header, *rows)) + "\n"
    )


NAMED = "--label rating --query search"


def test_columns_of_tables_can_be_named(run, tables):
    code, _, err = run("train mart judged.csv --out t.rg")
    assert code == 1
    assert "name it with --label" in err
    code, _, err = run(
        f"train mart judged.csv {NAMED} --valid judged.csv --n-estimators 3 --out t.rg"
    )
    assert code == 0
    assert "--valid holds the training data: it does not decide" in err
    model = rankgrove.load_model("t.rg")
    data = rankgrove.load("judged.csv", label="rating", query="search")
    code, out, _ = run(f"predict t.rg judged.csv {NAMED}")
    np.testing.assert_array_equal(np.array(out.split(), float), model.predict(data))
    assert run(f"score-bench t.rg judged.csv {NAMED} --seconds 0.01")[0] == 0


def test_predicting_needs_no_labels(run, tables):
    run(f"train mart judged.csv {NAMED} --n-estimators 3 --out t.rg")
    _, scores, _ = run(f"predict t.rg judged.csv {NAMED}")
    assert run("predict t.rg bare.csv") == (0, scores, "")
    assert run("predict t.rg listed.csv --query search") == (0, scores, "")
    assert run("score-bench t.rg listed.csv --query search --seconds 0.01")[0] == 0


def test_predicting_needs_queries_where_documents_are_compared(run, tables):
    run(f"train rf-pair judged.csv {NAMED} --n-estimators 3 --out p.rg --quiet")
    _, scores, _ = run(f"predict p.rg judged.csv {NAMED}")
    assert run("predict p.rg listed.csv --query search") == (0, scores, "")
    code, _, err = run("predict p.rg bare.csv")
    assert code == 1
    assert "name it with --query" in err


def test_summary_as_json(run):
    code, out, _ = run(f"{TRAIN} --valid vali.txt --test test.txt --json --out b.rg")
    summary = json.loads(out)
    assert code == 0
    assert summary["steps"] == summary["best_iteration"]
    assert set(summary["metrics"]) == {"valid", "test"}
    loaded = rankgrove.load_model("b.rg")
    assert summary["metrics"]["test"]["ndcg@10"] == loaded.score(
        rankgrove.load("test.txt", n_features=6)
    )


def test_parameters_of_the_ranker_are_options(run):
    code, _, _ = run(
        f"{TRAIN} --train-metric ndcg@5 --truncation none --norm false --gain 0,1,3,7,15 "
        "--missing median --max-leaf-nodes 4 --early-stopping-rounds 2 --valid vali.txt --out c.rg"
    )
    assert code == 0
    params = rankgrove.load_model("c.rg").get_params()
    assert params["metric"] == "ndcg@5"
    assert params["truncation"] is None
    assert params["norm"] is False
    assert params["gain"] == [0, 1, 3, 7, 15]
    assert params["missing"] == "median"


def test_rankers_answer_to_the_names_of_their_classes(run):
    code, out, _ = run("train LambdaMART train.txt --n-estimators 1 --json --out n.rg")
    assert code == 0
    assert json.loads(out)["ranker"] == "lambdamart"


@pytest.mark.parametrize("metrics", ["--metric map --metric err", "--metric map err"])
def test_metrics_are_given_one_by_one_or_at_once(run, folder, metrics):
    code, out, _ = run(f"{TRAIN} --test test.txt {metrics} --json --out m.rg")
    assert list(json.loads(out)["metrics"]["test"]) == ["map", "err"]
    run("predict m.rg test.txt --out m.txt")
    code, out, _ = run(f"evaluate m.txt test.txt {metrics} --json")
    assert code == 0
    assert list(json.loads(out)["metrics"]) == ["map", "err"]


def test_training_continues_a_model(run):
    assert run(f"{TRAIN} --out d.rg")[0] == 0
    assert run(f"{TRAIN} --init-model d.rg --out e.rg")[0] == 0
    assert rankgrove.load_model("e.rg").model_.ensemble.n_trees == 16


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train lambdamart none.txt --out x.rg", "none.txt: no such file"),
        (f"{TRAIN} --learning-rate -1 --out x.rg", "--learning-rate must be"),
        ("predict none.rg test.txt", "none.rg"),
        ("train mart none.txt --out absent/x.rg", "absent/x.rg: there is no folder for this file"),
        ("train mart none.txt --out .", ".: this is a folder, not a file to write"),
    ],
)
def test_failures_are_one_line_and_write_nothing(run, folder, command, message):
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (folder / "x.rg").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train", "RANKER"),
        ("train best train.txt --out x.rg", "best"),
        (f"{TRAIN} --metric best --out x.rg", "best"),
        (f"{TRAIN} --n-estimator 5 --out x.rg", "--n-estimator: did you mean --n-estimators?"),
        ("train lamdamart train.txt --out x.rg", "'lamdamart': did you mean 'lambdamart'?"),
        ("train mart train.txt", "--out"),
        ("train mart train.txt --out x.rg --tree tall", "must be 'auto', 'leafwise', 'levelwise'"),
    ],
)
def test_wrong_usage_exits_with_2(run, capfd, command, message):
    with pytest.raises(SystemExit) as exit:
        run(command)
    assert exit.value.code == 2
    assert message in capfd.readouterr().err


def test_help_lists_the_parameters_of_the_ranker(run, capfd):
    with pytest.raises(SystemExit):
        run("train plrank --help")
    out = capfd.readouterr().out
    assert "--n-permutations" in out
    assert "--train-metric" not in out


def interrupted_training(run, monkeypatch, command, tree):
    """Run a training in which the given tree is cut short by Ctrl-C."""
    from rankgrove.trees.growing import TreeGrower

    grow, calls = TreeGrower.grow, []

    def interrupted(self, *arguments, **options):
        calls.append(0)
        if len(calls) == tree:
            raise KeyboardInterrupt
        return grow(self, *arguments, **options)

    monkeypatch.setattr(TreeGrower, "grow", interrupted)
    return run(command)


def test_ctrl_c_writes_the_trees_so_far_and_exits_with_130(run, monkeypatch):
    code, out, err = interrupted_training(run, monkeypatch, f"{TRAIN} --quiet --out cut.rg", 2)
    assert code == 130
    assert "written to cut.rg" in out
    assert "interrupted: what was finished (1 trees) is written to cut.rg\n" in err
    assert rankgrove.load_model("cut.rg").model_.ensemble.n_trees == 1


def test_ctrl_c_replaces_no_model_that_is_there(run, monkeypatch, folder):
    command = f"{TRAIN} --quiet --out good.rg --card good.md"
    assert run(command)[0] == 0
    before = {name: (folder / name).read_bytes() for name in ("good.rg", "good.md")}
    code, out, err = interrupted_training(run, monkeypatch, command, 2)
    assert code == 130
    assert "written to good.interrupted.rg" in out
    assert "is written to good.interrupted.rg; good.rg stays as it was" in err
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert rankgrove.load_model("good.interrupted.rg").model_.ensemble.n_trees == 1
    assert (folder / "good.interrupted.md").exists()


def test_ctrl_c_before_the_first_tree_writes_nothing(run, monkeypatch, folder):
    command = f"{TRAIN} --quiet --out none.rg"
    assert interrupted_training(run, monkeypatch, command, 1) == (130, "", "interrupted\n")
    assert not (folder / "none.rg").exists()


def test_text_with_more_features_than_the_model_is_refused(run, folder):
    run(f"{TRAIN} --out f.rg")
    (folder / "wide.txt").write_text("1 qid:1 1:1 9:1\n")
    code, _, err = run("predict f.rg wide.txt --out x.txt")
    assert code == 1
    assert "wide.txt, line 1" in err
    assert not (folder / "x.txt").exists()


def test_a_name_of_another_format_is_refused_before_training(run, folder):
    code, _, err = run(f"{TRAIN} --quiet --out model.json")
    assert code == 1
    assert "files end in .rg, not .json" in err
    assert not (folder / "model.json").exists()


@pytest.mark.parametrize("option", ["--num-leaves", "--num_leaves"])
def test_options_of_other_libraries_are_known(rankgrove, data_file, option):
    run = rankgrove("train", "mart", data_file, option, "7", "--out", "model.rg")
    assert run.returncode == 2
    assert f"unknown option {option}: did you mean --max-leaf-nodes?" in run.stderr


def test_early_stopping_asks_for_validation_data_by_its_option(rankgrove, data_file):
    run = rankgrove("train", "mart", data_file, "--early-stopping-rounds", "7", "--out", "model.rg")
    assert (run.returncode, run.stderr.strip()) == (
        1,
        "rankgrove train: --early-stopping-rounds needs validation data: give --valid "
        "or --valid-share",
    )


def test_all_texts_of_a_table_are_left_out_by_one_word(run, tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "model.rg"
    table.write_text("qid,label,title,brand,texts,f\n" + "1,0,a,b,5,1\n1,1,c,d,6,2\n" * 20)
    assert run(f"train mart {table} --ignore texts --n-estimators 1 --out {model}")[0] == 0
    assert rankgrove.load_model(model).feature_names_in_.tolist() == ["f"]


def test_igbrt_starts_from_the_forest_of_a_file(run, folder):
    """In-sample and out-of-bag residuals are those of the forest in the file."""
    assert run("train rf train.txt --n-estimators 20 --oob-score true --out f.rg")[0] == 0
    train = rankgrove.load(folder / "train.txt", n_features=6)
    for residuals in ("in-sample", "oob"):
        options = f"--n-estimators 5 --residuals {residuals} --out g.rg"
        assert run(f"train igbrt train.txt --forest f.rg {options}")[0] == 0
        forest = rankgrove.load_model(folder / "f.rg")
        ranker = rankgrove.IGBRT(
            forest=forest, n_estimators=5, residuals=residuals, random_state=0
        ).fit(train)
        found = rankgrove.load_model(folder / "g.rg")
        np.testing.assert_array_equal(found.predict(train), ranker.predict(train))


def test_what_is_no_forest_is_refused(run, capfd):
    assert run(f"{TRAIN} --out h.rg")[0] == 0
    for given, message in (
        ("h.rg", "--forest: must be None or a RandomForest (on the command line its model file)"),
        ("train.txt", "--forest: train.txt: "),
        ("no.rg", "--forest: no.rg: "),
    ):
        with pytest.raises(SystemExit):
            run(f"train igbrt train.txt --forest {given} --out i.rg")
        assert message in capfd.readouterr().err


@pytest.mark.process
def test_a_model_that_raised_a_metric_of_ones_own_scores_without_it(run, folder, monkeypatch):
    (folder / "own_metric.py").write_text(
        "import rankgrove\n"
        "@rankgrove.register_metric('label-on-top', of='ranked')\n"
        "def top(labels, k=1):\n"
        "    return float(labels[:k].mean())\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    params = "--train-metric label-on-top@2 --max-passes 1 --n-restarts 0"
    command = f"train coordinate-ascent train.txt {params} --import own_metric --out own.rg"
    assert run(command)[0] == 0
    code = (
        "import rankgrove\n"
        "ranker = rankgrove.load_model('own.rg')\n"
        "data = rankgrove.load('train.txt', n_features=6)\n"
        "print(ranker.predict(data).std() > 0)\n"
        "try:\n"
        "    ranker.fit(data)\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    apart = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert apart.stdout.startswith("True\n"), apart.stderr
    assert "the metric 'label-on-top@2', which nobody registered here" in apart.stdout


@pytest.mark.parametrize("share", [0.2, 0.9])
@pytest.mark.parametrize("suffix", ["txt", "parquet"])
def test_valid_share_gives_the_model_of_the_split_files(run, folder, suffix, share):
    files = f"part.{suffix} rest.{suffix}"
    code, parts, _ = run(
        f"split train.txt --share {1 - share:.1f} {share} --seed 3 --out {files} --json"
    )
    assert code == 0
    kept, drawn = (part["queries"] for part in json.loads(parts)["parts"])
    options = "--n-estimators 8 --n-jobs 1 --seed 3 --subsample 0.5 --early-stopping-rounds 3"
    code, out, err = run(f"train mart train.txt {options} --valid-share {share} --out share.rg")
    assert (code, err) == (0, "")
    assert f"divided by query: {kept} for training, {drawn} for validation" in out
    first, second = files.split()
    code, out, err = run(f"train mart {first} {options} --valid {second} --out files.rg")
    assert (code, err) == (0, "")
    assert "divided" not in out
    models = [load_model(folder / name) for name in ("share.rg", "files.rg")]
    for model in models:
        model.provenance_ = None  # names the files
    assert to_bytes(models[0]) == to_bytes(models[1])


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan", "half"])
def test_valid_share_is_between_0_and_1(run, capfd, share):
    with pytest.raises(SystemExit) as exit:
        run(f"{TRAIN} --valid-share={share} --out share.rg")
    assert exit.value.code == 2
    assert f"must be a number between 0 and 1, not {share}" in capfd.readouterr().err


def test_valid_share_and_valid_exclude_each_other(run, capfd):
    with pytest.raises(SystemExit) as exit:
        run(f"{TRAIN} --valid-share 0.2 --valid vali.txt --out share.rg")
    assert exit.value.code == 2
    assert "not allowed with argument" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--valid-share 0.01", "the parts would have 30, 0 queries, and each needs at least one"),
        ("--valid-share 0.2 --stream", "--valid-share needs data in memory"),
    ],
)
def test_valid_share_that_cannot_be_drawn_is_refused(run, folder, options, message):
    code, out, err = run(f"{TRAIN} {options} --out never.rg")
    assert (code, out) == (1, "")
    assert message in err
    assert not (folder / "never.rg").exists()


@pytest.mark.parametrize("paper", ["", "own", "burges-2010"])
def test_train_as_in_a_paper(run, folder, paper):
    options = "--n-estimators 3 --n-jobs 1 --quiet --out paper.rg"
    code, _, err = run(f"train lambdamart train.txt --as-in-paper {paper} {options}")
    assert (code, err) == (0, "")
    ranker = rankgrove.load_model(folder / "paper.rg")
    assert (ranker.n_estimators, ranker.truncation, ranker.l2) == (3, None, 0.0)


def test_papers_that_give_no_settings_are_refused_by_name(run, capfd):
    for words, message in (
        ("xendcg train.txt --as-in-paper", "xendcg has no settings of a paper"),
        ("lambdamart --as-in-paper train.txt", "no settings of a paper 'train.txt': choose 'own'"),
    ):
        with pytest.raises(SystemExit):
            run(f"train {words} --quiet --out never.rg")
        assert message in capfd.readouterr().err


def test_test_data_that_the_model_has_seen_are_told(run, folder):
    seen = (folder / "train.txt").read_text().splitlines(keepends=True)
    new = (folder / "test.txt").read_text().replace("qid:", "qid:9").splitlines(keepends=True)
    first = [line for line in seen if line.split()[1] == seen[0].split()[1]]
    (folder / "mixed.txt").write_text("".join([*first, *new]))
    code, _, err = run(f"{TRAIN} --test mixed.txt --out leak.rg")
    assert code == 0
    assert "--test shares 1 of its 31 queries with the training data: " in err
    _, _, err = run(f"{TRAIN} --valid vali.txt --test vali.txt --out leak.rg")
    assert "--test shares 30 of its 30 queries with the validation data, which choose" in err
    _, _, err = run(
        "train rf-point train.txt --n-estimators 1 --valid vali.txt --test vali.txt --out leak.rg"
    )
    assert err == ""  # the validation data choose nothing
    _, _, err = run(f"{TRAIN} --valid vali.txt --test test.txt --out leak.rg")
    assert err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("blend --rankers mart;foo", "'foo': unknown ranker 'foo': choose from"),
        ("blend --rankers lambdamart:num_leaves=3", "did you mean 'max_leaf_nodes'?"),
        ("bagged --ranker mart:n_estimator=3", "did you mean 'n_estimators'?"),
    ],
)
def test_rankers_within_a_ranker_are_checked_with_a_hint(run, options, message, capfd):
    name, *words = options.split()
    with pytest.raises(SystemExit):
        run(f"train {name} train.txt {' '.join(words)} --out within.rg")
    assert message in capfd.readouterr().err
