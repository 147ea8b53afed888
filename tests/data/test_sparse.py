"""Sparse features: what scipy gives, checked and in one form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgrove
from rankgrove import _native
from rankgrove.data.core.dataset import Dataset, concatenate
from rankgrove.data.matrix.conversion import convert, in_place
from rankgrove.data.matrix.sparse import SparseMatrix, stacked
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes

DENSE = np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [np.nan, 0, 0, 3]], np.float32)


def malformed(**changes):
    """A CSR matrix whose arrays have been changed behind scipy's back."""
    X = scipy.sparse.csr_matrix(DENSE)
    for name, value in changes.items():
        setattr(X, name, value)
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_every_format_of_scipy_is_the_same_matrix(form, kind):
    features = SparseMatrix.of(kind(DENSE).asformat(form))
    assert features.shape == (3, 4)
    np.testing.assert_array_equal(features.toarray(), DENSE)
    np.testing.assert_array_equal(np.asarray(features), DENSE)


def test_memory_is_shared_with_a_matrix_that_is_in_order():
    X = scipy.sparse.csr_matrix(DENSE)
    features = SparseMatrix.of(X)
    assert np.shares_memory(features.values, X.data)
    assert np.shares_memory(features.columns, X.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, bool])
def test_all_numbers_are_taken(dtype):
    dense = np.array([[0, 1], [1, 0]], dtype)
    assert SparseMatrix.of(scipy.sparse.csr_array(dense)).toarray().tolist() == dense.tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"indices": np.array([1, 4, 0, 3], np.int32)}, "row 0 has an entry in column 4, but"),
        ({"indices": np.array([1, -1, 0, 3], np.int32)}, "row 0 has an entry in column -1, but"),
        ({"indices": np.array([1, 2**40, 0, 3], np.int64)}, f"the index {2**40}, of 4"),
        ({"indices": np.array([1, -(2**40), 0, 3], np.int64)}, f"the index {-(2**40)}, of 4"),
        ({"indptr": np.array([0, 2, 1, 4], np.int32)}, "row 1 ends at entry 1, before"),
        ({"indptr": np.array([1, 2, 2, 4], np.int32)}, "first row starts at entry 1"),
        ({"indptr": np.array([0, 2, 2, 9], np.int32)}, "rows end at entry 9, but there are 4"),
        ({"indptr": np.array([0, 2, 2, -3], np.int32)}, "row 2 ends at entry -3, before"),
        ({"indptr": np.array([0, 2, 4], np.int32)}, "indptr has shape"),
        ({"data": np.ones(2, np.float32)}, "2 values for 4 entries"),
    ],
)
def test_malformed_matrices_are_refused(changes, words):
    with pytest.raises(DataError, match=f"X is malformed: .*{words}"):
        SparseMatrix.of(malformed(**changes))


def test_malformed_columns_of_csc_are_refused_before_scipy_follows_them():
    X = scipy.sparse.csc_matrix(DENSE)
    X.indices = np.array([0, 1000, 2, 0], np.int32)
    with pytest.raises(DataError, match="X is malformed"):
        SparseMatrix.of(X)


@pytest.mark.parametrize("values", [np.array([1j, 2j]), np.array([1j, 2])])
def test_complex_numbers_are_refused(values):
    with pytest.raises(DataError, match="Complex data not supported"):
        SparseMatrix.of(scipy.sparse.csr_array((values, ([0, 1], [0, 1]))))


def test_one_dimension_is_refused():
    with pytest.raises(DataError, match="one row per document"):
        SparseMatrix.of(scipy.sparse.coo_array(np.array([1.0, 2.0])))


@pytest.mark.parametrize("absent", [0.0, np.nan])
def test_rows_and_columns_are_selected_as_of_an_array(absent):
    rng = np.random.default_rng(0)
    stored = scipy.sparse.random_array((20, 9), density=0.3, random_state=rng, format="csr")
    features = SparseMatrix.of(stored, absent)
    dense = features.toarray()
    assert np.isnan(dense).any() == np.isnan(absent)
    rows, columns = rng.integers(0, 20, 30), np.array([7, 0, 3])
    mask = rng.random(20) < 0.5
    np.testing.assert_array_equal(features[rows].toarray(), dense[rows])
    np.testing.assert_array_equal(features[mask].toarray(), dense[mask])
    np.testing.assert_array_equal(features[3:7].toarray(), dense[3:7])
    np.testing.assert_array_equal(features[:, columns].toarray(), dense[:, columns])
    np.testing.assert_array_equal(features[:, 2:5].toarray(), dense[:, 2:5])
    np.testing.assert_array_equal(features[:, 4], dense[:, 4])
    np.testing.assert_array_equal(features.dense(2, 9, columns), dense[2:9][:, columns])
    np.testing.assert_array_equal(
        stacked([features, features[rows]]).toarray(), np.concatenate([dense, dense[rows]])
    )
    low, high = features.extremes()
    np.testing.assert_array_equal(low, np.fmin.reduce(dense, axis=0))
    np.testing.assert_array_equal(high, np.fmax.reduce(dense, axis=0))


def test_a_large_matrix_does_not_become_an_array_by_accident():
    huge = SparseMatrix.of(scipy.sparse.csr_array((100_000, 100_000), dtype=np.float32))
    with pytest.raises(DataError, match=r"100,000 rows and 100,000 columns would take 37\.3 GiB"):
        np.asarray(huge)
    assert huge.dense(5, 6).shape == (1, 100_000)


def test_datasets_keep_sparse_rows():
    X = scipy.sparse.csr_array(DENSE)
    data = Dataset(X, [0, 1, 2], [1, 1, 2])
    assert isinstance(data.X, SparseMatrix)
    assert data.n_features == 4
    np.testing.assert_array_equal(data.select_rows([2, 0]).X.toarray(), DENSE[[2, 0]])
    both = concatenate([data, data.select_queries([0])], "merge")
    np.testing.assert_array_equal(both.X.toarray(), DENSE[[0, 1, 2, 0, 1]])


def test_values_too_large_for_float32_are_refused_by_a_dataset():
    X = scipy.sparse.csr_array(np.array([[0, 1e300]]))
    with pytest.raises(DataError, match="too large for a 32-bit float"):
        Dataset(X, [0], [1])


ROWS = st.lists(
    st.dictionaries(
        st.integers(0, 3000),
        st.sampled_from(["0", "1", "-2.5", "nan", "inf", "1e-3", "123456789.123456789"]),
        max_size=6,
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(ROWS, st.sampled_from(["zero", "missing"]), st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_means_the_same_sparse_and_dense(tmp_path, rows, absent, declared):
    lines = [
        f"{i % 3} qid:{i // 2} " + " ".join(f"{f}:{row[f]}" for f in sorted(row)) + " # note"
        for i, row in enumerate(rows)
    ]
    path = tmp_path / "data.txt"
    path.write_text("\n".join(lines))
    options = {"n_features": 3001, "first_feature": 0} if declared else {}
    dense = rankgrove.load(path, absent=absent, sparse=False, **options)
    sparse = rankgrove.load(path, absent=absent, sparse=True, **options)
    assert isinstance(sparse.X, SparseMatrix)
    np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    assert sparse.feature_names == dense.feature_names
    assert sparse.comments.tolist() == dense.comments.tolist()
    copy = tmp_path / "copy.txt"
    rankgrove.write_letor(sparse, copy)
    again = rankgrove.load(copy, absent=absent, sparse=False, n_features=sparse.n_features)
    np.testing.assert_array_equal(again.X, dense.X)


@pytest.mark.parametrize(
    "text",
    ["0 qid:1 3:1 2:1", "0 qid:1 3:x", "0 qid:1 3:1 3:2", "0 qid:1 a:1", "0 qid:1 3:1e99"],
)
def test_bad_text_is_refused_in_the_same_words(tmp_path, text):
    path = tmp_path / "data.txt"
    path.write_text(f"0 qid:1 1:1\n{text}\n")
    messages = []
    for sparse in (False, True):
        with pytest.raises(DataError) as caught:
            rankgrove.load(path, sparse=sparse)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "line 2" in messages[0]


@pytest.mark.parametrize("vectorised", [False, True])
def test_a_feature_0_that_comes_late_moves_the_columns_read_before(vectorised):
    options = {"n_features": -1, "first_feature": -1, "with_qid": True, "keep_comments": False}
    reader = _native.LetorReader(
        **options,
        negative_labels=False,
        absent_is_nan=False,
        max_bytes=1 << 20,
        sparse=True,
        vectorised=vectorised,
    )
    for line in (b"0 qid:1 1:5 3:6\n", b"1 qid:1 0:7 9:8\n"):
        assert reader.feed(np.frombuffer(line, np.uint8), True, 1) == len(line)
    (starts, columns, values), *_ = reader.take()
    assert (starts.tolist(), columns.tolist()) == ([0, 2, 4], [1, 3, 0, 9])
    assert values.tolist() == [5, 6, 7, 8]


def wide_text(n_rows=40, n_features=5000, per_row=20):
    rng = np.random.default_rng(0)
    for i in range(n_rows):
        features = np.sort(rng.choice(n_features, per_row, replace=False)) + 1
        yield f"{i % 3} qid:{i // 10} " + " ".join(f"{f}:{f % 7}" for f in features)


def test_wide_and_mostly_empty_data_stay_sparse_by_themselves(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_text("\n".join(wide_text()))
    wide = rankgrove.load(path)
    assert isinstance(wide.X, SparseMatrix)
    assert isinstance(rankgrove.load(wide.X, wide.y, qid=wide.qid).X, SparseMatrix)
    assert isinstance(rankgrove.load(wide.X, wide.y, qid=wide.qid, sparse=False).X, np.ndarray)
    narrow = tmp_path / "narrow.txt"
    narrow.write_text("\n".join(wide_text(n_features=900)))
    assert isinstance(rankgrove.load(narrow).X, np.ndarray)
    full = tmp_path / "full.txt"
    full.write_text("\n".join(wide_text(n_features=1200, per_row=200)))
    assert isinstance(rankgrove.load(full).X, np.ndarray)
    both = rankgrove.load([path, path], shared_queries="merge")
    assert both.X.shape == (80, wide.n_features)


def test_the_command_line_takes_wide_text(tmp_path):
    from rankgrove.cli.main import main

    path, model, scores = (tmp_path / name for name in ("wide.txt", "model.rg", "scores.txt"))
    path.write_text("\n".join(wide_text()))
    train = ["train", "lambdamart", str(path), "--out", str(model), "--n-estimators", "3"]
    assert main([*train, "--min-samples-leaf", "2", "--seed", "0"]) == 0
    assert main(["predict", str(model), str(path), "--out", str(scores)]) == 0
    dense = rankgrove.load(path, sparse=False)
    ranker = rankgrove.LambdaMART(n_estimators=3, min_samples_leaf=2, random_state=0).fit(dense)
    np.testing.assert_array_equal(np.loadtxt(scores), ranker.predict(dense))
    assert main(["info", str(path)]) == 0
    assert main(["convert", str(path), str(tmp_path / "copy.txt"), "--omit", "zero"]) == 0
    np.testing.assert_array_equal(rankgrove.load(tmp_path / "copy.txt").X.toarray(), dense.X)


def test_a_dense_matrix_has_no_use_for_the_option():
    with pytest.raises(ValueError, match="sparse does not apply to a matrix that is dense"):
        rankgrove.load(DENSE, [0, 1, 2], qid=[1, 1, 1], sparse=True)
    with pytest.raises(ValueError, match="sparse must be one of True, False, not 'yes'"):
        rankgrove.load(DENSE, [0, 1, 2], qid=[1, 1, 1], sparse="yes")


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
@pytest.mark.parametrize("fill", [0, np.nan])
def test_sparse_pandas_frames_stay_sparse(fill, monkeypatch):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((60, 30)) < 0.1, rng.normal(size=(60, 30)), fill)
    dense[3, 4] = np.nan
    names = [f"c{j}" for j in range(30)]
    frame = pandas.DataFrame(dense, columns=names).astype(pandas.SparseDtype("float64", fill))
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    ranker = rankgrove.MART(n_estimators=3, min_samples_leaf=2, random_state=0)
    from_dense = to_bytes(ranker.fit(pandas.DataFrame(dense, columns=names), y, qid=qid))
    scores = ranker.predict(dense)
    monkeypatch.setattr("rankgrove.data.matrix.sparse.MAX_DENSE_BYTES", 1000)
    assert isinstance(convert(frame), SparseMatrix)
    assert to_bytes(ranker.fit(frame, y, qid=qid)) == from_dense
    shuffled = frame.iloc[:, ::-1]
    np.testing.assert_array_equal(ranker.predict(shuffled), scores)
    ranker.fit(frame, y, qid=qid, eval_set={"same": (shuffled, y, qid), "train": (frame, y, qid)})
    assert ranker.evals_result_["same"] == ranker.evals_result_["train"]


def test_frames_that_are_sparse_in_part_are_read_as_dense_ones():
    pandas = pytest.importorskip("pandas")
    sparse_column = pandas.arrays.SparseArray([0.0, 0, 3, 0], fill_value=0)
    ones = pandas.arrays.SparseArray([1.0, 1, 3, 1], fill_value=1)
    for other in (np.arange(4.0), ones):
        frame = pandas.DataFrame({"a": sparse_column, "b": other})
        expected = np.column_stack([[0, 0, 3, 0], np.asarray(other)])
        np.testing.assert_array_equal(convert(frame), expected)
        np.testing.assert_array_equal(in_place(frame), expected)


@pytest.mark.parametrize("columns", [[1, 1, 0, 2], [1, 0, 0, 2]], ids=["twice", "unsorted"])
def test_room_for_more_entries_than_are_stored_is_not_read(columns):
    X = scipy.sparse.csr_array((2, 3), dtype=np.float32)
    X.data, X.indices, X.indptr = np.float32([1, 2, 3, 9]), np.array(columns), np.array([0, 2, 3])
    features = SparseMatrix.of(X)
    expected = [[0, 3, 0], [3, 0, 0]] if columns[1] == 1 else [[2, 1, 0], [3, 0, 0]]
    assert features.toarray().tolist() == expected
    assert features.n_stored == len(features.columns)
