"""``rankgrove rankers``."""

from __future__ import annotations

import json

from rankgrove.rankers.base.registry import ranker_names


def test_table_names_every_ranker(rankgrove):
    run = rankgrove("rankers")
    assert (run.returncode, run.stderr) == (0, "")
    names = [line.split()[0] for line in run.stdout.splitlines() if line[:2].strip().isalpha()]
    assert names == ["name", *ranker_names()]


def test_json_says_what_each_is(rankgrove):
    found = {ranker["name"]: ranker for ranker in json.loads(rankgrove("rankers", "--json").stdout)}
    assert list(found) == ranker_names()
    assert all(ranker[key] for ranker in found.values() for key in ("family", "paper", "optimises"))
    assert found["ranksvm"]["class"] == "RankSVM"
    assert found["ranksvm"]["parameters"]["C"] == 0.01
    assert found["lambdamart"]["parameters"]["learning_rate"] == 0.1


def test_variants_of_a_ranker_show_its_key_parameters_too(rankgrove):
    found = {ranker["name"]: ranker for ranker in json.loads(rankgrove("rankers", "--json").stdout)}
    shown = {name: ranker["parameters"] for name, ranker in found.items()}
    assert (shown["igbrt"]["task"], shown["igbrt"]["max_depth"]) == ("regression", 4)
    assert shown["rf-hybrid"]["metric"] == "ndcg"
    assert shown["rcrank"]["metric"] == "ndcg"


def test_one_family(rankgrove):
    found = json.loads(rankgrove("rankers", "--family", "linear", "--json").stdout)
    assert {ranker["family"] for ranker in found} == {"linear"}
    assert "adarank" in [ranker["name"] for ranker in found]
    assert rankgrove("rankers", "--family", "liner").returncode == 2
