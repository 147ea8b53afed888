"""Columns of a model: data are brought to them by name, or counted."""

from __future__ import annotations

import datetime
import itertools
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgrove import MART, kfold, load, load_folds, load_model
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning, ModelError
from rankgrove.rankers.base.parameter_encoding import model_digest

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
NAMES = ("bm25", "clicks", "length")
TABLES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


def dataset(matrix, names=None):
    return Dataset(matrix, np.zeros(len(matrix)), [1] * len(matrix), feature_names=names)


def table(library, names, extra=None):
    columns = {name: X[:, NAMES.index(name)] for name in names}
    return TABLES[library](columns | (extra or {}))


@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("order", list(itertools.permutations(NAMES)))
def test_columns_are_taken_by_name_whatever_their_order(library, order):
    np.testing.assert_array_equal(Columns(NAMES, 3).match(table(library, order)), X)


@pytest.mark.parametrize("library", TABLES)
def test_columns_that_the_model_does_not_know_are_left_out_unread(library):
    extra = {"title": ["red", "blue"], "more": [1.0, 2.0]}
    np.testing.assert_array_equal(Columns(NAMES, 3).match(table(library, NAMES, extra)), X)


@pytest.mark.slow
@given(st.permutations(range(6)), st.integers(1, 6))
def test_any_order_and_any_extra_columns_of_a_dataset(order, wanted):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    given_data = dataset(values[:, order], [f"name{j}" for j in order])
    columns = Columns(tuple(f"name{j}" for j in range(wanted)), wanted)
    np.testing.assert_array_equal(columns.match(given_data), values[:, :wanted])


def test_nothing_is_copied_if_the_columns_stand_together():
    data = dataset(X, NAMES)
    assert np.shares_memory(Columns(NAMES, 3).match(data), X)
    assert np.shares_memory(Columns(NAMES[1:], 2).match(data), X)
    assert np.shares_memory(Columns(NAMES, 3).match(X), X)
    frame = pandas.DataFrame(X, columns=list(NAMES))
    assert np.shares_memory(Columns(NAMES, 3).match(frame), frame.to_numpy())


@pytest.mark.parametrize("library", TABLES)
def test_lacking_columns_are_named(library):
    with pytest.raises(DataError, match=r"eval_set lacks 2 of the 3 .*: 'clicks', 'length'$"):
        Columns(NAMES, 3).match(table(library, ("bm25",)), "eval_set")


def test_columns_given_twice_are_refused():
    frame = pandas.DataFrame(X, columns=["bm25", "bm25", "clicks"])
    with pytest.raises(DataError, match="X: the column 'bm25' occurs twice"):
        Columns(("bm25", "clicks"), 2).match(frame)
    with pytest.raises(DataError, match="'a' occurs twice"):
        Columns(("a", "a"), 2)


@pytest.mark.parametrize("names", [None, NAMES])
def test_without_names_on_both_sides_the_number_of_columns_must_agree(names):
    columns = Columns(names, 3)
    np.testing.assert_array_equal(columns.match(X), X)
    np.testing.assert_array_equal(columns.match(dataset(X)), X)
    with pytest.raises(DataError, match="X has 2 features, but the model is expecting 3"):
        columns.match(X[:, :2])


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_a_model_without_names_takes_columns_as_they_stand():
    np.testing.assert_array_equal(Columns(None, 3).match(table("polars", NAMES[::-1])), X[:, ::-1])


def test_columns_of_a_frame_named_by_integers_are_names():
    frame = pandas.DataFrame(X)
    columns = Columns.of(frame)
    assert columns == Columns(("0", "1", "2"), 3)
    np.testing.assert_array_equal(columns.match(frame[[2, 0, 1]]), X)
    np.testing.assert_array_equal(Columns(NAMES, 3).match(frame), X)


def test_numbers_of_text_are_names():
    from_zero = dataset(X, ["f0", "f1", "f2"])
    np.testing.assert_array_equal(Columns(("f1", "f2"), 2).match(from_zero), X[:, 1:])
    np.testing.assert_array_equal(Columns(("f2", "f0"), 2).match(from_zero), X[:, [2, 0]])
    with pytest.raises(DataError, match=r"lacks 1 of the 3 .*'f0'"):
        Columns(("f0", "f1", "f2"), 3).match(dataset(X))


@pytest.mark.parametrize("names", [("f0", "f1", "f2", "f3"), None])
def test_one_feature_more_than_text_that_counts_from_one_is_explained(names):
    with pytest.raises(DataError, match=r"counts features from 1; .*first_feature=0, n_features=4"):
        Columns(names, 4).match(dataset(X))


def test_text_with_too_few_columns_for_a_model_with_names_is_not_told_to_count_from_zero():
    with pytest.raises(DataError, match=r"the model has names \('a', .* a table with these") as no:
        Columns(("a", "b", "c", "d"), 4).match(dataset(X))
    assert "first_feature" not in str(no.value)


def test_advice_for_text_that_lacks_the_last_features():
    with pytest.raises(DataError, match=r"\(text that lacks the last .* with n_features=4\)"):
        Columns(("f1", "f2", "f3", "f4"), 4).match(dataset(X))
    with pytest.raises(DataError, match="n_features=6 and the first_feature, 0 or 1"):
        Columns(None, 6).match(dataset(X))


@pytest.mark.filterwarnings("ignore:X has names for its columns")
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (X.astype(complex), "X must hold numbers, not complex128"),
        (X.astype(str), "X must hold numbers, not texts"),
        (X.astype("datetime64[s]"), "X must hold numbers, not dates"),
        (np.array([["1", "2", 3.0]], object), "holds '1', which is not a number"),
        (pandas.DataFrame({"a": ["1"], "b": [1], "c": [1]}), "'a' of X holds '1'"),
        (pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01"]), "b": 1, "c": 1}), "'a' of X"),
        (
            polars.DataFrame({"a": [1], "b": [datetime.date(2020, 1, 1)], "c": [1]}),
            "'b' of X",
        ),
    ],
)
def test_what_only_looks_like_numbers_is_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        Columns(None, 3).match(matrix)


def test_masked_and_null_entries_are_missing():
    masked = np.ma.masked_equal(X, 5)
    expected = np.where(X == 5, np.nan, X)
    np.testing.assert_array_equal(Columns(None, 3).match(masked), expected)
    np.testing.assert_array_equal(Columns(None, 3).match(masked.astype(int)), expected)
    objects = np.where(X == 5, None, X.astype(object))
    np.testing.assert_array_equal(Columns(None, 3).match(objects), expected)
    frame = pandas.DataFrame(X).convert_dtypes()
    frame.iloc[1, 1] = pandas.NA
    np.testing.assert_array_equal(Columns(None, 3).match(frame), expected)


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.table, np.array])
def test_numbers_too_large_for_float32_are_infinite_in_every_matrix(kind):
    columns = {"a": np.array([1.0, 1e300, -1e39]), "b": np.array([1, 2, 3])}
    given = np.c_[columns["a"], columns["b"]] if kind is np.array else kind(columns)
    X = Columns(("a", "b"), 2).match(given)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            np.asarray(X, np.float32), np.float32([[1, 1], [np.inf, 2], [-np.inf, 3]])
        )


def test_numbers_of_text_are_compared_wherever_one_name_is_known():
    """Counting would take f3 for f1 and g for f3."""
    columns = Columns(("f1", "f2", "f3"), 3)
    frame = pandas.DataFrame(X, columns=["f3", "f2", "g"])
    with pytest.raises(DataError, match=r"lacks 1 of the 3 features .*'f1'"):
        columns.match(frame)
    with pytest.raises(DataError, match=r"lacks 1 of the 3 features .*'f1'"):
        columns.places_in(Columns(("f3", "f2", "g"), 3))


@pytest.mark.parametrize("names", [None, ("f1", "f2", "f3"), ("0", "1", "2")])
def test_names_that_can_only_be_counted_are_warned_of(names):
    with pytest.warns(DataWarning, match=r"'bm25', 'clicks', 'length'.*taken in their order"):
        assert (
            Columns(names, 3).match(pandas.DataFrame(X, columns=NAMES)).to_array().tolist()
            == X.tolist()
        )


@pytest.mark.parametrize(
    ("names", "given"),
    [(NAMES, NAMES), (NAMES, ("f1", "f2", "f3")), (("f1", "f2", "f3"), ("0", "1", "2"))],
)
def test_numbers_and_known_names_pass_silently(names, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Columns(names, 3).match(pandas.DataFrame(X, columns=given))


@pytest.mark.parametrize("name", ["rank", "Position", "score", "lgbm_score", "y_pred"])
def test_columns_that_look_like_a_ranking_are_features_with_a_warning(name):
    frame = pandas.DataFrame({"label": [1, 0], "qid": [1, 1], "bm25_score": [2, 1], name: [1, 2]})
    with pytest.warns(DataWarning, match=f"rank or the score of a model.*'{name}'"):
        assert load(frame).feature_names == ("bm25_score", name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(frame, ignore=[name]).feature_names == ("bm25_score",)
        assert load(frame, features=["bm25_score", name]).n_features == 2


@pytest.mark.filterwarnings("ignore:every document gets the same score")
def test_a_frame_of_features_that_holds_the_labels_is_warned_of():
    frame = pandas.DataFrame(X, columns=["bm25", "label", "score"])
    with pytest.warns(DataWarning, match="they are features: 'label', 'score'"):
        MART(n_estimators=1).fit(frame, [1, 0], qid=[1, 1])


def test_tables_of_other_columns_are_told_apart(tmp_path):
    frame = pandas.DataFrame({"label": [1.0], "qid": [1], "a": [1.0], "b": [2.0]})
    frame.to_parquet(tmp_path / "one.parquet")
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    others = {"without 'b'": frame.drop(columns="b"), "with 'c'": frame.assign(c=3.0)}
    for how, other in others.items():
        other.assign(qid=2).to_parquet(paths[1])
        batches = [frame, other.assign(qid=2)]
        doors = (load, paths), (MART().fit, paths), (MART().fit, iter(batches))
        for door, source in doors:
            with pytest.raises(DataError, match=f"has other features than .*{how}; features="):
                door(source)
    assert load(paths, features=["a", "b"]).X.tolist() == [[1, 2], [1, 2]]


def write_table(frame, path):
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, str(path))
    else:
        pyarrow.parquet.write_table(table, path)
    return path


@pytest.fixture
def halves():
    """Frames of the queries of one data set, the columns of the second turned round."""
    data = make_ranking(12, docs_per_query=8, n_features=5, missing=0.1, seed=3)
    frame = pandas.DataFrame(data.X, columns=[f"feature {letter}" for letter in "abcde"])
    frame = frame.assign(label=data.y, qid=data.qid)
    first = frame["qid"] < 6
    return frame, frame[first], frame[~first][frame.columns[::-1]]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_files_are_matched_by_name(halves, tmp_path, suffix):
    whole, *parts = halves
    folder = tmp_path / "parts"
    folder.mkdir()
    paths = [write_table(part, folder / f"{i}{suffix}") for i, part in enumerate(parts)]
    one = write_table(whole, tmp_path / f"whole{suffix}")
    wanted, model = load(one), MART(n_estimators=3, random_state=0).fit(one)
    for source in (paths, folder):
        loaded = load(source)
        assert loaded.feature_names == wanted.feature_names
        np.testing.assert_array_equal(loaded.X, wanted.X)
        fitted = MART(n_estimators=3, random_state=0).fit(source)
        assert model_digest(fitted.model_) == model_digest(model.model_)
        np.testing.assert_array_equal(fitted.predict(source), model.predict(one))


def test_batches_are_matched_by_name(halves):
    whole, *parts = halves
    names = list(whole.columns[:5])
    model = MART(n_estimators=3, random_state=0).fit(load(whole))
    ways = [
        parts,
        [load(part) for part in parts],
        [(part.drop(columns=["label", "qid"]), part["label"], part["qid"]) for part in parts],
        [pyarrow.Table.from_pandas(part, preserve_index=False) for part in parts],
    ]
    for batches in ways:
        fitted = MART(n_estimators=3, random_state=0).fit(iter(batches))
        assert fitted.feature_names_in_.tolist() == names
        assert model_digest(fitted.model_) == model_digest(model.model_)


def test_a_model_without_names_takes_all_files_in_the_order_of_the_first(halves, tmp_path):
    whole, *parts = halves
    X = whole.iloc[:, :5].to_numpy()
    model = MART(n_estimators=3, random_state=0).fit(X, whole["label"], qid=whole["qid"])
    paths = [write_table(part, tmp_path / f"{i}.csv") for i, part in enumerate(parts)]
    batches = [(part.drop(columns=["label", "qid"]), part["label"], part["qid"]) for part in parts]
    for source in (paths, iter(batches), load(paths)):
        with pytest.warns(DataWarning, match="they are taken in their order"):
            np.testing.assert_array_equal(model.predict(source), model.predict(X))


def test_folds_are_matched_by_name(halves, tmp_path):
    _, first, second = halves
    for role, part in {"train": first, "vali": second, "test": second}.items():
        write_table(part, tmp_path / f"{role}.csv")
    (fold,) = load_folds(tmp_path)
    assert {part.feature_names for part in fold} == {tuple(first.columns[:5])}
    np.testing.assert_array_equal(fold.test.X, second[first.columns[:5]])


@pytest.mark.filterwarnings("ignore:every document gets the same score")
def test_a_path_is_not_taken_for_a_matrix():
    model = MART(n_estimators=1).fit(X, [1, 0], qid=[1, 1])
    with pytest.raises(DataError, match=r"rankgrove\.load\('test\.txt'\)"):
        model.explain("test.txt")


def test_things_that_are_no_lists_of_functions_or_datasets_are_told():
    with pytest.raises(DataError, match="kfold takes a Dataset, not DataFrame"):
        kfold(pandas.DataFrame(X))
    with pytest.raises(TypeError, match="callbacks must be a list of functions"):
        MART().fit(X, [1, 0], qid=[1, 1], callbacks=print)


@pytest.mark.parametrize(
    ("start", "reader"),
    [("tree\nversion=v4\n", "from_lightgbm"), ('{"learner": {', "from_xgboost")],
)
def test_models_of_other_libraries_are_told(start, reader, tmp_path):
    (tmp_path / "model.txt").write_text(start + " " * 100)
    with pytest.raises(ModelError, match=f"perhaps rankgrove.{reader}"):
        load_model(tmp_path / "model.txt")


def test_a_single_column_is_told_how_it_becomes_a_matrix():
    ranker = MART(n_estimators=1, min_samples_leaf=1).fit(X, [0, 1], qid=[1, 1])
    column = pandas.Series([1.0, 2.0])
    for use in (
        ranker.predict,
        lambda X: ranker.fit(X, [0, 1], qid=[1, 1]),
        lambda X: load(X, [0, 1], qid=[1, 1]),
    ):
        with pytest.raises(DataError, match=r"X\.to_frame\(\) makes a frame"):
            use(column)


def test_a_file_without_names_is_a_warning_for_a_model_with_names(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("1 qid:1 1:5 2:6 3:7\n0 qid:1 1:1 2:2 3:3\n")
    said = r"t.txt has no names for its columns, the model has \('bm25', .*\): they are taken in"
    named = Columns(NAMES, 3)
    read = load(path)
    with pytest.warns(DataWarning, match=said):
        np.testing.assert_array_equal(named.match(read), read.X)
    with pytest.warns(DataWarning, match=said):
        assert load(path, like=named).feature_names == NAMES
    named.match(load(path, feature_names=NAMES))
    Columns(None, 3).match(read)
    Columns(("f1", "f2", "f3"), 3).match(read)


def test_arrays_without_names_are_taken_quietly_by_a_model_with_names():
    Columns(NAMES, 3).match(X)
    Columns(NAMES, 3).match(dataset(X))
    Columns(NAMES, 3).match(pandas.DataFrame(X))
