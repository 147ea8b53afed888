"""No body, however broken, brings anything but documents or a RequestError."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving.test_answers import batch_of, stream_of

import rankgrove
from rankgrove._native import read_json_rows
from rankgrove.data.core.columns import Columns
from rankgrove.models.linear import LinearModel
from rankgrove.serving import service
from rankgrove.serving.arrow_body import read_arrow
from rankgrove.serving.documents import check_documents
from rankgrove.serving.errors import RequestError
from rankgrove.serving.json_body import read_json
from rankgrove.serving.score_response import ScoreOptions, as_arrow, as_json

MODEL = LinearModel(
    columns=Columns(("a", "b", "c"), 3),
    weights=np.array([1.0, 2.0, 3.0]),
    fill=np.zeros(3, np.float32),
    normalisation="query-minmax",
)
X = np.arange(12, dtype=np.float64).reshape(4, 3)
JSON = b'{"rows": [[1, 2.5e3, null], [-4, 5, 6]], "columns": ["c", "a", "b"], "qid": ["x", 1]}'
ARROW = stream_of(
    [batch_of(X, ("a", "b", "c"), qid=["x", "y", "x", "y"]).slice(i, 2) for i in (0, 2)]
)


def edits(whole):
    """Yield strategies that overwrite, cut out or insert a few bytes of a sound body."""
    place = st.integers(0, len(whole) - 1)
    return st.lists(
        st.tuples(place, st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=4
    )


def edited(whole, changes):
    for place, cut, new in changes:
        whole = whole[:place] + new + whole[place + cut :]
    return whole


def read(reader, body):
    """Read a body and score it; a RequestError is an answer, too, any other error is none."""
    with contextlib.suppress(RequestError):
        documents = reader(body, MODEL, 1000)
        check_documents(documents, MODEL, 1000)
        check_scores(documents)


def check_scores(documents):
    assert documents.X.shape[1] == 3
    assert documents.groups.n_rows == len(documents.X) <= 1000
    assert np.isfinite(MODEL.scores(documents.X, documents.groups)).all()


@pytest.mark.parametrize(("reader", "whole"), [(read_json, JSON), (read_arrow, ARROW)])
def test_the_sound_body_is_read(reader, whole):
    documents = reader(whole, MODEL, 1000)
    assert documents.groups.n_queries == len(documents.query_ids) == 2


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(edits(JSON))
def test_damaged_json(changes):
    read(read_json, edited(JSON, changes))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(edits(ARROW))
def test_damaged_arrow(changes):
    read(read_arrow, edited(ARROW, changes))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(body):
    read(read_json, body)
    read(read_arrow, body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["rows", "columns", "qid", "group_sizes", "x"]), inner)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {"rows": json_values},
        optional=dict.fromkeys(("qid", "columns", "group_sizes"), json_values),
    )
)
def test_any_json(value):
    read(read_json, json.dumps(value).encode())


numbers = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1)
    ),
    st.sampled_from(["", '"qid": ["a]", 1, "\\\\"], ', '"columns": ["a", "{b"], "qid": null, ']),
    st.sampled_from([None, 1]),
)
def test_plain_rows_are_read_as_by_msgspec(rows, before, indent):
    body = f'{{{before}"rows": {json.dumps(rows, indent=indent)}}}'.encode()
    expected = msgspec.json.decode(body)
    found = read_json_rows(body, 1000)
    if isinstance(found[0], tuple):  # an integer too large for a double
        assert any(abs(x or 0) > 1e300 for row in rows for x in row)
        return
    np.testing.assert_array_equal(found[0], np.array(expected.pop("rows"), np.float64))
    assert msgspec.json.decode(found[1]) == {"rows": [], **expected}


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(edits(JSON))
def test_what_is_read_quickly_is_sound(changes):
    body = edited(JSON, changes)
    found = read_json_rows(body, 1000)
    if found is None or isinstance(found[0], tuple):
        return
    try:
        rest = msgspec.json.decode(found[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    whole = msgspec.json.decode(body)
    if whole["rows"]:
        np.testing.assert_array_equal(found[0], np.array(whole["rows"], np.float64))
    assert rest == {**whole, "rows": []}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"rows": [[1, "2"]]}', ("not a number", 0, 1, b'"2"')),
        (b'{"rows": [[1, 2], [3]], "qid": 1}', ("ragged", 1, 1, b"2")),
        (b'{"rows": [[1], []]}', ("ragged", 1, 0, b"1")),
        (b'{"rows": [[01]]}', ("not a number", 0, 0, b"01")),
        (b'{"rows": [[1], [NaN]]}', ("not a number", 1, 0, b"NaN")),
        (b'{"rows": [[1e999]]}', ("not a number", 0, 0, b"1e999")),
        (b'{"rows": [[1.]]}', ("not a number", 0, 0, b"1.")),
        (b'{"rows": [[1 2]]}', ("malformed", 0, 0, b"")),
        (b'{"rows": [[1, truest]]}', ("malformed", 0, 1, b"")),
        (b'{"rows": [[True]]}', ("not a number", 0, 0, b"True")),
        (b'{"rows": [[1], 2]}', ("not rows", 1, 1, b"2")),
        (b'{"rows": {"a": 1}}', ("not rows", -1, -1, b'{"a": 1}')),
        (b'{"rows": [[1]], "rows": [[2]]}', ("repeated", 0, 1, b"rows")),
        (b'{"rows": [[1]], "r\\u006fws": [[2]]}', ("repeated", 0, 1, b"rows")),
        (b'{"rows": [[1], [2], [3], ["x"]]}', ("too many rows", 3, 1, b"")),
        (b'{"qid": [%s]}' % b",".join([b"1"] * 100_002), ("too many entries", -1, -1, b"qid")),
    ],
)
def test_what_is_wrong_with_rows_is_found_by_the_native_reader(body, problem):
    assert read_json_rows(body, 3)[0] == problem


@pytest.mark.parametrize("body", [b'{"columns": ["a"]}', b"[[1]]", b'{"rows": [[1]]', b""])
def test_what_is_no_object_with_rows_is_left_to_msgspec(body):
    assert read_json_rows(body, 1000) is None


@pytest.mark.parametrize("extra", ["", ', "a text"'])
def test_true_is_1_and_false_is_0_in_columns_of_numbers(extra):
    """Also where a column that is left out holds texts, so that values are read one by one."""
    names = ["c", "a", "b", "left out"][: 4 if extra else 3]
    body = f'{{"rows": [[true, false, 2{extra}]], "columns": {json.dumps(names)}, "qid": 1}}'
    assert read_json(body.encode(), MODEL, 10).X.tolist() == [[0.0, 2.0, 1.0]]


def test_numbers_beyond_a_double_are_0_or_refused():
    rows, _ = read_json_rows(b'{"rows": [[1e-400, -1e-999, 5e-324]]}', 1)
    assert rows.tolist() == [[0.0, -0.0, 5e-324]]


@pytest.mark.parametrize("rows", ["[[1, 2, 3], [1, 2]]", "[[1, 2], [1, 2, 3]]"])
def test_the_row_with_the_wrong_number_of_values_is_named(rows):
    wrong = json.loads(rows).index([1, 2])
    with pytest.raises(RequestError, match=f"row {wrong} has 2 values but the model has 3"):
        read_json(f'{{"rows": {rows}}}'.encode(), MODEL, 10)


@pytest.mark.parametrize("extra", [ARROW, b"\0", b"\xff" * 8])
def test_what_follows_the_stream_is_not_dropped(extra):
    with pytest.raises(RequestError, match=f"{len(extra)} bytes follow its end"):
        read_arrow(ARROW + extra, MODEL, 1000)


def test_a_stream_without_an_end_marker_is_whole():
    assert len(read_arrow(ARROW.removesuffix(b"\xff\xff\xff\xff\0\0\0\0"), MODEL, 9).X) == 4


def test_columns_numbered_in_another_order_are_refused():
    model = replace(MODEL, columns=Columns(("f1", "f2", "f3"), 3))
    rows = {"rows": X.tolist()}
    for names in (["3", "1", "2"], ["2", "1", "0"]):
        with pytest.raises(RequestError, match=r"another order .'[23]', '1'"):
            read_json(json.dumps(rows | {"columns": names}).encode(), model, 1000)
        batch = pa.RecordBatch.from_arrays(list(map(pa.array, X.T)), names)
        with pytest.raises(RequestError, match=r"another order .'[23]', '1'"):
            read_arrow(stream_of([batch]), model, 1000)
    for names in (["1", "2", "3"], ["0", "1", "2"]):
        documents = read_json(json.dumps(rows | {"columns": names}).encode(), model, 1000)
        np.testing.assert_array_equal(documents.X, X)


def test_two_columns_of_query_ids_are_refused():
    columns = [*X.T, ["x"] * 4, ["y"] * 4]
    batch = pa.RecordBatch.from_arrays(list(map(pa.array, columns)), [*"abc", "qid", "qid"])
    with pytest.raises(RequestError, match="2 columns 'qid'"):
        read_arrow(stream_of([batch]), MODEL, 1000)


def test_a_model_that_normalises_within_queries_demands_them():
    documents = read_json(b'{"rows": [[1, 2, 3]]}', MODEL, 10)
    with pytest.raises(RequestError, match="against the others of its query"):
        check_documents(documents, MODEL, 10)


def test_a_large_ragged_body_makes_no_python_objects():
    row = b"[" + b",".join([b"0.5"] * 3) + b"],"
    body = b'{"rows": [' + row * 50_000 + b"[1]]}"
    tracemalloc.start()
    try:
        with pytest.raises(RequestError, match="row 50000 has 1 values"):
            read_json(body, MODEL, 100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("own", "sent", "warns"),
    [
        (None, ("a", "b", "c"), "'columns' has names ('a', 'b', 'c'), the model has none"),
        (("f1", "f2", "f3"), ("a", "b", "c"), "the model has none: they are taken in their order"),
        (("a", "b", "c"), ("f1", "f2", "f3"), "'columns' only numbers the columns ('f1', "),
        (None, ("f1", "f2", "f3"), None),
        (("a", "b", "c"), ("c", "a", "b"), None),
    ],
)
def test_columns_that_are_only_counted_are_reported(own, sent, warns):
    model = replace(MODEL, columns=Columns(own, 3))
    body = json.dumps({"rows": X.tolist(), "columns": sent, "qid": 1}).encode()
    arrow = stream_of([batch_of(X, sent, qid=["x"] * 4)])
    plain = stream_of([batch_of(X, sent)])
    for documents in (
        read_json(body, model, 10),
        read_arrow(arrow, model, 10),
        read_arrow(plain, model, 10),
    ):
        scores = np.zeros(4)
        answer = json.loads(as_json("m", scores, documents, ScoreOptions()))
        stream = pa.ipc.open_stream(as_arrow(scores, documents, ScoreOptions()))
        noted = (stream.schema.metadata or {}).get(b"warnings")
        if warns is None:
            assert "warnings" not in answer
            assert noted is None
        else:
            assert warns in answer["warnings"][0]
            assert json.loads(noted) == answer["warnings"]


@pytest.mark.parametrize("value", ["blue", True, 1, None])
def test_an_extra_column_may_hold_anything_but_lists(value):
    rows = [[*row, value] for row in X.tolist()]
    body = {"rows": rows, "columns": ["a", "b", "c", "colour"], "qid": 1}
    np.testing.assert_array_equal(read_json(json.dumps(body).encode(), MODEL, 10).X, X)
    rows[2][1] = "blue"
    with pytest.raises(RequestError, match="row 2, column 'b': 'blue' is not a finite number"):
        read_json(json.dumps(body).encode(), MODEL, 10)


@pytest.mark.parametrize("half", [r"\ud800", r"\ud800abcdefgh", r"\udc00", r"\uDBFF\u0041"])
def test_half_of_a_surrogate_pair_is_named(half):
    body = b'{"rows": [[1, 2, 3]], "qid": "%s"}' % half.encode()
    with pytest.raises(RequestError, match="half of a surrogate pair") as caught:
        read_json(body, MODEL, 10)
    assert half[:6] in str(caught.value)
    whole = body.replace(half.encode(), rb"\ud83d\ude00")
    assert read_json(whole, MODEL, 10).query_ids == ["\U0001f600"]


@pytest.mark.parametrize(
    ("accept", "sent", "answered"),
    [
        ("", "json", "json"),
        ("*/*", "arrow", "arrow"),
        ("{json}", "arrow", "json"),
        ("{json};q=0, {arrow}", "json", "arrow"),
        ("{json}; Q=0.0, {arrow};q=0.1", "json", "arrow"),
        ("{arrow};q=0, */*", "arrow", "json"),
        ("{json};q=0.2, {arrow}", "json", "arrow"),
        ("{json}, {arrow}", "arrow", "arrow"),
        ("{json};q=0, {arrow};q=0", "json", "json"),
    ],
)
def test_accept_is_weighed(accept, sent, answered):
    types = {"json": service.JSON, "arrow": service.ARROW}
    assert service._response_type(accept.format(**types), types[sent]) == types[answered]


@pytest.mark.process
def test_arrow_bodies_and_answers_need_no_pandas(tmp_path):
    """Its import would stop the event loop at the first request that brings it."""
    code = (
        "import sys\n"
        "import numpy as np\n"
        "from rankgrove import load_model\n"
        "from rankgrove.serving.arrow_body import read_arrow\n"
        "from rankgrove.serving.score_response import ScoreOptions, as_arrow\n"
        "model = load_model(sys.argv[1]).model_\n"
        "documents = read_arrow(sys.stdin.buffer.read(), model, 10)\n"
        "as_arrow(np.zeros(4), documents, ScoreOptions(ranks=True, top_k=1))\n"
        "assert 'pandas' not in sys.modules\n"
    )
    rankgrove.MART(n_estimators=1).fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), [0, 1, 0, 1], qid=[1] * 4
    ).save(tmp_path / "m.rg")
    command = [sys.executable, "-c", code, str(tmp_path / "m.rg")]
    done = subprocess.run(command, input=ARROW, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
