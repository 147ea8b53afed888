"""Columns, queries and other models give the same answer however they come in, or an error."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove import LambdaMART, RFPair, RFPoint
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.experiments.convergence import convergence
from rankgrove.models.early_exit import EarlyExit

pandas = pytest.importorskip("pandas")

NAMES = [f"feature {letter}" for letter in "abcdefgh"]


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=12, n_features=8, seed=3)


@pytest.fixture(scope="module")
def frame(data):
    return pandas.DataFrame(data.X, columns=NAMES)


@pytest.fixture(scope="module")
def mixed(frame):
    """The same columns in another order, and one more."""
    return frame[NAMES[::-1]].assign(extra=0.0)[["extra", *NAMES[::-1]]]


@pytest.fixture(scope="module")
def pair(data):
    return RFPair(n_estimators=5, random_state=0, n_jobs=1).fit(data)


def boosted(**params):
    return LambdaMART(**{"n_estimators": 5, "random_state": 0, "n_jobs": 1, **params})


def forest(**params):
    return RFPoint(**{"n_estimators": 5, "random_state": 0, "n_jobs": 1, **params})


class TestColumnsInAnotherOrder:
    @pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
    def test_eval_set(self, data, frame, mixed):
        fit = {"y": data.y, "qid": data.qid}
        same = boosted().fit(frame, **fit, eval_set=(frame.copy(), data.y, data.qid))
        other = boosted().fit(frame, **fit, eval_set=(mixed, data.y, data.qid))
        assert same.evals_result_ == other.evals_result_

    def test_init_model(self, data, frame, mixed):
        init_model = boosted().fit(frame, data.y, qid=data.qid)
        same = boosted().fit(frame, data.y, qid=data.qid, init_model=init_model)
        other = boosted().fit(frame[NAMES[::-1]], data.y, qid=data.qid, init_model=init_model)
        np.testing.assert_allclose(other.predict(mixed), same.predict(frame), rtol=1e-9)
        assert other.score(frame, data.y, data.qid) == pytest.approx(
            same.score(frame, data.y, data.qid)
        )

    def test_an_init_model_of_fewer_columns(self, data, frame):
        init_model = boosted().fit(frame[NAMES[3:]], data.y, qid=data.qid)
        ranker = boosted(n_estimators=1, learning_rate=1e-12).fit(
            frame, data.y, qid=data.qid, init_model=init_model
        )
        np.testing.assert_allclose(ranker.predict(frame), init_model.predict(frame), atol=1e-9)

    def test_warm_start(self, data, frame, mixed):
        whole = forest(n_estimators=8).fit(frame, data.y, qid=data.qid)
        ranker = forest(warm_start=True).fit(frame, data.y, qid=data.qid)
        kept = ranker.predict(frame)
        ranker.set_params(n_estimators=6).fit(frame[NAMES[::-1]], data.y, qid=data.qid)
        five = next(iter(ranker.model_.stages(data.X[:, ::-1].copy(), steps=[5])))
        np.testing.assert_allclose(five, kept, rtol=1e-12)
        assert whole.model_.ensemble.n_trees == 8

    def test_warm_start_that_does_not_fit_keeps_the_model(self, data, frame):
        ranker = forest(warm_start=True).fit(frame, data.y, qid=data.qid)
        before = ranker.predict(frame)
        ranker.set_params(n_estimators=9)
        with pytest.raises(DataError, match="warm_start"):
            ranker.fit(frame.rename(columns={NAMES[0]: "z"}), data.y, qid=data.qid)
        np.testing.assert_array_equal(ranker.predict(frame), before)

    def test_strength_curve_and_permutation(self, data, frame, mixed):
        ranker = forest().fit(frame, data.y, qid=data.qid)
        same = ranker.strength_curve(frame, data.y, data.qid).mean
        np.testing.assert_array_equal(ranker.strength_curve(mixed, data.y, data.qid).mean, same)
        same = ranker.importances("permutation", frame, data.y, data.qid)
        other = ranker.importances("permutation", mixed, data.y, data.qid)
        np.testing.assert_array_equal(other, same)

    def test_merge(self, data, frame, mixed):
        first = forest().fit(frame, data.y, qid=data.qid)
        second = forest(first_tree=5).fit(frame[NAMES[::-1]], data.y, qid=data.qid)
        merged = rankgrove.merge(first, second)
        expected = (first.predict(frame) + second.predict(frame)) / 2
        np.testing.assert_allclose(merged.predict(mixed), expected, rtol=1e-12)
        other = forest(first_tree=5).fit(
            frame.rename(columns={NAMES[0]: "z"}), data.y, qid=data.qid
        )
        with pytest.raises(ModelError, match="different columns"):
            rankgrove.merge(first, other)


class TestTreesOfDifferences:
    """RF-pair's trees know nothing of single documents."""

    def test_what_makes_no_sense_is_refused_by_name(self, pair, data):
        for ask in (
            pair.compile,
            lambda: pair.apply(data.X),
            lambda: pair.strength_curve(data),
            lambda: list(pair.staged_predict(data)),
            lambda: convergence(pair, data),
        ):
            with pytest.raises(ModelError, match="kind 'pairs' cannot"):
                ask()

    def test_scores_need_the_queries(self, pair, data):
        with pytest.raises(DataError, match="predict needs the queries"):
            pair.predict(data.X)
        np.testing.assert_array_equal(pair.predict(data.X, data.qid), pair.predict(data))

    @pytest.mark.filterwarnings("ignore:.*has no names for its columns")
    def test_a_query_id_in_two_files_means_what_it_means_to_a_fit(self, pair, data, tmp_path):
        first, second = data.select_queries([0, 1]), data.select_queries([2, 3])
        # The last query of one file and the first of the next have the same id.
        second = rankgrove.Dataset(second.X, second.y, second.groups.query_of_row() + first.qid[-1])
        paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
        for part, path in zip((first, second), paths, strict=True):
            rankgrove.write_letor(part, path)
        for use in (pair.predict, RFPair(n_estimators=2).fit):
            with pytest.raises(DataError, match=r"occurs in .*a\.txt and in .*b\.txt"):
                use(paths)
        for shared in ("merge", "apart"):
            loaded = rankgrove.load(paths, shared_queries=shared)
            scanned = rankgrove.scan(paths, shared_queries=shared)
            np.testing.assert_array_equal(pair.predict(scanned), pair.predict(loaded))
        apart = np.concatenate([pair.predict(first), pair.predict(second)])
        np.testing.assert_array_equal(pair.predict(scanned), apart)
        boosted().fit(data).predict(paths)  # document by document: queries are not read

    def test_as_init_model_it_sees_the_queries(self, pair, data, tmp_path):
        ranker = boosted(n_estimators=1, learning_rate=1e-12).fit(data, init_model=pair)
        np.testing.assert_allclose(ranker.predict(data), pair.predict(data), atol=1e-9)
        with pytest.raises(ModelError, match="kind 'sum' cannot be compiled"):
            ranker.compile()
        ranker.save(tmp_path / "sum.rg")
        loaded = rankgrove.load_model(tmp_path / "sum.rg")
        np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))

    def test_documents_alone_in_their_query_cost_nothing(self, pair, data):
        rows = np.repeat(data.X[:1], 200_000, axis=0)
        scores = pair.predict(rows, np.arange(len(rows)))
        np.testing.assert_array_equal(scores, 0.5)

    def test_lists_that_would_take_hours_are_refused(self, pair, data):
        rows = np.repeat(data.X[:1], 10_001, axis=0)
        with pytest.raises(DataError, match=r"query 7 has 10001 documents"):
            pair.predict(rows, np.full(len(rows), 7))


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
def test_other_labels_for_the_training_matrix_are_other_data(data):
    flipped = data.y.max() - data.y
    ranker = boosted().fit(
        data.X, data.y, qid=data.qid, eval_set={"other": (data.X, flipped, data.qid)}
    )
    last = ranker.evals_result_["other"]["ndcg@10"][ranker.best_iteration_ - 1]
    assert last == pytest.approx(ranker.score(data.X, flipped, data.qid))


class TestConvergence:
    def test_of_a_forest_is_the_mean_of_its_trees(self, data):
        ranker = forest(n_estimators=6).fit(data)
        curve = convergence(ranker, data, "rmse")
        rmse = rankgrove.metric("rmse")
        smaller = [forest(n_estimators=n).fit(data).predict(data) for n in curve.steps]
        expected = [rmse(data.y, scores, groups=data.groups) for scores in smaller]
        np.testing.assert_allclose(curve.values, expected, rtol=1e-6)

    def test_of_a_continued_model_counts_its_own_steps(self, data):
        first = boosted(n_estimators=3).fit(data)
        ranker = boosted(n_estimators=3).fit(data, init_model=first)
        curve = convergence(ranker, data)
        assert curve.steps == [1, 2, 3]
        assert curve.values[-1] == pytest.approx(ranker.score(data))


class TestNothingIsLost:
    def test_merged_parts_with_out_of_bag_predictions_are_saved(self, data, tmp_path):
        parts = [forest(first_tree=first, oob_score=True).fit(data) for first in (0, 5)]
        merged = rankgrove.merge(*parts)
        whole = forest(n_estimators=10, oob_score=True).fit(data)
        np.testing.assert_allclose(merged.oob_prediction_, whole.oob_prediction_)
        merged.save(tmp_path / "merged.rg")
        loaded = rankgrove.load_model(tmp_path / "merged.rg")
        np.testing.assert_array_equal(loaded.oob_prediction_, merged.oob_prediction_)
        assert np.isnan(loaded.oob_score_)

    def test_no_number_in_the_history_is_saved(self, data, tmp_path):
        ranker = boosted().fit(data, eval_set={"train": data})
        ranker.evals_result_["train"]["ndcg@10"][0] = float("nan")
        ranker.save(tmp_path / "model.rg")
        history = rankgrove.load_model(tmp_path / "model.rg").evals_result_["train"]["ndcg@10"]
        np.testing.assert_array_equal(history, ranker.evals_result_["train"]["ndcg@10"])

    def test_a_refit_without_out_of_bag_forgets_it(self, data, tmp_path):
        ranker = forest(oob_score=True).fit(data).set_params(oob_score=False).fit(data)
        with pytest.raises(AttributeError, match="oob_score=True"):
            _ = ranker.oob_prediction_
        ranker.save(tmp_path / "model.rg")

    def test_labels_that_out_of_bag_scores_refuse_are_refused_before_growing(self, data):
        ranker = forest(oob_score=True)
        with pytest.raises(DataError, match="-"):
            ranker.fit(data.X, data.y - 2, qid=data.qid)
        assert not hasattr(ranker, "model_")

    def test_interruption_keeps_what_is_done_and_goes_on(self, data):
        def press(progress):
            if progress.iteration == 2:
                raise KeyboardInterrupt

        ranker = boosted()
        with pytest.raises(KeyboardInterrupt):
            ranker.fit(data, callbacks=[press])
        assert ranker.model_.n_steps == 2

    def test_a_failed_fit_leaves_the_old_model(self, data):
        ranker = boosted().fit(data)
        before = ranker.predict(data)
        ranker.set_params(monotone=[1])
        with pytest.raises(ValueError, match="monotone has 1 entries"):
            ranker.fit(data)
        np.testing.assert_array_equal(ranker.predict(data), before)

    def test_foreign_names_are_refused(self, data, tmp_path):
        ranker = boosted().fit(data)
        for name in ("m.onnx", "m.json", "m.txt", "M.JSON", "m.rg.gz"):
            with pytest.raises(ModelError, match=r"files end in \.rg"):
                ranker.save(tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_a_function_in_a_parameter_must_be_set_again(self, data, tmp_path):
        def gain(gl, hl, gr, hr):
            return gl**2 / (hl + 1) + gr**2 / (hr + 1) - (gl + gr) ** 2 / (hl + hr + 1)

        boosted(criterion=gain).fit(data).save(tmp_path / "m.rg")
        loaded = rankgrove.load_model(tmp_path / "m.rg")
        with pytest.raises(ValueError, match=r"parameter criterion of LambdaMART was <function"):
            loaded.fit(data)
        loaded.set_params(criterion=gain).fit(data)


class TestWords:
    def test_names_of_other_libraries(self, data):
        with pytest.raises(TypeError, match="did you mean 'max_leaf_nodes'"):
            LambdaMART(num_leaves=3)
        with pytest.raises(TypeError, match=r"LambdaMART\.fit has no option 'group'.*group_sizes"):
            boosted().fit(data.X, data.y, group=data.group_sizes)
        with pytest.raises(TypeError, match="max_leaf_nodes, a parameter"):
            boosted().fit(data, num_leaves=3)
        with pytest.raises(TypeError, match="it knows qid, group_sizes"):
            boosted().fit(data, zzz=3)

    def test_options_without_effect_are_refused(self, data):
        with pytest.raises(ValueError, match="RFPoint has no use for early_stopping_rounds"):
            forest().fit(data, eval_set=data, early_stopping_rounds=3)
        with pytest.raises(ValueError, match="RFPoint has no use for init_model"):
            forest().fit(data, init_model=boosted().fit(data))

    def test_errors_of_eval_set_say_so(self, data):
        y = data.y.copy()
        y[3] = np.nan
        with pytest.raises(DataError, match="eval_set 'held out': y of row 3 is nan"):
            boosted().fit(data, eval_set={"held out": (data.X, y, data.qid)})
        with pytest.raises(DataError, match="eval_set 'valid' has 3 features"):
            boosted().fit(data, eval_set=(data.X[:, :3], data.y, data.qid))

    def test_forests_measure_validation_data_when_they_are_done(self, data):
        ranker = forest().fit(data, eval_set=data, eval_metric=["ndcg@5", "map"])
        assert ranker.evals_result_["valid"]["map"] == [ranker.score(data, metric="map")]
        assert ranker.best_iteration_ is None

    @pytest.mark.filterwarnings("ignore:every document gets the same score")
    @pytest.mark.parametrize("make", [boosted, forest])
    def test_numbers_beyond_32_bits_are_refused_by_name(self, data, make):
        for name in ("max_leaf_nodes", "max_depth", "min_samples_leaf", "n_estimators"):
            with pytest.raises(
                ValueError, match=f"parameter {name} of .* is {2**40}, which is too"
            ):
                make(**{name: 2**40}).fit(data)
        make(max_leaf_nodes=2**31 - 1, max_depth=2**31 - 1, min_samples_leaf=2**31 - 1).fit(data)

    def test_no_rows_have_no_scores(self, data):
        for ranker in (boosted(), forest(), rankgrove.McRank(n_estimators=2)):
            assert ranker.fit(data).predict(data.X[:0]).shape == (0,)

    def test_everything_as_one(self, data):
        all_of_it = [forest(subsample=share).fit(data).predict(data) for share in (1, 1.0)]
        np.testing.assert_array_equal(*all_of_it)
        two = forest(subsample=2, n_estimators=1).fit(data)
        assert two.model_.ensemble.count[0] <= 2 * data.group_sizes.max()


class TestMeasuring:
    """Whoever measures a Dataset (fit, score, evaluate) takes its ids and all its rows alike."""

    @pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
    @pytest.mark.filterwarnings("ignore:every document gets the same score")
    def test_document_ids_break_ties_everywhere(self, data):
        ids = [f"d{number}" for number in np.random.default_rng(0).permutation(data.n_rows)]
        given = rankgrove.Dataset(data.X, data.y, data.qid, doc_ids=ids)
        name = "ndcg@10(ties=doc_id)"
        ranker = rankgrove.MART(n_estimators=1, min_samples_leaf=data.n_rows)  # all scores tie
        ranker.fit(data, eval_set={"valid": given}, eval_metric=name)
        expected = rankgrove.evaluate(given, ranker.predict(given), metrics=name)[name]
        assert expected != rankgrove.evaluate(data, ranker.predict(data), metrics=name)[name]
        assert ranker.score(given, metric=name) == expected
        assert ranker.evals_result_["valid"][name] == [expected]

    @pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
    def test_weights_belong_to_training_alone(self, data):
        weight = np.arange(data.n_rows) % 3 == 0
        given = rankgrove.Dataset(data.X, data.y, data.qid, sample_weight=weight)
        ranker = rankgrove.MART(n_estimators=2).fit(data, eval_set=given)
        value = rankgrove.evaluate(data, ranker.predict(data), metrics="ndcg@10")["ndcg@10"]
        assert ranker.evals_result_["valid"]["ndcg@10"][-1] == value
        assert ranker.score(given) == value
        importances = [ranker.importances("permutation", each) for each in (given, data)]
        assert np.array_equal(*importances)

    def test_a_dataset_brings_its_labels_and_queries(self, data):
        ranker = rankgrove.MART(n_estimators=1).fit(data)
        for ask in (ranker.predict, ranker.rank, ranker.score):
            with pytest.raises(DataError, match="a Dataset brings its queries"):
                ask(data, qid=data.qid)
        with pytest.raises(DataError, match="a Dataset brings its labels"):
            ranker.score(data, data.y)

    @pytest.mark.filterwarnings("ignore:fit. X has")
    def test_a_column_named_y_is_no_label(self, data):
        frame = pandas.DataFrame(abs(data.X), columns=["y", *"abcdefghijklmnop"][: data.n_features])
        ranker = rankgrove.MART(n_estimators=1).fit(frame, data.y, qid=data.qid)
        with pytest.raises(DataError, match="score needs the labels"):
            ranker.score(frame, qid=data.qid)

    def test_evaluation_sets_have_names_of_their_own(self, data):
        with pytest.raises(ValueError, match="two sets of the name '1'"):
            rankgrove.MART(n_estimators=1).fit(data, eval_set={1: data, "1": data})

    def test_early_exit_takes_columns_by_name(self, data):
        ranker = rankgrove.MART(n_estimators=20).fit(data)
        turned = rankgrove.Dataset(
            data.X[:, ::-1], data.y, data.qid, feature_names=data.feature_names[::-1]
        )
        assert EarlyExit.learn(ranker, turned) == EarlyExit.learn(ranker, data)
        with pytest.raises(DataError, match="no rows"):
            EarlyExit.learn(ranker, data.select_rows([]))


class TestGoingOn:
    """Trees that warm_start keeps, and parts of a forest, must mean the same as the new ones."""

    def test_warm_start_keeps_the_values_for_missing_ones(self, data):
        X = np.where(np.arange(data.X.size).reshape(data.X.shape) % 4 == 0, np.nan, data.X)
        ranker = forest(warm_start=True, missing="mean").fit(X, data.y, qid=data.qid)
        before = ranker.predict(X)
        ranker.set_params(n_estimators=9)
        with pytest.raises(ModelError, match="took other values for missing ones"):
            ranker.fit(2 * X, data.y, qid=data.qid)
        assert np.array_equal(ranker.predict(X), before)
        ranker.fit(X, data.y, qid=data.qid)

    def test_warm_start_reads_text_alike(self, data):
        def read(absent):
            return rankgrove.Dataset(data.X, data.y, data.qid, absent=absent)

        ranker = forest(warm_start=True).fit(read("zero")).set_params(n_estimators=9)
        with pytest.raises(ModelError, match="read as 'missing'"):
            ranker.fit(read("missing"))

    @pytest.mark.parametrize("how", ["warm_start", "merge"])
    def test_grades_stay_the_same(self, data, how):
        def part(**params):
            return rankgrove.RandomForest(
                n_estimators=2, task="classification", **{"random_state": 0, **params}
            )

        first = part(warm_start=True).fit(data)
        other = {"X": data.X, "y": 2 * data.y, "qid": data.qid}
        if how == "merge":
            second = part(random_state=1, warm_start=True).fit(**other)
            with pytest.raises(ModelError, match="different grades"):
                rankgrove.merge(first, second)
        else:
            with pytest.raises(ModelError, match="other grades"):
                first.set_params(n_estimators=4).fit(**other)

    def test_out_of_bag_sums_are_of_the_same_documents(self, data, tmp_path):
        order = np.random.default_rng(0).permutation(data.n_rows)
        other = data.select_rows(order)
        first = forest(warm_start=True, oob_score=True, random_state=0).fit(data)
        second = forest(warm_start=True, oob_score=True, random_state=1).fit(other)
        assert rankgrove.merge(first, second).oob_ is None
        first.save(tmp_path / "model.rg")
        again = rankgrove.load_model(tmp_path / "model.rg").set_params(n_estimators=9)
        with pytest.raises(DataError, match="documents of the last fit"):
            again.fit(other)
        again.fit(data)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("num_iteration", r"use predict\(X, n_steps=\.\.\.\)"),
        ("iteration_range", r"use predict\(X, n_steps=\.\.\.\)"),
        ("pred_contrib", r"use explain\(X\)\.values"),
        ("raw_score", "it knows qid, group_sizes, n_jobs, n_steps"),
    ],
)
def test_options_of_predict_in_other_libraries_are_answered(option, message):
    ranker = rankgrove.MART(n_estimators=1)
    with pytest.raises(TypeError, match=f"MART.predict has no option '{option}'.*{message}"):
        ranker.predict([[1.0]], **{option: 1})


@pytest.mark.parametrize("option", ["sample_weight_eval_set", "eval_sample_weight"])
def test_weights_of_evaluation_sets_are_not_mistaken_for_those_of_training(option):
    with pytest.raises(TypeError, match="evaluation sets weigh queries alike"):
        rankgrove.MART().fit([[1.0]], [1], qid=[1], **{option: [1]})
