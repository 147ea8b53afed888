"""What ``describe`` finds."""

from __future__ import annotations

import numpy as np

from rankgrove import Dataset
from rankgrove.data.core.description import describe
from rankgrove.datasets import make_ranking


def dataset(X, y=None, qid=None):
    X = np.asarray(X, np.float32)
    return Dataset(X, np.zeros(len(X)) if y is None else y, np.ones(len(X)) if qid is None else qid)


def test_constant_features_are_those_with_one_value():
    nan = np.nan
    found = describe(dataset([[1, 0, nan, nan, 2], [1, 0, nan, 5, 3], [1, 0, nan, 5, 2]]))
    assert found.constant_features == ["f1", "f2", "f3"]  # f4 varies: it is sometimes missing
    assert found.missing_features == {"f3": 1.0, "f4": 0.333333}


def test_near_empty_features():
    X = np.zeros((5000, 2))
    X[:4, 0] = 1
    X[:10, 1] = 1
    assert describe(dataset(X)).near_empty_features == ["f1"]


def test_shares_of_a_large_matrix_are_those_of_numpy():
    data = make_ranking(400, preset="mslr", n_features=8, missing=0.05, seed=2)
    assert data.n_rows > 40_000  # more than one block
    found = describe(data)
    assert np.isclose(found.missing_share, np.isnan(data.X).mean())
    assert np.isclose(found.zero_share, (data.X == 0).mean())


def test_real_labels_are_counted_in_ranges():
    found = describe(dataset(np.ones((100, 1)), y=np.linspace(0, 1, 100)))
    assert len(found.grades) == 10
    assert sum(found.grades.values()) == 100
    assert any("not whole numbers" in warning for warning in found.warnings)


def test_warnings_name_what_is_odd():
    found = describe(
        dataset(
            [[np.inf, 1], [0, 2], [1, 3], [2, 4], [3, 5]],
            y=[0, 40, 0, 3, 3],
            qid=[1, 2, 1, 3, 3],
        )
    )
    text = "\n".join(found.warnings)
    assert "1 query split over the file" in text
    assert "1 query without a relevant document" in text
    assert "2 queries with the same label" in text
    assert "1 query with one document" in text
    assert "1 feature with infinite values" in text
    assert "largest label is 40" in text


def test_no_rows():
    found = describe(dataset(np.empty((0, 3))))
    assert (found.rows, found.queries, found.grades, found.query_lengths) == (0, 0, {}, {})
    assert found.warnings == ["the data set has no rows"]
