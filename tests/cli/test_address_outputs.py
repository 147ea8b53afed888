"""Every output of the command line goes to an object store as it goes to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from support.object_store import BUCKET

pytestmark = pytest.mark.process

JUDGMENTS = "query,document,grade\nq1,a,2\nq1,b,0\nq2,a,1\nq2,c,0\n"
FEATURES = "query,document,age,price\nq1,a,1,2\nq1,b,3,4\nq2,a,5,6\nq2,c,7,8\n"
CLICKS = "session,query,document,position,clicked\n" + "".join(
    f"{i},q{i % 3},d{j},{j + 1},{int((i + j) % 2 == 0)}\n" for i in range(12) for j in range(3)
)


@pytest.fixture
def folder(tmp_path):
    """A folder of data and a model."""
    data = make_ranking(20, n_features=4, seed=3)
    rg.write_letor(data, tmp_path / "train.txt")
    rg.LambdaMART(n_estimators=3, random_state=1).fit(rg.load(tmp_path / "train.txt")).save(
        tmp_path / "model.rg"
    )
    scores = "".join(f"{row}\n" for row in range(data.n_rows))
    (tmp_path / "scores.txt").write_text(scores)
    (tmp_path / "judgments.csv").write_text(JUDGMENTS)
    (tmp_path / "features.csv").write_text(FEATURES)
    (tmp_path / "clicks.csv").write_text(CLICKS)
    return tmp_path


TRAIN = "train mart @train.txt --n-estimators 2 --seed 1 --quiet --out"
COMMANDS = {
    "train": f"{TRAIN} OUT.rg",
    "card": f"{TRAIN} @other.rg --card OUT.md",
    "predict": "predict @model.rg @train.txt --out OUT.txt",
    "evaluate": "evaluate @scores.txt @train.txt --per-query OUT.csv",
    "convert": "convert @train.txt OUT.parquet",
    "convert to text": "convert @train.txt OUT.txt.gz",
    "join": "join @judgments.csv @features.csv --out OUT.parquet",
    "clicks": "clicks @clicks.csv --out OUT.parquet",
    "clicks to csv": "clicks @clicks.csv --out OUT.csv",
    "show": "show @model.rg --tree 1 --out OUT.svg",
    "explain": "explain @model.rg @train.txt --out OUT.html",
    "export": "export @model.rg --to lightgbm --out OUT.txt",
    "checked export": "export @model.rg --to xgboost --out OUT.json --check @train.txt",
}


def words(command, place, out):
    return [
        str(place / word[1:]) if word.startswith("@") else word.replace("OUT", out)
        for word in command.split()
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_object_has_the_bytes_of_the_file(store, folder, name, capsys):
    command = COMMANDS[name]
    suffix = next(word for word in command.split() if word.startswith("OUT")).removeprefix("OUT")
    assert main(words(command, folder, str(folder / "found"))) == 0, capsys.readouterr().err
    expected = (folder / f"found{suffix}").read_bytes()
    for file in folder.iterdir():
        store.put(f"in/{file.name}", file)
    remote = words(command, Path("in"), f"s3://{BUCKET}/out/found")
    remote = [f"s3://{BUCKET}/{word}" if word.startswith("in/") else word for word in remote]
    assert main(remote) == 0, capsys.readouterr().err
    assert store.get(f"out/found{suffix}") == expected
    assert "s3:/judgments" not in capsys.readouterr().out  # what becomes of an address as a path


@pytest.mark.parametrize("name", COMMANDS)
def test_an_absent_bucket_is_named(store, folder, name, capsys):
    assert main(words(COMMANDS[name], folder, "s3://no-such-one/found")) == 1
    error = capsys.readouterr().err
    assert "s3://no-such-one/found" in error
    assert "no such bucket" in error


def test_requests_are_written_beside_an_exported_object(store, folder):
    out = f"s3://{BUCKET}/engine/model.json"
    how = ["--to", "opensearch", "--with-request", "--out", out]
    data = make_ranking(20, n_features=4, seed=3)
    named = rg.Dataset(data.X, data.y, data.qid, feature_names=["a", "b", "c", "d"])
    rg.LambdaMART(n_estimators=2).fit(named).save(folder / "named.rg")
    assert main(["export", str(folder / "named.rg"), *how]) == 0
    keys = store.client.list_objects_v2(Bucket=BUCKET, Prefix="engine/")["Contents"]
    assert len(keys) > 1


def test_parts_of_a_split_are_refused_by_name(store, folder, capsys):
    out = [f"s3://{BUCKET}/part-{number}.txt" for number in (1, 2)]
    shares = ["--share", "0.5", "0.5", "--out", *out]
    assert main(["split", str(folder / "train.txt"), *shares]) == 1
    assert "write to a local folder" in capsys.readouterr().err
    assert not store.client.list_objects_v2(Bucket=BUCKET, Prefix="part-").get("Contents")


def test_models_of_other_libraries_and_served_ones(store, folder, capsys):
    lightgbm = folder / "model.txt"
    assert (
        main(["export", str(folder / "model.rg"), "--to", "lightgbm", "--out", str(lightgbm)]) == 0
    )
    imported = rg.from_lightgbm(store.put("models/model.txt", lightgbm))
    data = rg.load(folder / "train.txt")
    assert (imported.predict(data) == rg.from_lightgbm(lightgbm).predict(data)).all()
    with pytest.raises(
        rg.errors.ModelError, match=r"s3://judgments/models/none.txt.*no such object"
    ):
        rg.from_lightgbm(f"s3://{BUCKET}/models/none.txt")


def test_models_that_only_their_library_reads_are_read(store, folder):
    xgboost = pytest.importorskip("xgboost")
    data = rg.load(folder / "train.txt")
    matrix = xgboost.DMatrix(data.X, data.y, qid=data.groups.query_of_row())
    booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 2}, matrix, 2)
    booster.save_model(folder / "model.ubj")
    imported = rg.from_xgboost(store.put("models/model.ubj", folder / "model.ubj"))
    assert (imported.predict(data) == rg.from_xgboost(folder / "model.ubj").predict(data)).all()
