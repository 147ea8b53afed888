"""Readers of judgments, feature logs and impressions: small files of each format."""

import csv
import gzip
import json
import math
import re
from dataclasses import fields

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankgrove import DataError
from rankgrove.logs import (
    LogFormat,
    read_features,
    read_impressions,
    read_judgments,
    read_run,
    reading,
)
from rankgrove.logs import register_log_format as register
from rankgrove.logs.options import LogOptions
from rankgrove.logs.ubi import _CLICK_ACTIONS


def rows(log):
    return log.table.to_pylist()


def written(folder, name, content):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def hit(document, features, log="log1"):
    values = [{"name": n} | ({} if v is None else {"value": v}) for n, v in features.items()]
    return {"_id": document, "_score": 1.0, "fields": {"_ltrlog": [{log: values}]}}


def response(*hits):
    return {"took": 1, "hits": {"total": len(hits), "hits": list(hits)}}


SHOES = response(hit("a", {"bm25": 1.5, "age": 2}), hit("b", {"bm25": None, "age": 3}))
HATS = response(hit("a", {"bm25": 4.0, "price": 7.0}))
LOGGED = [
    {"query": "shoes", "document": "a", "bm25": 1.5, "age": 2.0, "price": None},
    {"query": "shoes", "document": "b", "bm25": None, "age": 3.0, "price": None},
    {"query": "hats", "document": "a", "bm25": 4.0, "age": None, "price": 7.0},
]


@pytest.mark.parametrize("indent", [None, 1])
def test_one_response_has_the_name_of_its_file_as_query(tmp_path, indent):
    path = written(tmp_path, "shoes.json", json.dumps(SHOES, indent=indent))
    assert rows(read_features(path)) == [
        {name: value for name, value in row.items() if name != "price"} for row in LOGGED[:2]
    ]


@pytest.mark.parametrize("field", ["query", "keywords", "user_query", "qid"])
def test_json_lines_hold_query_and_response(tmp_path, field):
    lines = [{field: "shoes", "response": SHOES}, {field: "hats", **HATS}]
    path = written(tmp_path, "log.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert rows(read_features(path)) == LOGGED


def test_multi_search_takes_queries_in_order(tmp_path):
    path = written(tmp_path, "msearch.json", {"responses": [SHOES, HATS]})
    assert rows(read_features(path, queries=["shoes", "hats"])) == LOGGED
    with pytest.raises(DataError, match="2 responses, but 3 queries are given"):
        read_features(path, queries=["shoes", "hats", "bags"])
    with pytest.raises(DataError, match="response 2, but 1 queries are given"):
        read_features(path, queries=["shoes"])
    with pytest.raises(DataError, match=r"does not say its query.*queries="):
        read_features(path)


def test_a_folder_of_responses_is_read_by_name(tmp_path):
    written(tmp_path, "shoes.json", SHOES)
    (tmp_path / "hats.json.gz").write_bytes(gzip.compress(json.dumps(HATS).encode()))
    found = rows(read_features(tmp_path))
    assert [(row["query"], row["document"]) for row in found] == [
        ("hats", "a"),
        ("shoes", "a"),
        ("shoes", "b"),
    ]


def test_one_of_several_logs_is_chosen_by_name(tmp_path):
    both = hit("a", {"bm25": 1.0})
    both["fields"]["_ltrlog"].append({"log2": [{"name": "age", "value": 2.0}]})
    path = written(tmp_path, "shoes.json", response(both))
    with pytest.raises(DataError, match=r"several logs \('log1', 'log2'\).*log_name="):
        read_features(path)
    assert rows(read_features(path, log_name="log2"))[0]["age"] == 2
    with pytest.raises(DataError, match="there is no log 'log3'"):
        read_features(path, log_name="log3")


def test_documents_without_a_log_are_counted(tmp_path):
    path = written(tmp_path, "shoes.json", response(hit("a", {"x": 1.0}), {"_id": "b"}))
    log = read_features(path)
    assert log.counts["documents without logged features"] == 1
    assert "documents without logged features: 1" in str(log)


def test_solr_repeats_its_query(tmp_path):
    body = {
        "responseHeader": {"params": {"q": "shoes", "fl": "id,[features]"}},
        "response": {
            "docs": [
                {"id": "a", "[features]": "bm25=1.5,age=2.0"},
                {"id": "b", "[features]": "age=3.0"},
            ]
        },
    }
    path = written(tmp_path, "solr.json", body)
    assert rows(read_features(path)) == [
        {"query": "shoes", "document": "a", "bm25": 1.5, "age": 2.0},
        {"query": "shoes", "document": "b", "bm25": None, "age": 3.0},
    ]
    body["response"]["docs"][0]["[features]"] = "bm25=x"
    with pytest.raises(DataError, match="'bm25=x' is not a feature"):
        read_features(written(tmp_path, "bad.json", body))


def test_vespa_has_match_and_summary_features(tmp_path):
    fields = {"summaryfeatures": {"bm25(title)": 2.5, "vespa.summaryFeatures.cached": 0.0}}
    body = {"root": {"children": [{"id": "id:doc::1", "relevance": 1.0, "fields": fields}]}}
    path = written(tmp_path, "shoes.json", body)
    assert rows(read_features(path)) == [
        {"query": "shoes", "document": "id:doc::1", "bm25(title)": 2.5}
    ]
    fields["matchfeatures"] = {"age": 1.0}
    path = written(tmp_path, "shoes.json", body)
    with pytest.raises(DataError, match="choose one with log_name="):
        read_features(path)
    assert rows(read_features(path, log_name="matchfeatures"))[0]["age"] == 1


LEFT_OUT = "columns of texts left out (title); categorical= keeps columns of categories"


def test_features_in_a_table(tmp_path):
    text = 'qid,doc_id,title,bm25,age\n7,a,"red, shoes",1.5,2\n7,b,,,3\n'
    log = read_features(written(tmp_path, "features.csv", text))
    assert rows(log) == [
        {"query": "7", "document": "a", "bm25": 1.5, "age": 2.0},
        {"query": "7", "document": "b", "bm25": None, "age": 3.0},
    ]
    assert log.counts[LEFT_OUT] == 1
    with pytest.raises(DataError, match=r"line 3: the column 'bm25' holds 'oops', not a number"):
        read_features(written(tmp_path, "features.csv", text.replace("7,b,,,", "7,b,,oops,")))


JUDGED = [
    {"query": "red shoes", "document": "a", "grade": 2.0},
    {"query": "red shoes", "document": "b", "grade": 0.0},
    {"query": "hats", "document": "a", "grade": 1.0},
]
JUDGMENTS = {
    "workbench.json": {
        "name": "mine",
        "judgmentRatings": [
            {
                "query": "red shoes",
                "ratings": [{"docId": "a", "rating": "2.000"}, {"docId": "b", "rating": "0.000"}],
            },
            {"query": "hats", "ratings": [{"docId": "a", "rating": "1.000"}]},
        ],
    },
    "rre.json": {
        "topics": [
            {
                "query_groups": [
                    {
                        "name": "footwear",
                        "queries": [{"template": "t", "placeholders": {"$query": "red shoes"}}],
                        "relevant_documents": {"a": {"gain": 2}, "b": {"gain": 0}},
                    },
                    {"name": "hats", "relevant_documents": {"1": ["a"]}},
                ]
            }
        ]
    },
    "o19s.txt": "# qid:1: red shoes*1\n# qid:2: hats*1\n\n2\tqid:1\t # a\tred shoes\n"
    "0 qid:1 # b\n1 qid:2 # a hats\n",
    "quepid.csv": "query,docid,rating\nred shoes,a,2\nred shoes,b,0\nhats,a,1\n",
    "semicolons.csv": "search;product;stars\nred shoes;a;2\nred shoes;b;0\nhats;a;1\n",
    "tabs.tsv": "query\tdocument\tgrade\nred shoes\ta\t2\nred shoes\tb\t0\nhats\ta\t1\n",
}
OPTIONS = {"semicolons.csv": {"query": "search", "document": "product", "grade": "stars"}}


@pytest.mark.parametrize("name", JUDGMENTS)
def test_every_format_of_judgments(tmp_path, name):
    path = written(tmp_path, name, JUDGMENTS[name])
    assert rows(read_judgments(path, **OPTIONS.get(name, {}))) == JUDGED


def test_qrels_take_the_texts_of_topics(tmp_path):
    path = written(tmp_path, "qrels.txt", "1 0 a 2\n1 0 b 0\n2 0 a 1\n")
    found = read_judgments(path, queries={"1": "red shoes", "2": "hats"})
    assert rows(found) == JUDGED
    assert rows(read_judgments(path))[0]["query"] == "1"
    with pytest.raises(DataError, match="no text for the topic '2'"):
        read_judgments(path, queries={"1": "red shoes"})
    with pytest.raises(DataError, match=r"line 2: '1 0 b' is not"):
        read_judgments(written(tmp_path, "short.txt", "1 0 a 2\n1 0 b\n"))


RATERS = """query,docid,ann_rating,bob_rating,cid_rating,final_rating
shoes,a,3,3,0,3
shoes,b,1,,,1
shoes,c,,,,
"""


@pytest.mark.parametrize(
    ("combine", "grade"), [(None, 3), ("mean", 2), ("median", 3), ("max", 3), ("min", 0)]
)
def test_ratings_of_several_raters_become_one_grade(tmp_path, combine, grade):
    log = read_judgments(written(tmp_path, "raters.csv", RATERS), combine=combine)
    assert [row["grade"] for row in rows(log)] == [grade, 1]
    assert log.counts["judgments without a grade"] == 1


def test_disagreement_of_raters_is_a_weight(tmp_path):
    path = written(tmp_path, "raters.csv", RATERS)
    found = rows(read_judgments(path, agreement_weights=True, combine="mean"))
    variance = (1 + 1 + 4) / 3
    assert math.isclose(found[0]["weight"], 1 / (1 + variance))
    assert found[1]["weight"] == 1
    named = read_judgments(path, raters=["bob_rating"], combine="mean")
    assert [row["grade"] for row in rows(named)] == [3]


def event(action, query_id, document, ordinal, **others):
    attributes = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
    return {"action_name": action, "query_id": query_id, "event_attributes": attributes, **others}


def test_lists_that_ubi_shows_anew_are_sessions_of_their_own(tmp_path):
    def shown(document, ordinal, time):
        attributes = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
        return {
            "action_name": "impression",
            "query_id": "q",
            "timestamp": time,
            "event_attributes": attributes,
        }

    lines = [
        {"query_id": "q", "user_query": "shoes"},
        shown("late", 1, "12:01"),
        shown("a", 1, "12:00"),
        shown("b", 2, "12:00"),
    ]
    path = written(tmp_path, "ubi.ndjson", "\n".join(map(json.dumps, lines)))
    log = read_impressions(path)
    found = dict(
        zip(log.table["document"].to_pylist(), log.table["session"].to_pylist(), strict=True)
    )
    assert found == {"late": "q (2)", "a": "q", "b": "q"}
    assert log.counts["lists shown anew under the same query_id"] == 1


def test_ubi_events_become_impressions(tmp_path):
    lines = [
        {"index": {"_index": "ubi_queries"}},
        {"query_id": "q1", "user_query": "shoes", "application": "shop"},
        {"index": {"_index": "ubi_events"}},
        event("impression", "q1", "a", 0, application="shop"),
        event("impression", "q1", "b", 1, application="shop"),
        event("click", "q1", "b", 1, application="shop"),
        event("add_to_cart", "q1", "a", 0, application="shop"),
        event("click", "q1", "z", 9, application="shop"),
        event("impression", "q2", "a", 1, application="other", user_query="hats"),
        event("impression", "q3", "a", 1, application="other"),
        event("click", None, "a", 1),
    ]
    path = written(tmp_path, "ubi.ndjson", "\n".join(map(json.dumps, lines)))
    log = read_impressions(path)
    kept = ("query", "document", "position", "clicked", "session")
    assert [tuple(row[name] for name in kept) for row in rows(log)] == [
        ("shoes", "a", 1, 0, "q1"),
        ("shoes", "b", 2, 1, "q1"),
        ("hats", "a", 1, 0, "q2"),  # this application counts from 1
    ]
    assert log.counts["clicks without an impression"] == 1
    assert log.counts["impressions without the text of their query"] == 1
    assert log.counts["events without query_id"] == 1
    carts = read_impressions(path, click_actions="add_to_cart")
    assert [row["clicked"] for row in rows(carts)] == [1, 0, 0]


def test_every_click_of_ubi_is_used_or_counted(tmp_path):
    lines = [
        event("impression", "q1", "a", 0, user_query="shoes"),
        event("impression", "q2", "a", 0),
        *[event("click", "q1", "a", 0)] * 3,
        event("item_click", "q1", "a", 0),
        *[event("click", "q1", "z", 9)] * 2,
        event("item_click", "q9", "z", 9),
        *[event("click", "q2", "a", 0)] * 2,
        event("purchase", "q1", "a", 0),
    ]
    path = written(tmp_path, "ubi.ndjson", "\n".join(map(json.dumps, lines)))
    log = read_impressions(path)
    assert [row["clicked"] for row in rows(log)] == [1]
    assert log.counts["repeated clicks"] == 3
    assert log.counts["clicks without an impression"] == 3
    assert log.counts["clicks without the text of their query"] == 2


def test_the_help_names_the_events_of_ubi_that_count_as_clicks():
    (option,) = [one for one in fields(LogOptions) if one.name == "click_actions"]
    assert " and ".join(_CLICK_ACTIONS) in option.metadata["meaning"]


def test_impressions_in_a_table(tmp_path):
    names = ("query", "document", "position", "clicked", "session", "propensity")
    text = f"{','.join(names)}\nshoes,a,1,true,s1,0.5\nshoes,b,2,0,s1,0.25\n"
    assert rows(read_impressions(written(tmp_path, "log.csv", text))) == [
        dict(zip(names, ("shoes", "a", 1, 1, "s1", 0.5), strict=True)),
        dict(zip(names, ("shoes", "b", 2, 0, "s1", 0.25), strict=True)),
    ]


def rated(query, rating):
    ratings = [{"docId": "a", "rating": rating}]
    return {"judgmentRatings": [{"query": query, "ratings": ratings}]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"judgmentRatings": [{"query": "x"}]}', "KeyError: 'ratings'"),
        ("a.json", '{"judgmentRatings": [', "not JSON"),
        ("a.json", rated(1.5, 1), "the query is 1.5"),
        ("a.json", rated("x", "good"), "grade 'good' of the document 'a' of the query 'x' is not"),
        (
            "a.csv",
            "query,docid,rating\nx,a,good\n",
            "line 2: the column 'rating' holds 'good', not a",
        ),
        ("a.csv", "query,docid,rating\n,a,1\n", "line 2: the query is missing"),
        ("a.csv", "query,docid,docid,rating\nx,a,b,1\n", "'docid' occurs twice"),
        ("a.csv", "question,answer\nx,1\n", r"no column of the grade .*name it with grade="),
        ("a.txt", "1 qid:1 # a\n2 qid 1\n", "line 2: '2 qid 1' is not 'GRADE qid:ID"),
        ("a.bin", "\x00\x01\x02", "no known format of judgments"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "query,docid,rating\n", "holds no judgments"),
        ("a.csv", "query,docid,rating\nx,a,1,2\n", "line 2: Expected 3 columns, got 4"),
        ("a.csv", "query,docid,rating\nx,a,1\nx,b,inf\n", "line 3: .* 'inf', not a finite"),
        (
            "a.csv",
            'query,docid,rating\r\n"two\nlines",a,1\r\n\r\nx,b,?\r\n',
            r"line 5: the column 'rating' holds '\?', not a number",
        ),
        (
            "a.csv",
            "query,document,grade,weight\nx,a,1,1\nx,b,1,-1\n",
            "line 3: the column 'weight' holds '-1'",
        ),
        ("a.csv", "query,docid,rating\ncaf\u00e9,a,1\n".encode("latin-1"), "line 2: .*UTF-8"),
        ("a.csv", "query,docid,rating\nx,a,1\n".encode("utf-16"), "looks like UTF-16"),
        ("a.json", b'{"judgmentRatings":\n ["\xe9"]}', "line 2: this is not UTF-8 text"),
        ("a.txt", "1 qid:1 # a\ngood qid:1 # b\n", "line 2: the grade 'good'"),
        ("a.txt", "1 0 a 1\n1 0 b\n", "line 2: '1 0 b' is not 'TOPIC"),
        (
            "a.json",
            "[" * 5000 + '"judgmentRatings"' + "]" * 5000,
            "nested too deeply|not JSON|judgmentRatings is a list",
        ),
    ],
)
def test_bad_judgments_are_errors_that_name_the_file(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        read_judgments(path)
    assert str(path) in str(caught.value)


IMPRESSION = "query,document,position,clicked,session,propensity\nq,a,1,0,s,0.5\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q,b,0,1,s,0.5", "'position' holds '0': a position is a whole number from 1"),
        ("q,b,-3,1,s,0.5", "'position' holds '-3'"),
        ("q,b,1.5,1,s,0.5", "'position' holds '1.5'"),
        ("q,b,top,1,s,0.5", "'position' holds 'top', not a number"),
        ("q,b,,1,s,0.5", "'position' holds nothing"),
        ("q,b,inf,1,s,0.5", "'position' holds 'inf'"),
        ("q,b,99999999999,1,s,0.5", "'position' holds '99999999999'"),
        ("q,b,2,2,s,0.5", "'clicked' holds '2': clicked is 0 or 1"),
        ("q,b,2,yes,s,0.5", "'clicked' holds 'yes'"),
        ("q,b,2,,s,0.5", "'clicked' holds nothing"),
        ("q,b,2,1,s,0", "'propensity' holds '0': it must be above 0"),
        ("q,b,2,1,s,nan", "'propensity' holds 'nan'"),
        ("q,b,2,1,s,1.01", "'propensity' holds '1.01'"),
        ("q,,2,1,s,0.5", "the document is missing"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_bad_impressions_are_errors_that_name_line_column_and_value(tmp_path, row, message, suffix):
    path = written(tmp_path, "log.csv", IMPRESSION + row + "\n")
    where = "line 3: "
    if suffix == "parquet":
        path, where = tmp_path / "log.parquet", "row 1: "
        found = csv.DictReader((IMPRESSION + row).splitlines())
        rows = [{name: value or None for name, value in one.items()} for one in found]
        pq.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(DataError, match=re.escape(f"{path}: {where}") + ".*" + message):
        read_impressions(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"hits": {"hits": [3, {"_ltrlog": 0}]}}, "a hit must be a JSON object, not 3"),
        ({"hits": {"hits": [{"_id": "a", "fields": {"_ltrlog": 1}}]}}, "_ltrlog must be a list"),
        ({"hits": {"hits": [{"_id": "a", "fields": {"_ltrlog": [1]}}]}}, "a log in _ltrlog must"),
        ({"hits": {"hits": [{"fields": {"_ltrlog": []}}]}}, "a document has no field '_id'"),
        ({"response": {"docs": [[]]}, "responseHeader": {}}, "a document must be a JSON object"),
        ({"root": {"children": ["matchfeatures"]}}, "a hit must be a JSON object"),
        (
            {"root": {"children": [{"id": "a", "fields": {"matchfeatures": [1]}}]}},
            "matchfeatures must be a JSON object",
        ),
    ],
)
def test_bad_responses_are_errors_that_name_the_place(tmp_path, content, message):
    path = written(tmp_path, "q.json", content)
    form = "vespa" if "root" in content else "solr" if "response" in content else "ltr-plugin"
    with pytest.raises(DataError, match=re.escape(f"{path}, line 1: ") + message):
        read_features(path, format=form)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ('{"query_id": "a", "action_name": "impression"', r"not JSON: .*\(column 46\)"),
        ('{"query_id": "a", "action_name": "impression", "event_attributes": [1]}', "attributes"),
        (
            '{"query_id": "a", "action_name": "click", "event_attributes": {"object": "d"}}',
            "object must be a JSON object, not 'd'",
        ),
        ('{"query_id": 7, "action_name": "click"}', "query_id is 7"),
        ('{"query_id": "a", "action_name": "impression"}', "without object_id"),
    ],
)
def test_bad_events_are_errors_that_name_the_line(tmp_path, event, message):
    path = written(tmp_path, "ubi.ndjson", '{"query_id": "a", "user_query": "x"}\n' + event + "\n")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 2: ") + ".*" + message):
        read_impressions(path)


def test_a_response_without_hits_is_counted(tmp_path):
    written(tmp_path, "nothing.json", {"hits": {"total": 0, "hits": []}})
    written(tmp_path, "shoes.json", SHOES)
    log = read_features(tmp_path)
    assert log.table["query"].to_pylist() == ["shoes", "shoes"]
    assert log.counts["responses without documents"] == 1


def test_options_that_a_format_does_not_use_are_refused(tmp_path):
    path = written(tmp_path, "quepid.csv", JUDGMENTS["quepid.csv"])
    with pytest.raises(ValueError, match="log_name= does not apply to this format"):
        read_judgments(path, log_name="main")
    path = written(tmp_path, "qrels.txt", "1 0 a 2\n")
    with pytest.raises(ValueError, match=r"this format, which has the options queries=$"):
        read_judgments(path, query="topic")
    path = written(tmp_path, "bm25.run", "1 Q0 a 1 7.5 bm25\n")
    with pytest.raises(ValueError, match=r"this format, which has no options$"):
        read_run(path, query="topic")
    with pytest.raises(ValueError, match="combine must be one of mean, median"):
        read_judgments(path, combine="sum")
    with pytest.raises(TypeError, match="there is no option 'grades'"):
        read_judgments(path, grades="rating")
    with pytest.raises(ValueError, match="format 'trec' of judgments is not one of"):
        read_judgments(path, format="trec")


def test_a_format_of_ones_own_is_found_by_its_content(tmp_path, monkeypatch):
    module = tmp_path / "my_judgments.py"
    module.write_text(
        "import pyarrow as pa\n"
        "ACCEPTS = frozenset()\n"
        "def recognises(head, path): return head.startswith(b'MINE')\n"
        "def read(path, options, counts):\n"
        "    yield pa.table({'query': ['x'], 'document': ['a'], 'grade': [1.0]})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reading, "FORMATS", list(reading.FORMATS))
    register(LogFormat("mine", "judgments", "my_judgments"))
    assert rows(read_judgments(written(tmp_path, "a.mine", "MINE"))) == [
        {"query": "x", "document": "a", "grade": 1.0}
    ]
    with pytest.raises(ValueError, match="already a format 'qrels'"):
        register(LogFormat("qrels", "judgments", "my_judgments"))


def test_ids_of_feather_may_be_dictionaries_of_text_views(tmp_path):
    ids = pa.DictionaryArray.from_arrays([0, 1], pa.array(["a", "b"], pa.string_view()))
    table = pa.table({"query": ids, "document": ids, "grade": [1, 2]})
    path = str(tmp_path / "j.arrow")
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    read = rows(read_judgments(tmp_path / "j.arrow"))
    assert [(row["query"], row["document"]) for row in read] == [("a", "a"), ("b", "b")]
