"""Categories in requests: texts and numbers of JSON, texts and dictionaries of Arrow."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rankgrove as rg
from rankgrove.serving import make_app
from rankgrove.serving.arrow_body import read_arrow
from rankgrove.serving.errors import RequestError
from rankgrove.serving.json_body import read_json


def frame(n=200):
    random = np.random.default_rng(0)
    brand = random.choice(np.array(["a", "b", "ü"], object), n)
    table = pd.DataFrame({"price": random.random(n), "brand": brand})
    table["shop"] = random.integers(0, 9, n)
    table["new"] = random.random(n) < 0.5
    return table


FRAME = frame()
NAMES = ["brand", "shop", "new"]
LABEL = (FRAME.brand == "a") + (FRAME["shop"] % 3 == 0) + FRAME.new
DATA = rg.load(FRAME.assign(label=LABEL, qid=np.arange(200) // 20), categorical=NAMES)
RANKER = rg.LambdaMART(n_estimators=10, random_state=0, min_samples_leaf=3).fit(DATA)
MODEL = RANKER.model_


def body(table, **others):
    rows = [
        [None if value is None or value != value else value for value in row]
        for row in table.astype(object).to_numpy().tolist()
    ]
    return json.dumps({"rows": rows, "columns": list(table.columns), **others}).encode()


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_json_and_arrow_score_as_a_frame_does():
    expected = RANKER.predict(FRAME)
    for table in (FRAME, FRAME[["new", "shop", "price", "brand"]]):
        found = read_json(body(table), MODEL, 1000)
        np.testing.assert_array_equal(MODEL.scores(found.X), expected)
        arrow = pa.Table.from_pandas(table)
        place = arrow.column_names.index("brand")
        coded = arrow.set_column(place, "brand", arrow["brand"].dictionary_encode())
        for sent in (arrow, coded):
            found = read_arrow(stream(sent), MODEL, 1000)
            np.testing.assert_array_equal(MODEL.scores(found.X), expected)
    rows = FRAME.astype(object).to_numpy().tolist()
    found = read_json(json.dumps({"rows": rows}).encode(), MODEL, 1000)
    np.testing.assert_array_equal(MODEL.scores(found.X), expected)


def test_null_and_unknown_categories_are_missing():
    missing = RANKER.predict(FRAME.assign(brand=None))
    for value in (None, "unknown"):
        found = read_json(body(FRAME.assign(brand=value)), MODEL, 1000)
        np.testing.assert_array_equal(MODEL.scores(found.X), missing)
    arrow = pa.Table.from_pandas(FRAME.assign(brand="unknown"))
    np.testing.assert_array_equal(MODEL.scores(read_arrow(stream(arrow), MODEL, 999).X), missing)


@pytest.mark.parametrize(
    ("change", "column"),
    [({"brand": 7}, "brand"), ({"shop": "7"}, "shop"), ({"price": "7"}, "price")],
)
def test_values_of_another_kind_are_refused(change, column):
    with pytest.raises(RequestError) as error:
        read_json(body(FRAME.assign(**change)), MODEL, 1000)
    assert f"column '{column}'" in str(error.value)
    with pytest.raises(RequestError, match=column):
        read_arrow(stream(pa.Table.from_pandas(FRAME.assign(**change))), MODEL, 1000)


@pytest.mark.parametrize("rows", [3, [1], [["a"]], [[1, 2, 3, 4, 5]], [[[], 1, 2, 3]]])
def test_malformed_rows_are_refused(rows):
    with pytest.raises(RequestError):
        read_json(json.dumps({"rows": rows}).encode(), MODEL, 1000)


@pytest.mark.parametrize("value", ["1e400", "1" * 400, "-" + "1" * 400, "[2]", '{"a": 2}'])
def test_a_value_that_does_not_fit_is_named(value):
    names = list(FRAME.columns)
    row = json.dumps(FRAME.iloc[0].astype(object).tolist(), default=lambda one: one.item())
    odd = json.loads(row)
    odd[names.index("price")] = "ODD"
    rows = f"[{row}, {json.dumps(odd)}]".replace('"ODD"', value)
    with pytest.raises(RequestError, match="'rows', row 1, column 'price': ") as error:
        read_json(f'{{"columns": {json.dumps(names)}, "rows": {rows}}}'.encode(), MODEL, 1000)
    assert (error.value.status, error.value.where["column"]) == (422, "price")
    assert error.value.where["value"][:20] == value[:20].replace('"', "'")


def test_a_text_that_is_not_utf8_is_refused_as_such():
    with pytest.raises(RequestError, match="not UTF-8"):
        read_json(b'{"rows": [["\xff", 1, true, 0.5]]}', MODEL, 1000)


def test_unknown_categories_are_counted_in_answers_metrics_and_log(tmp_path, caplog):
    TestClient = pytest.importorskip("starlette.testclient").TestClient

    RANKER.save(tmp_path / "shop.rg")
    some = FRAME.copy()
    some.loc[:49, "brand"] = "unknown"
    some.loc[0, "shop"] = 99
    some.loc[60:64, "brand"] = None  # missing, not unknown
    counts = {"brand": 50, "shop": 1}
    arrow = {"content-type": "application/vnd.apache.arrow.stream"}
    with TestClient(make_app({"shop": tmp_path / "shop.rg"})) as client:
        client.headers["content-type"] = "application/json"
        answer = client.post("/score", content=body(FRAME)).json()
        assert "unknown_categories" not in answer
        assert not caplog.records
        for _ in range(3):
            answer = client.post("/score", content=body(some)).json()
            assert answer["unknown_categories"] == counts
        answer = client.post("/score", content=stream(pa.Table.from_pandas(some)), headers=arrow)
        metadata = pa.ipc.open_stream(answer.content).schema.metadata
        assert json.loads(metadata[b"unknown_categories"]) == counts
        answer = client.post("/score?top_k=1", content=body(some, qid=1)).json()
        assert answer["unknown_categories"] == counts
        measured = client.get("/metrics").text
    assert 'rankgrove_unknown_categories_total{column="brand",model="shop"} 250.0' in measured
    assert 'rankgrove_unknown_categories_total{column="shop",model="shop"} 5.0' in measured
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "model shop: 50 of 400 values of 'brand'" in told[0]


def test_repeated_fields_are_refused():
    row = json.dumps({"rows": [["a", 1, True, 0.5]]})[1:-1]
    for text in (f"{{{row}, {row}}}", f'{{{row}, "qid": 1, "qid": 2}}'):
        with pytest.raises(RequestError, match="occurs more than once"):
            read_json(text.encode(), MODEL, 1000)


@pytest.mark.parametrize("row", ["[]", "[1]", '["a"]', '["a", 1, true, 0.5]', "3"])
def test_too_many_rows_are_refused_before_they_are_parsed(row, monkeypatch):
    def parsed(body):
        raise AssertionError("the rows were parsed")

    monkeypatch.setattr("rankgrove.serving.json_body.read_rows", parsed)
    first = '["a", 1, true, 0.5], '  # of the right width, so that the others are ragged
    text = '{"rows": [' + first + ", ".join([row] * 1000) + "]}"
    with pytest.raises(RequestError, match="more than 1000 documents"):
        read_json(text.encode(), MODEL, 1000)
