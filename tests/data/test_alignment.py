"""Bringing data to the features of a model."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.alignment import align_features
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.errors import DataError


@pytest.fixture
def data() -> Dataset:
    return Dataset([[1, 2, 3]], [0], [1], feature_names=["a", "b", "c"], doc_ids=["d"])


def test_reorders_fills_and_drops(data):
    assert align_features(data, ["a", "b", "c"]) is data
    assert align_features(data, ["c", "a", "b"]).X.tolist() == [[3, 1, 2]]
    filled = align_features(data, ["c", "z", "a", "b"], absent="zero")
    assert filled.X.tolist() == [[3, 0, 1, 2]]
    assert filled.feature_names == ("c", "z", "a", "b")
    assert filled.doc_ids.tolist() == ["d"]
    both = align_features(data, ["z", "b"], absent="missing", extra="drop").X
    np.testing.assert_array_equal(both, [[np.nan, 2]])
    assert data.X.tolist() == [[1, 2, 3]]


def test_says_what_is_wrong(data):
    with pytest.raises(DataError, match="lacks 1 of the 4 features wanted, the first is 'z'"):
        align_features(data, ["a", "b", "c", "z"])
    with pytest.raises(DataError, match="2 features that are not wanted, the first is 'a'"):
        align_features(data, ["c"])
    with pytest.raises(ValueError, match="absent must be"):
        align_features(data, ["a"], absent="mean")
    with pytest.raises(TypeError, match="takes a Dataset, not a list"):
        align_features([[1, 2, 3]], ["a"])
    with pytest.raises(ValueError, match="extra must be"):
        align_features(data, ["a"], extra="keep")


@pytest.mark.slow
@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_sparse_features_stay_sparse_however_wide(absent):
    filler = 0.0 if absent == "zero" else np.nan
    names = ("f7", "f3", "f9")
    dense = np.array([[1, filler, 2], [filler, 3, filler]], np.float32)
    data = Dataset(SparseMatrix.from_dense(dense, filler), [0, 1], [1, 1], feature_names=names)
    wide = [f"f{i}" for i in range(1_000_000)]
    aligned = align_features(data, wide, absent=absent)
    assert isinstance(aligned.X, SparseMatrix)
    assert aligned.X.shape == (2, 1_000_000)
    expected = np.full((2, 10), filler)
    expected[:, [7, 3, 9]] = dense
    np.testing.assert_array_equal(aligned.X[:, :10].toarray(), expected)
    again = align_features(aligned, names, extra="drop")
    assert isinstance(again.X, SparseMatrix)
    np.testing.assert_array_equal(again.X.toarray(), dense)
    other = "missing" if absent == "zero" else "zero"
    both = align_features(data, ["f3", "new"], absent=other, extra="drop")
    new = np.nan if absent == "zero" else 0
    np.testing.assert_array_equal(both.X, [[filler, new], [3, new]])
