"""Categorical columns of a table of features, through the join to training data."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankgrove
from rankgrove import DataError
from rankgrove.cli.main import main
from rankgrove.logs import join, read_features

N_ROWS = 240


@pytest.fixture
def frame():
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "query": [f"q{i // 8}" for i in range(N_ROWS)],
            "document": [f"d{i}" for i in range(N_ROWS)],
            "price": random.random(N_ROWS).round(3),
            "brand": random.choice(["acme", "globex", "initech", None], N_ROWS),
            "shop": random.integers(100, 105, N_ROWS),
        }
    )


@pytest.fixture
def judgments(frame, tmp_path):
    grades = frame[["query", "document"]].assign(
        grade=(frame.brand == "acme").astype(int) + (frame.shop == 103)
    )
    path = tmp_path / "judgments.csv"
    grades.sample(frac=1, random_state=0).to_csv(path, index=False)
    return str(path)


def by_document(data):
    """The values of all features by document, whatever the codes."""
    columns = [
        data.category_values(j).to_pylist() if j in data.categories else data.X[:, j].tolist()
        for j in range(data.n_features)
    ]
    return dict(zip(data.doc_ids.tolist(), zip(*columns, strict=True), strict=True))


def written(frame, how, tmp_path):
    path = tmp_path / f"features.{how.split('-')[0]}"
    if how == "csv":
        frame.to_csv(path, index=False)
    elif how == "parquet":
        frame.to_parquet(path, index=False)
    else:
        typed = frame.astype({"brand": "category", "shop": "category"})
        # small groups of rows have dictionaries of their own
        pq.write_table(pa.Table.from_pandas(typed, preserve_index=False), path, row_group_size=50)
    return str(path)


@pytest.mark.parametrize("how", ["csv", "parquet", "parquet-typed"])
def test_categories_are_kept_by_value(how, frame, judgments, tmp_path):
    path = written(frame, how, tmp_path)
    names = None if how == "parquet-typed" else ["brand", "shop"]
    data = join(judgments, path, categorical=names).data
    kinds = {data.feature_names[j] for j in data.categories}
    assert kinds == {"brand", "shop"}
    found = by_document(data)
    for row in frame.itertuples():
        price, brand, shop = found[row.document]
        assert np.float32(price) == np.float32(row.price)
        assert brand == (None if pd.isna(row.brand) else row.brand)
        assert shop == row.shop


@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_a_model_of_joined_data_is_that_of_the_same_table(how, frame, judgments, tmp_path, capsys):
    path, out = written(frame, how, tmp_path), str(tmp_path / "train.parquet")
    assert main(["join", judgments, path, "--categorical", "brand", "shop", "--out", out]) == 0
    assert "texts left out" not in capsys.readouterr().out
    grades = pd.read_csv(judgments)
    table = grades.merge(frame, on=["query", "document"])
    # the rows of a query in the order of the judgments, queries by their first judgment
    table["first"] = table["query"].map(table["query"].drop_duplicates().reset_index().set_index(
        "query")["index"])  # fmt: skip
    table = table.sort_values("first", kind="stable").drop(columns="first")
    plain = rankgrove.load(table, label="grade", query="query", categorical=["brand", "shop"])
    joined = rankgrove.load(out)
    assert joined.feature_names == plain.feature_names == ("price", "brand", "shop")
    ranker = rankgrove.LambdaMART(n_estimators=5, min_samples_leaf=5, random_state=0)
    expected = ranker.fit(plain).predict(plain)
    np.testing.assert_array_equal(ranker.fit(joined).predict(joined), expected)
    model = str(tmp_path / "model.rg")
    options = ["--categorical", "brand", "--n-estimators", "2", "--out", model, "--quiet"]
    assert main(["train", "mart", out, *options]) == 0


def test_texts_that_are_not_named_are_counted_with_a_hint(frame, judgments, tmp_path, capsys):
    path, out = written(frame, "csv", tmp_path), str(tmp_path / "train.parquet")
    joined = join(judgments, path)
    assert joined.data.feature_names == ("price", "shop")
    reason = "columns of texts left out (brand); categorical= keeps columns of categories"
    assert joined.counts[reason] == 1
    assert main(["join", judgments, path, "--out", out, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts[reason.replace("categorical=", "--categorical")] == 1


def test_ignored_columns_are_no_features(frame, judgments, tmp_path, capsys):
    path, out = written(frame, "csv", tmp_path), str(tmp_path / "train.parquet")
    joined = join(judgments, path, ignore=["brand", "price"])
    assert joined.data.feature_names == ("shop",)
    assert joined.rows() == []
    assert main(["join", judgments, path, "--ignore", "texts", "--out", out, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts == {"columns of texts left out (brand)": 1}


def test_a_repeated_row_with_another_category_is_noticed(frame, judgments, tmp_path):
    again = frame[:3].assign(brand=["other", *frame.brand[1:3]])
    path = written(pd.concat([frame, again]), "csv", tmp_path)
    joined = join(judgments, path, categorical=["brand"])
    assert joined.counts["repeated feature rows"] == 3
    assert joined.counts["documents with other features each time"] == 1
    assert by_document(joined.data)["d0"][1] == "other"
    first = join(judgments, path, categorical=["brand"], repeated_features="first").data
    known = next(iter(first.categories.values())).values
    assert known == ("acme", "globex", "initech")  # a value without rows is left out


def test_missing_words_of_csv_are_those_of_load(judgments, tmp_path):
    path = tmp_path / "features.csv"
    path.write_text('query,document,brand\nq0,d0,NA\nq0,d1,"NA"\nq0,d2,\nq0,d3,7\n')
    data = join(judgments, str(path), categorical=["brand"], min_matched=0).data
    found = {name: values[0] for name, values in by_document(data).items()}
    assert found == {"d0": None, "d1": "NA", "d2": None, "d3": "7"}


def test_files_of_one_log_share_the_codes(frame, judgments, tmp_path):
    folder = tmp_path / "features"
    folder.mkdir()
    frame[::-1][:100].to_csv(folder / "a.csv", index=False)
    frame[::-1][100:].to_csv(folder / "b.csv", index=False)
    one = join(judgments, written(frame, "csv", tmp_path), categorical=["brand", "shop"]).data
    both = join(judgments, str(folder), categorical=["brand", "shop"]).data
    assert both.categories == one.categories
    np.testing.assert_array_equal(both.X, one.X)


def test_a_column_that_is_categorical_in_one_file_only_is_refused(frame, judgments, tmp_path):
    folder = tmp_path / "features"
    folder.mkdir()
    frame = frame[["query", "document", "shop"]]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, folder / "a.parquet")
    coded = table.set_column(2, "shop", table["shop"].cast(pa.string()).dictionary_encode())
    pq.write_table(coded, folder / "b.parquet")
    with pytest.raises(DataError, match="'shop' of the features is categorical in one file and"):
        join(judgments, str(folder))
    with pytest.raises(DataError, match=r"'shop' of the features holds values of several kinds"):
        join(judgments, str(folder), categorical=["shop"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--categorical", "brnd"], "there is no column 'brnd' (did you mean 'brand'?)"),
        (["--ignore", "brnd"], "there is no column 'brnd' (did you mean 'brand'?)"),
        (["--categorical", "query"], "'query' cannot be categorical: it is no feature"),
        (["--categorical", "price"], "column 'price' "),
        (
            ["--categorical", "brand", "--ignore", "brand"],
            "'brand' cannot be both in --categorical and in --ignore",
        ),
    ],
)
def test_refusals_name_the_column_and_write_nothing(
    options, message, frame, judgments, tmp_path, capsys
):
    path, out = written(frame, "parquet", tmp_path), tmp_path / "train.parquet"
    assert main(["join", judgments, path, *options, "--out", str(out)]) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_text_without_categories_is_refused_as_output(frame, judgments, tmp_path, capsys):
    path, out = written(frame, "csv", tmp_path), tmp_path / "train.txt"
    assert main(["join", judgments, path, "--categorical", "brand", "--out", str(out)]) == 1
    assert "column 'brand' is categorical: write Parquet instead" in capsys.readouterr().err
    assert not out.exists()


def test_features_that_were_read_before_keep_their_categories(frame, judgments, tmp_path):
    path = written(frame, "csv", tmp_path)
    log = read_features(path, categorical="brand")
    assert pa.types.is_dictionary(log.table.schema.field("brand").type)
    assert by_document(join(judgments, log).data) == by_document(
        join(judgments, path, categorical=["brand"]).data
    )
    with pytest.raises(ValueError, match="give it to read_features"):
        join(judgments, log, categorical=["brand"])
