"""Tables: Parquet, Arrow IPC, and frames of pandas, polars and pyarrow."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import rankgrove as rg
from rankgrove.data.reading.arrow_columns import row_values
from rankgrove.errors import DataError, DataWarning

COLUMNS = {
    "qid": [3, 3, 1],
    "bm25": [0.5, None, 2.0],
    "length": [10, 20, 30],
    "label": [1, 0, 2],
    "fresh": [True, False, True],
}
EXPECTED = np.array([[0.5, 10, 1], [np.nan, 20, 0], [2, 30, 1]], np.float32)


def as_file(write, suffix):
    def make(tmp_path, table):
        path = tmp_path / f"data{suffix}"
        write(table, path)
        return path

    return make


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


SOURCES = {
    "pyarrow": lambda tmp_path, table: table,
    "record batch": lambda tmp_path, table: table.combine_chunks().to_batches()[0],
    "pandas": lambda tmp_path, table: table.to_pandas(),
    "pandas with index": lambda tmp_path, table: table.to_pandas().set_index(pd.Index([9, 8, 7])),
    "polars": lambda tmp_path, table: pl.from_arrow(table),
    "chunks": lambda tmp_path, table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
    "parquet": as_file(pq.write_table, ".parquet"),
    "parquet, small groups": as_file(lambda t, p: pq.write_table(t, p, row_group_size=1), ".pq"),
    "feather": as_file(pyarrow.feather.write_feather, ".feather"),
    "ipc stream": as_file(write_stream, ".arrow"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_table_gives_the_same_dataset(tmp_path, name):
    data = rg.load(SOURCES[name](tmp_path, pa.table(COLUMNS)))
    np.testing.assert_array_equal(data.X, EXPECTED)
    assert data.feature_names == ("bm25", "length", "fresh")
    assert data.y.tolist() == [1, 0, 2]
    assert data.qid.tolist() == [3, 3, 1]
    assert data.qid.dtype == np.int64


def test_columns_can_be_named():
    frame = pl.DataFrame({"g": ["x", "y"], "r": [0, 1], "a": [1.0, 2.0], "url": ["u", "v"]})
    data = rg.load(frame, label="r", query="g", features=["a"], doc_id="url")
    assert data.qid.tolist() == ["x", "y"]
    assert data.X.tolist() == [[1], [2]]
    assert data.doc_ids.tolist() == ["u", "v"]
    swapped = rg.load(pa.table(COLUMNS), features=["length", "bm25"])
    assert swapped.feature_names == ("length", "bm25")


def test_labels_and_queries_can_come_from_elsewhere():
    table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    data = rg.load(table, [0, 1], group_sizes=[2], feature_names=["p", "q"])
    assert data.X.tolist() == [[1, 3], [2, 4]]
    assert data.feature_names == ("p", "q")


def test_conventional_names_weights_and_comments():
    table = pa.table(
        {"Query_ID": [1], "Relevance": [2], "weight": [0.5], "docno": ["d"], "comment": ["c"]}
    )
    data = rg.load(table)
    assert data.n_features == 0
    assert (data.sample_weight.tolist(), data.doc_ids.tolist()) == ([0.5], ["d"])
    assert data.comments.tolist() == ["c"]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["b", "a", "b"]), ["b", "a", "b"]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
        (pa.array([1, 2, 2**63], pa.uint64()), [1, 2, 2**63]),
        (pa.array([1.0, 2.0, 2.0]), [1, 2, 2]),
        (pa.array([-5, 7, -5], pa.int8()), [-5, 7, -5]),
    ],
    ids=["text", "dictionary", "uint64", "whole floats", "int8"],
)
def test_types_of_query_ids(ids, expected):
    data = rg.load(pa.table({"qid": ids, "label": [0, 1, 2], "a": [1, 2, 3]}))
    assert data.qid.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None], pa.int64()),
        pa.array([1.0, 2.0, np.nan]),
        pa.array([1, 2, None], pa.decimal128(5, 1)),
        pa.array([np.float16(1), np.float16(2), None], pa.float16()),
        pa.array([True, True, None]),
    ],
)
def test_null_and_nan_are_nan(values):
    data = rg.load(pa.table({"qid": [1, 1, 1], "label": [0, 1, 2], "a": values}))
    assert np.isnan(data.X[2, 0])
    assert data.X[0, 0] == 1


def test_null_beside_whole_numbers_that_float64_does_not_hold(tmp_path):
    wide = pa.array([2**53 + 1, 2**60, None], pa.int64())
    table = pa.table({"qid": [1, 1, 1], "label": [0, 1, 2], "a": wide})
    pq.write_table(table, tmp_path / "wide.parquet")
    expected = np.array([2**53, 2**60, np.nan], np.float32)
    for source in (table, tmp_path / "wide.parquet"):
        np.testing.assert_array_equal(rg.load(source).X[:, 0], expected)
    column = table.select(["a"])
    fitted = rg.MART(n_estimators=1, min_samples_leaf=1).fit(column, [0, 1, 2], qid=[1, 1, 1])
    np.testing.assert_array_equal(fitted.predict(column), fitted.predict(expected[:, None]))


LEAKS = ("rel", "Query_ID", "docno", "Unnamed: 0", "index", "__index_level_0__", "weight", "")


@pytest.mark.parametrize("leak", LEAKS)
def test_columns_that_look_like_answers_or_ids_are_no_features_unless_named(leak):
    table = pa.table({"grade": [1], "search": ["a"], "bm25": [3.0], leak: [1]})
    options = {"label": "grade", "query": "search"}
    if leak in ("docno", "weight"):  # taken as what they are
        assert rg.load(table, **options).feature_names == ("bm25",)
    else:
        with pytest.warns(DataWarning, match=f"left out: {leak!r} "):
            assert rg.load(table, **options).feature_names == ("bm25",)
    named = rg.load(table, **options, features=["bm25", leak])
    assert named.feature_names == ("bm25", leak)
    ignored = rg.load(table, **options, ignore=[leak])
    assert ignored.feature_names == ("bm25",)


def test_columns_named_by_integers_can_be_named():
    frame = pd.DataFrame([[0.5, 1, 2, 7.5]])
    data = rg.load(frame, label=2, query=1)
    assert data.y.tolist() == [2]
    assert data.feature_names == ("0", "3")


def test_a_column_that_arrow_cannot_hold_is_named():
    with pytest.raises(DataError, match="column 'phase' cannot be read"):
        rg.load(pd.DataFrame({"label": [1], "qid": [1], "phase": [1j]}))


def test_a_column_named_comment_can_hold_queries():
    data = rg.load(pa.table({"label": [1], "comment": ["shoes"], "a": [1]}), query="comment")
    assert data.qid.tolist() == ["shoes"]
    assert data.comments is None


def test_a_wrong_name_is_helped_with():
    columns = {f"c{j}": [1] for j in range(40)} | {"grade": [1], "qid": [1]}
    message = r"no column 'grad' \(did you mean 'grade'\?\); there are 'grade', 'qid', 'c0'"
    with pytest.raises(DataError, match=message):
        rg.load(pa.table(columns), label="grad")


BAD = {
    "no label": ({"qid": [1], "a": [1]}, {}, "no column of labels .*'qid', 'a'.*label="),
    "no query": ({"label": [1], "a": [1]}, {}, "no column of query ids .*query="),
    "another spelling": ({"label": [1], "Query ID": [1], "a": [1]}, {}, "; is it 'Query ID'.$"),
    "a label that is named as a feature": (
        {"label": [1], "qid": [1], "a": [1]},
        {"features": ["a", "label"]},
        "; 'label' is named as something else, such as a feature$",
    ),
    "unknown": ({"label": [1], "qid": [1]}, {"features": ["z"]}, "there is no column 'z'"),
    "text": ({"label": [1], "qid": [1], "t": ["x"]}, {}, "hold no numbers: 't'; .*--ignore t "),
    "list": ({"label": [1], "qid": [1], "t": [[1]]}, {}, "hold no numbers: 't'; leave"),
    "named text": (
        {"label": [1], "qid": [1], "t": ["x"]},
        {"features": ["t"]},
        "column 't' holds texts, not numbers",
    ),
    "date": (
        {"label": [1], "qid": [1], "day": [datetime.date(2020, 1, 1)]},
        {},
        r"hold no numbers: 'day'; leave .*ignore=\['day'\]",
    ),
    "float qid": ({"label": [1], "qid": [2.0**53]}, {}, "is not a query id"),
    "null qid": ({"label": [1, 2], "qid": [1, None]}, {}, "query id is missing in row 1"),
    "fraction": ({"label": [1, 2], "qid": [1, 1.5]}, {}, "row 1: 1.5 is not a query id"),
    "null label": ({"label": [1, None], "qid": [1, 1]}, {}, "'label' is missing in row 1"),
    "nan label": ({"label": [1, np.nan], "qid": [1, 1]}, {}, "'label': the value of row 1 is nan"),
    "text label": ({"label": ["x"], "qid": [1]}, {}, "'label' holds texts, not numbers"),
    "huge": ({"label": [1], "qid": [1], "a": [1e39]}, {}, r"'a', row 0: 1e\+39 is too large"),
    "two labels": ({"label": [1], "Label": [1], "qid": [1]}, {}, "could all be the label"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused(tmp_path, name):
    columns, options, message = BAD[name]
    with pytest.raises(DataError, match=message):
        rg.load(pa.table(columns), **options)
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match=rf"data\.parquet: .*{message}"):
        rg.load(path, **options)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("text", [b"", b"nonsense", b"PAR1", b"ARROW1\0\0junk"])
def test_files_that_are_no_tables_are_refused(tmp_path, suffix, text):
    path = tmp_path / f"data{suffix}"
    path.write_bytes(text)
    with pytest.raises(DataError, match=rf"data\{suffix}: "):
        rg.load(path)
    with pytest.raises(DataError, match="no such file"):
        rg.load(tmp_path / f"none{suffix}")


def test_truncated_parquet_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    whole = path.read_bytes()
    for cut in (len(whole) - 1, len(whole) // 2, 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"data\.parquet: "):
            rg.load(path)


@pytest.mark.parametrize("form", ["string", "large_string", "binary", "dictionary"])
def test_query_ids_that_end_in_a_nul_character_are_refused(form, tmp_path):
    """Numpy cuts it off: "a" and "a\\0" would be one query."""
    ids = pa.array(["a", "a\0", "b"])
    ids = ids.dictionary_encode() if form == "dictionary" else ids.cast(getattr(pa, form)())
    table = pa.table({"label": [1, 0, 0], "qid": ids, "a": [1, 2, 3]})
    pq.write_table(table, tmp_path / "data.parquet")
    for source in (table, tmp_path / "data.parquet"):
        with pytest.raises(DataError, match=r"column 'qid', row 1: the query id .* NUL character"):
            rg.load(source)


BEYOND = 2**53


@pytest.mark.parametrize("form", [pa.table, pd.DataFrame, pl.DataFrame])
def test_whole_numbers_that_floats_would_merge(form):
    """Ids stay apart, labels are refused, and of features it is told."""
    columns = {"label": [1, 0, 2], "qid": [1, 1, 1], "a": [1.0, 2.0, 3.0]}
    three = [BEYOND, BEYOND + 1, BEYOND + 2]
    assert rg.load(form({**columns, "qid": three})).qid.tolist() == three
    with pytest.raises(DataError, match=f"'label': the value of row 1 is {BEYOND + 1}, which"):
        rg.load(form({**columns, "label": three}))
    with pytest.warns(DataWarning, match="whole numbers beyond 2\\^53.* 'hash'"):
        rg.load(form({**columns, "hash": three}))


def test_a_rounded_label_is_told_by_its_row_in_the_whole_table():
    with pytest.raises(DataError, match=f"'y': the value of row 11 is {BEYOND + 1}, which"):
        row_values(pa.chunked_array([[0, BEYOND + 1]]), "y", first_row=10)


def test_labels_of_arrays_that_floats_would_merge():
    y = np.array([BEYOND, BEYOND + 1, BEYOND + 2])
    X, qid, message = np.ones((3, 1)), [1, 1, 1], f"row 1 is {BEYOND + 1}, which float64 rounds to"
    with pytest.raises(DataError, match=f"y of {message}"):
        rg.load(X, y, qid=qid)
    with pytest.raises(DataError, match=f"y of {message}"):
        rg.MART().fit(X, y, qid=qid)
    with pytest.raises(DataError, match=f"labels of {message}"):
        rg.evaluate(y, [1, 2, 3], qid=qid)
    assert rg.load(X, y.astype(float), qid=qid).y.tolist() == y.astype(float).tolist()
    assert rg.load(X, [2**60, 2**61, 0], qid=qid).y.tolist() == [2.0**60, 2.0**61, 0]


def coded(values, kind=None):
    """Return a dictionary column of two values, each three times."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1, 1, 1]), pa.array(values, kind))


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.int64()])
def test_a_query_id_that_is_null_in_a_dictionary_is_missing(kind):
    known = 7 if kind == pa.int64() else "a"
    table = pa.table({"label": [0, 1] * 3, "qid": coded([known, None], kind), "x": range(6)})
    with pytest.raises(DataError, match="column 'qid': the query id is missing in row 3"):
        rg.load(table)


def test_categorical_ids_of_polars():
    ids = pl.Series(["b", "b", "a"], dtype=pl.Categorical)
    parts = [pl.DataFrame({"label": [0, 1, 2], "qid": ids, "doc": ids, "x": [1, 2, 3]})] * 2
    data = rg.load(pl.concat(parts, rechunk=False), doc_id="doc")
    assert data.qid.tolist() == data.doc_ids.tolist() == ["b", "b", "a"] * 2


def test_sparse_columns_of_pandas_are_read_as_their_values():
    dense = pd.DataFrame({"label": [0, 1, 2], "qid": [1, 1, 1], "x": [0.0, 5.0, 0.0]})
    data = rg.load(dense.astype({"label": "Sparse[int]", "x": pd.SparseDtype(float, 0.0)}))
    assert data.y.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(data.X, dense[["x"]])


@pytest.fixture
def stream(tmp_path):
    """A stream of three batches as bytes, and where each of its parts ends."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"label": [1, 0], "qid": [1, 1], "x": [0.5, 0.25]})
    ends = []
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(3):
            writer.write_batch(batch)
            ends.append(sink.tell())
    return sink.getvalue().to_pybytes(), ends


def read_both_ways(path):
    data = rg.load(path)
    rg.MART(n_estimators=1, min_samples_leaf=1).fit(rg.scan(path))
    return data


@pytest.mark.parametrize("extra", [b"garbage", None])
def test_bytes_after_the_end_of_a_stream_are_refused(tmp_path, stream, extra):
    whole, _ = stream
    path = tmp_path / "data.arrow"
    path.write_bytes(whole + (whole if extra is None else extra))  # as by cat one two > both
    n_bytes = len(whole if extra is None else extra)
    with pytest.raises(DataError, match=f"data.arrow: {n_bytes} bytes follow the end of the Arrow"):
        rg.load(path)
    with pytest.raises(DataError, match="bytes follow the end"):
        rg.MART(n_estimators=1).fit(rg.scan(path))


def test_a_stream_without_an_end_mark_is_told(tmp_path, stream):
    whole, ends = stream
    path = tmp_path / "data.arrow"
    path.write_bytes(whole[: ends[1]])
    with pytest.warns(DataWarning, match=r"data.arrow: the Arrow stream has no end mark"):
        assert read_both_ways(path).n_rows == 4
    path.write_bytes(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_both_ways(path).n_rows == 6
