"""Sparse features: what scipy gives, checked and in one form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from rankgrove.data.dataset import Dataset, concatenate
from rankgrove.data.sparse import SparseFeatures, stacked
from rankgrove.errors import DataError

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
    features = SparseFeatures.of(kind(DENSE).asformat(form))
    assert features.shape == (3, 4)
    np.testing.assert_array_equal(features.toarray(), DENSE)
    np.testing.assert_array_equal(np.asarray(features), DENSE)


def test_memory_is_shared_with_a_matrix_that_is_in_order():
    X = scipy.sparse.csr_matrix(DENSE)
    features = SparseFeatures.of(X)
    assert np.shares_memory(features.values, X.data)
    assert np.shares_memory(features.columns, X.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, bool])
def test_all_numbers_are_taken(dtype):
    dense = np.array([[0, 1], [1, 0]], dtype)
    assert SparseFeatures.of(scipy.sparse.csr_array(dense)).toarray().tolist() == dense.tolist()


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
        SparseFeatures.of(malformed(**changes))


def test_malformed_columns_of_csc_are_refused_before_scipy_follows_them():
    X = scipy.sparse.csc_matrix(DENSE)
    X.indices = np.array([0, 1000, 2, 0], np.int32)
    with pytest.raises(DataError, match="X is malformed"):
        SparseFeatures.of(X)


@pytest.mark.parametrize("values", [np.array([1j, 2j]), np.array([1j, 2])])
def test_complex_numbers_are_refused(values):
    with pytest.raises(DataError, match="Complex data not supported"):
        SparseFeatures.of(scipy.sparse.csr_array((values, ([0, 1], [0, 1]))))


def test_one_dimension_is_refused():
    with pytest.raises(DataError, match="one row per document"):
        SparseFeatures.of(scipy.sparse.coo_array(np.array([1.0, 2.0])))


@pytest.mark.parametrize("absent", [0.0, np.nan])
def test_rows_and_columns_are_selected_as_of_an_array(absent):
    rng = np.random.default_rng(0)
    stored = scipy.sparse.random_array((20, 9), density=0.3, rng=rng, format="csr")
    features = SparseFeatures.of(stored, absent)
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
    huge = SparseFeatures.of(scipy.sparse.csr_array((100_000, 100_000), dtype=np.float32))
    with pytest.raises(DataError, match=r"100,000 rows and 100,000 columns would take 37\.3 GiB"):
        np.asarray(huge)
    assert huge.dense(5, 6).shape == (1, 100_000)


def test_datasets_keep_sparse_rows():
    X = scipy.sparse.csr_array(DENSE)
    data = Dataset(X, [0, 1, 2], [1, 1, 2])
    assert isinstance(data.X, SparseFeatures)
    assert data.n_features == 4
    np.testing.assert_array_equal(data.select_rows([2, 0]).X.toarray(), DENSE[[2, 0]])
    both = concatenate([data, data.select_queries([0])], "merge")
    np.testing.assert_array_equal(both.X.toarray(), DENSE[[0, 1, 2, 0, 1]])


def test_values_too_large_for_float32_are_refused_by_a_dataset():
    X = scipy.sparse.csr_array(np.array([[0, 1e300]]))
    with pytest.raises(DataError, match="too large for a 32-bit float"):
        Dataset(X, [0], [1])
