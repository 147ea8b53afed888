"""Matrices of streams: the same in memory, in a file, and in both one after the other."""

import numpy as np
import pytest

from rankgrove.data.matrix import disk_matrix
from rankgrove.data.matrix.disk_matrix import DiskMatrix
from rankgrove.errors import DataError


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(disk_matrix, "_MOST_ROWS", 40)


def batches():
    """Batches of various lengths, whose columns do not all begin and end alike."""
    rng = np.random.default_rng(0)
    for n_rows, first, n_columns, order in [
        (3, 1, 5, "C"),
        (50, 0, 6, "F"),
        (1, 0, 2, "C"),
        (90, 2, 4, "F"),
        (11, 0, 6, "C"),
    ]:
        values = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
        values[0, 0] = np.nan
        yield np.array(values, order=order), first


def whole():
    rows = []
    for values, first in batches():
        wide = np.full((len(values), 6), 7, np.float32)
        wide[:, first : first + values.shape[1]] = values
        rows.append(wide)
    return np.concatenate(rows)


def made(folder, memory_bytes, columns=None):
    matrix = DiskMatrix(folder, 7.0, memory_bytes)
    for values, first in batches():
        matrix.append(values, first)
    matrix.finish(range(6) if columns is None else columns)
    return matrix


@pytest.mark.parametrize("memory_bytes", [0, 2_000, 1 << 20])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4, 5], [2, 3, 5], [4, 0]])
def test_rows_and_columns_are_those_that_were_appended(tmp_path, memory_bytes, columns):
    matrix, wanted = made(tmp_path, memory_bytes, columns), whole()[:, columns]
    assert (matrix.n_rows, matrix.n_columns) == wanted.shape
    np.testing.assert_array_equal(matrix.columns(0, len(columns)), wanted)
    np.testing.assert_array_equal(matrix.columns(1, 2), wanted[:, 1:2])
    np.testing.assert_array_equal(matrix.rows(35, 77), wanted[35:77])
    np.testing.assert_array_equal(np.concatenate(list(matrix.row_blocks())), wanted)
    low, high = matrix.ranges()
    np.testing.assert_array_equal(low, np.nanmin(wanted, axis=0))
    np.testing.assert_array_equal(high, np.nanmax(wanted, axis=0))


def test_a_small_matrix_needs_no_folder(tmp_path):
    missing = tmp_path / "missing"
    np.testing.assert_array_equal(made(missing, 1 << 20).columns(0, 6), whole())
    with pytest.raises(DataError, match="missing: No such file"):
        made(missing, 2_000)


def test_blocks_in_memory_cannot_be_changed(tmp_path):
    matrix = made(tmp_path, 1 << 20)
    writable = [block.flags.writeable for block in matrix.row_blocks() if block.shape[1] == 6]
    assert not all(writable)
    for block in matrix.row_blocks():
        if block.flags.writeable:
            block[:] = 0  # a copy
    np.testing.assert_array_equal(matrix.columns(0, 6), whole())
