"""Categorical columns in every form of data: the same model, and scores by value."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.csv import write_csv

import rankgrove as rg
from rankgrove.data.core.categories import Categories
from rankgrove.data.core.category_maps import looked_up, recoding, typed, united
from rankgrove.data.core.dataset import concatenate
from rankgrove.data.writing import write_letor, write_parquet
from rankgrove.errors import DataError, DataWarning
from rankgrove.formats.container import to_bytes

NAMES = ["brand", "store", "flag"]

# A text with a NUL, where the csv module (and pandas with it) can read and write one.
NUL = "NUL\0" if sys.version_info >= (3, 11) else "NUL"


def frame(n=240, seed=0):
    random = np.random.default_rng(seed)
    brand = random.choice(np.array(["b", "a", "ü", "c\n", 'd"q', NUL, " x"], object), n)
    store, flag = random.integers(0, 12, n), random.random(n) < 0.5
    label = ((brand == "a") * 2 + (store % 3 == 0) + flag).astype(int)
    brand[::17] = None
    columns = {"label": label, "qid": np.repeat(np.arange(n // 20), 20)}
    columns |= {"brand": brand, "store": store, "flag": flag, "price": random.random(n)}
    return pd.DataFrame(columns)


def fitted(data):
    return rg.LambdaMART(n_estimators=4, random_state=1, min_samples_leaf=5).fit(data)


def bits(ranker):
    return to_bytes(ranker, named=False)


FRAME = frame()
MODEL = fitted(rg.load(FRAME, categorical=NAMES))
SCORES = MODEL.predict(FRAME)


def forms(folder):
    """Yield the same data in every form."""
    polars = pytest.importorskip("polars")
    yield "category of pandas", rg.load(FRAME.astype(dict.fromkeys(NAMES, "category")))
    frame = polars.from_pandas(FRAME)
    yield (
        "Categorical of polars",
        rg.load(
            frame.with_columns(polars.col("brand").cast(polars.Categorical)),
            categorical=["store", "flag"],
        ),
    )
    unused = polars.Enum(["unused", " x", "ü", NUL, 'd"q', "c\n", "b", "a"])
    yield (
        "Enum with an unused value, in another order",
        rg.load(
            frame.with_columns(polars.col("brand").cast(unused)), categorical=["store", "flag"]
        ),
    )
    table = pa.Table.from_pandas(FRAME)
    coded = table.set_column(2, "brand", table["brand"].dictionary_encode())
    yield "dictionary of Arrow", rg.load(coded, categorical=["store", "flag"])
    FRAME.to_parquet(folder / "a.parquet")
    FRAME.to_feather(folder / "a.feather")
    write_csv(table, folder / "a.csv")
    FRAME.astype(dict.fromkeys(NAMES, "category")).to_parquet(folder / "typed.parquet")
    yield "Parquet of categories", rg.load(folder / "typed.parquet")
    yield "scan of Parquet of categories", rg.scan(folder / "typed.parquet")
    for name in ("a.parquet", "a.feather", "a.csv"):
        yield name, rg.load(folder / name, categorical=NAMES)
        yield f"scan of {name}", rg.scan(folder / name, categorical=NAMES)
    for part, rows in enumerate((slice(0, 100), slice(100, 240))):
        FRAME[rows].to_csv(folder / f"part{part}.csv", index=False)
    parts = [folder / "part0.csv", folder / "part1.csv"]
    yield "two files", rg.load(parts, categorical=NAMES, shared_queries="merge")
    yield "scan of two files", rg.scan(parts, categorical=NAMES, shared_queries="merge")
    batches = [FRAME[start : start + 50] for start in range(0, 240, 50)]
    yield "batches", rg.scan(lambda: iter(batches), categorical=NAMES)
    typed_frame = FRAME[[*NAMES, "price"]].astype(dict.fromkeys(NAMES, "category"))
    tuples = [
        (typed_frame[i : i + 50], FRAME.label[i : i + 50], FRAME.qid[i : i + 50])
        for i in range(0, 240, 50)
    ]
    yield "batches of arrays", rg.scan(lambda: iter(tuples))
    yield "slice of more", rg.load(frame_with_more(), categorical=NAMES).select_rows(range(240))


def frame_with_more():
    more = frame(20, 1).assign(qid=99, brand="another", store=77)
    return pd.concat([FRAME, more], ignore_index=True)


@pytest.mark.filterwarnings("ignore:.*doc_id")
def test_every_form_gives_the_same_model_and_scores(tmp_path):
    for name, data in forms(tmp_path):
        assert bits(fitted(data)) == bits(MODEL), name
        np.testing.assert_array_equal(MODEL.predict(data), SCORES, name)


def test_a_frame_of_features_alone_is_fitted():
    X = FRAME[[*NAMES, "price"]].astype(dict.fromkeys(NAMES, "category"))
    ranker = rg.LambdaMART(n_estimators=4, random_state=1, min_samples_leaf=5)
    assert bits(ranker.fit(X, FRAME.label, FRAME.qid)) == bits(MODEL)


def test_scores_depend_on_values_not_on_codes_order_or_type():
    X = FRAME[["price", "flag", "store", "brand"]]
    reverse = pd.CategoricalDtype(sorted(FRAME.brand.dropna().unique(), reverse=True))
    for other in (
        X,
        X.astype({"brand": reverse}),
        X.astype({"brand": "string", "store": "Int64"}),
        X.astype({"store": float}),
        pa.Table.from_pandas(X),
    ):
        np.testing.assert_array_equal(MODEL.predict(other), SCORES)
    one = rg.LambdaMART(n_estimators=3, random_state=0, min_samples_leaf=5)
    numbers = FRAME[["label", "qid", "store", "flag", "price"]]
    one.fit(rg.load(numbers, categorical=["store", "flag"]))
    array = numbers[["store", "flag", "price"]].to_numpy(float)
    expected = one.predict(numbers)
    np.testing.assert_array_equal(one.predict(array), expected)
    np.testing.assert_array_equal(one.compile().predict(array.astype(np.float32)), expected)


@pytest.mark.parametrize("score", [MODEL.predict, MODEL.compile().predict])
def test_lists_may_hold_texts_beside_numbers(score):
    rows = FRAME[[*NAMES, "price"]].astype(object).to_numpy().tolist()
    np.testing.assert_array_equal(score(rows), SCORES)
    with pytest.raises(DataError, match=r"X must hold numbers: .* inhomogeneous"):
        score([rows[0], rows[1][:3]])
    with pytest.raises(DataError, match="column '0' mixes"):
        score([rows[1], [0, *rows[1][1:]]])


def test_the_codes_of_a_data_set_are_not_taken_for_values(tmp_path):
    """Whole numbers are categories by value: 1 would be the category 1, not the code of another."""
    n = 300
    numbers = pd.DataFrame({"label": np.arange(n) % 3, "qid": np.repeat(np.arange(n // 10), 10)})
    numbers["store"], numbers["price"] = numbers.label + 1, np.arange(n) % 7
    data = rg.load(numbers, categorical=["store"])
    ranker = rg.LambdaMART(n_estimators=3, random_state=0, min_samples_leaf=5).fit(data)
    assert ranker.score(data) == 1
    refused = pytest.raises(DataError, match=r"its own codes .* give the Dataset itself")
    for X in (data.X, data.X[:20], data.X[:, ::-1], data.X.copy(), np.vstack([data.X, data.X])):
        for use in (ranker.predict, ranker.explain, ranker.compile().predict):
            with refused:
                use(X)
    with refused:
        rg.MART(n_estimators=2).fit(data.X, data.y, data.qid)
    with refused:
        rg.MART(n_estimators=2).fit(data, eval_set=(data.X, data.y, data.qid))
    with refused:
        rg.load(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.predict(data.matrix), ranker.predict(data))
    again = rg.Dataset(data.X, data.y, data.qid, categories=data.categories)
    assert (again.X == data.X).all()
    assert type(rg.load(numbers).X) is np.ndarray


def test_columns_without_a_frame_are_refused():
    X = FRAME[["store", "price"]]
    ranker = rg.LambdaMART(n_estimators=3)
    for columns in (X.to_dict("list"), X.to_records(index=False)):
        with pytest.raises(DataError, match=r"pandas\.DataFrame\(X\) makes a frame of it"):
            ranker.fit(columns, FRAME.label, FRAME.qid)


def test_missing_and_unseen_values_score_alike_and_are_counted():
    X = FRAME[[*NAMES, "price"]].copy()
    X.loc[:, "brand"] = None
    missing = MODEL.predict(X)
    X.loc[:, "brand"] = "never seen"
    with pytest.warns(DataWarning, match=r"240 of 240 values of 'brand' are categories that"):
        np.testing.assert_array_equal(MODEL.predict(X), missing)
    some = FRAME.copy()
    some.loc[:9, "brand"] = "never seen"
    MODEL.predict(some)  # few of them are no warning


def test_texts_are_compared_by_code_points():
    composed, decomposed = "é", "e\N{COMBINING ACUTE ACCENT}"
    table = pd.DataFrame(
        {"label": [0, 1], "qid": [1, 1], "c": pd.Categorical([composed, decomposed])}
    )
    assert rg.load(table).categories[0].values == (decomposed, composed)


def test_another_kind_of_value_is_refused():
    X = FRAME[[*NAMES, "price"]]
    with pytest.raises(DataError, match=r"'brand' holds whole numbers .*7.*holds texts"):
        MODEL.predict(X.assign(brand=7))
    with pytest.raises(DataError, match=r"'store' holds texts .*'x'.*whole numbers"):
        MODEL.predict(X.assign(store="x"))
    with pytest.raises(DataError, match=r"'store' holds 1.5, which is no category"):
        MODEL.predict(X.assign(store=1.5))
    numeric = fitted(FRAME[["label", "qid", "store", "price"]].pipe(rg.load))
    with pytest.raises(DataError, match=r"'store' holds categories, such as 'x', but numbers"):
        numeric.predict(X.assign(store=pd.Categorical(["x"] * 240)))
    same = numeric.predict(X)
    np.testing.assert_array_equal(numeric.predict(X.astype({"store": "category"})), same)
    coded = rg.load(FRAME, categorical=["store"], ignore=["brand"])
    np.testing.assert_array_equal(numeric.predict(coded), same)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, "a"], r"'c' mixes 1 \(a whole number\) and 'a' \(a text\)"),
        ([1.5, 2.0], r"'c' holds 1.5, which is no category"),
        ([b"x", b"y"], r"'c' holds binary"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), r"'c' holds timestamp"),
    ],
)
def test_what_is_no_category_is_refused(column, message):
    table = pd.DataFrame({"label": [0, 1], "qid": [1, 1], "c": column})
    with pytest.raises(DataError, match=message):
        rg.load(table, categorical=["c"])


def test_a_dictionary_may_have_null_entries_and_duplicates():
    indices = pa.array([0, 1, 2, 3, None], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b", "a"]))
    table = pa.table({"label": [0, 1, 0, 1, 0], "qid": [1] * 5, "c": column})
    data = rg.load(table)
    assert data.categories[0].values == ("a", "b")
    np.testing.assert_array_equal(data.X[:, 0], [0, np.nan, 1, 0, np.nan])


def test_names_of_columns_are_checked():
    with pytest.raises(DataError, match="no column 'colour'"):
        rg.load(FRAME, categorical=["colour"])
    with pytest.raises(DataError, match="both in categorical= and in ignore="):
        rg.load(FRAME, categorical=["brand"], ignore=["brand"])
    with pytest.raises(DataError, match="'label' cannot be categorical"):
        rg.load(FRAME, categorical=["label"], label="label", ignore="texts")
    with pytest.raises(DataError, match="'brand' is in categorical=, but not in features="):
        rg.load(FRAME, categorical=["brand"], features=["price"])


@pytest.mark.parametrize("first", [0, 1])
def test_features_of_text_are_named_by_the_number_before_the_colon(tmp_path, first):
    path = tmp_path / "data.txt"
    path.write_text(f"1 qid:1 {first}:0.5 {first + 2}:7\n0 qid:1 {first}:1.5 {first + 2}:9\n")
    by_number = rg.load(path, categorical=[str(first + 2)])
    by_name = rg.load(path, categorical=[f"f{first + 2}"])
    both = rg.load(path, categorical=[f"f{first + 2}", str(first + 2)])
    for data in (by_number, by_name, both):
        assert {j: found.values for j, found in data.categories.items()} == {2: (7, 9)}
        assert data.X[:, 2].tolist() == [0, 1]
    with pytest.raises(DataError, match="there is no column '7' for categorical="):
        rg.load(path, categorical=["7"])
    with pytest.raises(DataError, match="there is no column '2' for categorical="):
        rg.load(np.ones((2, 3)), [0, 1], qid=[1, 1], categorical=["2"])


def test_arrays_and_text_take_whole_numbers(tmp_path):
    X = np.array([[3, 0.5], [7, 0.25], [3, 0.125], [np.nan, 1]])
    data = rg.load(X, [0, 1, 0, 1], qid=[1, 1, 2, 2], categorical=[0])
    assert data.categories[0].values == (3, 7)
    path = tmp_path / "a.txt"
    path.write_text("0 qid:1 1:3 2:0.5\n1 qid:1 1:7 2:0.25\n")
    assert rg.load(path, categorical=["f1"]).categories[0].values == (3, 7)
    with pytest.raises(DataError, match="f1"):
        rg.load(path, categorical=["f9"])
    with pytest.raises(DataError, match="cannot be streamed"):
        rg.scan(path, categorical=["f1"]).read()
    with pytest.raises(DataError, match="may be rounded"):
        rg.load(np.array([[2.0**25]]), [0], qid=[1], categorical=[0])


def test_a_dataset_keeps_its_categories(tmp_path):
    data = rg.load(FRAME, categorical=NAMES)
    parts = rg.split(data, [0.5, 0.5])
    assert all(part.categories == data.categories for part in parts)
    assert concatenate(parts).categories == data.categories
    write_parquet(data, tmp_path / "a.parquet")
    again = rg.load(tmp_path / "a.parquet")
    assert again.categories == data.categories
    np.testing.assert_array_equal(again.X, data.X)
    with pytest.raises(DataError, match="LETOR text holds numbers, but column 'brand'"):
        write_letor(data, tmp_path / "a.txt")
    with pytest.raises(DataError, match=r"X\[0, 0\] = 5 is no code of the 1 categories"):
        rg.Dataset([[5.0]], [1], [1], categories={0: Categories.of(["a"])})


def test_csv_has_no_types_until_a_model_says(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('label,qid,c,d\n0,1,1,"NA"\n1,1,,NA\n1,1,3.0,x\n')
    data = rg.load(path, categorical=["c", "d"])
    assert typed(data.categories[0]).values == (1, 3)
    assert data.categories[1].values == ("NA", "x")
    np.testing.assert_array_equal(np.isnan(data.X[:, 1]), [False, True, False])
    texts = Categories.of(["1", "x"])
    np.testing.assert_array_equal(recoding(data.categories[0], texts, "c"), [0, np.nan])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("brand", 7, r"'brand' holds whole numbers .*7.*holds texts"),
        ("brand", True, r"'brand' holds booleans .*True.*holds texts"),
        ("store", "x", r"'store' holds texts .*'x'.*holds whole numbers"),
        ("flag", "x", r"'flag' holds texts .*'x'.*holds booleans"),
    ],
)
def test_files_of_another_kind_than_the_model_are_refused(tmp_path, suffix, column, value, message):
    path = tmp_path / f"other.{suffix}"
    changed = FRAME.assign(**{column: value})
    changed.to_csv(path, index=False) if suffix == "csv" else changed.to_parquet(path)
    with pytest.raises(DataError, match=message):
        rg.load(path, like=MODEL)
    with pytest.raises(DataError, match=message):
        MODEL.predict(rg.scan(path))


def test_a_field_of_csv_takes_the_kind_that_the_model_has(tmp_path):
    path = tmp_path / "codes.csv"
    codes = FRAME.assign(brand=(np.arange(240) % 5).astype(str))
    codes.to_csv(path, index=False)
    of_texts = fitted(rg.load(codes, categorical=NAMES))
    of_numbers = fitted(rg.load(codes.astype({"brand": int}), categorical=NAMES))
    for model in (of_texts, of_numbers):
        own = codes if model is of_texts else codes.astype({"brand": int})
        np.testing.assert_array_equal(model.predict(rg.load(path, like=model)), model.predict(own))
    codes.assign(brand="9").to_csv(path, index=False)
    with pytest.warns(DataWarning, match="240 of 240 values of 'brand'"):
        rg.load(path, like=of_texts)


def test_files_of_other_kinds_are_not_mixed():
    one = pd.DataFrame({"label": [0, 1], "qid": [1, 1], "c": pd.Categorical([1, 2])})
    other = pd.DataFrame({"label": [0, 1], "qid": [2, 2], "c": pd.Categorical(["1", "2"])})
    with pytest.raises(DataError, match=r"'c' holds texts .* holds whole numbers"):
        concatenate([rg.load(one), rg.load(other)])
    numbers = rg.load(one.astype({"c": int}).assign(qid=3))
    with pytest.raises(DataError, match="categorical in some of the data sets"):
        concatenate([rg.load(one), numbers])


def test_like_a_dataset_keeps_values_like_a_model_does_not():
    train = rg.load(FRAME, categorical=NAMES)
    other = FRAME.assign(brand="new")
    assert rg.load(other, like=train).categories[0].values == ("new",)
    with pytest.warns(DataWarning, match="'brand'"):
        matched = rg.load(other, like=MODEL)
    assert matched.categories == MODEL.model_.columns.categories
    assert np.isnan(matched.X[:, 0]).all()


def test_linear_rankers_refuse_and_say_how_to_encode():
    with pytest.raises(DataError, match=r"RankSVM takes numbers alone.*'brand'.*OneHotEncoder"):
        rg.RankSVM().fit(rg.load(FRAME, categorical=["brand"]))


def test_rare_values_are_pooled():
    n = 6000
    random = np.random.default_rng(0)
    value = np.r_[np.arange(5000), np.zeros(1000, int)].astype(str)
    columns = {"label": random.integers(0, 2, n), "qid": np.repeat(np.arange(60), 100)}
    data = rg.load(pd.DataFrame(columns | {"c": value}), categorical=["c"])
    assert len(data.categories[0].values) == 5000
    known = fitted(data).model_.columns.categories[0]
    assert known.n_codes == 4096
    assert len(known.values) + len(known.pooled) == 5000
    assert "0" in known.values


VALUES = st.one_of(st.text(max_size=3), st.integers(-(2**63), 2**64 - 1), st.booleans())


@given(st.lists(st.lists(st.text(max_size=2), unique=True), min_size=1, max_size=4))
def test_united_dictionaries_have_every_value(lists):
    parts = [Categories.of(values) for values in lists]
    whole = united(parts, "c")
    assert set(whole.values) == {value for values in lists for value in values}
    for part in parts:
        codes = looked_up(recoding(part, whole, "c"), np.arange(len(part.values), dtype=float))
        assert [whole.values[int(code)] for code in codes] == list(part.values)


@given(st.lists(VALUES, unique_by=lambda value: (type(value), value)))
def test_recoding_is_by_value(values):
    own = Categories.of(values)
    other = Categories.of(values[::2])
    if {type(v) for v in own.values} & {type(v) for v in other.values}:
        table = recoding(own, other, "c")
        for code, value in enumerate(own.values):
            found = other.code(value)
            assert (np.isnan(table[code]) and found is None) or table[code] == found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_features_that_are_named_are_categorical_by_name(tmp_path, suffix):
    path = tmp_path / f"data.{suffix}"
    FRAME.to_parquet(path) if suffix == "parquet" else FRAME.to_csv(path, index=False)
    model = fitted(rg.load(FRAME, categorical=NAMES, features=["price", *NAMES]))
    named = [*NAMES, "price"]  # in another order than in training
    data = rg.load(path, like=model, features=named)
    assert data.feature_names == tuple(model.feature_names_in_)
    np.testing.assert_array_equal(model.predict(data), model.predict(FRAME))
    with pytest.raises(DataError, match=r"lacks 3 of the 4 features .*: 'brand', 'store', 'flag'"):
        rg.load(path, like=model, features=["price"])
