"""Bad requests get an answer that says what is wrong; the server goes on."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.serving.test_answers import batch_of, post_arrow, rows_of, stream_of

from rankgrove.cli.main import main
from rankgrove.serving import Limits, make_app

NAMES = [f"column {j}" for j in range(20)]
GOOD = [[0.5] * 20, [0.25] * 20]


def with_value(text):
    """Return a body with some JSON in row 1, column 3."""
    body = json.dumps({"rows": GOOD})
    return (
        body[: body.rindex("0.25")].replace("[0.25, 0.25, 0.25, 0.25", f"[0.25, 0.25, 0.25, {text}")
        + "0.25]]}"
    )


LONG_TEXT = '"' + "a" * 61 + '\\"b"'  # the part that is quoted ends with an escaped quote


@pytest.mark.parametrize(
    "text", ['"NaN"', '"1.5"', '"true"', "[1]", "{}", "1e999", "-1e400", LONG_TEXT]
)
def test_a_wrong_value_is_named_by_row_and_column(server, ranker, text):
    answer = server.client.post(
        "/score", content=with_value(text), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    column = ranker.feature_names_in_[3]
    assert (error["field"], error["row"], error["column"]) == ("rows", 1, column)
    assert column in error["message"]
    assert "row 1" in error["message"]


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[[1]", '{"rows": [[NaN]]}', '{"rows": [[Infinity]]}', '{"rows": [[01]]}'),
        *("\x00", "{'rows': []}", '{"rows": [[1]]} x', "[" * 100_000, '{"rows": ' + "[" * 3),
    ],
)
def test_text_that_is_not_json(server, body):
    answer = server.client.post(
        "/score", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["error"]["message"]


def test_bytes_that_are_not_utf8(server):
    answer = server.client.post(
        "/score",
        content=b'{"rows": [], "qid": "\xff\xfe"}',
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, None, "rows"),
        ({"rows": GOOD, "labels": [1, 2]}, None, "labels"),
        ([], None, "object"),
        ({"rows": 1}, "rows", "array"),
        ({"rows": [1]}, "rows", "row 0"),
        ({"rows": [GOOD[0], GOOD[1][:-1]]}, "rows", "row 1 has 19 values but the model has 20"),
        ({"rows": [[1, 2]], "columns": ["a", "b"]}, "columns", "lacks 20 of the 20"),
        ({"rows": [[1, 2]], "columns": ["f1", "f2"]}, "columns", "names 2 columns"),
        ({"rows": GOOD, "qid": ["a"]}, "qid", "1 entries but there are 2 rows"),
        ({"rows": GOOD, "qid": [1.5, 2]}, "qid", "1.5"),
        ({"rows": GOOD, "qid": [None, 2]}, "qid", "row 0"),
        ({"rows": GOOD, "qid": 1, "group_sizes": [2]}, "qid", "not both"),
        ({"rows": GOOD, "group_sizes": [1]}, "group_sizes", "add up to 1"),
        ({"rows": GOOD, "group_sizes": [-1, 3]}, "group_sizes", "negative"),
        ({"rows": GOOD, "group_sizes": [2**70]}, "group_sizes", "beyond 64 bits"),
        ({"rows": GOOD, "group_sizes": [2**63 - 1, 2**63 - 1, 4]}, "group_sizes", ""),
    ],
)
def test_bodies_that_do_not_fit(server, body, field, words):
    answer = server.score(body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error.get("field") == field
    assert words in error["message"]


def test_a_missing_column_is_named(server, ranker, data):
    names = list(ranker.feature_names_in_)
    given = [*names[:4], "price", *names[5:], "brand"]
    body = {"rows": [[1.0] * 21], "columns": given}
    for answer in (
        server.score(body),
        post_arrow(server, stream_of([batch_of(np.ones((1, 21)), given)])),
    ):
        assert answer.status_code == 422, answer.text
        assert repr(names[4]) in answer.json()["error"]["message"]
        assert answer.json()["error"]["column"] == names[4]


def test_a_column_given_twice_is_refused(server, ranker):
    names = list(ranker.feature_names_in_)
    answer = server.score({"rows": [[1.0] * 21], "columns": [*names, names[2]]})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert "occurs twice" in error["message"]
    assert error["column"] == names[2]
    answer = server.score({"rows": [[1.0] * 20], "columns": [names[2]] * 20})  # and 19 are lacking
    assert answer.json()["error"]["column"] == names[2]


@pytest.mark.parametrize(
    "fields",
    [
        '"rows": [ROW], "qid": 1, "qid": 2',
        '"qid": "a", "rows": [ROW], "qid": "b"',
        '"rows": [ROW], "rows": [ROW]',
        '"rows": [], "rows": [ROW]',
        '"rows": [ROW], "r\\u006fws": []',
        '"rows": [ROW], "q\\u0069d": 1, "qid": 1',
    ],
)
def test_a_field_given_twice_is_refused(server, fields):
    body = "{" + fields.replace("ROW", json.dumps([1.0] * 20)) + "}"
    answer = server.client.post(
        "/score", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400, answer.text
    assert "occurs more than once" in answer.json()["error"]["message"]


def test_queries_are_demanded_where_they_matter(server):
    for answer in (
        server.score({"rows": GOOD}, "against"),
        server.score({"rows": GOOD}, ranks="true"),
        server.score({"rows": GOOD}, top_k=3),
    ):
        assert answer.status_code == 422
        assert answer.json()["error"]["field"] == "qid"


@pytest.mark.parametrize(
    "parameters",
    [
        *({"top_k": "0"}, {"top_k": "-1"}, {"top_k": "²"}, {"ranks": "yes"}, {"k": "3"}),
        *({"top_k": ["1", "2"]}, {"top_k": ["1", "1"]}, {"ranks": ["true", "false"]}),
    ],
)
def test_parameters_that_do_not_fit(server, parameters):
    answer = server.score({"rows": GOOD, "qid": 1}, **parameters)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == next(iter(parameters))


def test_unknown_names(server):
    answer = server.score({"rows": GOOD}, "wbe")
    assert answer.status_code == 404
    assert "web, against" in answer.json()["error"]["message"]
    assert server.client.get("/models/wbe").status_code == 404
    assert server.client.get("/nowhere").json()["error"]["code"] == "address"
    assert server.client.get("/score").status_code == 405


def test_other_content_types_and_encodings(server):
    for headers in ({"content-type": "text/csv"}, {}):
        assert server.client.post("/score", content=b"1,2", headers=headers).status_code == 415
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert server.client.post("/score", content=b"{}", headers=headers).status_code == 415


def test_too_many_rows(server):
    rows = [[0.5] * 20] * 2001
    answer = server.score({"rows": rows})
    assert answer.status_code == 413
    assert "2000" in answer.json()["error"]["message"]
    names = [f"f{j}" for j in range(20)]
    assert post_arrow(server, stream_of([batch_of(np.ones((2001, 20)), names)])).status_code == 413


def test_pairs_count_as_rows(server):
    answer = server.score({"rows": [[0.5] * 20] * 50, "qid": 1}, "against")
    assert answer.status_code == 413
    assert "2450" in answer.json()["error"]["message"]


def test_a_body_that_is_too_large_is_not_read(server):
    declared = server.client.post(
        "/score", content=b" " * (2 << 20), headers={"content-type": "application/json"}
    )
    assert declared.status_code == 413

    def parts():
        for _ in range(64):
            yield b" " * (32 << 10)

    streamed = server.client.post(
        "/score", content=parts(), headers={"content-type": "application/json"}
    )
    assert streamed.status_code == 413


def test_a_body_that_does_not_arrive_is_given_up(impatient_server):
    with impatient_server.connect() as connection:
        connection.sendall(
            b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b'content-length: 100\r\n\r\n{"rows"'
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")


def compressed(batch, codec):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_arrow_is_refused_before_it_grows(server, ranker, codec):
    batch = batch_of(np.zeros((1900, 20)), ranker.feature_names_in_)
    answer = post_arrow(server, compressed(batch, codec))
    assert answer.status_code == 422
    assert "compressed" in answer.json()["error"]["message"]


def test_arrow_columns_of_other_types_are_named(server, ranker):
    names = list(ranker.feature_names_in_)
    columns = {name: pa.array([1.0]) for name in names}
    for wrong in (pa.array(["1.0"]), pa.array([[1.0]]), pa.array([b"x"])):
        batch = pa.RecordBatch.from_pydict(columns | {names[5]: wrong})
        answer = post_arrow(server, stream_of([batch]))
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["column"] == names[5]


def test_arrow_query_ids_are_checked(server, ranker):
    columns = {name: pa.array([1.0, 2.0]) for name in ranker.feature_names_in_}
    for wrong, words in (
        (pa.array([1.5, 2.5]), "double"),
        (pa.array(["a", None]), "row 1"),
        (pa.array(["a", None]).dictionary_encode(), "row 1"),
    ):
        batch = pa.RecordBatch.from_pydict(columns | {"qid": wrong})
        answer = post_arrow(server, stream_of([batch]), "against")
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["error"]["message"]


def test_bytes_that_are_not_arrow(server, ranker):
    whole = stream_of([batch_of(np.ones((3, 20)), ranker.feature_names_in_)])
    for body in (b"", b"ARROW1", b"\xff" * 100, whole[:200], whole[: len(whole) // 2], whole[8:]):
        answer = post_arrow(server, body)
        assert answer.status_code == 400, (body[:20], answer.text)
        assert "Arrow" in answer.json()["error"]["message"]


def test_the_server_still_answers(server, ranker, data):
    X = np.asarray(data.X[:5])
    assert np.array_equal(server.score({"rows": rows_of(X)}).json()["scores"], ranker.predict(X))


def test_an_unknown_field_gets_the_known_ones(server):
    answer = server.client.post("/score", json={"documents": GOOD})
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert "`documents`; fields are rows, columns, qid, group_sizes" in message


@pytest.mark.parametrize("charset", ["latin-1", '"UTF-16"', "iso-8859-1"])
def test_json_in_another_charset_is_refused(server, charset):
    headers = {"content-type": f"application/json; charset={charset}"}
    answer = server.client.post("/score", content=json.dumps({"rows": GOOD}), headers=headers)
    assert answer.status_code == 415, answer.text
    assert answer.json()["error"]["field"] == "content-type"
    for usual in ("utf-8", '"UTF-8"'):
        headers = {"content-type": f"application/json; charset={usual}"}
        good = server.client.post("/score", content=json.dumps({"rows": GOOD}), headers=headers)
        assert good.status_code == 200, good.text


@pytest.mark.parametrize("option", ["--read-seconds", "--reload-seconds", "--drain-seconds"])
@pytest.mark.parametrize("text", ["nan", "inf", "-1", "soon"])
def test_times_of_serve_are_finite(option, text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["serve", "model.rg", option, text])
    assert ended.value.code == 2
    assert option in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_times_of_an_application_are_finite(model_files, seconds):
    with pytest.raises(ValueError, match="reload_seconds must be a finite number"):
        make_app({"m": model_files[0]}, reload_seconds=seconds)
    with pytest.raises(ValueError, match="read_seconds must be a finite number"):
        Limits(read_seconds=seconds)
