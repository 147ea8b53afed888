"""Files, pipes and devices as streams of bytes and of lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgrove as rg
from rankgrove.data.reading import lines
from rankgrove.data.reading.byte_stream import open_bytes
from rankgrove.data.reading.lines import whole_lines
from rankgrove.errors import DataError

TEXT = "".join(f"{row % 3} qid:{row // 4} 1:{row} 2:{row % 7}\n" for row in range(2000)).encode()
PACKED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@given(
    parts=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\r", b"\n"))),
    block_bytes=st.integers(1, 50),
)
def test_pieces_are_whole_lines_and_together_the_file(tmp_path_factory, parts, block_bytes):
    path = tmp_path_factory.mktemp("lines") / "data.txt"
    path.write_bytes(b"x" + b"\n".join(parts))
    with open_bytes(path) as stream:
        blocks = [block.tobytes() for block in whole_lines(stream, block_bytes)]
    assert b"".join(blocks) == path.read_bytes()
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize("suffix", PACKED)
def test_what_was_looked_at_is_read_again(tmp_path, suffix):
    path = tmp_path / f"data.txt{suffix}"
    path.write_bytes(PACKED[suffix](TEXT))
    with open_bytes(path) as stream:
        assert stream.peek(5) == TEXT[:5]
        assert stream.peek(5000) == TEXT[:5000]
        assert stream.read(3) == TEXT[:3]
        buffer = bytearray(len(TEXT))
        assert stream.fill(memoryview(buffer)) == len(TEXT) - 3
        assert buffer[: len(TEXT) - 3] == TEXT[3:]
        assert stream.read(1) == b""
        assert stream.position() == stream.size == path.stat().st_size


@pytest.mark.parametrize("change", [-1, 10_000])
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path, change):
    path = tmp_path / "data.txt"
    path.write_bytes(TEXT)
    with open_bytes(path) as stream:
        blocks = whole_lines(stream, 1000)
        next(blocks)
        os.truncate(path, max(len(TEXT) // 2, len(TEXT) + change) if change > 0 else len(TEXT) // 2)
        with pytest.raises(DataError, match=r"data\.txt: the file has changed while it was read"):
            list(blocks)


def test_loading_a_file_that_shrinks_does_not_end_the_process(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(TEXT * 2000)

    def shrink(done, total):
        os.truncate(path, 100)

    with pytest.raises(DataError, match="changed while it was read"):
        rg.load(path, progress=shrink)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("format", ["letor", "csv"])
def test_pipes_are_read_like_files(tmp_path, format, suffix):
    text = TEXT if format == "letor" else b"qid,label,a\n1,2,3\n1,0,4\n"
    path, pipe = tmp_path / f"data{suffix}", tmp_path / f"pipe{suffix}"
    path.write_bytes(PACKED[suffix](text))
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    data, expected = rg.load(pipe, format=format), rg.load(path, format=format)
    writer.join()
    np.testing.assert_array_equal(data.X, expected.X)
    assert data.qid.tolist() == expected.qid.tolist()


def test_formats_that_jump_about_need_a_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for format in ("parquet", "arrow", "npz"):
        with pytest.raises(DataError, match="this format needs a plain file"):
            rg.load(tmp_path / "pipe", format=format)


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1 << 20)
    monkeypatch.setattr("rankgrove.data.reading.letor.BLOCK_BYTES", 1 << 16)
    with pytest.raises(DataError, match="/dev/zero: a line is longer than 1 MB"):
        rg.load("/dev/zero")


def test_folders_and_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="the folder holds no data files"):
        rg.load(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        rg.load(tmp_path / "none.txt")
