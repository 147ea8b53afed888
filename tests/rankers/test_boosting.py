"""The boosting loop: what it adds up, evaluates, cuts and continues."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.lambdamart import LambdaMART
from rankgrove.rankers.mart import MART
from rankgrove.trees.scorer import Scorer


@pytest.fixture(scope="module")
def train():
    return make_ranking(60, docs_per_query=15, n_features=10, seed=1)


@pytest.fixture(scope="module")
def valid():
    return make_ranking(40, docs_per_query=15, n_features=10, seed=2)


def lambdamart(**params):
    return LambdaMART(**{"n_estimators": 10, "random_state": 0, "n_jobs": 1, **params})


def mart(**params):
    return MART(**{"n_estimators": 10, "random_state": 0, "n_jobs": 1, **params})


def rankboost(**params):
    return rankgrove.RankBoost(**{"n_estimators": 10, "random_state": 0, "n_jobs": 1, **params})


@pytest.fixture(scope="module")
def friedman():
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(3000, noise=1.0, random_state=0)
    return X[:2000].astype(np.float32), y[:2000], X[2000:].astype(np.float32), y[2000:]


@pytest.fixture(scope="module")
def own_error(friedman):
    X, y, X_test, y_test = friedman
    model = mart(n_estimators=100, tree="leafwise").fit(X, y, qid=np.zeros(len(y), int))
    return np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))


class TestAgainstPeers:
    """On plain regression the peers do the same thing, but for details of binning and stopping."""

    @pytest.mark.slow
    def test_hist_gradient_boosting(self, friedman, own_error):
        from sklearn.ensemble import HistGradientBoostingRegressor

        X, y, X_test, y_test = friedman
        peer = HistGradientBoostingRegressor(max_iter=100, early_stopping=False).fit(X, y)
        error = np.sqrt(np.mean((peer.predict(X_test) - y_test) ** 2))
        assert own_error == pytest.approx(error, rel=0.03)

    def test_lightgbm(self, friedman, own_error):
        lightgbm = pytest.importorskip("lightgbm")
        X, y, X_test, y_test = friedman
        settings = {"objective": "regression", "verbosity": -1, "num_threads": 1}
        peer = lightgbm.train(settings, lightgbm.Dataset(X, y), 100)
        error = np.sqrt(np.mean((peer.predict(X_test) - y_test) ** 2))
        assert own_error == pytest.approx(error, rel=0.03)

    def test_lambdarank_of_lightgbm(self, web_data):
        lightgbm = pytest.importorskip("lightgbm")
        settings = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1}
        peer = lightgbm.train(
            settings, lightgbm.Dataset(web_data.X, web_data.y, group=web_data.group_sizes), 30
        )
        test = make_ranking(60, preset="mslr", seed=8)
        ndcg = rankgrove.metric("ndcg@10")
        theirs = ndcg(test.y, peer.predict(test.X), qid=test.qid)
        assert lambdamart(n_estimators=30).fit(web_data).score(test) > theirs - 0.02


class TestWeights:
    def coarse(self, data):
        """Few distinct values per feature, so that repeated rows change no bin."""
        ranks = data.X.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        return (ranks // 40).astype(np.float32)

    @pytest.mark.parametrize("make", [mart, lambdamart])
    def test_a_query_of_weight_3_is_a_query_listed_3_times(self, train, make):
        X = self.coarse(train)
        times = np.where(train.qid % 2 == 0, 3, 1)
        rows = np.concatenate([np.flatnonzero(times > t) for t in range(3)])
        copies = np.concatenate([np.full((times > t).sum(), t) for t in range(3)])
        free = {"min_samples_leaf": 1, "min_child_weight": 0.0}
        weighted = make(**free).fit(X, train.y, qid=train.qid, sample_weight=times)
        repeated = make(**free).fit(X[rows], train.y[rows], qid=train.qid[rows] * 3 + copies)
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("make", [mart, lambdamart])
    def test_weight_of_the_dataset_is_used(self, train, make):
        times = np.where(train.qid % 2 == 0, 3.0, 1.0)
        data = rankgrove.Dataset(train.X, train.y, train.qid, sample_weight=times)
        expected = make().fit(train.X, train.y, qid=train.qid, sample_weight=times)
        np.testing.assert_array_equal(make().fit(data).predict(train.X), expected.predict(train.X))

    def test_least_squares_refuses_weights_that_it_could_not_count(self, train):
        weight = np.where(train.qid % 2 == 0, 3.0, 1.0)
        with pytest.raises(ValueError, match="criterion of LambdaMART is 'least_squares'"):
            lambdamart(criterion="least_squares").fit(train, sample_weight=weight)
        lambdamart(criterion="least_squares").fit(train, sample_weight=np.full(len(weight), 2.0))

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (lambda n: -np.ones(n), "sample_weight of row 0 is -1.0, less than 0"),
            (lambda n: np.full(n, 1e300), "row 0 is 1e\\+300: above 1e\\+30 sums overflow"),
            (lambda n: np.zeros(n), "0 in every row"),
            (lambda n: np.ones(n - 1), "entries but X has"),
        ],
    )
    def test_bad_weights_are_refused(self, train, weight, message):
        with pytest.raises(DataError, match=message):
            mart().fit(train, sample_weight=weight(len(train.y)))


class TestEvaluation:
    def test_history_is_the_metric_of_each_stage(self, train, valid):
        ranker = lambdamart().fit(
            train, eval_set={"train": train, "valid": valid}, eval_metric=["ndcg@5", "map"]
        )
        for name, data in (("train", train), ("valid", valid)):
            for metric in ("ndcg@5", "map"):
                measure = rankgrove.metric(metric)
                values = ranker.evals_result_[name][metric]
                assert len(values) == 10
                stages = [measure(data.y, s, qid=data.qid) for s in ranker.staged_predict(data)]
                np.testing.assert_allclose(values[: len(stages)], stages, rtol=1e-12)

    def test_evaluating_the_training_data_needs_no_second_matrix(self, train):
        copied = (train.X.copy(), train.y, train.qid)
        recorded = lambdamart().fit(train, eval_set={"train": train}).evals_result_
        binned = lambdamart().fit(train, eval_set={"train": copied}).evals_result_
        np.testing.assert_allclose(recorded["train"]["ndcg@10"], binned["train"]["ndcg@10"])

    def test_model_is_cut_at_the_best_iteration_of_the_first_metric(self, train, valid):
        metrics = ["map", "ndcg@10"]
        ranker = lambdamart(n_estimators=30).fit(train, eval_set=valid, eval_metric=metrics)
        values = ranker.evals_result_["valid"]["map"]
        assert ranker.best_iteration_ == int(np.argmax(values)) + 1
        assert ranker.model_.ensemble.n_trees == ranker.best_iteration_
        assert ranker.score(valid, metric="map") == pytest.approx(max(values), abs=1e-12)

    def test_a_metric_to_be_minimised_is_minimised(self, train, valid):
        ranker = mart(n_estimators=30, learning_rate=0.5).fit(
            train, eval_set=valid, eval_metric="rmse"
        )
        values = ranker.evals_result_["valid"]["rmse"]
        assert ranker.best_iteration_ == int(np.argmin(values)) + 1 < 30

    def test_training_data_never_decides(self, train, valid):
        ranker = lambdamart(n_estimators=30).fit(train, eval_set={"train": train, "valid": valid})
        values = ranker.evals_result_["valid"]["ndcg@10"]
        assert ranker.best_iteration_ == int(np.argmax(values)) + 1
        alone = lambdamart().fit(train, eval_set={"train": train})
        assert alone.best_iteration_ is None
        assert alone.model_.ensemble.n_trees == 10

    def test_early_stopping_waits_as_long_as_told(self, train, valid):
        ranker = lambdamart(n_estimators=500, learning_rate=0.5).fit(
            train, eval_set=valid, early_stopping_rounds=7
        )
        assert len(ranker.evals_result_["valid"]["ndcg@10"]) == ranker.best_iteration_ + 7

    @pytest.mark.parametrize("rounds", [0, -1, 2.5])
    def test_bad_patience_is_refused(self, train, valid, rounds):
        with pytest.raises(ValueError, match="early_stopping_rounds must be"):
            mart().fit(train, eval_set=valid, early_stopping_rounds=rounds)

    def test_early_stopping_needs_validation_data(self, train):
        with pytest.raises(ValueError, match="needs validation data"):
            mart().fit(train, early_stopping_rounds=5)

    @pytest.mark.parametrize(
        ("eval_set", "message"),
        [
            (3, "eval_set must be a Dataset"),
            (
                [(np.ones((2, 10)), [0, 1])],
                r"'valid' must be a Dataset, .* or a tuple \(X, y, qid\)",
            ),
            ({"held out": (np.ones((2, 3)), [0, 1], [1, 1])}, "3 features"),
            ((np.ones((2, 10)), [0, 1], None), "eval_set 'valid' needs the queries"),
        ],
    )
    def test_bad_evaluation_sets_are_refused(self, train, eval_set, message):
        with pytest.raises(DataError, match=message):
            mart().fit(train, eval_set=eval_set)

    def test_interleaved_queries_are_evaluated_in_their_own_order(self, train, valid):
        order = np.random.default_rng(0).permutation(len(valid.y))
        mixed = (valid.X[order], valid.y[order], valid.qid[order])
        ranker = lambdamart(n_estimators=5).fit(train, eval_set=mixed)
        best = ranker.evals_result_["valid"]["ndcg@10"][ranker.best_iteration_ - 1]
        assert ranker.score(*mixed) == pytest.approx(best, abs=1e-12)


class TestContinuing:
    @pytest.mark.parametrize("make", [mart, lambdamart, rankboost])
    def test_half_and_half_is_the_whole(self, train, make):
        whole = make().fit(train)
        half = make(n_estimators=4).fit(train)
        rest = make(n_estimators=6).fit(train, init_model=half)
        np.testing.assert_array_equal(rest.predict(train), whole.predict(train))
        assert rest.model_.ensemble.n_trees == 10

    def test_a_model_can_continue_itself(self, train):
        whole = lambdamart().fit(train).predict(train)
        ranker = lambdamart(n_estimators=5).fit(train)
        ranker.fit(train, init_model=ranker)
        np.testing.assert_array_equal(ranker.predict(train), whole)

    def test_any_ranker_can_be_the_init_model(self, train, valid):
        init_model = mart().fit(train)
        ranker = lambdamart().fit(train, init_model=init_model, eval_set=valid)
        first = next(iter(ranker.staged_predict(valid)))
        step = rankgrove.metric("ndcg@10")(valid.y, first, qid=valid.qid)
        assert ranker.evals_result_["valid"]["ndcg@10"][0] == pytest.approx(step, abs=1e-12)
        assert ranker.model_.n_init_trees == 10

    def test_init_model_with_other_fill_values_melts(self, train, tmp_path):
        X = train.X.copy()
        X[::3, 0] = np.nan
        init_model = mart(missing="median").fit(X, train.y, qid=train.qid)
        ranker = lambdamart(n_estimators=3).fit(X, train.y, qid=train.qid, init_model=init_model)
        own = Scorer(ranker.model_.ensemble.tail(10)).predict(X)
        expected = init_model.predict(X) + own
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-12)
        np.testing.assert_array_equal(ranker.compile().predict(X), ranker.predict(X))
        ranker.save(tmp_path / "model.rg")
        loaded = rankgrove.load_model(tmp_path / "model.rg")
        np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))

    def test_bad_init_models_are_refused(self, train):
        with pytest.raises(ModelError, match="must be a fitted ranker of rankgrove, not str"):
            mart().fit(train, init_model="model.rg")
        narrow = mart().fit(train.X[:, :4], train.y, qid=train.qid)
        with pytest.raises(ModelError, match="does not fit the data"):
            mart().fit(train, init_model=narrow)


class TestStopping:
    def test_callbacks_see_progress_and_can_stop(self, train, valid):
        seen = []

        def callback(progress):
            seen.append((progress.iteration, len(progress.evals_result["valid"]["ndcg@10"])))
            return progress.iteration == 4

        ranker = lambdamart().fit(train, eval_set=valid, callbacks=[callback])
        assert seen == [(1, 1), (2, 2), (3, 3), (4, 4)]
        assert ranker.model_.ensemble.n_trees == ranker.best_iteration_ <= 4

    def test_interrupt_leaves_a_usable_model(self, train):
        def interrupt(progress):
            if progress.iteration == 3:
                raise KeyboardInterrupt

        ranker = lambdamart()
        with pytest.raises(KeyboardInterrupt):
            ranker.fit(train, callbacks=[interrupt])
        expected = lambdamart(n_estimators=3).fit(train)
        np.testing.assert_array_equal(ranker.predict(train), expected.predict(train))

    def test_quiet_without_a_terminal(self, train, capfd):
        lambdamart(verbose=1, n_estimators=2).fit(train)
        assert capfd.readouterr() == ("", "")

    def test_lines_on_request(self, train, valid, capfd):
        lambdamart(verbose=2, n_estimators=2).fit(train, eval_set=valid)
        err = capfd.readouterr().err.splitlines()
        assert err[1].startswith("lambdamart [2/2] valid ndcg@10 0.")


class TestTrees:
    @pytest.mark.parametrize("tree", ["leafwise", "levelwise", "oblivious"])
    def test_every_shape_learns(self, train, tree):
        ranker = lambdamart(tree=tree, max_leaf_nodes=8).fit(train)
        assert ranker.model_.ensemble.n_leaves.max() <= 8
        assert ranker.score(train) > 0.6

    def test_deeper_limits_hold(self, train):
        limits = {"max_leaf_nodes": None, "max_depth": 2, "min_samples_leaf": 100}
        ranker = mart(tree="leafwise", **limits).fit(train)
        assert ranker.model_.ensemble.n_leaves.max() <= 4
        leaves = ranker.model_.ensemble.feature < 0
        assert ranker.model_.ensemble.count[leaves].min() >= 100

    @pytest.mark.parametrize(
        ("limits", "leaves"),
        [
            ({}, 16),
            ({"max_depth": 6}, 64),
            ({"max_depth": 6, "max_leaf_nodes": 31}, 16),
            ({"max_depth": 3, "max_leaf_nodes": 31}, 8),
            ({"max_depth": 3, "max_leaf_nodes": None}, 8),
            ({"monotone": [1] + [0] * 9}, 31),
            ({"max_depth": 13}, 31),
        ],
    )
    def test_trees_are_oblivious_where_that_is_possible(self, train, limits, leaves):
        trees = mart(n_estimators=1, l2=0.0, min_samples_leaf=1, **limits).fit(train).model_
        assert trees.ensemble.n_leaves[0] == leaves
        n_rules = len({*zip(trees.ensemble.feature, trees.ensemble.threshold, strict=True)}) - 1
        assert (n_rules == np.log2(leaves)) == (leaves != 31)

    def test_oblivious_trees_have_a_level_more_on_many_documents(self):
        rng = np.random.default_rng(0)
        X, qid = rng.random((50_000, 8), np.float32), np.arange(50_000) // 50
        few = mart(n_estimators=1).fit(X[:-50], X[:-50].sum(axis=1), qid=qid[:-50])
        many = mart(n_estimators=1).fit(X, X.sum(axis=1), qid=qid)
        assert (few.model_.ensemble.n_leaves[0], many.model_.ensemble.n_leaves[0]) == (16, 32)

    @pytest.mark.parametrize("unit", ["queries", "documents"])
    def test_subsample_is_what_trees_see(self, train, unit):
        ranker = lambdamart(subsample=0.25, sampling=unit).fit(train)
        roots = ranker.model_.ensemble.count[ranker.model_.ensemble.tree_offsets[:-1]]
        assert len(set(roots)) > 1 or unit == "documents"
        assert np.mean(roots) == pytest.approx(len(train.y) / 4, rel=0.2)

    @pytest.mark.parametrize("name", ["max_features", "max_features_tree"])
    def test_feature_sampling_spreads_the_splits(self, train, name):
        sampled = mart(**{name: 0.2}).fit(train).importances("split")
        assert (sampled > 0).sum() > (mart().fit(train).importances("split") > 0.2).sum()

    @pytest.mark.parametrize("direction", [1, -1])
    def test_monotone_constraints_hold(self, train, direction):
        constraints = [0] * 10
        feature = int(np.argmax(lambdamart().fit(train).feature_importances_))
        constraints[feature] = direction
        ranker = lambdamart(monotone=constraints, n_estimators=20).fit(train)
        X = np.repeat(train.X[:20], 50, axis=0)
        X[:, feature] = np.tile(np.linspace(X.min(), X.max(), 50), 20)
        steps = np.diff(ranker.predict(X).reshape(20, 50), axis=1)
        assert (direction * steps >= 0).all()

    @pytest.mark.parametrize("constraint", [{"monotone": [1] * 10}, {"interactions": [[0, 1]]}])
    def test_an_init_model_without_the_constraint_is_warned_of(self, train, constraint):
        free, kept = mart().fit(train), mart(**constraint).fit(train)
        ranker = mart(**constraint)
        with pytest.warns(rankgrove.DataWarning, match="holds for the new trees only"):
            ranker.fit(train, init_model=free)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ranker.fit(train, init_model=kept)

    def test_monotone_by_name_is_monotone_by_position(self, train, tmp_path):
        names = list(train.feature_names)
        listed = lambdamart(monotone=[-1] + [0] * 8 + [1]).fit(train)
        named = lambdamart(monotone={names[9]: 1, names[0]: -1}).fit(train)
        np.testing.assert_array_equal(named.predict(train), listed.predict(train))
        named.save(tmp_path / "model.rg")
        loaded = rankgrove.load_model(tmp_path / "model.rg")
        assert loaded.monotone == {names[9]: 1, names[0]: -1}
        by_number = lambdamart(monotone={"f1": -1, "f10": 1}).fit(train.X, train.y, qid=train.qid)
        np.testing.assert_array_equal(by_number.predict(train.X), listed.predict(train.X))

    @pytest.mark.parametrize("columns", [["description"], ["params", "ranker"]])
    def test_monotone_columns_of_any_name_are_kept_in_files(self, train, tmp_path, columns):
        data = rankgrove.Dataset(
            train.X,
            train.y,
            qid=train.qid,
            feature_names=[*columns, *train.feature_names[len(columns) :]],
        )
        monotone = dict.fromkeys(columns, 1)
        mart(monotone=monotone).fit(data).save(tmp_path / "model.rg")
        assert rankgrove.load_model(tmp_path / "model.rg").monotone == monotone

    def test_monotone_names_columns_of_the_data(self, train):
        name = train.feature_names[0]
        message = f"'{name}s', which the data do not have; did you mean '{name}'"
        with pytest.raises(ValueError, match=message):
            mart(monotone={f"{name}s": 1}).fit(train)
        with pytest.raises(ValueError, match="monotone of MART must be"):
            mart(monotone={name: 2}).fit(train)

    def test_monotone_needs_an_entry_per_feature(self, train):
        with pytest.raises(ValueError, match="monotone has 2 entries but the data has 10"):
            mart(monotone=[0, 1]).fit(train)


class TestImportances:
    @pytest.mark.parametrize("kind", ["gain", "split", "permutation"])
    def test_the_one_feature_that_matters_is_found(self, kind):
        rng = np.random.default_rng(0)
        X = rng.random((600, 5)).astype(np.float32)
        y = np.floor(4 * X[:, 3])
        qid = np.repeat(np.arange(30), 20)
        ranker = mart(max_leaf_nodes=4).fit(X, y, qid=qid)
        data = (X, y, qid) if kind == "permutation" else ()
        shares = ranker.importances(kind, *data)
        assert shares.argmax() == 3
        assert np.delete(shares, 3).max() < 0.1 * shares[3]

    def test_unknown_kind_is_refused(self, train):
        with pytest.raises(ValueError, match="kind must be"):
            mart().fit(train).importances("magic")


def test_grid_search_over_queries(train):
    import sklearn
    from sklearn.model_selection import GridSearchCV, GroupKFold

    grid = {"max_leaf_nodes": [2, 31]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(lambdamart(n_estimators=3), grid, cv=GroupKFold(3))
        search.fit(train.X, train.y, qid=train.qid, groups=train.qid)
    X, y, qid = train.X, train.y, train.qid
    for i, leaves in enumerate(grid["max_leaf_nodes"]):
        scores = [
            lambdamart(n_estimators=3, max_leaf_nodes=leaves)
            .fit(X[rows], y[rows], qid=qid[rows])
            .score(X[test], y[test], qid[test])
            for rows, test in GroupKFold(3).split(X, y, qid)
        ]
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(np.mean(scores))
    assert search.best_estimator_.predict(X).shape == y.shape


@pytest.mark.parametrize("limit", [{"min_samples_leaf": 5}, {"min_child_weight": 3.0}])
def test_limits_of_leaves_change_oblivious_trees(limit, small_data):
    for make in (rankgrove.RCRank, lambda **p: rankgrove.MART(tree="oblivious", **p)):
        free, limited = (
            make(n_estimators=5, random_state=0, **params).fit(small_data) for params in ({}, limit)
        )
        assert not np.array_equal(free.predict(small_data), limited.predict(small_data))


def test_seeds_choose_among_splits_of_equal_gain_without_any_sampling():
    """Gradients are rounded at random: here two features gain the same but for the rounding."""
    rng = np.random.default_rng(0)
    first = rng.random(2000) < 0.5
    X = np.zeros((4000, 2), np.float32)
    X[::2, 0] = X[1::2, 1] = first  # of each pair of documents with equal labels, one
    y = np.repeat(np.where(first, 2.0, rng.integers(0, 3, 2000)), 2)

    def root(seed):
        ranker = mart(n_estimators=1, max_leaf_nodes=2, random_state=seed)
        return ranker.fit(X, y, group_sizes=[40] * 100).model_.ensemble.feature[0]

    roots = [root(seed) for seed in range(12)]
    assert set(roots) == {0, 1}
    assert [root(seed) for seed in range(12)] == roots


@pytest.mark.parametrize("name", ["gbrt", "mart"])
def test_start_is_the_score_before_the_first_tree(name):
    data = make_ranking(20, seed=1)
    for start, base in (("mean", data.y.mean()), ("zero", 0.0)):
        ranker = rankgrove.make_ranker(
            name, start=start, n_estimators=1, learning_rate=0.5, l2=0.0
        ).fit(data)
        leaves, leaf = np.unique(ranker.apply(data)[:, 0], return_inverse=True)
        means = np.bincount(leaf, data.y) / np.bincount(leaf)
        assert len(leaves) > 2
        expected = base + 0.5 * (means[leaf] - base)
        np.testing.assert_allclose(ranker.predict(data), expected, atol=1e-3)
