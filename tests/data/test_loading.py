"""``load``: which reader takes what, and options that do not apply."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import rankgrove as rg
from rankgrove.errors import DataError

X = np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0]], np.float32)
Y = [0, 1, 2]


def test_dense_arrays_and_lists():
    data = rg.load(X, Y, qid=[1, 2, 1])
    assert np.shares_memory(data.X, X)
    assert rg.load(X.tolist(), Y, group_sizes=[1, 2]).n_queries == 2
    assert rg.load(data) is data


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_sparse_matrices_with_absent_entries_as_zero_or_nan(form):
    sparse = scipy.sparse.csr_matrix(X).asformat(form)
    np.testing.assert_array_equal(rg.load(sparse, Y, qid=[1, 1, 2]).X, X)
    kept = rg.load(sparse, Y, qid=[1, 1, 2], absent="missing").X
    np.testing.assert_array_equal(kept, np.where(X == 0, np.nan, X))


@pytest.mark.parametrize(
    "use",
    [
        rg.load,
        lambda lazy: rg.MART().fit(lazy, Y, qid=[1, 1, 1]),
        lambda lazy: rg.MART(n_estimators=1).fit(X, Y, qid=[1, 1, 1]).predict(lazy),
    ],
    ids=["load", "fit", "predict"],
)
def test_a_lazy_frame_is_refused_with_the_remedy(use):
    with pytest.raises(DataError, match=r"polars LazyFrame: X\.collect\(\)"):
        use(pl.DataFrame(X).lazy())


def test_sparse_duplicates_are_summed_and_stored_zeros_are_values():
    coo = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    kept = rg.load(coo, [0, 1], qid=[1, 1], absent="missing").X
    np.testing.assert_array_equal(kept, [[np.nan, 3], [0, np.nan]])
    assert coo.nnz == 3


def test_n_features_pads_matrices():
    assert rg.load(X, Y, qid=Y, n_features=5).X.shape == (3, 5)
    with pytest.raises(DataError, match="X has 3 columns, but n_features is 2"):
        rg.load(X, Y, qid=Y, n_features=2)


def test_queries_are_never_guessed():
    with pytest.raises(DataError, match="qid is missing"):
        rg.load(X, Y)
    with pytest.raises(DataError, match="labels are missing"):
        rg.load(X, qid=Y)


def test_negative_labels_of_arrays():
    with pytest.raises(DataError, match="row 1: the label -1 is negative"):
        rg.load(X, [0, -1, 2], qid=Y)
    assert rg.load(X, [0, -1, 2], qid=Y, negative_labels="keep").n_rows == 3
    assert rg.load(X, [0, -1, 2], qid=Y, negative_labels="drop").qid.tolist() == [0, 2]


def test_options_that_do_not_apply_are_refused(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("0 qid:1 1:1\n")
    with pytest.raises(ValueError, match="label does not apply to letor files"):
        rg.load(path, label="relevance")
    with pytest.raises(ValueError, match="first_feature does not apply to a matrix"):
        rg.load(X, Y, qid=Y, first_feature=1)
    with pytest.raises(ValueError, match="n_features does not apply to a Dataset"):
        rg.load(rg.load(path), n_features=5)
    with pytest.raises(ValueError, match="absent must be one of 'zero', 'missing', not 'mean'"):
        rg.load(path, absent="mean")
    with pytest.raises(ValueError, match="absent does not apply to a matrix that is dense"):
        rg.load(X, Y, qid=Y, absent="zero")
    with pytest.raises(ValueError, match="first_feature must be one of 0, 1, not 2"):
        rg.load(path, first_feature=2)
    with pytest.raises(ValueError, match="format 'xml' is not one of letor, parquet"):
        rg.load(path, format="xml")
    for number in (-1, 2**40):
        with pytest.raises(ValueError, match="n_features must be between"):
            rg.load(path, n_features=number)
    for name in ("n_features", "first_feature"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number, not 1.0"):
            rg.load(path, **{name: 1.0})


def test_format_overrides_the_name_and_magic_bytes_help_unknown_names(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("0 qid:1 1:1\n")
    assert rg.load(path, format="letor").n_rows == 1
    from rankgrove.data.writing import write_parquet

    write_parquet(rg.load(X, Y, qid=Y), tmp_path / "no_suffix")
    assert rg.load(tmp_path / "no_suffix").n_rows == 3


def test_lists_of_files_are_read_one_after_the_other(tmp_path):
    for name, text in [("a.txt", "0 qid:1 1:1\n1 qid:2 1:2\n"), ("b.txt", "2 qid:2 1:3\n")]:
        (tmp_path / name).write_text(text)
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    with pytest.raises(DataError, match=r"the query 2 occurs in .*a\.txt.* and in .*b\.txt"):
        rg.load(paths)
    both = rg.load(paths, shared_queries="merge")
    assert both.y.tolist() == [0, 1, 2]
    assert both.group_sizes.tolist() == [1, 2]
    apart = rg.load(paths, shared_queries="apart")
    assert apart.groups.ids.tolist() == ["1/1", "1/2", "2/2"]
    with pytest.raises(ValueError, match="shared_queries must be one of"):
        rg.load(paths, shared_queries="yes")


@pytest.mark.parametrize("suffix", ["txt", "csv", "parquet"])
def test_ids_that_are_numbers_in_one_file_and_texts_in_another(tmp_path, suffix):
    for name, ids in (("one", [6, 7]), ("two", [7, "q9"])):
        qid = np.repeat(np.array(ids), 2)
        data = rg.Dataset(np.arange(4.0).reshape(4, 1), [1, 0, 1, 0], qid, feature_names=["f1"])
        if suffix == "csv":
            rows = zip(data.y, data.qid, data.X[:, 0], strict=True)
            lines = ["label,qid,f1", *(f"{y:g},{query},{x}" for y, query, x in rows)]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines))
        elif suffix == "txt":
            rg.write_letor(data, tmp_path / f"{name}.txt")
        else:
            rg.write_parquet(data, tmp_path / f"{name}.parquet")
    paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
    ranker = rg.MART(n_estimators=2, min_samples_leaf=1, random_state=0)
    for read in (rg.load, lambda paths, **options: ranker.fit(rg.scan(paths, **options))):
        with pytest.raises(rg.DataError, match=r"query '7' occurs in .*one\..* and in .*two\."):
            read(paths)
    both = rg.load(paths, shared_queries="merge")
    assert both.qid.tolist() == ["6", "6", "7", "7", "7", "7", "q9", "q9"]
    assert both.group_sizes.tolist() == [2, 4, 2]
    streamed = ranker.fit(rg.scan(paths, shared_queries="merge")).predict(both)
    np.testing.assert_array_equal(streamed, ranker.fit(both).predict(both))


def test_unknown_objects_are_refused():
    with pytest.raises(DataError, match="cannot load a dict"):
        rg.load({"a": 1})
    with pytest.raises(DataError, match="cannot load a NoneType"):
        rg.load(None)


class TestLike:
    """``load(like=...)``: the columns and the reading of other data."""

    @pytest.fixture
    def read(self, tmp_path):
        def read_text(text, name="data.txt", **options):
            (tmp_path / name).write_text(text)
            return rg.load(tmp_path / name, **options)

        return read_text

    @pytest.mark.parametrize("absent", ["zero", "missing"])
    @pytest.mark.parametrize("first", [0, 1])
    def test_text_is_read_as_text_was(self, read, first, absent):
        train = read(f"1 qid:1 {first}:1 4:2\n", absent=absent)
        test = read("1 qid:1 1:7 2:nan\n", like=train)
        assert test.feature_names == train.feature_names
        assert test.absent == absent
        filler = 0 if absent == "zero" else np.nan
        np.testing.assert_array_equal(test.X, [[filler, 7, np.nan, filler, filler][first:]])
        assert read("1 qid:1 1:7\n", like=train, absent="zero").absent == "zero"

    def test_features_beyond_are_refused(self, read):
        train = read("1 qid:1 1:1\n")
        with pytest.raises(DataError, match="there are 1 features"):
            read("1 qid:1 2:1\n", like=train)

    def test_tables_are_taken_by_name(self, read):
        train = read("qid,label,a,b\n1,2,3,4\n", "train.csv")
        test = read("b,note,label,a,qid\n4,text,2,3,1\n", "test.csv", like=train)
        assert test.feature_names == ("a", "b")
        assert test.X.tolist() == [[3, 4]]
        with pytest.raises(DataError, match=r"lacks 1 of the 2 features .*: 'b'"):
            read("qid,label,a\n1,2,3\n", "test.csv", like=train)

    @pytest.mark.parametrize("order", ["id a weight", "weight a id", "weight a id label qid"])
    def test_features_of_the_model_are_features_whatever_their_name(self, read, order):
        train = rg.Dataset(X, Y, Y, feature_names=["id", "a", "weight"])
        row = {"id": 3, "a": 4, "weight": 5, "label": 1, "qid": 2}
        text = ",".join(order.split()) + "\n" + ",".join(str(row[c]) for c in order.split())
        options = {} if "label" in order else {"y": [1], "qid": [2]}
        test = read(text + "\n", "test.csv", like=train, **options)
        assert test.feature_names == ("id", "a", "weight")
        assert test.X.tolist() == [[3, 4, 5]]
        assert test.sample_weight is None

    def test_names_that_lightgbm_spells_with_underscores_are_found(self, read):
        train = rg.Dataset(X, Y, Y, feature_names=["a_b", "c", "d_e"])
        test = read("d e,label,a b,qid,c\n5,1,3,2,4\n", "test.csv", like=train)
        assert test.X.tolist() == [[3, 4, 5]]

    def test_matrices_and_data_sets_are_matched(self):
        named = rg.Dataset(X, Y, Y, feature_names=["a", "b", "c"])
        turned = rg.Dataset(X[:, ::-1], Y, Y, feature_names=["c", "b", "a"])
        again = rg.load(turned, like=named)
        assert again.feature_names == ("a", "b", "c")
        np.testing.assert_array_equal(again.X, X)
        assert rg.load(X, Y, qid=Y, like=named).feature_names == ("a", "b", "c")
        with pytest.raises(DataError, match="X has 2 features, but the model is expecting 3"):
            rg.load(X[:, :2], Y, qid=Y, like=named)

    def test_a_fitted_ranker_knows_its_columns(self, read):
        train = read("1 qid:1 1:1 3:2\n0 qid:1 2:5\n" * 20, absent="missing")
        ranker = rg.MART(n_estimators=1).fit(train)
        test = read("1 qid:1 1:7\n", like=ranker)
        assert (test.n_features, test.absent) == (3, "missing")
        ranker.predict(test)


def test_parquet_remembers_what_absent_features_were(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 2:1\n")
    for absent in ("zero", "missing"):
        rg.write_parquet(rg.load(tmp_path / "data.txt", absent=absent), tmp_path / "data.parquet")
        assert rg.load(tmp_path / "data.parquet").absent == absent
    assert rg.load(X, Y, qid=Y).absent is None
    assert rg.load(scipy.sparse.csr_matrix(X), Y, qid=Y).absent == "zero"
    with pytest.raises(ValueError, match="absent does not apply to parquet files"):
        rg.load(tmp_path / "data.parquet", absent="missing")


@pytest.mark.parametrize("name", ["data.csv", "data.npz", "data.parquet"])
def test_tables_beyond_the_memory_are_refused(tmp_path, monkeypatch, name):
    for module in ("arrow", "npz"):
        monkeypatch.setattr(f"rankgrove.data.reading.{module}.memory_limit", lambda: 1000)
    path = tmp_path / name
    if name == "data.csv":
        path.write_text("qid,label,a\n" + "1,0,1\n" * 100)
    elif name == "data.npz":
        np.savez_compressed(path, X=np.zeros((1000, 3)), y=np.zeros(1000), qid=np.zeros(1000, int))
    else:
        rg.write_parquet(rg.Dataset(np.zeros((100, 3)), np.zeros(100), np.zeros(100, int)), path)
    with pytest.raises(DataError, match=r"data\..* not fit into memory"):
        rg.load(path)


class TestAbsentHasNoMeaningInTables:
    FRAME = pd.DataFrame({"label": [0, 1, 2], "qid": [1, 1, 1], "f1": [1, 0, 2], "f2": [0, 3, 1]})

    @pytest.fixture(params=["csv", "parquet", "arrow", "pandas", "polars", "pyarrow", "Dataset"])
    def table(self, request, tmp_path):
        path = tmp_path / f"data.{request.param}"
        makers = {
            "csv": lambda: self.FRAME.to_csv(path, index=False),
            "parquet": lambda: self.FRAME.to_parquet(path),
            "arrow": lambda: self.FRAME.to_feather(path),
            "pandas": lambda: self.FRAME,
            "polars": lambda: pl.DataFrame(self.FRAME.to_dict("list")),
            "pyarrow": lambda: pa.table(self.FRAME.to_dict("list")),
            "Dataset": lambda: rg.load(self.FRAME),
        }
        made = makers[request.param]()
        return path if made is None else made

    @pytest.fixture(params=["zero", "missing"])
    def train(self, request, tmp_path):
        path = tmp_path / "train.txt"
        path.write_text("0 qid:1 1:1 2:4\n1 qid:1 2:5\n")
        return rg.load(path, absent=request.param)

    @pytest.mark.parametrize("absent", ["zero", "missing"])
    def test_given_it_is_refused(self, table, train, absent):
        for like in (None, train):
            with pytest.raises(ValueError, match="absent does not apply to"):
                rg.load(table, like=like, absent=absent)
        if not isinstance(table, rg.Dataset):
            source = table if isinstance(table, Path) else lambda: iter([table])
            with pytest.raises(ValueError, match="absent does not apply to"):
                rg.scan(source, like=train, absent=absent).read()

    def test_taken_over_from_a_model_it_is_not(self, table, train):
        expected = self.FRAME[["f1", "f2"]].to_numpy()
        np.testing.assert_array_equal(rg.load(table, like=train).X, expected)
        ranker = rg.MART(n_estimators=2, min_samples_leaf=1).fit(train)
        np.testing.assert_array_equal(rg.load(table, like=ranker).X, expected)
        if isinstance(table, Path):
            np.testing.assert_array_equal(
                ranker.predict(rg.scan(table)), ranker.predict(rg.load(table, like=ranker))
            )


@pytest.mark.parametrize("name", ["data.xlsx", "data.xls", "data.bin"])
def test_spreadsheets_are_called_what_they_are(tmp_path, name):
    """An .xlsx file is a zip archive, as .npz is."""
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(DataError, match=r"is a spreadsheet.*pandas\.read_excel"):
        rg.load(tmp_path / name)


@pytest.mark.parametrize("number", [10**18, 2**63 - 1, -(2**63)])
def test_ids_of_64_bits_are_integers_in_every_format(tmp_path, number):
    data = rg.load(np.ones((2, 1)), [0, 1], qid=[number, number])
    rg.write_letor(data, tmp_path / "data.txt")
    rg.write_parquet(data, tmp_path / "data.parquet")
    (tmp_path / "data.csv").write_text(f"qid,label,f1\n{number},0,1\n{number},1,1\n")
    for suffix in ("txt", "parquet", "csv"):
        read = rg.load(tmp_path / f"data.{suffix}")
        assert read.qid.dtype == np.int64
        assert read.qid.tolist() == [number, number]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**19])
def test_ids_beyond_64_bits_stay_texts(tmp_path, number):
    (tmp_path / "data.txt").write_text(f"0 qid:{number} 1:1\n1 qid:7 1:1\n")
    (tmp_path / "data.csv").write_text(f"qid,label,f1\n{number},0,1\n7,1,1\n")
    for suffix in ("txt", "csv"):
        assert rg.load(tmp_path / f"data.{suffix}").qid.tolist() == [str(number), "7"]
