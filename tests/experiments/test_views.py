"""Studies that see a part of their training data: some queries, some features, or both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.experiments.curve_studies import run_curve
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.views import View, viewed

GRID = "rcrank:n_estimators=4,max_depth=2|3"


def test_a_study_on_a_share_of_the_queries_and_some_features_by_hand(tiny_data):
    found = rankgrove.compare(
        tiny_data, "mart:n_estimators=3", folds=3, metrics="ndcg", train_share=0.5, best_features=4
    )
    values = []
    for fold in rankgrove.kfold(tiny_data, 3, seed=0):
        order = np.random.default_rng(0).permutation(fold.train.n_queries)
        train = fold.train.select_queries(order[: round(0.5 * fold.train.n_queries)])
        judge = rankgrove.LambdaMART(n_estimators=50, random_state=0).fit(train)
        kept = np.sort(np.argsort(-judge.importances("split"), kind="stable")[:4])
        parts = [
            part.with_features(
                part.matrix.select_columns(kept), [part.feature_names[j] for j in kept]
            )
            for part in (train, fold.validation, fold.test)
        ]
        ranker = rankgrove.MART(n_estimators=3, random_state=0)
        ranker.fit(parts[0], eval_set=parts[1], eval_metric="ndcg")
        values.append(ranker.score(parts[2], metric="ndcg"))
    np.testing.assert_allclose(found.frame("fold")["ndcg"], values)


def test_the_order_of_the_features_belongs_to_the_share(tiny_data):
    from rankgrove.data.matrix.cache import TemporaryCacheEntry

    fold, kept = next(rankgrove.kfold(tiny_data, 3)), TemporaryCacheEntry()
    views = [View(train_share=share, n_features=3) for share in (0.2, 1.0)]
    together = [viewed(fold, view, kept).train.feature_names for view in views]
    alone = [viewed(fold, view).train.feature_names for view in views]
    assert together == alone


def test_the_models_of_the_study_rank_the_features(tiny_data, tmp_path):
    study = make_study(
        tiny_data, GRID, folds=3, metrics="ndcg", best_features=3, feature_order="study"
    )
    with Store(tmp_path) as store:
        run_study(study, store, Run())
        cells = store.results()
    for number, fold in enumerate(rankgrove.kfold(tiny_data, 3, seed=0), 1):
        splits = np.zeros(tiny_data.n_features)
        for depth in (2, 3):
            ranker = rankgrove.RCRank(n_estimators=4, max_depth=depth, random_state=0)
            ranker.fit(fold.train, eval_set=fold.validation, eval_metric="ndcg")
            splits += ranker.importances("split")
        chosen = np.sort(np.argsort(-splits, kind="stable")[:3])
        few = viewed(fold, View(features=tuple(chosen.tolist())))
        ranker = rankgrove.RCRank(n_estimators=4, max_depth=2, random_state=0)
        ranker.fit(few.train, eval_set=few.validation, eval_metric="ndcg")
        (cell,) = [c for c in cells if c.fold == number and c.setting == 0]
        assert cell.outcome.means[0] == ranker.score(few.test, metric="ndcg")
    # A study on all features that was run before is not run again.
    with Store(tmp_path) as store:
        whole = make_study(tiny_data, GRID, folds=3, metrics="ndcg")
        run_study(whole, store, Run())
        assert all(cell.status == "done" for cell in store.results())


def test_a_study_without_trees_cannot_rank_features(tiny_data):
    with pytest.raises(ValueError, match="no model of data, fold 1, has any"):
        rankgrove.compare(
            tiny_data, "single-feature", folds=3, best_features=3, feature_order="study"
        )


def test_curves_see_the_part_that_the_study_says(tiny_data):
    study = make_study(tiny_data, "mart:n_estimators=3", folds=3, metrics="ndcg", train_share=0.5)
    with Store(None) as store:
        (features,), _ = run_curve("features", study, store, Run(), [4])
    found = rankgrove.compare(
        tiny_data, "mart:n_estimators=3", folds=3, metrics="ndcg", train_share=0.5, best_features=4
    )
    assert features.values[0] == found.frame("ranker")["ndcg"][0]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("learning", {"train_share": 0.5}, r"leave train_share \(--train-share\) out"),
        ("features", {"best_features": 3}, r"leave best_features \(--best-features\) out"),
    ],
)
def test_what_a_curve_varies_cannot_be_given(kind, options, message, tiny_data):
    study = make_study(tiny_data, "mart", folds=3, **options)
    with Store(None) as store, pytest.raises(ValueError, match=message):
        run_curve(kind, study, store, Run())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_share": 0}, "above 0 and up to 1, not 0"),
        ({"best_features": 0}, "best_features must be at least 1, not 0"),
        ({"feature_order": "luck"}, "feature_order must be one of lambdamart, study, not 'luck'"),
    ],
)
def test_impossible_parts_are_refused(options, message, tiny_data):
    with pytest.raises(ValueError, match=message):
        make_study(tiny_data, "mart", **options)


BY_NUMBER = (
    "single-feature:feature=4",
    "single-feature:feature=f2|4",
    rankgrove.SingleFeature(feature=4),
    "mart:monotone=[1,0,-1,0]",
    rankgrove.LambdaMART(interactions=[[0, 1], ["f3"]]),
    "bagged:ranker=[single-feature:feature=4]",
    rankgrove.Bagged(ranker=rankgrove.SingleFeature(feature=4)),
    "blend:rankers=[mart;single-feature:feature=4]",
    "lightgbm:lambdarank:interaction_constraints=[[0,1],[2,3]]",
)


@pytest.mark.parametrize("ranker", BY_NUMBER, ids=str)
def test_features_by_number_are_refused_where_each_fold_keeps_its_own(ranker, tiny_data):
    with pytest.raises(ValueError, match="counts features, and each fold keeps its own"):
        make_study(tiny_data, ranker, folds=3, best_features=4)
    study = make_study(tiny_data, ranker, folds=3)
    study = replace(study, specs=[replace(s, settings=s.settings[-1:]) for s in study.specs])
    with (
        Store(None) as store,
        pytest.raises(ValueError, match="counts features, and each fold keeps its own"),
    ):
        run_curve("features", study, store, Run(), [4])


def test_features_by_name_are_those_of_the_whole_data(tiny_data):
    rankers = [
        "single-feature",
        "single-feature:feature=dwell_time",
        "bagged:n_bags=2,ranker=[mart:n_estimators=2]",
        rankgrove.MART(
            n_estimators=2,
            interactions=[["lm_jm_url", "dwell_time"]],
            monotone={"dwell_time": 1},
        ),
    ]
    found = rankgrove.compare(tiny_data, rankers, folds=3, metrics="ndcg", best_features=12)
    whole = rankgrove.compare(tiny_data, rankers, folds=3, metrics="ndcg")
    assert not any(found.frame()["failure"])
    assert found.frame()["ndcg"].tolist() == whole.frame()["ndcg"].tolist()


@pytest.mark.parametrize("order", ["lambdamart", "study"])
def test_more_features_than_there_are_is_an_error(order, tiny_data):
    options = {"folds": 3, "best_features": 99, "feature_order": order}
    if order == "study":
        with pytest.raises(ValueError, match="the data has 12 features, not 99"):
            rankgrove.compare(tiny_data, "mart:n_estimators=2", **options)
    else:
        found = rankgrove.compare(tiny_data, "mart:n_estimators=2", **options)
        assert "the data has 12 features, not 99" in found.frame()["failure"][0]


def test_the_best_is_trained_on_the_part_that_was_studied(tiny_data, tmp_path, monkeypatch, capsys):
    from rankgrove.cli.main import main
    from rankgrove.data.writing import write_letor

    monkeypatch.chdir(tmp_path)
    write_letor(tiny_data, "data.txt")
    command = ["compare", "data.txt", "--ranker", "mart:n_estimators=2", "--folds", "3", "--quiet"]
    command += ["--best-features", "3", "--save-best", "best.rg"]
    assert main(command) == 0
    assert len(rankgrove.load_model("best.rg").model_.columns.names) == 3
    assert main([*command, "--feature-order", "study"]) == 1
    assert "--save-best takes --feature-order lambdamart" in capsys.readouterr().err


def test_two_sets_of_yahoo_are_two_data_sets(tiny_data, tmp_path):
    from rankgrove.data.writing import write_letor

    folder = tmp_path / "yahoo"
    folder.mkdir()
    for number, fold in zip((1, 2), rankgrove.kfold(tiny_data, 3, seed=0), strict=False):
        for role, part in zip(("train", "valid", "test"), fold, strict=True):
            write_letor(part, folder / f"set{number}.{role}.txt")
    found = rankgrove.compare(folder, "mart:n_estimators=2", metrics="ndcg")
    assert found.datasets == ["yahoo set1", "yahoo set2"]
    assert [len(found.folds(data)) for data in found.datasets] == [1, 1]
    first = next(rankgrove.kfold(tiny_data, 3, seed=0))
    assert len(found.queries("yahoo set1", 1).ids) == first.test.n_queries
    for file in folder.glob("set2*"):
        file.unlink()
    assert rankgrove.compare(folder, "mart:n_estimators=2").datasets == ["yahoo"]


def test_numbered_folds_in_one_folder_are_one_data_set(tiny_data, tmp_path):
    from rankgrove.data.writing import write_letor

    folder = tmp_path / "folds"
    folder.mkdir()
    for number, fold in zip((1, 2), rankgrove.kfold(tiny_data, 3, seed=0), strict=False):
        for role, part in zip(("train", "valid", "test"), fold, strict=True):
            write_letor(part, folder / f"fold{number}.{role}.txt")
    found = rankgrove.compare(folder, "mart:n_estimators=2", metrics="ndcg")
    assert found.datasets == ["folds"]
    assert found.folds("folds") == [1, 2]
