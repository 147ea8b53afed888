"""What another library does not accept is refused before a study begins, by name."""

from __future__ import annotations

import pytest

from rankgrove.experiments.study import make_study


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        ("lightgbm:lambdarank:num_leafs=31", "num_leafs=31.*did you mean 'num_leaves'"),
        ("lightgbm:lambdarank:num_leaves=abc", "num_leaves='abc': .*should be of type int"),
        ("lightgbm:lambdarank:num_leaves=7|1,n_estimators=3", "num_leaves=1:"),
        ("lightgbm:lambdrank", "Unknown objective type name: lambdrank"),
        ("xgboost:rank:ndcg:max_leafs=31", "max_leafs=31.*did you mean 'max_leaves'"),
        ("xgboost:rank:ndcg:max_depth=2.5", "max_depth=2.5: .*expect int"),
        ("xgboost:rank:ndgc", "Unknown objective function"),
        ("catboost:YetiRank:detph=3", "detph=3: .*did you mean 'depth'"),
        ("catboost:YetiRank:iterations=3,depth=x", "depth='x': "),
        ("catboost:YetiRnk", "YetiRnk"),
        ("sklearn:Ridge:alhpa=1", "alhpa=1: .*did you mean 'alpha'"),
        ("sklearn:Ridge:alpha=-1", "alpha=-1: .*must be"),
    ],
)
def test_wrong_parameters_are_refused_by_name_before_work_starts(ranker, message, tiny_data):
    pytest.importorskip(ranker.partition(":")[0])
    with pytest.raises(ValueError, match=f"cannot be trained with .*{message}"):
        make_study(tiny_data, ["lambdamart", ranker])


@pytest.mark.parametrize(
    "ranker",
    [
        "lightgbm:lambdarank:num_leaves=7|15,monotone_constraints=[1,0,0,0,0,0,0,0,0,0,0,0]",
        "xgboost:rank:ndcg:max_leaves=7,grow_policy=lossguide,n_estimators=100000000",
        "catboost:YetiRank:max_leaves=7,grow_policy=Lossguide,iterations=1000000",
        "sklearn:KNeighborsRegressor:n_neighbors=100000",
    ],
)
def test_right_parameters_are_accepted_without_growing_all_trees(ranker, tiny_data):
    pytest.importorskip(ranker.partition(":")[0])
    make_study(tiny_data, [ranker])
