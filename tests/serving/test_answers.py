"""What a server answers is what the ranker predicts."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from rankgrove.data.core.queries import QueryGroups

ARROW = "application/vnd.apache.arrow.stream"


def rows_of(X):
    return [[None if np.isnan(value) else float(value) for value in row] for row in X]


def stream_of(batches):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def batch_of(X, names, **columns):
    arrays = {name: pa.array(X[:, j]) for j, name in enumerate(names)}
    return pa.RecordBatch.from_pydict(arrays | {k: pa.array(v) for k, v in columns.items()})


def read_table(response):
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == ARROW
    return pa.ipc.open_stream(response.content).read_all()


def post_arrow(server, body, name="web", accept=ARROW, **parameters):
    headers = {"content-type": ARROW, "accept": accept}
    return server.client.post(
        f"/models/{name}/score", content=body, headers=headers, params=parameters
    )


@pytest.fixture(scope="module", name="X")
def documents(data):
    X = np.array(data.X[:150])
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def test_scores_come_in_the_order_of_the_request(server, ranker, X):
    answer = server.score({"rows": rows_of(X)}).json()
    assert answer["model"] == "web"
    assert np.array_equal(answer["scores"], ranker.predict(X))


def test_columns_are_found_by_name_in_any_order_and_others_left_out(server, ranker, X):
    order = np.random.default_rng(1).permutation(X.shape[1])
    names = [*np.array(ranker.feature_names_in_)[order], "price"]
    rows = rows_of(np.c_[X[:, order], np.ones(len(X))])
    answer = server.score({"rows": rows, "columns": names}).json()
    assert np.array_equal(answer["scores"], ranker.predict(X))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrow_gives_the_same_scores(server, ranker, X, kind):
    order = np.random.default_rng(1).permutation(X.shape[1])
    names = list(np.array(ranker.feature_names_in_)[order])
    batch = batch_of(X[:, order].astype(kind), names, price=["cheap"] * len(X))
    table = read_table(post_arrow(server, stream_of([batch.slice(0, 70), batch.slice(70)])))
    assert np.array_equal(table["score"], ranker.predict(X))
    both = post_arrow(server, stream_of([batch]), accept="application/json").json()
    assert np.array_equal(both["scores"], ranker.predict(X))


def test_arrow_takes_integers_booleans_and_nulls(server, ranker):
    names = list(ranker.feature_names_in_)
    X = np.random.default_rng(2).integers(0, 2, (40, len(names))).astype(float)
    columns = {name: pa.array(X[:, j].astype(np.int8)) for j, name in enumerate(names)}
    columns[names[0]] = pa.nulls(40)
    columns[names[1]] = pa.array([None, *X[1:, 1]], pa.float64())
    columns[names[2]] = pa.array(X[:, 2].astype(bool))
    X[:, 0], X[0, 1] = np.nan, np.nan
    table = read_table(post_arrow(server, stream_of([pa.RecordBatch.from_pydict(columns)])))
    assert np.array_equal(table["score"], ranker.predict(X))


def test_a_model_that_looks_at_the_whole_query_gets_it(server, pair_ranker, X):
    qid = [f"q{i % 3}" for i in range(30)]
    expected = pair_ranker.predict(X[:30], qid)
    answer = server.score({"rows": rows_of(X[:30]), "qid": qid}, "against").json()
    assert np.array_equal(answer["scores"], expected)
    dictionary = pa.array(qid).dictionary_encode()
    for ids in (qid, dictionary, [int(q[1]) for q in qid]):
        batch = batch_of(X[:30], pair_ranker.feature_names_in_, qid=ids)
        table = read_table(
            post_arrow(server, stream_of([batch.slice(0, 9), batch.slice(9)]), "against")
        )
        assert np.array_equal(table["score"], expected)
    sizes = server.score({"rows": rows_of(X[:30]), "group_sizes": [10, 20]}, "against").json()
    assert np.array_equal(sizes["scores"], pair_ranker.predict(X[:30], group_sizes=[10, 20]))


def test_ranks_and_top_k_of_each_query(server, ranker, X):
    qid = [["a", 7, "7"][i % 3] for i in range(30)]
    X = np.repeat(X[:15], 2, axis=0)  # with ties
    scores = ranker.predict(X)
    groups = QueryGroups.from_qid([str(type(q)) + str(q) for q in qid])
    body = {"rows": rows_of(X), "qid": qid}
    answer = server.score(body, ranks="true").json()
    assert np.array_equal(answer["scores"], scores)
    assert np.array_equal(answer["ranks"], groups.ranks(scores))
    top = server.score(body, top_k=4).json()["top"]
    assert [query["qid"] for query in top] == ["a", 7, "7"]
    for number, query in enumerate(top):
        rows = np.arange(number, 30, 3)
        best = rows[np.argsort(-scores[rows], kind="stable")][:4]
        assert query["rows"] == best.tolist()
        assert query["scores"] == scores[best].tolist()


def test_top_k_in_arrow_names_the_rows(server, ranker, X):
    batch = batch_of(X[:20], ranker.feature_names_in_, qid=["one"] * 20)
    table = read_table(post_arrow(server, stream_of([batch]), top_k=3))
    scores = ranker.predict(X[:20])
    best = np.argsort(-scores, kind="stable")[:3]
    assert np.array_equal(table["row"], best)
    assert np.array_equal(table["score"], scores[best])
    assert np.array_equal(table["rank"], [1, 2, 3])


def test_one_id_for_all_rows_is_one_query(server, ranker, X):
    answer = server.score({"rows": rows_of(X[:9]), "qid": "shoes"}, ranks="1").json()
    assert sorted(answer["ranks"]) == list(range(1, 10))


def test_no_rows_no_scores(server, ranker):
    assert server.score({"rows": []}).json()["scores"] == []
    empty = batch_of(np.empty((0, 20)), ranker.feature_names_in_)
    assert len(read_table(post_arrow(server, stream_of([empty])))) == 0


def test_large_requests_are_scored_on_other_threads_alike(server, ranker, data):
    X = np.tile(np.asarray(data.X), (4, 1))[:1900]
    answer = server.score({"rows": rows_of(X)})
    assert len(answer.request.content) > 256 << 10
    assert np.array_equal(answer.json()["scores"], ranker.predict(X))


def test_models_health_and_metrics(server, ranker, X):
    assert server.client.get("/health").status_code == 200
    assert server.client.get("/ready").json() == {"status": "ready", "models": ["web", "against"]}
    web, against = server.client.get("/models").json()
    assert web == server.client.get("/models/web").json()
    assert (web["kind"], web["problem"]) == ("trees", None)
    assert web["feature_names"] == list(ranker.feature_names_in_)
    assert (web["needs_queries"], against["needs_queries"]) == (False, True)

    def count(line):
        text = server.client.get("/metrics").text
        return sum(float(x.split()[-1]) for x in text.splitlines() if x.startswith(line))

    documents, requests = (
        'rankgrove_documents_total{model="web"}',
        'rankgrove_requests_total{model="web"',
    )
    before = count(documents), count(requests)
    server.score({"rows": rows_of(X[:5])})
    server.score({"rows": [["x"]]})
    assert (count(documents), count(requests)) == (before[0] + 5, before[1] + 2)
    assert count('rankgrove_scoring_seconds_count{model="web"}') > 0
    assert count("rankgrove_requests_in_progress") == 0
