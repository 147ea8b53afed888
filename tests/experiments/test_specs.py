"""The grammar of rankers in a study."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.experiments.specs import as_spec, read_specs


def settings(text):
    return [dict(point) for point in as_spec(text).settings]


def test_a_name_alone_is_one_setting_without_parameters():
    spec = as_spec("lambdamart")
    assert (spec.label, spec.use, spec.settings, spec.library) == (
        "lambdamart",
        "lambdamart",
        ({},),
        None,
    )


def test_parameters_have_the_types_of_the_ranker():
    assert settings("rf-hybrid:listwise_levels=4, max_features=0.5,oob_score=true") == [
        {"listwise_levels": 4, "max_features": 0.5, "oob_score": True}
    ]
    assert settings("lambdamart:max_leaf_nodes=none") == [{"max_leaf_nodes": None}]


def test_several_values_make_a_grid_in_order():
    assert settings("rcrank:max_depth=3..5,learning_rate=0.1|0.2") == [
        {"max_depth": d, "learning_rate": r} for d in (3, 4, 5) for r in (0.1, 0.2)
    ]
    assert settings("rcrank:max_depth=1|3..4") == [{"max_depth": d} for d in (1, 3, 4)]


def test_commas_in_parentheses_and_brackets_part_nothing():
    assert settings("rf-list:metric=ndcg@5(gain=linear,discount=log2),n_estimators=3") == [
        {"metric": "ndcg@5(gain=linear,discount=log2)", "n_estimators": 3}
    ]
    assert settings("lambdamart:monotone=[1,0,-1]") == [{"monotone": [1, 0, -1]}]


@pytest.mark.parametrize("text", ["[0,1,3.5]", "0/1/3.5", "[0, 1, 3.5]"])
def test_a_table_of_gains_is_written_as_a_list_or_as_in_metrics(text):
    assert settings(f"lambdamart:gain={text}") == [{"gain": [0, 1, 3.5]}]


@pytest.mark.parametrize(
    ("text", "use", "params"),
    [
        ("lightgbm:lambdarank", "lightgbm:lambdarank", {}),
        ("lightgbm:lambdarank:num_leaves=63", "lightgbm:lambdarank", {"num_leaves": 63}),
        ("xgboost:rank:ndcg", "xgboost:rank:ndcg", {}),
        ("xgboost:rank:ndcg:eta=0.3,tree_method=hist", "xgboost:rank:ndcg", {"eta": 0.3}),
        ("sklearn:Ridge:fit_intercept=false", "sklearn:Ridge", {"fit_intercept": False}),
    ],
)
def test_other_libraries(text, use, params):
    spec = as_spec(text)
    assert spec.use == use
    assert params.items() <= dict(spec.settings[0]).items()


def test_labels():
    spec = as_spec("small trees=lambdamart:max_leaf_nodes=7")
    assert (spec.label, spec.use) == ("small trees", "lambdamart")
    assert as_spec("mine=scores:a=b.txt").target == "a=b.txt"
    texts = ["mart:n_estimators=5", "mart:n_estimators=9", "rcrank"]
    assert [spec.label for spec in read_specs(texts)] == [*texts[:2], "rcrank"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lambdamrt", "did you mean 'lambdamart'"),
        ("lambdamart:n_estimators", "cannot read 'n_estimators'"),
        ("lambdamart:n_estimators=", "cannot read"),
        ("lambdamart:n_estimators=ten", "must be a whole number >= 1, not 'ten'"),
        ("lambdamart:n_estimators=5..3", "range '5..3' is empty"),
        ("lambdamart:n_estimators=0..2", "n_estimators of lambdamart must be"),
        ("lambdamart:num_leaves=5", "max_leaf_nodes"),
        ("lambdamart:n_estimators=5,n_estimators=6", "twice"),
        ("lambdamart:random_state=5", "set by the study"),
        ("scores:", "needs the name of a file"),
        ("lightgbm:", "as in 'lightgbm:lambdarank'"),
        ("lightgbm:num_leaves=5", "needs what to train"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        as_spec(text)


def test_two_of_a_kind_are_refused():
    with pytest.raises(ValueError, match="two rankers are called 'mart'"):
        read_specs(["mart", "mart"])


def test_tables_of_study_files():
    spec = as_spec({"use": "rcrank", "label": "RC", "max_depth": [3, 4], "n_estimators": 5})
    assert spec.label == "RC"
    assert [p["max_depth"] for p in spec.settings] == [3, 4]
    # A list that the parameter takes as it is makes no grid.
    assert as_spec({"use": "mart", "monotone": [1, 0]}).settings == ({"monotone": [1, 0]},)
    with pytest.raises(ValueError, match="needs use"):
        as_spec({"n_estimators": 5})


def test_rankers_as_objects():
    ranker = rankgrove.LambdaMART(n_estimators=7)
    assert as_spec(ranker).estimator is ranker


def test_what_is_fitted_already_may_have_seen_the_test_data(tmp_path):
    forest = rankgrove.RandomForest(n_estimators=2)
    assert as_spec({"use": "igbrt", "forest": forest}).settings[0]["forest"] is forest
    data = make_ranking(5, n_features=3, seed=0)
    forest.fit(data).save(tmp_path / "f.rg")
    for given_as in ({"use": "igbrt", "forest": forest}, f"igbrt:forest={tmp_path / 'f.rg'}"):
        with pytest.raises(ValueError, match="forest of igbrt is a fitted RandomForest"):
            as_spec(given_as)
    for ranker in (
        rankgrove.IGBRT(forest=forest),
        rankgrove.Blend(rankers=["mart", forest]),
        f"bagged:ranker=[igbrt:forest={tmp_path / 'f.rg'}]",
    ):
        with pytest.raises(ValueError, match="is a fitted RandomForest, which may have seen"):
            as_spec(ranker)


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=5, unique=True))
def test_every_number_that_is_written_is_read(rates):
    found = settings("mart:learning_rate=" + "|".join(map(repr, rates)))
    assert [point["learning_rate"] for point in found] == rates


@pytest.mark.parametrize(
    "text",
    [
        "lambdamart:n_estimators=1..100000000000",
        "lambdamart:n_estimators=1..200,max_leaf_nodes=2..200",
        "lightgbm:lambdarank:num_leaves=2..20000",
    ],
)
def test_grids_without_a_limit_are_refused(text):
    with pytest.raises(ValueError, match="at most 10,000"):
        as_spec(text)
