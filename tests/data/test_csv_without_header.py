"""CSV without a header line: numbered columns, given names, CatBoost's column descriptions."""

import numpy as np
import pytest

import rankgrove
from rankgrove import DataError
from rankgrove.cli.main import main

ROWS = "2,q1,0.5,red,d1\n0,q1,1.5,blue,d2\n1,q2,2.5,red,d3\n"
NAMES = ["grade", "qid", "price", "colour", "doc_id"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ROWS)
    return path


def test_a_file_without_a_header_says_what_to_do(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("1,7,0.5\n0,7,1.5\n")
    with pytest.raises(DataError, match=r"header=False"):
        rankgrove.load(path)
    data = rankgrove.load(path, header=False, label=0, query=1)
    assert data.feature_names == ("2",)
    assert data.X[:, 0].tolist() == [0.5, 1.5]


def test_names_are_given(file):
    data = rankgrove.load(file, columns=NAMES, ignore=["colour"])
    assert data.feature_names == ("price",)
    assert data.y.tolist() == [2, 0, 1]
    assert data.qid.tolist() == ["q1", "q1", "q2"]
    assert data.doc_ids.tolist() == ["d1", "d2", "d3"]
    with pytest.raises(DataError, match="columns has 2 names, but the first line 5 fields"):
        rankgrove.load(file, columns=["a", "b"])


def test_a_column_description_of_catboost_is_read(file, tmp_path):
    description = tmp_path / "train.cd"
    description.write_text("0\tLabel\n1\tGroupId\n3\tCateg\tcolour\n4\tDocId\n")
    data = rankgrove.load(file, column_description=str(description))
    assert data.feature_names == ("2", "colour")
    assert data.y.tolist() == [2, 0, 1]
    named = rankgrove.load(file, columns=NAMES, categorical=["colour"])
    np.testing.assert_array_equal(data.X, named.X)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\tLabel\n9\tNum\n", "line 2: column 9, but the data have 5"),
        ("0\tLabel\n1\tText\n", "line 2: columns of type 'Text' are not read"),
        ("0 Label\n", "line 1: '0 Label' is not 'NUMBER<tab>TYPE"),
        ("0\tLabel\n1\tLabel\n", "two columns are the label"),
    ],
)
def test_bad_descriptions_are_refused(file, tmp_path, text, message):
    (tmp_path / "bad.cd").write_text(text)
    with pytest.raises(DataError, match=message):
        rankgrove.load(file, column_description=str(tmp_path / "bad.cd"))


def test_the_same_on_the_command_line_and_in_a_stream(tmp_path, capsys):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    rows = [f"{int(x[0] > 0)},{i // 10},{x[0]},{x[1]},{x[2]}" for i, x in enumerate(X)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(rows) + "\n")
    options = ["--no-header", "--label", "0", "--query", "1"]
    train = ["train", "mart", str(path), "--n-estimators", "3", "--min-samples-leaf", "2"]
    for name, stream in (("a.rg", "--no-stream"), ("b.rg", "--stream")):
        assert main([*train, *options, stream, "--quiet", "--out", str(tmp_path / name)]) == 0
    models = [rankgrove.load_model(tmp_path / name) for name in ("a.rg", "b.rg")]
    assert models[0].n_features_in_ == 3
    data = rankgrove.load(path, header=False, label=0, query=1)
    np.testing.assert_array_equal(*(model.predict(data) for model in models))


def test_options_of_csv_are_refused_for_other_formats(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(ValueError, match="columns does not apply to letor files"):
        rankgrove.load(tmp_path / "train.txt", columns=["a"])
