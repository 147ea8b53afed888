"""The Dataset: what it takes, what it refuses, and selections of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankgrove
from rankgrove.data.core.dataset import Dataset, concatenate
from rankgrove.errors import DataError

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = [0, 1, 2, 0, 1, 2]
QID = ["b", "a", "b", "c", "a", "b"]


@pytest.fixture
def data() -> Dataset:
    return Dataset(
        X,
        Y,
        QID,
        sample_weight=[1, 2, 3, 4, 5, 6],
        doc_ids=list("uvwxyz"),
        comments=["one", None, "three", None, None, "six"],
    )


def test_interleaved_queries_are_grouped_and_rows_stay_in_place(data):
    assert data.n_queries == 3
    assert data.groups.ids.tolist() == ["b", "a", "c"]
    assert data.group_sizes.tolist() == [3, 2, 1]
    assert data.qid.tolist() == QID
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.groups.grouped(data.y), [0, 2, 2, 1, 1, 0])


def test_float32_in_c_order_is_not_copied(data):
    assert np.shares_memory(data.X, X)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, bool, np.float16, object])
def test_other_numbers_become_float32(dtype):
    data = Dataset(np.array([[1, 0], [0, 1]], dtype), [1, 0], group_sizes=[2])
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X, [[1, 0], [0, 1]])


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_keep_the_names_of_their_columns(table):
    """So that a model takes them by name, not by position."""
    data = Dataset(table({"price": X[:, 0], "bm25": X[:, 1]}), Y, QID)
    other = Dataset(table({"bm25": X[:, 1], "price": X[:, 0]}), Y, QID)
    assert data.feature_names == ("price", "bm25")
    ranker = rankgrove.MART(n_estimators=3, min_samples_leaf=1, random_state=0).fit(data)
    np.testing.assert_array_equal(ranker.predict(other), ranker.predict(data))


def test_names_that_are_given_replace_those_of_a_table():
    frame = pd.DataFrame({"price": X[:, 0], "bm25": X[:, 1]})
    assert Dataset(frame, Y, QID, feature_names=["a", "b"]).feature_names == ("a", "b")


def test_categories_of_a_table_are_kept():
    frame = pd.DataFrame({"price": X[:, 0], "brand": pd.Categorical(list("xyzxyx"))})
    data = Dataset(frame, Y, QID)
    assert data.categories[1].values == ("x", "y", "z")
    np.testing.assert_array_equal(data.X[:, 1], rankgrove.load(frame, Y, qid=QID).X[:, 1])


def test_sparse_frames_stay_sparse_and_keep_their_names():
    frame = pd.DataFrame(X, columns=["price", "bm25"]).astype(pd.SparseDtype("float32", 0))
    data = Dataset(frame, Y, QID)
    assert data.feature_names == ("price", "bm25")
    assert data.matrix.entries is not None


def test_rows_on_a_cluster_and_texts_are_refused_by_name():
    with pytest.raises(DataError, match="LazyFrame"):
        Dataset(pl.LazyFrame({"price": X[:, 0]}), Y, QID)
    with pytest.raises(DataError, match="column 'brand' of X holds 'x'"):
        Dataset(pd.DataFrame({"brand": list("xyzxyx")}), Y, QID)


def test_fortran_order_and_strides_are_rearranged():
    wide = np.asfortranarray(np.arange(24.0).reshape(4, 6))
    data = Dataset(wide[::2, ::3], [0, 1], group_sizes=[2])
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.X, wide[::2, ::3])


def test_select_queries_keeps_rows_in_order_with_all_that_belongs_to_them(data):
    for queries in ([2, 0], np.array([True, False, True])):
        chosen = data.select_queries(queries)
        assert chosen.qid.tolist() == ["b", "b", "c", "b"]
        np.testing.assert_array_equal(chosen.X, X[[0, 2, 3, 5]])
        assert chosen.sample_weight.tolist() == [1, 3, 4, 6]
        assert chosen.doc_ids.tolist() == ["u", "w", "x", "z"]
        assert chosen.comments.tolist() == ["one", "three", None, "six"]
    assert data.select_queries([]).n_rows == 0


def test_selections_out_of_range_are_refused(data):
    with pytest.raises(DataError, match="positions below 3"):
        data.select_queries([3])
    with pytest.raises(DataError, match=r"shape \(2,\), but there are 3 queries"):
        data.select_queries([True, False])
    with pytest.raises(DataError, match=r"shape \(2,\), but there are 6 rows"):
        data.select_rows([True, False])
    with pytest.raises(DataError, match="there is no row 6 of 6"):
        data.select_rows([0, 6])
    with pytest.raises(DataError, match="rows must be a mask or whole numbers"):
        data.select_rows([0.5])


def test_concatenate_fills_in_missing_texts(data):
    other = Dataset(X[:1], [5], ["d"], sample_weight=[7])
    both = concatenate([data, other])
    assert both.n_rows == 7
    assert both.group_sizes.tolist() == [3, 2, 1, 1]
    assert both.comments.tolist()[-1] is None
    assert both.sample_weight.tolist()[-1] == 7
    numbers = concatenate([other, Dataset(X[:1], [5], [3], sample_weight=[1])])
    assert numbers.qid.tolist() == ["d", "3"]
    with pytest.raises(DataError, match="other features"):
        concatenate([data, Dataset(X, Y, QID, feature_names=["p", "q"], sample_weight=Y)])
    with pytest.raises(DataError, match="sample weights"):
        concatenate([data, Dataset(X, Y, QID)])


def test_concatenate_never_merges_queries_unasked(data):
    other = Dataset(X[:2], [5, 6], ["c", "z"], sample_weight=[7, 7], source="b.txt")
    with pytest.raises(DataError, match=r"the query 'c' occurs in <.*b\.txt.*'merge'"):
        concatenate([data, other])
    assert concatenate([data, other], "merge").group_sizes.tolist() == [3, 2, 2, 1]
    apart = concatenate([data, other], "apart")
    assert apart.groups.ids.tolist() == ["1/b", "1/a", "1/c", "2/c", "2/z"]


def test_group_sizes_with_an_empty_query():
    data = Dataset(X, Y, group_sizes=[4, 0, 2])
    assert data.n_queries == 3
    assert data.qid.tolist() == [0, 0, 0, 0, 2, 2]


BAD = {
    "no queries": ({"qid": None}, "qid is missing"),
    "both": ({"group_sizes": [6]}, "either qid or group_sizes"),
    "short qid": ({"qid": [1, 2]}, "qid has 2 entries, but there are 6 rows"),
    "missing qid": ({"qid": [1, 1, None, 2, 2, 2]}, "qid is missing in row 2"),
    "nan qid": ({"qid": [1, 1, np.nan, 2, 2, 2]}, "qid is missing in row 2"),
    "sizes": ({"qid": None, "group_sizes": [2, 3]}, "group sizes add up to 5 but there are 6 rows"),
    "negative size": (
        {"qid": None, "group_sizes": [7, -1]},
        "group size -1 of query 1 is negative",
    ),
    "short y": ({"y": [1]}, "y has 1 entries but X has 6 rows"),
    "nan y": ({"y": [0, 1, 2, np.nan, 0, 0]}, "y of row 3 is nan"),
    "text y": ({"y": list("abcdef")}, "y must hold numbers, not texts"),
    "digits y": ({"y": list("010101")}, "y must hold numbers, not texts"),
    "digit objects y": ({"y": np.array(list("010101"), object)}, "y holds '0', which is not a num"),
    "dates y": ({"y": np.array(Y, "datetime64[D]")}, "y must hold numbers, not dates"),
    "complex y": ({"y": np.array(Y, complex)}, "y must hold numbers, not complex128"),
    "masked y": ({"y": np.ma.masked_equal(Y, 2)}, "y of row 2 is nan"),
    "masked qid": ({"qid": np.ma.masked_equal(Y, 2)}, "qid is missing in row 2"),
    "NaT qid": ({"qid": np.array([1, 1, "NaT", 2, 2, 2], "M8[D]")}, "qid is missing in row 2"),
    "complex qid": ({"qid": np.ones(6, complex)}, "qid must hold numbers or texts"),
    "float qid": ({"qid": [2.0**53] * 6}, "qid 9007199254740992 of row 0 is a float too large"),
    "a NUL": ({"qid": ["a", "a\0", "a", "b", "b", "b"]}, r"row 1 ends in a NUL character"),
    "a NUL object": ({"qid": np.array(["a\0", *"abbbb"], object)}, r"row 0 ends in a NUL"),
    "1 and '1'": ({"qid": [1, "1", 2, 2, 3, 3]}, "numbers and texts that read the same"),
    "sizes that wrap": (
        {"qid": None, "group_sizes": np.array([2**63, 2**63, 6], np.uint64)},
        "group size 9223372036854775808 of query 0 is too large",
    ),
    "flat X": ({"X": np.zeros(6)}, r"two dimensions .* not shape \(6,\)"),
    "text X": ({"X": [["a", "b"]] * 6}, "X must hold numbers"),
    "object X": ({"X": np.array([["a", 1]] * 6, object)}, "not a number"),
    "complex X": ({"X": X.astype(complex)}, "X must hold numbers"),
    "huge X": ({"X": np.where(X == 7, 1e39, X.astype(float))}, r"X\[3, 1\] = 1e\+39 is too large"),
    "names": ({"feature_names": ["a"]}, "1 feature names for 2 features"),
    "names twice": ({"feature_names": ["a", "a"]}, "'a' is given twice"),
    "one name": ({"feature_names": "ab"}, "list of names"),
    "negative weight": ({"sample_weight": [1, 1, -1, 1, 1, 1]}, "sample_weight -1.0 of row 2"),
    "few doc ids": ({"doc_ids": ["a"]}, "doc_ids has 1 entries, but X has 6 rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    changes, message = BAD[name]
    arguments = {"X": X, "y": Y, "qid": QID} | changes
    with pytest.raises(DataError, match=message):
        Dataset(**arguments)


@pytest.mark.parametrize(
    "ids", [[2**63 + 1, -1, 2**63 + 2], np.array([2**63 + 1, 2**63 + 3, 2**63 + 2], np.uint64)]
)
def test_large_ids_stay_apart(ids):
    data = Dataset(X[:3], Y[:3], ids)
    assert data.n_queries == 3
    assert [str(i) for i in data.groups.ids.tolist()] == [str(i) for i in ids]
    other = Dataset(X[:1], [0], [-5])
    assert concatenate([data, other]).n_queries == 4


def test_masked_features_are_missing():
    data = Dataset(np.ma.masked_less(X, 3), Y, QID)
    np.testing.assert_array_equal(np.isnan(data.X), X < 3)


def test_a_dataset_remembers_what_absent_features_were_read_as():
    data = Dataset(X, Y, QID, absent="missing")
    assert data.select_rows([0, 3]).absent == "missing"
    assert data.select_queries([1]).absent == "missing"
    assert data.with_features(X[:, :1], ["f1"]).absent == "missing"
    other = Dataset(X[:1], [0], ["z"], absent="missing")
    assert concatenate([data, other]).absent == "missing"
    assert Dataset(X, Y, QID).absent is None
    with pytest.raises(DataError, match=r"absent='missing', .* with 'zero'"):
        concatenate([data, Dataset(X[:1], [0], ["z"], absent="zero")])


def test_repr_says_what_it_is(data):
    assert repr(data) == "<Dataset 6 rows, 3 queries, 2 features>"


def test_one_of_a_thing_is_not_several():
    assert repr(Dataset(X[:1, :1], [0], ["a"])) == "<Dataset 1 row, 1 query, 1 feature>"


def test_notebooks_show_a_table_of_escaped_texts():
    data = Dataset(X[:, :2], Y, QID, feature_names=["<b>", "f2"], source="<i>.csv")
    html = data._repr_html_()
    assert "<td>&lt;b&gt;, f2</td>" in html
    assert "<caption>&lt;i&gt;.csv</caption>" in html
    assert f"<td>rows</td><td>{len(Y)}</td>" in html
