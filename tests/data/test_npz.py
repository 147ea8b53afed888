"""Numpy archives."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.errors import DataError

X = np.array([[1, np.nan], [3, 4]], np.float32)


def test_reads_all_arrays(tmp_path):
    path = tmp_path / "data.npz"
    np.savez_compressed(
        path, X=X, y=[0, 1], qid=["a", "b"], feature_names=["p", "q"], weight=[1, 2]
    )
    data = rg.load(path)
    np.testing.assert_array_equal(data.X, X)
    assert data.qid.tolist() == ["a", "b"]
    assert data.feature_names == ("p", "q")
    assert data.sample_weight.tolist() == [1, 2]
    assert rg.load(path, group_sizes=[2]).n_queries == 1


def test_group_sizes(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=[0, 1], group=[2])
    assert rg.load(tmp_path / "data.npz").group_sizes.tolist() == [2]


def test_bad_archives_are_refused(tmp_path):
    path = tmp_path / "data.npz"
    with pytest.raises(DataError, match="no such file"):
        rg.load(path)
    for arrays, message in [
        ({"y": [1]}, "no array X among 'y'"),
        ({"X": X, "y": [0, 1]}, "qid is missing"),
        ({"X": X, "qid": [0, 1]}, "labels are missing"),
        ({"X": np.array([[{}]], object), "y": [0], "qid": [1]}, "allow_pickle"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(DataError, match=rf"data\.npz: .*{message}"):
            rg.load(path)
    np.savez(path, X=X, y=[0, 1], qid=[1, 1])
    whole = path.read_bytes()
    for damaged in (b"", b"PK\x03\x04", whole[: len(whole) // 2], whole[:200] + b"\0" * 300):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"data\.npz"):
            rg.load(path)
    with path.open("wb") as file:
        np.save(file, X)
    with pytest.raises(DataError, match=r"not an \.npz archive"):
        rg.load(path)
