"""The command line reads data as Python does, and as a model's training data were read."""

from __future__ import annotations

import json
import os
import threading

import lightgbm
import numpy as np
import pyarrow.parquet as pq
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.data.reading import lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sparse text with some spelled-out missing values, and the same rows as a table."""
    folder = tmp_path_factory.mktemp("doors")
    rng = np.random.default_rng(4)
    texts, rows = [], ["title,grade,search,c,a,b,Unnamed: 0"]
    for row in range(400):
        values = rng.integers(-3, 9, 3)
        label = int(np.clip(values[0] - values[1], 0, 4))
        present = [j for j in range(3) if rng.random() < 0.6]
        features = [f"{j + 1}:{'NULL' if rng.random() < 0.1 else values[j]}" for j in present]
        texts.append(f"{label} qid:{row // 10} {' '.join(features)}\n")
        rows.append(f"doc {row},{label},q{row // 10},{values[2]},{values[0]},{values[1]},{row}")
    (folder / "data.txt").write_text("".join(texts))
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)

    def call(*words):
        code = main([str(part) for word in words for part in str(word).split()])
        out, err = capfd.readouterr()
        return code, out, err

    return call


def scores_of(text):
    return np.array(text.split(), float)


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("ranker", ["RFPoint", "LambdaMART"])
def test_a_model_trained_in_python_scores_the_same_on_the_command_line(run, ranker, absent):
    data = rankgrove.load("data.txt", absent=absent)
    model = getattr(rankgrove, ranker)(n_estimators=5, random_state=0).fit(data)
    model.save("python.rg")
    code, out, _ = run("predict python.rg data.txt")
    assert code == 0
    np.testing.assert_array_equal(scores_of(out), model.predict(data))
    again = rankgrove.load("data.txt", like=rankgrove.load_model("python.rg"))
    assert again.absent == absent


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_training_on_the_command_line_is_training_in_python(run, absent):
    code, _, err = run(
        f"train mart data.txt --n-estimators 5 --absent {absent} --quiet --out cli.rg"
    )
    assert (code, err) == (0, "")
    data = rankgrove.load("data.txt", absent=absent)
    model = rankgrove.MART(n_estimators=5, random_state=0).fit(data)
    trained = rankgrove.load_model("cli.rg")
    assert trained.missing == model.missing
    assert trained.model_.absent == absent
    np.testing.assert_array_equal(trained.predict(data), model.predict(data))


TRAIN_TABLE = "train mart data.csv --query search --ignore title --n-estimators 3 --quiet"


def test_columns_of_a_table_are_taken_by_name_and_others_are_not_read(run, folder):
    code, _, err = run(TRAIN_TABLE, "--out table.rg")
    assert code == 0
    assert "left out: 'Unnamed: 0'" in err
    model = rankgrove.load_model("table.rg")
    assert list(model.feature_names_in_) == ["c", "a", "b"]
    code, scores, err = run("predict table.rg data.csv")
    assert (code, err) == (0, "")
    lines = [line.split(",") for line in (folder / "data.csv").read_text().splitlines()]
    turned = [[row[5], "text", row[3], row[4]] for row in lines]
    turned[0][1] = "note"
    (folder / "turned.csv").write_text("\n".join(",".join(row) for row in turned) + "\n")
    assert run("predict table.rg turned.csv") == (0, scores, "")
    (folder / "short.csv").write_text("a,b\n1,2\n")
    code, _, err = run("predict table.rg short.csv")
    assert code == 1
    assert (
        "short.csv: the table lacks 1 of the 3 features that the model was trained with: 'c'" in err
    )


def test_evaluating_reads_labels_and_queries_alone(run, folder):
    (folder / "scores.txt").write_text("\n".join(map(str, range(400))) + "\n")
    code, out, err = run("evaluate scores.txt data.csv --query search --json")
    assert (code, err) == (0, "")
    code, text, err = run("evaluate scores.txt data.txt --json")
    assert json.loads(out)["metrics"] == json.loads(text)["metrics"]


def test_info_leaves_columns_of_texts_out(run):
    code, out, err = run("info data.csv --query search")
    assert code == 0
    assert "400 rows, 40 queries, 3 features" in out
    assert "columns without numbers are left out: 'title'" in err


def test_info_describes_a_model(run):
    run(TRAIN_TABLE, "--out described.rg")
    code, out, _ = run("info described.rg")
    assert code == 0
    assert "described.rg: mart model of 3 trees, 3 features" in out
    assert "learning_rate" in out
    code, out, _ = run("info described.rg --json")
    assert json.loads(out)["feature_names"] == ["c", "a", "b"]


@pytest.mark.process
def test_one_feature_more_than_the_text_is_explained_not_shifted(run, folder):
    data = rankgrove.load("data.txt", first_feature=0, n_features=4)
    trained = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=2, verbose=-1).fit(
        data.X, data.y, group=data.group_sizes
    )
    rankgrove.from_lightgbm(trained.booster_).save("lightgbm.rg")
    code, out, err = run("predict lightgbm.rg data.txt --first-feature 0 --n-features 4")
    assert (code, err) == (0, "")
    np.testing.assert_allclose(scores_of(out), trained.predict(data.X), rtol=1e-6)
    code, out, err = run("predict lightgbm.rg data.txt")
    if code == 0:  # the importer may know the numbers of the features
        np.testing.assert_allclose(scores_of(out), trained.predict(data.X), rtol=1e-6)
    else:
        assert "counts features from 1" in err
        assert "--first-feature 0, --n-features 4" in err


@pytest.mark.parametrize("verb", ["info", "predict pipe.rg"])
def test_data_may_come_from_a_pipe(run, folder, verb):
    rankgrove.MART(n_estimators=2).fit(rankgrove.load("data.txt")).save("pipe.rg")
    if not os.path.exists("pipe"):
        os.mkfifo("pipe")
    text = (folder / "data.txt").read_bytes()
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(text))
    writer.start()
    code, out, err = run(verb, "pipe")
    writer.join()
    assert (code, err) == (0, "")
    assert out.replace("pipe:", "data.txt:") == run(verb, "data.txt")[1]


@pytest.mark.parametrize("command", ["predict zero.rg ZERO", "info ZERO", "evaluate ZERO data.txt"])
def test_endless_data_are_refused_soon(run, folder, monkeypatch, command):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 8 << 20)
    rankgrove.MART(n_estimators=2).fit(rankgrove.load("data.txt")).save("zero.rg")
    code, _, err = run(command.replace("ZERO", "/dev/zero"))
    assert code == 1
    assert "/dev/zero: a line is longer than 8 MB" in err


def test_more_scores_than_rows_are_not_read_to_the_end(run, folder):
    (folder / "many.txt").write_bytes(b"1\n" * 3_000_000)
    code, _, err = run("evaluate many.txt data.txt")
    assert code == 1
    assert "many.txt has more than 400 scores, but the data has 400 rows" in err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--absent zero", "but as 'missing' when"),
        ("--label grade", "label does not apply to letor files"),
        ("--ignore title", "ignore does not apply to letor files"),
        ("--features f1", "features does not name columns of letor files"),
    ],
)
def test_predict_refuses_what_does_not_go_with_text_or_model(run, option, message):
    """Also where text is scored piece by piece, and no Dataset is made that could tell."""
    assert run("train mart data.txt --absent missing --n-estimators 3 --quiet --out own.rg")[0] == 0
    code, out, err = run(f"predict own.rg data.txt {option}")
    assert (code, out) == (1, "")
    assert message in err
    assert run("predict own.rg data.txt --absent missing")[0] == 0


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_absent_has_no_meaning_in_tables(run, absent):
    refused = "absent does not apply to csv files"
    code, _, err = run(f"{TRAIN_TABLE} --absent {absent} --out absent.rg")
    assert code == 1
    assert refused in err
    assert run(f"{TRAIN_TABLE} --out table.rg")[0] == 0
    code, _, err = run(f"predict table.rg data.csv --absent {absent}")
    assert code == 1
    assert refused in err
    assert (
        run(f"train mart data.txt --absent {absent} --n-estimators 3 --quiet --out own.rg")[0] == 0
    )
    rankgrove.write_parquet(rankgrove.load("data.txt"), "zero.parquet")
    pq.write_table(pq.read_table("zero.parquet").replace_schema_metadata(), "table.parquet")
    assert run("predict own.rg table.parquet")[0] == 0


def test_metrics_of_nothing_are_refused(run):
    code, _, err = run("train mart data.txt --n-estimators 3 --metric map --out none.rg")
    assert code == 1
    assert "--metric has no effect without --valid, --valid-share or --test" in err


@pytest.mark.filterwarnings("default::rankgrove.errors.DataWarning")
@pytest.mark.parametrize(
    "verb",
    [
        "predict named.rg {}",
        "predict named.rg {} --first-feature 1 --n-features 3",
        "predict named.rg {} --out named.csv",
        "explain named.rg {}",
        "export named.rg --to lightgbm --out named.txt --check {}",
    ],
)
def test_text_for_a_model_with_names_is_reported(run, verb):
    run(TRAIN_TABLE, "--out named.rg")
    code, _, err = run(verb.format("data.txt"))
    assert code == 0
    assert "data.txt has no names for its columns, the model has ('c', 'a', 'b')" in err
