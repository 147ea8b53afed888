"""Error messages of the command line name its options, not Python's arguments."""

from __future__ import annotations

import pytest

from rankgrove.cli.main import main

TABLE = "search,rating,name,f\n1,2,x,3\n1,0,y,2\n2,1,z,1\n"


@pytest.fixture
def files(data_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train mart data.txt --out x.rg --n-jobs 0", "--n-jobs must be None or a whole number"),
        ("train mart data.txt --out x.rg --seed -3", "--seed must be None or a whole number"),
        ("train mart data.txt --out x.rg --subsample 3", "--subsample must be a number"),
        ("train mart data.txt --out x.rg --monotone 1,0", "--monotone has 2 entries"),
        (
            "train lambdamart data.txt --out x.rg --train-metric map --gain linear",
            "--gain has no effect with --train-metric map",
        ),
        (
            "train rf-point data.txt --valid data.txt --early-stopping-rounds 3 --out x.rg --quiet",
            "RFPoint has no use for --early-stopping-rounds",
        ),
        ("train mart t.csv --out x.rg", "name it with --label\n"),
        (
            "train mart t.csv --out x.rg --query search --label rating",
            "with --categorical name, or leave them out with --ignore name",
        ),
        ("train mart data.txt data.txt --out x.rg", "--shared-queries merge takes"),
        ("train mart data.txt --out x.rg --metric map", "--metric has no effect without --valid"),
        ("compare data.txt --ranker mart --folds 2", "not 2 (--folds)"),
        ("compare data.txt --ranker mart --backend dask", "say how many, as in --workers 2"),
        ("compare data.txt --ranker mart:n_estimators=0", "parameter n_estimators of mart"),
    ],
)
def test_the_message_names_the_option(files, words, message, capsys):
    assert main(words.split()) == 1
    assert message in capsys.readouterr().err
