from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import rankgrove
from rankgrove.data.core.names import first_number
from rankgrove.data.input_checks import ranking_input
from rankgrove.data.matrix.conversion import convert
from rankgrove.errors import DataError

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_labels_and_weights_come_in_grouped_order():
    data = ranking_input(X, [1, 2, 3, 4], qid=["b", "a", "b", "a"], sample_weight=[1, 2, 3, 4])
    np.testing.assert_array_equal(data.y, [1, 3, 2, 4])
    np.testing.assert_array_equal(data.weight, [1, 3, 2, 4])
    assert data.X.to_array() is X


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda a: a[::-1], lambda a: a[:, ::2]])
def test_float32_matrices_are_not_copied(layout):
    matrix = convert(layout(X))
    assert np.shares_memory(matrix, X) or layout is np.asfortranarray
    np.testing.assert_array_equal(matrix, layout(X))


def test_values_beyond_float32_are_infinite():
    data = ranking_input(np.array([[1e300], [-1e300]]), [0, 1], qid=[1, 1])
    np.testing.assert_array_equal(data.X, [[np.inf], [-np.inf]])


def test_frames_bring_their_names():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {"a": [1, 2, None], "b": [0.5, 1.5, 2.5]}
    expected = [[1, 0.5], [2, 1.5], [np.nan, 2.5]]
    frames = [
        pandas.DataFrame(columns),
        pandas.DataFrame(columns).convert_dtypes(),
        polars.DataFrame(columns),
        arrow.table(columns),
    ]
    for frame in frames:
        matrix = convert(frame)
        names = matrix.names
        assert names == ("a", "b")
        np.testing.assert_array_equal(matrix, expected)


def test_sparse_matrices_are_filled_with_zeros():
    matrix = convert(sparse.csr_matrix(X))
    np.testing.assert_array_equal(matrix, X)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones(3), "one row per document"),
        ([["a", "b"]], "must hold numbers"),
        (np.ones((2, 2, 2)), "one row per document"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        convert(matrix)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones((0, 3)), "y": [], "qid": []}, "there are no rows"),
        ({"X": np.ones((2, 0)), "y": [0, 1], "qid": [1, 1]}, "X has 0 feature"),
        (
            {"X": X, "y": [[0, 1], [1, 0], [1, 0], [0, 1]], "qid": [1] * 4},
            "y must have one dimension",
        ),
        ({"X": X, "y": [0, 1, 0, np.inf], "qid": [1] * 4}, "y of row 3 is inf"),
        ({"X": X, "y": [0, 1, 0, 1], "group_sizes": [1, 1]}, "add up to 2 but there are 4"),
        ({"X": rankgrove.Dataset(X, [0] * 4, [1] * 4), "y": [0] * 4}, "brings its labels"),
    ],
)
def test_bad_data_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        ranking_input(**arguments)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_text_are_named(library):
    make = pytest.importorskip(library)
    make = make.table if library == "pyarrow" else make.DataFrame
    with pytest.raises(DataError, match=r"column 'q' of X holds 'q85'.*rankgrove\.load\(frame\)"):
        convert(make({"a": [1.0, None], "q": ["q85", "q86"]}))


def test_first_number():
    assert first_number(["f1", "f2"]) == 1
    assert first_number(["f0", "f1"]) == 0
    assert first_number(["f1", "f3"]) is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["1", "0", "2", "1"], "y must hold numbers, not texts"),
        (np.array([1, 0, 2, 1]) * 1j, "y must hold numbers, not complex128"),
        (np.ma.array([1, 0, 2, 1], mask=[0, 0, 1, 0]), "y of row 2 is nan, not a finite number"),
    ],
)
def test_labels_that_only_look_like_numbers_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        ranking_input(X, y, qid=[1, 1, 2, 2])


def test_a_fit_warns_of_equal_labels():
    with pytest.warns(rankgrove.DataWarning, match="every label is 2: there is no order to learn"):
        rankgrove.MART(n_estimators=1).fit(X, [2, 2, 2, 2], qid=[1, 1, 2, 2])


def test_weights_per_query_are_refused_with_the_cure():
    message = (
        r"2 entries, one per query, but X has 4 rows: .*np.repeat\(sample_weight, group_sizes\)"
    )
    with pytest.raises(DataError, match=message):
        ranking_input(X, [1, 2, 3, 4], group_sizes=[1, 3], sample_weight=[1, 2])
    per_row = ranking_input(X, [1, 2, 3, 4], group_sizes=[1] * 4, sample_weight=[1, 2, 3, 4])
    np.testing.assert_array_equal(per_row.weight, [1, 2, 3, 4])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_column_of_texts_is_refused_with_the_ways_to_take_it(kind):
    columns = {"a": [1.0, 2.0], "colour": ["red", "blue"]}
    library = pytest.importorskip(kind)
    frame = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    with pytest.raises(DataError, match=r"'colour'.*categorical=\[names\].*'category'"):
        ranking_input(frame, [0, 1], qid=[1, 1])
    labelled = frame.append_column("label", [[0, 1]]) if kind == "pyarrow" else None
    if labelled is not None:
        with pytest.raises(DataError, match=r"categorical=\['colour'\].*ignore=\['colour'\]"):
            rankgrove.load(labelled.append_column("qid", [[1, 1]]))
