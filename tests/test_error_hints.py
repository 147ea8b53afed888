"""Mistakes that people make are answered by what to do."""

from __future__ import annotations

import re

import pandas
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.models.sums import MAX_PARTS, add_up


@pytest.fixture(scope="module")
def data():
    return make_ranking(8, docs_per_query=6, n_features=4, seed=0)


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.LambdaMART(n_estimators=2).fit(data)


def evaluated(data, ranker, **options):
    return rankgrove.evaluate(data, ranker.predict(data), **options)


def frame(data):
    return pandas.DataFrame({"f": data.X[:, 0], "name": "text", "label": data.y, "qid": data.qid})


def f_only(data):
    return rankgrove.load(frame(data), features="f")


@pytest.mark.parametrize(
    ("mistake", "answer"),
    [
        (lambda d, m: evaluated(d, m, metrics=["ndgc@10"]), "did you mean 'ndcg'"),
        (lambda d, m: evaluated(d, m, metrics="map", preset="letor"), "did you mean 'letor"),
        (
            lambda d, m: evaluated(d, m, metrics=[rankgrove.metric("map")], preset="letor4"),
            "preset 'letor4' has no effect",
        ),
        (lambda d, m: rankgrove.MART().fit(d, init_model="m.rg"), r"load_model\('m.rg'\)"),
        (lambda d, m: m.importances("permutation", d, n_repeats=0), "n_repeats must be at least 1"),
        (lambda d, m: broof(lambda error, rate: 3.0).fit(d), "must return a LearnerWeight"),
        (lambda d, m: add_up(alternating(d, m)), "at most 1,000"),
        (lambda d, m: evaluated(d, m, metrics=print), "must take"),
        (lambda d, m: m.fit(d, eval_set=d, eval_metric=print), "must take"),
        (lambda d, m: evaluated(d, m, metrics="ndcg@10,map"), "several as a list"),
        (lambda d, m: m.explain(d).compare("@1", "@2"), "'@1': row_of finds it"),
        (lambda d, m: rankgrove.compare(d, [rankgrove.MART]), r"as in rankgrove.MART\(\)"),
        (lambda d, m: rankgrove.compare(d, ["mart:num_leaves=7"]), "'max_leaf_nodes'"),
        (lambda d, m: rankgrove.load(frame(d), features="ff"), "'ff' .did you mean 'f'"),
        (
            lambda d, m: rankgrove.load(frame(d), features="f", ignore=["f", "name"]),
            "'f' cannot be ignored: features= names it",
        ),
        (
            lambda d, m: rankgrove.load(frame(d), like=f_only(d), ignore=["f", "name"]),
            "'f' cannot be ignored: the model .like=. uses it",
        ),
    ],
)
def test_the_message_says_what_to_do(mistake, answer, data, ranker):
    with pytest.raises(ValueError, match=answer):
        mistake(data, ranker)


def test_callbacks_of_lightgbm_are_refused_before_training(data, ranker):
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(TypeError, match=r"of LightGBM.*early_stopping_rounds=20"):
        ranker.fit(data, callbacks=[lightgbm.early_stopping(20)])


def broof(learner_weight):
    return rankgrove.BROOF(n_estimators=2, n_trees=2, learner_weight=learner_weight)


def alternating(data, ranker):
    """Models that do not melt into one another."""
    single = rankgrove.SingleFeature(feature=0).fit(data)
    return [ranker.model_, single.model_] * (MAX_PARTS // 2 + 1)


def test_a_model_is_not_taken_for_data(ranker, tmp_path):
    ranker.save(tmp_path / "m.rg")
    with pytest.raises(ValueError, match="is a model of rankgrove, not data"):
        rankgrove.load(tmp_path / "m.rg")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("warm_start", "init_model=ranker"),
        ("group", "group_sizes"),
        ("max_cat_threshold", "'max_split_categories'"),
        ("max_cat_to_onehot", "'max_onehot_categories'"),
        ("min_data_per_group", "'min_samples_category'"),
        ("path_smooth", "no counterpart"),
        ("subsample_for_bin", "no counterpart"),
        ("early_stopping_rounds", "an option of fit"),
        ("objective", "CustomMART"),
        ("num_leaves", "'max_leaf_nodes'"),
        ("l2_regularization", "'l2'"),
        ("reg_lambda", "'l2'"),
        ("monotonic_cst", "'monotone'"),
        ("monotone_constraints", "'monotone'"),
        ("max_iter", "'n_estimators'"),
        ("iterations", "'n_estimators'"),
        ("depth", "'max_depth'"),
        ("eta", "'learning_rate'"),
        ("colsample_bytree", "'max_features_tree'"),
        ("bagging_fraction", "'subsample'"),
        ("label_gain", "'gain'"),
        ("lambdarank_truncation_level", "'truncation'"),
        ("min_child_samples", "'min_samples_leaf'"),
        ("random_seed", "'random_state'"),
        ("thread_count", "'n_jobs'"),
        ("n_iter_no_change", "early_stopping_rounds=N"),
        ("categorical_features", "categorical="),
        ("cat_features", "categorical="),
        ("lambda_l1", "'l1'"),
        ("boosting_type", "drop_rate=0.1 is DART"),
        ("eval_names", "eval_set={'valid': data}"),
        ("tree_method", "histograms"),
        ("num_estimations", "which other rankers call 'n_permutations'"),
    ],
)
def test_a_name_of_another_library_is_answered_with_ours(name, answer):
    with pytest.raises(TypeError, match=re.escape(answer)):
        rankgrove.LambdaMART(**{name: 5})


@pytest.mark.parametrize(
    ("value", "ours"),
    [("depthwise", "levelwise"), ("Lossguide", "leafwise"), ("SymmetricTree", "oblivious")],
)
def test_a_growth_of_another_library_is_answered_with_ours(value, ours):
    with pytest.raises(ValueError, match=f"not '{value}': did you mean '{ours}'"):
        rankgrove.LambdaMART(tree=value).check_params()


def test_one_column_may_be_named_without_a_list(data):
    assert rankgrove.load(frame(data), ignore="name").feature_names == ("f",)
    assert rankgrove.load(frame(data), features="f").feature_names == ("f",)


def test_a_metric_is_found_by_the_name_it_was_asked_for(data, ranker):
    result = evaluated(data, ranker, metrics="NDCG@10")
    assert result["NDCG@10"] == result["ndcg@10"]
    assert "ndcg@10" in result
    assert "map" not in result


def test_what_a_notebook_shows_is_short(data, ranker, tmp_path):
    assert repr(ranker.explain(data)) == "<Explanation of 53 documents, 4 features, by score>"
    path = tmp_path / "model.txt"
    assert repr(ranker.export(path, to="lightgbm")) == f"<Export to lightgbm: {path}>"


def test_a_file_that_its_name_makes_text_may_be_a_table(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("search,rating,f\n1,2,3\n")
    with pytest.raises(ValueError, match="format='csv'"):
        rankgrove.load(path, label="rating", query="search")


def test_every_foreign_name_leads_to_a_parameter_or_an_advice():
    from rankgrove.rankers.base.declaration import parameter_table
    from rankgrove.rankers.base.registry import ranker_class, ranker_names
    from rankgrove.rankers.base.wording import ADVICE, PARAMETERS_ELSEWHERE

    rankers = [ranker_class(name) for name in ranker_names()]
    ours = {parameter.name for cls in rankers for parameter in parameter_table(cls)}
    assert set(PARAMETERS_ELSEWHERE.values()) <= ours
    assert not set(PARAMETERS_ELSEWHERE) & set(ADVICE)


def test_a_parameter_that_this_ranker_lacks_is_still_named():
    with pytest.raises(TypeError, match="which other rankers call 'max_leaf_nodes'"):
        rankgrove.AdaRank(num_leaves=7)


def test_settings_of_papers_are_found_by_the_word_preset():
    with pytest.raises(TypeError, match=r"no parameter 'preset': Ranker\.as_in_paper\(\)"):
        rankgrove.LambdaMART(preset="paper")


def test_fit_answers_names_of_other_libraries(data):
    with pytest.raises(TypeError, match="a dict names the sets"):
        rankgrove.MART().fit(data, eval_names=["valid"])
    with pytest.raises(TypeError, match="categorical="):
        rankgrove.MART().fit(data, categorical_feature=[0])
