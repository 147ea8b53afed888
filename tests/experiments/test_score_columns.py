"""Scores in a column of the data: read, measured, and never learnt from by chance."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.errors import DataError, DataWarning
from rankgrove.experiments.study import make_study

TRAINED = "mart:n_estimators=2"


@pytest.fixture
def frame(tiny_data):
    """The tiny data as a table, with scores that float32 cannot tell apart and negative ones."""
    table = pd.DataFrame(tiny_data.X, columns=list(tiny_data.feature_names))
    rng = np.random.default_rng(0)
    table["theirs"] = -5.0 + 1e-9 * (tiny_data.y + rng.normal(size=tiny_data.n_rows))
    return table.assign(label=tiny_data.y, qid=tiny_data.qid)


def ndcg(found, ranker):
    (data,) = found.datasets
    return next(r for r in found.results(data) if r.ranker == ranker).values["ndcg@10"]


def measured(frame, scores):
    return rankgrove.metric("ndcg@10")(frame["label"], scores, qid=frame["qid"])


def features_of(study):
    return {fold.parts.train.feature_names for source in study.sources for fold in source.folds()}


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_column_that_is_no_feature(frame, tmp_path, form):
    data = frame
    if form != "frame":
        data = tmp_path / f"data.{form}"
        frame.to_csv(data, index=False) if form == "csv" else frame.to_parquet(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rankgrove.compare(
            data, ["scores:column=theirs", TRAINED], folds=3, ignore=["theirs"]
        )
        plain = rankgrove.compare(frame.drop(columns="theirs"), TRAINED, folds=3)
    assert ndcg(found, "scores:column=theirs") == pytest.approx(measured(frame, frame["theirs"]))
    assert ndcg(found, "mart") == ndcg(plain, "mart")
    study = make_study(data, ["scores:column=theirs"], folds=3, ignore=["theirs"])
    assert all("theirs" not in names for names in features_of(study))


def test_rows_that_are_dropped_have_no_scores(frame):
    frame.loc[[0, 7, 100], "label"] = -1
    found = rankgrove.compare(
        frame, "scores:column=theirs", folds=3, ignore="theirs", negative_labels="drop"
    )
    kept = frame[frame["label"] >= 0]
    assert ndcg(found, "scores:column=theirs") == pytest.approx(measured(kept, kept["theirs"]))


def test_a_feature_of_a_table_is_told(frame):
    with pytest.warns(DataWarning, match="'theirs', which is compared .*ignore=") as told:
        rankgrove.compare(frame, ["scores:column=theirs"], folds=3)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rankgrove.compare(frame, ["scores:column=theirs"], folds=3, features=["theirs"])


@pytest.mark.parametrize("name", ["f3", "3"])
def test_text_by_name_or_number(tiny_data, tmp_path, name):
    rankgrove.write_letor(tiny_data, tmp_path / "data.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rankgrove.compare(tmp_path / "data.txt", f"mine=scores:column={name}", folds=3)
    data = rankgrove.load(tmp_path / "data.txt")
    expected = rankgrove.metric("ndcg@10")(data.y, data.X[:, 2], qid=data.qid)
    assert ndcg(found, "mine") == pytest.approx(expected)


@pytest.mark.slow
def test_folders_of_folds_and_workers(frame, tmp_path):
    queries = frame["qid"].unique()
    parts = dict(zip(("train", "vali", "test"), np.array_split(queries, 3), strict=True))
    for name, chosen in parts.items():
        frame[frame["qid"].isin(chosen)].to_csv(tmp_path / f"{name}.csv", index=False)
    found = rankgrove.compare(
        tmp_path, ["scores:column=theirs", TRAINED], ignore=["theirs"], workers=2
    )
    test = frame[frame["qid"].isin(parts["test"])]
    assert ndcg(found, "scores:column=theirs") == pytest.approx(measured(test, test["theirs"]))


def test_other_scores_are_other_cells(frame, tmp_path):
    def run():
        return rankgrove.compare(
            frame, "scores:column=theirs", folds=3, ignore="theirs", out=tmp_path
        )

    first = ndcg(run(), "scores:column=theirs")
    frame["theirs"] = -frame["theirs"]
    assert ndcg(run(), "scores:column=theirs") == pytest.approx(measured(frame, frame["theirs"]))
    assert ndcg(run(), "scores:column=theirs") != first


def test_refused_by_name(frame, tiny_data, tmp_path):
    rankgrove.write_letor(tiny_data, tmp_path / "data.txt")
    for data in (frame, tiny_data, tmp_path / "data.txt"):
        with pytest.raises(DataError, match="no column 'bm25'"):
            rankgrove.compare(data, "scores:column=bm25", folds=3, **_without_theirs(data, frame))
    frame.to_parquet(tmp_path / "data.parquet")
    frame.assign(theirs="good").to_csv(tmp_path / "texts.csv", index=False)
    with pytest.raises(
        DataError, match=r"column 'theirs' must hold numbers: invalid value 'good'$"
    ):
        rankgrove.compare(
            tmp_path / "texts.csv", "scores:column=theirs", folds=3, ignore=["theirs"]
        )
    frame.loc[3, "theirs"] = np.nan
    frame.to_parquet(tmp_path / "nan.parquet")
    for data in (frame, tmp_path / "nan.parquet"):
        for options in ({"ignore": "theirs"}, {"features": ["theirs"]}):
            with pytest.raises(DataError, match=r"column 'theirs'.*(missing|nan)"):
                rankgrove.compare(data, "scores:column=theirs", folds=3, **options)


def _without_theirs(data, frame):
    return {"ignore": "theirs"} if data is frame else {}
