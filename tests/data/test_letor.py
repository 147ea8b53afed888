"""LETOR text: what it means, what is refused, and agreement with the slow oracle."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.data.reading import letor
from rankgrove.errors import DataError


@pytest.fixture
def read(tmp_path):
    def read_text(text: bytes | str, name: str = "data.txt", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return rg.load(path, **options)

    return read_text


def test_reads_labels_queries_features_and_comments(read):
    data = read("2 qid:7 1:0.5 2:-3e2 #docid = A1 x\n0 qid:8 2:4 # two\n0.5 qid:8 1:1\n")
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.X, np.array([[0.5, -300], [0, 4], [1, 0]], np.float32))
    np.testing.assert_array_equal(data.y, [2, 0, 0.5])
    np.testing.assert_array_equal(data.qid, [7, 8, 8])
    np.testing.assert_array_equal(data.group_sizes, [1, 2])
    assert data.feature_names == ("f1", "f2")
    assert data.comments.tolist() == ["docid = A1 x", " two", None]
    assert data.doc_ids.tolist() == ["A1", None, None]
    assert (data.n_rows, data.n_queries, data.n_features) == (3, 2, 2)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff1 qid:1 1:2\n0 qid:1 1:3\n",
        "1 qid:1 1:2\r\n0 qid:1 1:3\r\n",
        "1 qid:1 1:2\n0 qid:1 1:3",
        "1 qid:1 1:2\n0 qid:1 1:3\r",
        "# only a comment\n\n1 qid:1 1:2\n \t \n0\tqid:1\t 1:3  \n#end",
        "+1 qid:1 1:+2\n0.0e5 qid:1 1:3.\n",
    ],
    ids=["bom", "crlf", "no-final-newline", "final-cr", "blank-and-comment-lines", "signs"],
)
def test_harmless_variations_mean_the_same(read, text):
    data = read(text)
    np.testing.assert_array_equal(data.X, [[2], [3]])
    np.testing.assert_array_equal(data.y, [1, 0])
    np.testing.assert_array_equal(data.qid, [1, 1])


def test_absent_features_are_zero_or_nan_and_spelled_missing_is_always_nan(read):
    text = "0 qid:1 1:NULL 3:1\n0 qid:1 2:nan 3:NA\n"
    nan = np.nan
    np.testing.assert_array_equal(read(text).X, [[nan, 0, 1], [0, nan, nan]])
    np.testing.assert_array_equal(read(text, absent="missing").X, [[nan, nan, 1], [nan, nan, nan]])


def test_feature_numbers_count_from_zero_if_zero_occurs_anywhere(read):
    data = read("0 qid:1 1:1 2:2\n0 qid:1 0:9 2:3\n")
    np.testing.assert_array_equal(data.X, [[0, 1, 2], [9, 0, 3]])
    assert data.feature_names == ("f0", "f1", "f2")
    declared = read("0 qid:1 1:1 2:2\n", first_feature=0)
    np.testing.assert_array_equal(declared.X, [[0, 1, 2]])


def test_n_features_widens_and_limits(read):
    assert read("0 qid:1 1:1\n", n_features=4).X.tolist() == [[1, 0, 0, 0]]
    assert read("0 qid:1 1:1\n", feature_names=["a", "b"]).feature_names == ("a", "b")
    with pytest.raises(DataError, match=r"line 1, column 9: there are 2 features.*'3:1'"):
        read("0 qid:1 3:1\n", n_features=2)


def test_names_of_training_data_fix_where_counting_starts(read):
    train = read("0 qid:1 0:1 1:2\n")
    test = read("0 qid:1 1:3\n", feature_names=train.feature_names)
    assert test.X.tolist() == [[0, 3]]
    with pytest.raises(DataError, match="feature numbers start at 1"):
        read("0 qid:1 0:3\n", feature_names=["f1", "f2"])


def test_query_ids_are_all_integers_or_all_text(read):
    assert read("0 qid:-5 1:1\n0 qid:3 1:1\n").qid.dtype == np.int64
    assert read("0 qid:7 1:1\n0 qid:a-ü 1:1\n0 qid:7 1:1\n").qid.tolist() == ["7", "a-ü", "7"]
    assert read("0 qid:7 1:1\n0 qid:007 1:1\n").qid.tolist() == ["7", "007"]
    big = "123456789012345678901"
    assert read(f"0 qid:{big} 1:1\n").qid.tolist() == [big]


BAD = {
    "wrong token": ("0 qid:1 1:1 foo\n", r"column 13: expected feature:value: 'foo'"),
    "no colon": ("0 qid:1 17\n", r"column 9: expected feature:value: '17'"),
    "duplicate feature": ("0 qid:1 1:1 1:2\n", r"column 13: the feature is given twice: '1:2'"),
    "decreasing feature": ("0 qid:1 5:1 3:2\n", r"feature numbers must increase, but 5.*'3:2'"),
    "negative label": ("-1 qid:1 1:1\n", r"column 1: the label is negative: '-1'"),
    "label text": ("x qid:1 1:1\n", r"column 1: the label is not a number .*: 'x'"),
    "label nan": ("nan qid:1 1:1\n", r"the label is not a number .*: 'nan'"),
    "label weight": ("1:0.5 qid:1 1:1\n", r"the label is not a number .*: '1:0.5'"),
    "label overflow": ("1e999 qid:1 1:1\n", r"the label is too large: '1e999'"),
    "no qid": ("0 1:1\n", r"column 3: qid is missing.*'1:1'"),
    "qid in comment": ("0 1:1 # qid = 7\n", r"qid is missing .*\(--query comment\) reads it"),
    "query in comment": ("10 1:1 #query_id: a\n", r"qid is missing .*--query comment"),
    "qid and more in comment": (
        "0 1:1 #docid = a inc = 1 qid = 7\n",
        r"qid is missing \(the comment names the query: write it as qid:ID after the label\)",
    ),
    "empty qid": ("0 qid: 1:1\n", r"the qid is empty"),
    "long qid": ("0 qid:" + "x" * 300 + " 1:1\n", r"longer than 255 bytes: 'qid:x{36}\.\.\.'"),
    "late qid": ("0 qid:1 1:1 qid:2\n", r"directly after the label"),
    "value overflow": ("0 qid:1 1:1e39\n", r"too large for a 32-bit float: '1:1e39'"),
    "value that overflows as a double": (
        "0 qid:1 1:3.4028235677973365e38\n",
        r"too large for a 32-bit float: '1:3.4028235677973365e38'",
    ),
    "value text": ("0 qid:1 1:abc\n", r"the value is not a number: '1:abc'"),
    "value missing": ("0 qid:1 1: 2:1\n", r"the value is missing: '1:'"),
    "two points": ("0 qid:1 1:1.2.3\n", r"the value is not a number"),
    "bare exponent": ("0 qid:1 1:1e\n", r"the value is not a number"),
    "hexadecimal": ("0 qid:1 1:0x10\n", r"the value is not a number"),
    "large feature number": ("0 qid:1 99999999999999999999:1\n", r"feature numbers go up to"),
    "negative feature number": ("0 qid:1 -1:1\n", r"expected feature:value"),
    "NUL in value": ("0 qid:1 1:1\0 2:1\n", r"the value is not a number: '1:1\\x00'"),
    "NUL in comment": ("0 qid:1 1:1 #a\0b\n", r"column 15: NUL byte in a comment"),
    "NUL line": ("\0\0\0\0\n", r"the label is not a number"),
    "old Mac lines": ("0 qid:1 1:1\r0 qid:1 1:2\n", r"carriage return without newline"),
    "Latin-1 comment": (b"0 qid:1 1:1 #caf\xe9\n", r"not UTF-8"),
    "Latin-1 qid": (b"0 qid:caf\xe9 1:1\n", r"the qid is not UTF-8 text: 'qid:caf\\\\xe9'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_refused_with_their_place(read, name):
    text, message = BAD[name]
    text = text.encode() if isinstance(text, str) else text
    with pytest.raises(DataError, match=message):
        read(text)
    with pytest.raises(DataError, match=rf"data\.txt, line 4, .*{message}"):
        read(b"# head\n1 qid:1 1:1\n\n" + text)


def test_qid_missing_on_one_line_names_the_line(read):
    with pytest.raises(DataError, match=r"line 3, column 3: qid is missing"):
        read("0 qid:1 1:1\n0 qid:1 1:1\n0 1:1\n")


def test_first_error_of_the_file_is_reported_whatever_the_threads(read):
    good = "0 qid:1 " + " ".join(f"{i}:0.25" for i in range(1, 200)) + "\n"
    text = good * 900 + "0 qid:1 1:bad\n" + good * 900 + "0 qid:1 1:worse\n"
    for n_jobs in (1, 2, 4):
        with pytest.raises(DataError, match=r"line 901, column 9.*'1:bad'"):
            read(text, n_jobs=n_jobs)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_files_without_rows_are_refused(read, text):
    with pytest.raises(DataError, match=r"data\.txt: the file (is empty|holds no rows)"):
        read(text)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        rg.load(tmp_path / "none.txt")
    with pytest.raises(DataError, match="holds no data files"):
        rg.load(tmp_path)


def test_negative_labels_can_be_kept_or_dropped(read):
    text = "-1 qid:1 1:1\n1 qid:1 1:2\n"
    assert read(text, negative_labels="keep").y.tolist() == [-1, 1]
    assert read(text, negative_labels="drop").X.tolist() == [[2]]


def test_group_sizes_beside_the_file(read, tmp_path):
    (tmp_path / "rank.train.query").write_text("1\n2\n")
    text = "0 1:1\n1 1:2\n0 2:3\n"
    assert read(text, "rank.train").group_sizes.tolist() == [1, 2]
    assert read(gzip.compress(text.encode()), "rank.train.gz").group_sizes.tolist() == [1, 2]
    with pytest.raises(DataError, match=r"rank\.train: group sizes add up to 3 .* 2 rows"):
        read("0 1:1\n1 1:2\n", "rank.train")
    assert read("0 qid:4 1:1\n", "rank.train").qid.tolist() == [4]
    (tmp_path / "rank.train.query").write_text("1\ntwo\n")
    with pytest.raises(DataError, match=r"rank\.train\.query, line 2: .*'two'"):
        read(text, "rank.train")


def test_queries_given_beside_the_text(read):
    text = "0 1:1\n1 1:2\n"
    assert read(text, qid=["a", "b"]).n_queries == 2
    assert read(text, group_sizes=[2]).n_queries == 1
    with pytest.raises(DataError, match="the text has its own qid"):
        read("0 qid:1 1:1\n", group_sizes=[1])


TEXT = b"1 qid:1 1:0.125 2:3\n0 qid:2 2:7\n"


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_compressed_text_in_one_or_several_members(read, suffix, compress):
    name = "data.txt" + suffix
    np.testing.assert_array_equal(read(compress(TEXT), name).X, [[0.125, 3], [0, 7]])
    assert read(compress(TEXT) + compress(TEXT), name).n_rows == 4
    assert read(compress(TEXT[:7]) + compress(TEXT[7:]), name).n_rows == 2
    assert read(compress(TEXT), "no-suffix").n_rows == 2
    for cut in (5, len(compress(TEXT)) // 2, len(compress(TEXT)) - 1):
        with pytest.raises(DataError, match=rf"data\.txt{suffix}: (damaged|the name ends)"):
            read(compress(TEXT)[:cut], name)
    with pytest.raises(DataError, match="this is no"):
        read(TEXT, name)


def test_zstandard(read):
    import pyarrow as pa

    codec = pa.Codec("zstd")
    packed = codec.compress(TEXT, asbytes=True)
    assert read(packed, "data.txt.zst").n_rows == 2
    assert read(packed + packed, "data.txt.zst").n_rows == 4
    for cut in (6, len(packed) // 2, len(packed) - 1):
        with pytest.raises(DataError, match=r"data\.txt\.zst"):
            read(packed[:cut], "data.txt.zst")


def test_progress_is_reported_and_may_interrupt(read):
    calls: list[tuple[int, int]] = []
    read(TEXT, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(TEXT), len(TEXT))

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(TEXT, progress=interrupt)


@pytest.mark.slow
def test_endless_lines_are_refused_without_reading_them_whole(tmp_path):
    plain, packed = tmp_path / "long.txt", tmp_path / "long.txt.gz"
    with plain.open("wb") as file:
        file.write(b"0 qid:1 1:1\n0 qid:1 ")
        file.truncate(1 << 30)
    with gzip.open(packed, "wb", compresslevel=1) as file:
        file.write(b"0 qid:1 1:1\n0 qid:1 ")
        for _ in range(70):
            file.write(b" " * (1 << 20))
    for path in (plain, packed):
        with pytest.raises(DataError, match=r"long\.txt(\.gz)?: a line is longer than 64 MB"):
            rg.load(path)


@pytest.mark.parametrize("token", ["9" * 10_000_000, "0." + "1" * 10_000_000, "x" * 10_000_000])
def test_endless_tokens_have_a_meaning_or_a_short_message(read, token):
    if token.startswith("0"):
        assert read(f"0 qid:1 1:{token}\n").X[0, 0] == np.float32(1 / 9)
        return
    with pytest.raises(DataError, match=r"line 1, column 9.*: '1:(9|x){38}\.\.\.'$"):
        read(f"0 qid:1 1:{token}\n")


def test_huge_feature_numbers_do_not_exhaust_memory(read):
    with pytest.raises(DataError, match=r"rows of 10000000 features do not fit into memory"):
        read("0 qid:1 10000000:1\n" * 100_000, sparse=False)
    message = r"100 rows of 10000000 features would take 3 GB, but the text has 1900 bytes .*right"
    with pytest.raises(DataError, match=message):
        read("0 qid:1 10000000:1\n" * 100, sparse=False)
    message = r"mentions 100 values of up to 10,000,000 features: is the largest .*n_features=1000"
    with pytest.raises(DataError, match=message):
        read("0 qid:1 10000000:1\n" * 100)


def test_a_process_may_not_use_more_memory_than_its_limits(read, monkeypatch):
    monkeypatch.setattr(letor, "memory_limit", lambda: 1000)
    with pytest.raises(DataError, match="100 rows of 3 features do not fit into memory"):
        read("0 qid:1 3:1\n" * 100)
    with pytest.raises(DataError, match="100 rows with 0 values do not fit into memory"):
        read("0 qid:1 3:1\n" * 100, sparse=True)
    monkeypatch.setattr(letor, "BLOCK_BYTES", 1)
    with pytest.raises(DataError, match=r"rows with [1-9][0-9]* values do not fit into memory"):
        read(("0 qid:1 " + " ".join(f"{i}:1" for i in range(1, 51)) + "\n") * 20, sparse=True)


def test_labels_and_queries_can_be_read_alone(read):
    data = read("2 qid:a 1:3 2:x #docid = d1\n0 qid:b 9999999:1\r\n# comment\n1 qid:b", features=[])
    assert data.X.shape == (3, 0)
    assert data.y.tolist() == [2, 0, 1]
    assert data.qid.tolist() == ["a", "b", "b"]
    assert data.doc_ids.tolist() == ["d1", None, None]
    with pytest.raises(ValueError, match="features does not name columns of letor files"):
        read("2 qid:a 1:3\n", features=["f1"])


def test_queries_can_be_named_by_comments(read):
    text = "1 1:3 #shoes\n0 1:1 # shoes \n0 1:7 #hat\n"
    assert read(text, query="comment").qid.tolist() == ["shoes", "shoes", "hat"]
    with pytest.raises(DataError, match="row 1 has no comment to name its query"):
        read("1 1:3 #shoes\n0 1:1\n", query="comment")
    with pytest.raises(DataError, match="there are no comments"):
        read("1 1:3\n0 1:1\n", query="comment")
    with pytest.raises(ValueError, match="query='q' does not apply to letor files"):
        read(text, query="q")


def test_data_remember_what_absent_features_are(read):
    text = "1 qid:1 1:3\n0 qid:1 2:1\n"
    assert read(text).absent == "zero"
    assert read(text, absent="missing").absent == "missing"


def test_text_in_many_pieces_reads_the_same(read, monkeypatch):
    rows = [
        "0 qid:1 1:0.5 2:1 #a",
        "1 qid:1 2:0.25",
        "2 qid:x 1:3 40:1",
        "0 qid:3 0:7 41:2 # b",
        "0 qid:1",
    ]
    text = "\n".join(rows * 3)
    whole = read(text, absent="missing")
    monkeypatch.setattr(letor, "BLOCK_BYTES", 16)
    for name in ("blocks.txt", "blocks.txt.gz"):
        data = text.encode() if name.endswith("txt") else gzip.compress(text.encode())
        blocks = read(data, name, absent="missing")
        np.testing.assert_array_equal(blocks.X, whole.X)
        assert blocks.qid.tolist() == whole.qid.tolist()
        assert blocks.comments.tolist() == whole.comments.tolist()
        assert blocks.feature_names == whole.feature_names
        with pytest.raises(DataError, match=r"line 16, column 9: .*'1:bad'"):
            read(_with_bad_line(data, name), name)


def _with_bad_line(data: bytes, name: str) -> bytes:
    bad = b"\n0 qid:1 1:bad\n"
    return gzip.compress(gzip.decompress(data) + bad) if name.endswith("gz") else data + bad


def test_text_without_labels_says_what_to_write(read):
    with pytest.raises(DataError, match="line 1, column 1: the label before qid is missing"):
        read("qid:1 1:0.5\nqid:1 1:1\n")
