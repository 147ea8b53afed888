"""``rankgrove rankers``."""

from __future__ import annotations

import json

from rankgrove.rankers.base.parameters import check_parameters
from rankgrove.rankers.base.registry import make_ranker, ranker_names


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


# Systems of the five papers that are settings of a ranker, or go by its class.
SYSTEMS = [
    "RFPoint",
    "RFList",
    "RFHybrid",
    "RF-hybrid-L6",
    "RFRand",
    "RFPair",
    "ExtraTrees",
    "RandomForest",
    "GBRT",
    "IGBRT",
    "PLRank(obj=1)",
    "PLRank(obj=3)",
    "PLRank(obj=6)",
    "LambdaMART",
    "McRank",
    "MART-1",
    "MART-2",
    "c-MART-1",
    "CosMART",
    "c-CosMART",
    "KLMART",
    "c-KLMART",
    "CoordinateAscent",
    "ListMLE",
    "BROOF-absolute",
    "BROOF-median",
    "BROOF-height",
    "BROOF-gradient",
    "AdaRank-MAP",
    "AdaRank-NDCG",
    "RankBoost",
    "RankSVM",
    "RCRank",
]


def test_every_system_of_the_papers_is_listed_and_can_be_made(rankgrove):
    found = json.loads(rankgrove("rankers", "--json").stdout)
    names = {ranker["class"] for ranker in found}
    names |= {name for ranker in found for name in ranker["variants"]}
    assert set(SYSTEMS) <= names
    for ranker in found:
        for settings in ranker["variants"].values():
            made = make_ranker(ranker["name"], **settings)
            check_parameters(ranker["class"], made.get_params(deep=False), type(made)._constraints)
