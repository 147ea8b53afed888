from __future__ import annotations

import gzip

import numpy as np
import pytest

import rankgrove
from rankgrove.data.reading.streaming import stream_letor
from rankgrove.errors import DataError


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    lines = []
    for row in range(500):
        features = " ".join(f"{j}:{rng.integers(100)}" for j in range(1, 8) if rng.random() < 0.6)
        lines.append(f"{rng.integers(5)} qid:{row // 10} {features} # doc {row}\n")
    return "".join(lines)


@pytest.mark.parametrize("piece_bytes", [1, 500, 10_000, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_pieces_are_the_whole(text, tmp_path, piece_bytes, packed):
    path = tmp_path / ("data.txt.gz" if packed else "data.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    for absent in ("zero", "missing"):
        stream = stream_letor(path, 7, 1, absent=absent, piece_bytes=piece_bytes, n_jobs=1)
        pieces = list(stream)
        assert (len(pieces) > 1) == (piece_bytes < len(text))
        whole = rankgrove.load(path, absent=absent, n_features=7, first_feature=1)
        np.testing.assert_array_equal(np.concatenate(pieces), whole.X)


def test_an_error_names_the_line_of_the_file(text, tmp_path):
    lines = text.splitlines(keepends=True)
    lines[345] = "1 qid:34 3:x\n"
    path = tmp_path / "data.txt"
    path.write_text("".join(lines))
    with pytest.raises(DataError, match=r"data\.txt, line 346, column"):
        list(stream_letor(path, 7, 1, piece_bytes=400))


@pytest.mark.parametrize("content", ["", "# nothing\n\n"])
def test_no_rows_is_an_error(tmp_path, content):
    path = tmp_path / "data.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=r"holds no rows|the file is empty"):
        list(stream_letor(path, 7, 1))


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        list(stream_letor(tmp_path / "none.txt", 7, 1))


def test_byte_order_mark_and_missing_last_newline(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"\xef\xbb\xbf1 qid:1 1:2\r\n0 qid:1 2:3")
    (piece,) = stream_letor(path, 2, 1)
    np.testing.assert_array_equal(piece, [[2, 0], [0, 3]])
