"""CSV and TSV files."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pandas
import pytest

import rankgrove as rg
from rankgrove.data.reading import csv_blocks
from rankgrove.errors import DataError, DataWarning

TEXT = "qid,label,a,b\n1,2,0.5,\n1,0,NULL,-3\n2,1,1e3,7\n"
EXPECTED = [[0.5, np.nan], [np.nan, -3], [1000, 7]]


@pytest.fixture
def read(tmp_path):
    def read_text(text: bytes | str, name: str = "data.csv", **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return rg.load(path, **options)

    return read_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.csv", TEXT),
        ("data.csv", "\ufeff" + TEXT.replace("\n", "\r\n")),
        ("data.csv", TEXT.rstrip("\n")),
        ("data.csv", TEXT.replace(",", ";")),
        ("data.csv", '"qid","label","a","b"\n' + TEXT.split("\n", 1)[1]),
        ("data.tsv", TEXT.replace(",", "\t")),
        ("data.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("data.csv.xz", lzma.compress(TEXT.encode())),
        ("data.tsv.gz", gzip.compress(TEXT.replace(",", "\t").encode(), mtime=0)),
    ],
)
def test_variations_mean_the_same(read, name, text):
    data = read(text, name)
    np.testing.assert_array_equal(data.X, np.array(EXPECTED, np.float32))
    assert data.qid.tolist() == [1, 1, 2]
    assert data.y.tolist() == [2, 0, 1]


def test_query_ids_stay_text_unless_all_are_plain_integers(read):
    assert read("qid,label,a\n7,0,1\n007,1,1\n").qid.tolist() == ["7", "007"]
    assert read("qid,label,a\n-7,0,1\n0,1,1\n").qid.dtype == np.int64


@pytest.mark.filterwarnings("ignore:columns that look")
def test_text_columns_can_be_left_out(read):
    text = "query,rel,title,score\nq,1,hello,0.5\n"
    with pytest.raises(DataError, match=r"data\.csv: .*ignore=\['title'\] \(--ignore title "):
        read(text)
    assert read(text, ignore=["title"]).X.tolist() == [[0.5]]
    assert read(text, features=["score"]).X.tolist() == [[0.5]]
    assert read(text, features=["score"], doc_id="title").doc_ids.tolist() == ["hello"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n1,2\n", "no column names"),
        ("1,2,3\n4,5,6\n", "line 1 must hold the names"),
        ("qid,label,a\n1,0,3\n1,0,x\n", "column 'a' must hold numbers.*: invalid value 'x'"),
        ("qid,label,a\n", "a header line but no rows"),
        ("2,q1,0.5,1\n0,q1,0.7,1\n", "line 1 must hold the names of the columns, but looks like"),
        ("2,q1,1,1\n0,q1,3,1\n", "line 1 must hold the names of the columns, but looks like"),
        ("qid,label,a\n1,0\n", "Expected 3 columns, got 2"),
        ("qid,label,a\n,0,1\n", "column 'qid': the query id is missing in line 2"),
        ("qid,label,a\n1,,1\n", "the value of column 'label' is missing in line 2"),
        ("qid,label,row 1\n1,0,1\n\n1,,1\n", "the value of column 'label' is missing in row 1"),
        ("qid,label,a,weight\n1,0,1,1\n1,1,1,-2\n", "sample_weight -2 of line 3 is negative"),
        ("qid,label,a\n1,0,1\n1,inf,1\n", "'label': the value of line 3 is inf, not a finite"),
        ("qid,label,a\n1,0,1e39\n", "too large for a 32-bit float"),
        ("qid,label,a\n1,0,3.4028235677973365e38\n", "too large for a 32-bit float"),
        ("qid,label,a,a\n1,0,1,1\n", "'a' occurs twice"),
        ("qid,label,a\n1,-1,1\n", "the label -1 is negative"),
        (b"qid,label,\xe9\n1,1,1\n", "line 1 is not UTF-8"),
    ],
)
def test_bad_files_are_refused(read, text, message):
    with pytest.raises(DataError, match=rf"data\.csv.*{message}"):
        read(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [("qid", ""), ("label", ""), ("weight", "-1"), ("label", "inf"), ("a", "1e39")],
)
def test_a_stream_counts_the_lines_of_the_whole_file(tmp_path, monkeypatch, name, value):
    monkeypatch.setattr("rankgrove.data.reading.csv_blocks._BLOCK_BYTES", 64)
    rows = [{"qid": i // 5, "label": i % 2, "a": i, "weight": 1} for i in range(40)]
    rows[30][name] = value
    path = tmp_path / "data.csv"
    path.write_text(
        "qid,label,a,weight\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows)
    )
    with pytest.raises(DataError, match=r"line 32\b"):
        rg.scan(path, weight="weight").read()


def test_damaged_compression_is_refused(read):
    with pytest.raises(DataError, match=r"data\.csv\.gz.*damaged"):
        read(gzip.compress(TEXT.encode() * 100)[:-9], "data.csv.gz")


def test_the_index_of_a_pandas_frame_is_left_out(tmp_path):
    frame = pandas.DataFrame({"label": [1, 0], "qid": [1, 1], "a": [0.5, 1.5]})
    frame.to_csv(tmp_path / "data.csv")
    with pytest.warns(DataWarning, match="left out: ''"):
        data = rg.load(tmp_path / "data.csv")
    assert data.feature_names == ("a",)
    assert data.X.tolist() == [[0.5], [1.5]]


@pytest.mark.parametrize("where", ["first", "later"])
def test_decimal_commas_are_told(read, where):
    lines = ["1;1;1,5", "0;1;2.5"] if where == "later" else ["1;1;1,5", "0;1;2,5"]
    with pytest.raises(DataError, match=r"'1,5'.*decimal comma"):
        read("\n".join(["label;qid;a", *lines]))


def test_a_column_of_texts_is_refused_with_an_example(read):
    with pytest.raises(DataError, match=r"'title' \(such as 'red shoes'\); .*ignore=\['title'\]"):
        read("label,qid,title\n1,1,red shoes\n0,1,hat\n")


@pytest.mark.parametrize("text", ["label,qid,a\n1,1,2\n", "label\tqid\ta\n1\t1\t2\n"])
def test_a_table_named_like_text_is_told(read, text):
    with pytest.raises(DataError, match=r"line 1.*format='csv'"):
        read(text, "data.txt")
    assert read(text, "data.txt", format="csv").n_rows == 1


def test_text_without_a_label_is_not_taken_for_a_table(read):
    with pytest.raises(DataError, match=r"the label before qid is missing .*: 'qid:1'"):
        read("qid:1 1:2,3 2:4\n", "data.txt")


def test_text_named_like_a_table_is_told(read):
    with pytest.raises(DataError, match="format='letor'"):
        read("1 qid:1 1:2 2:3\n0 qid:1 1:2\n")
    with pytest.raises(DataError, match="comma, semicolon or tab"):
        read("label|qid|a\n1|1|2\n")


@pytest.mark.slow
def test_an_endless_line_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "data.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"label,qid,a\n1,1,2\n1,1,")
        for _ in range(80):
            file.write(b"1" * 1_000_000)
    with pytest.raises(DataError, match=r"data\.csv\.gz: line 3 is longer than 64 MB"):
        rg.load(path)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.csv_blocks._BLOCK_BYTES", 64)


def rows_of_text(n: int) -> str:
    return "label,qid,a,note\n" + "".join(
        f'{i % 3},{i // 4},{i}.5,"a ""note""\nof two lines, {i}"\n' for i in range(n)
    )


def test_blocks_of_lines_are_read_like_one(read, small_blocks):
    data = read(rows_of_text(100), doc_id="note")
    np.testing.assert_array_equal(data.X[:, 0], np.arange(100) + 0.5)
    assert data.qid.tolist() == [i // 4 for i in range(100)]
    assert data.doc_ids[99] == 'a "note"\nof two lines, 99'


def test_a_quote_inside_a_field_is_an_ordinary_character(read, small_blocks):
    text = "label,qid,a,note\n" + "".join(f'1,1,{i},{i}" screen\n' for i in range(100))
    assert read(text, doc_id="note").doc_ids[99] == '99" screen'


def test_a_text_among_numbers_says_what_to_do(read):
    text = "qid,label,a b\n1,0,1\n1,1,PL\n"
    with pytest.raises(DataError, match="'PL'; a missing value is an empty field") as caught:
        read(text)
    assert "ignore=['a b'] (--ignore 'a b' on the command line) leaves" in str(caught.value)
    assert "categorical=['a b'] (--categorical 'a b' on" in str(caught.value)
    model = rg.MART(n_estimators=1).fit(read("qid,label,a b\n1,0,1\n1,1,2\n"))
    with pytest.raises(
        DataError, match=r"'PL'; a missing value is an empty field, NA, NaN or NULL$"
    ):
        read(text, like=model)
    with pytest.raises(DataError, match=r"a decimal comma\? Numbers have a point$"):
        read(text.replace("PL", '"1,5"'))


def test_quoted_fields_of_numbers_are_missing_beside_categories(read, small_blocks):
    """As write.csv of R and databases write them; among categories, they are values."""
    text = "qid,label,a,b\n" + '"1","2","",""\n"1","0","NA","NA"\n"2","1","1e3","x"\n' * 20
    data = read(text, categorical=["b"])
    np.testing.assert_array_equal(data.X[:3, 0], np.array([np.nan, np.nan, 1000], np.float32))
    assert sorted(data.categories[1].values) == ["", "NA", "x"]
    assert data.feature_names == ("a", "b")
    lines = text.splitlines()
    lines[30] = '"2","1","many","x"'
    with pytest.raises(DataError, match=r"line 31: column 'a' must hold numbers.*'many'"):
        read("\n".join(lines), categorical=["b"])


def test_errors_name_the_line_also_far_behind_the_first_block(read, small_blocks):
    lines = ["label,qid,a", *["1,1,2.5"] * 40, "1,1,many", "1,1,2"]
    with pytest.raises(DataError, match=r"line 42: column 'a' must hold numbers.*'many'"):
        read("\n".join(lines))
    lines[41] = "1,1"
    with pytest.raises(DataError, match=r"line 42: Expected 3 columns, got 2"):
        read("\n".join(lines))


@pytest.mark.parametrize("number", ["1e999", "-1e400"])
def test_a_number_that_no_float_holds_is_no_infinity(read, small_blocks, number):
    text = "label,qid,a\n" + "1,1,inf\n" * 20 + f"1,1,{number}\n1,1,-Infinity\n"
    with pytest.raises(DataError, match=rf"column 'a' .* '{number}' \(in or near line 22\)"):
        read(text)
    np.testing.assert_array_equal(
        read(text.replace(number, "-inf")).X[19:, 0], [np.inf, -np.inf, -np.inf]
    )


def test_truths_are_one_and_zero_as_in_other_tables(read, tmp_path):
    frame = pandas.DataFrame(
        {"qid": [1, 1, 2], "label": [True, False, True], "a": [False, True, None], "b": [1, 2, 3]}
    )
    frame.to_parquet(tmp_path / "data.parquet")
    table, same = read(frame.to_csv(index=False)), rg.load(tmp_path / "data.parquet")
    assert np.array_equal(table.X, same.X, equal_nan=True)
    assert table.y.tolist() == same.y.tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="line 1002: column 'a' must hold True or False"):
        read("qid,label,a\n" + "1,0,true\n" * 1000 + "1,0,2\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (pandas.DataFrame({"a": range(9)}).to_parquet(), "this is a Parquet file"),
        ("qid,label,a\n1,2,3\n".encode("utf-16"), "looks like UTF-16"),
    ],
)
def test_what_is_no_csv_is_called_what_it_is(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_blanks_around_names_and_numbers_do_not_count(read):
    data = read("label, qid , f 1,f2, new\n1, 7, 0.5, 2, True\n0,7 ,1.5, NA,False\n")
    assert data.feature_names == ("f 1", "f2", "new")
    assert data.qid.tolist() == [7, 7]
    np.testing.assert_array_equal(data.X, [[0.5, 2, 1], [1.5, np.nan, 0]])
    with pytest.raises(DataError, match="the column 'f1' occurs twice"):
        read("label,qid,f1, f1\n1,7,1,2\n")
    with pytest.raises(DataError, match="line 3: column 'f1' must hold numbers"):
        read("label, qid, f1\n1,7,1\n1,7,x\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("qid,label,a,\n1,1,2,\n1,0,3,\n", "line 1: the field 4 of the names .* a separator too"),
        ("qid,label,,a\n1,1,2,3\n1,0,3,4\n", "line 1: the field 3 of the names .* is empty"),
        ("qid,label,a\r1,1,2\r1,0,3\r", "line 1: carriage return without newline"),
    ],
)
def test_names_that_are_empty_and_lone_carriage_returns_are_told(text, reason, tmp_path):
    (tmp_path / "data.csv").write_bytes(text.encode())
    with pytest.raises(DataError, match=reason):
        rg.load(tmp_path / "data.csv")


OPEN = "line {}: the quote that begins a field is never closed"


@pytest.mark.parametrize("line", [1, 7, 21])
@pytest.mark.parametrize("field", [0, 3])
def test_a_quote_that_is_never_closed_is_refused(tmp_path, line, field):
    lines = ["label,qid,x,name", *(f"1,{i // 5},0.5,n{i}" for i in range(20))]
    fields = lines[line - 1].split(",")
    fields[field] = '"' + fields[field]
    lines[line - 1] = ",".join(fields)
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=OPEN.format(line)):
        rg.load(path, ignore=["name"])
    with pytest.raises(DataError, match=OPEN.format(line)):
        rg.MART(n_estimators=1).fit(rg.scan(path, ignore=["name"]))


def test_an_open_quote_beyond_the_first_block_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", 500)
    lines = ["label,qid,x,name", *(f"1,{i // 5},0.5,n{i}" for i in range(200))]
    lines[120] = lines[120].replace("n", '"n')
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=OPEN.format(121)):
        rg.load(path, ignore=["name"])


def test_quotes_within_fields_and_lines_within_quotes_are_text(tmp_path):
    names = ['5" x', '6"', '"7\n8"', '"9""\n"', '""', '"a,""b"', 'last"']
    lines = ["label,qid,x,name", *(f"{i % 2},1,{i},{name}" for i, name in enumerate(names))]
    path = tmp_path / "data.csv"
    for ending in ("", "\n", "\n\n"):
        path.write_text("\n".join(lines) + ending)
        assert rg.load(path, ignore=["name"]).X[:, 0].tolist() == list(range(7))
