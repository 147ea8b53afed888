"""What every registered ranker promises, whatever it learns."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.metrics.python_metric import function_metric
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.registry import ranker_class, ranker_names
from rankgrove.training.missing import fill_values
from support.rankers import quick

pytestmark = [
    pytest.mark.filterwarnings("ignore:the objective of RankSVM may be"),
    pytest.mark.filterwarnings("ignore:X has names for its columns"),
    pytest.mark.filterwarnings("ignore:every document gets the same score"),
    pytest.mark.filterwarnings("ignore:.*every label is"),
]

NAMES = ranker_names()


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, docs_per_query=12, n_features=8, seed=3)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_learns_better_than_chance(name, data):
    if name == "random":
        pytest.skip("it is chance")
    ranker = quick(name, n_estimators=20, max_iter=200).fit(data.X, data.y, qid=data.qid)
    constant = rankgrove.metric("ndcg@10", ties="average")(
        data.y, np.zeros(len(data.y)), qid=data.qid
    )
    assert ranker.score(data.X, data.y, data.qid) > constant + 0.1


def test_predict_gives_one_finite_score_per_row(name, data):
    scores = quick(name).fit(data.X, data.y, qid=data.qid).predict(data.X, data.qid)
    assert scores.shape == (len(data.X),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_dataset_and_arrays_and_group_sizes_give_the_same_model(name, data):
    by_qid = quick(name).fit(data.X, data.y, qid=data.qid).predict(data)
    by_data = quick(name).fit(data).predict(data)
    by_sizes = quick(name).fit(data.X, data.y, group_sizes=data.group_sizes).predict(data)
    np.testing.assert_array_equal(by_qid, by_data)
    np.testing.assert_array_equal(by_qid, by_sizes)


def test_fit_returns_the_ranker_and_leaves_inputs_alone(name, data):
    X, y, qid = data.X.copy(), data.y.copy(), data.qid.copy()
    ranker = quick(name)
    params = ranker.get_params()
    assert ranker.fit(X, y, qid=qid) is ranker
    assert ranker.get_params() == params
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(y, data.y)
    np.testing.assert_array_equal(qid, data.qid)


def test_clone_is_unfitted_and_trains_the_same_model(name, data):
    ranker = quick(name).fit(data)
    twin = clone(ranker)
    with pytest.raises(NotFittedError, match="not fitted"):
        twin.predict(data.X)
    assert twin.get_params() == ranker.get_params()
    np.testing.assert_array_equal(twin.fit(data).predict(data), ranker.predict(data))


def test_model_does_not_depend_on_n_jobs(name, data):
    one = quick(name, n_jobs=1).fit(data)
    three = quick(name, n_jobs=3).fit(data)
    np.testing.assert_array_equal(one.predict(data), three.predict(data))


def test_same_seed_same_model(name, data):
    first, second = (quick(name).fit(data).predict(data) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_query_ids_may_be_strings_and_interleaved(name, data):
    # Shuffled within and across queries, then read back in the order of grouping: the order inside
    # a query is kept, so the model is the same.
    rng = np.random.default_rng(0)
    position = np.argsort(rng.random(data.n_queries))[data.qid - data.qid.min()]
    keys = np.arange(len(data.qid)) - np.repeat(
        np.r_[0, np.cumsum(data.group_sizes)[:-1]], data.group_sizes
    )
    order = np.lexsort((position, keys))
    words = np.array([f"query {q}" for q in data.qid])
    shuffled = quick(name).fit(data.X[order], data.y[order], qid=words[order])
    grouped = rankgrove.QueryGroups.from_qid(words[order])
    rows = order if grouped.order is None else order[grouped.order]
    reference = quick(name).fit(data.X[rows], data.y[rows], qid=data.qid[rows])
    np.testing.assert_array_equal(shuffled.predict(data), reference.predict(data))


def test_rank_numbers_each_query_from_1(name, data):
    ranker = quick(name).fit(data)
    ranks = ranker.rank(data.X, data.qid)
    scores = ranker.predict(data)
    for query in np.unique(data.qid):
        mine = data.qid == query
        expected = np.empty(mine.sum(), int)
        expected[np.argsort(-scores[mine], kind="stable")] = np.arange(1, mine.sum() + 1)
        np.testing.assert_array_equal(ranks[mine], expected)


def test_odd_data_trains_and_predicts(name):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    X[:, 1] = 3.0  # constant
    X[:, 2] = np.nan  # nothing known
    X[rng.random(60) < 0.5, 3] = np.nan
    X[::7, 4] = np.inf
    X[1::7, 4] = -np.inf
    X[10:20] = X[0]  # equal documents
    y = rng.integers(0, 5, 60)
    sizes = [1, 1, 0, 10, 8, 20, 0, 20]  # single documents and empty queries
    y[2:12] = 0  # a query with nothing relevant
    y[12:20] = 2  # a query with one label only
    scores = quick(name).fit(X, y, group_sizes=sizes).predict(X, group_sizes=sizes)
    assert np.isfinite(scores).all()


def test_constant_labels_train(name, data):
    refusals = {"mcrank": "at least two different labels", "calibrated": "nothing to calibrate on"}
    if name in refusals:
        with pytest.raises(DataError, match=refusals[name]):
            quick(name).fit(data.X, np.ones(len(data.y)), qid=data.qid)
        return
    scores = quick(name).fit(data.X, np.ones(len(data.y)), qid=data.qid).predict(data)
    assert np.isfinite(scores).all()


def test_constant_features_give_one_score(name, data):
    if name == "random":
        pytest.skip("it does not learn")
    scores = quick(name).fit(np.ones_like(data.X), data.y, qid=data.qid).predict(data)
    assert len(np.unique(scores)) == 1


def test_one_row_trains(name):
    if name == "mcrank":
        pytest.skip("McRank needs two different labels")
    if name in ("blend", "calibrated"):
        pytest.skip("out-of-fold predictions need several queries")
    assert np.isfinite(quick(name).fit([[1.0, 2.0]], [1], qid=[7]).predict([[1.0, 2.0]], [7])).all()


@pytest.mark.parametrize("missing", ["keep", "zero", "mean", "median", "inf"])
def test_missing_policy_is_part_of_the_model(name, data, missing):
    X = data.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    ranker = quick(name, missing=missing)
    if not ranker._constraints["missing"].accepts(missing):
        with pytest.raises(ValueError, match=f"parameter missing of .* not '{missing}'"):
            ranker.fit(X, data.y, qid=data.qid)
        return
    ranker.fit(X, data.y, qid=data.qid)
    if missing != "keep":
        filled = np.where(np.isnan(X), fill_values(X, missing), X)
        scores = ranker.predict(X, data.qid)
        np.testing.assert_array_equal(scores, ranker.predict(filled, data.qid))


def test_layout_and_type_of_the_matrix_do_not_matter(name, data):
    ranker = quick(name).fit(data.X, data.y, qid=data.qid)
    expected = ranker.predict(data.X, data.qid)
    wide = np.zeros((len(data.X), 16), np.float32)
    wide[:, ::2] = data.X
    for X in (np.asfortranarray(data.X), wide[:, ::2], data.X.astype(np.float64), data.X.tolist()):
        np.testing.assert_array_equal(ranker.predict(X, data.qid), expected)
        twin = quick(name).fit(X, data.y, qid=data.qid)
        np.testing.assert_array_equal(twin.predict(data.X, data.qid), expected)


def test_weight_of_a_query_counts(name, data):
    """Queries of weight 0 teach nothing."""
    weight = np.where(data.qid <= np.median(data.qid), 1.0, 0.0)
    noise = np.where(weight > 0, data.y, data.y.max() - data.y)
    first = quick(name).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    second = quick(name).fit(data.X, noise, qid=data.qid, sample_weight=weight)
    np.testing.assert_array_equal(first.predict(data), second.predict(data))


@pytest.mark.parametrize("queries", ["odd", "all but one"])
def test_queries_of_weight_0_are_as_if_they_were_not_there(name, data, queries):
    number = data.groups.query_of_row()
    kept = number % 2 == 0 if queries == "odd" else number != 4
    weighted = quick(name).fit(data, sample_weight=kept.astype(float))
    removed = quick(name).fit(data.select_rows(kept), sample_weight=np.ones(kept.sum()))
    np.testing.assert_array_equal(weighted.predict(data), removed.predict(data))


def test_the_recorded_metric_is_that_of_predicted_scores(name, data):
    """Of the step that is kept. (BROOF adds up forests in another order than its model adds up
    trees: scores differ in the last bits, which shows where documents tie in one of the two.)"""
    valid = make_ranking(20, docs_per_query=12, n_features=8, seed=8)
    X = np.round(valid.X, 1)  # some documents are alike
    ranker = quick(name, n_estimators=12)
    ranker.fit(data, eval_set=(X, valid.y, valid.qid), eval_metric=["ndcg@5", "map"])
    measured = rankgrove.evaluate(
        valid.y, ranker.predict(X, valid.qid), qid=valid.qid, metrics=["ndcg@5", "map"]
    )
    for metric, mean in zip(ranker.evals_result_["valid"], measured.means, strict=True):
        history = ranker.evals_result_["valid"][metric]
        assert history[(ranker.best_iteration_ or len(history)) - 1] == mean


def test_pickle_and_copy_keep_the_scores(name, data):
    ranker = quick(name).fit(data)
    for twin in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        assert twin.get_params() == ranker.get_params()
        np.testing.assert_array_equal(twin.predict(data), ranker.predict(data))


def test_model_file_keeps_scores_and_parameters(name, data, tmp_path):
    ranker = quick(name).fit(data)
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    assert type(loaded) is type(ranker)
    assert loaded.set_params(n_jobs=1).get_params() == ranker.get_params()
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    assert loaded.score(data) == ranker.score(data)


def test_feature_importances_are_shares(name, data):
    ranker = quick(name).fit(data)
    if ranker.model_.kind in ("linear", "random"):
        with pytest.raises(ModelError, match=r"cannot tell importances.* use permutation"):
            ranker.feature_importances_  # noqa: B018 - a property
        assert not hasattr(ranker, "feature_importances_")
        return
    shares = ranker.feature_importances_
    assert shares.shape == (data.n_features,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1.0)


def test_wrong_columns_are_refused(name, data):
    ranker = quick(name).fit(data)
    with pytest.raises(DataError, match=r"7 features, but \w+ is expecting 8"):
        ranker.predict(data.X[:, :7])
    with pytest.raises(DataError, match="one row per document"):
        ranker.predict(data.X[0])


def test_columns_are_matched_by_name(name, data):
    pandas = pytest.importorskip("pandas")
    names = list("abcdefgh")
    frame = pandas.DataFrame(data.X, columns=names)
    ranker = quick(name).fit(frame, data.y, qid=data.qid)
    expected = ranker.predict(data.X, data.qid)
    mixed = frame[names[::-1]].assign(other="text")
    np.testing.assert_array_equal(ranker.predict(mixed, data.qid), expected)
    with pytest.raises(DataError, match=r"lacks 1 of the 8 features.*'h'"):
        ranker.predict(frame.rename(columns={"h": "z"}), data.qid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None}, "needs the queries"),
        ({"y": None}, "the target y is None"),
        ({"qid": [1, 2, 3]}, "qid has 3 entries"),
        ({"y": [0.0, 1.0]}, "y has 2 entries"),
        ({"group_sizes": [5]}, "either qid or group_sizes"),
    ],
)
def test_bad_input_is_refused(name, data, change, message):
    arguments = {"X": data.X, "y": data.y, "qid": data.qid, **change}
    with pytest.raises(DataError, match=message):
        quick(name).fit(**arguments)


def test_labels_must_be_finite_and_no_text(name, data):
    y = data.y.copy()
    y[17] = np.nan
    with pytest.raises(DataError, match="y of row 17 is nan"):
        quick(name).fit(data.X, y, qid=data.qid)
    with pytest.raises(DataError, match="y must hold numbers"):
        quick(name).fit(data.X, ["good"] * len(y), qid=data.qid)


def test_score_without_queries_is_refused(name, data):
    with pytest.raises(DataError, match="score needs the queries"):
        quick(name).fit(data).score(data.X, data.y)


def test_bad_parameters_are_refused_in_fit_with_name_and_value(name, data):
    for parameter in parameter_table(ranker_class(name)):
        ranker = quick(name, **{parameter.name: object()})
        with pytest.raises(ValueError, match=f"parameter {parameter.name} of .* not <object"):
            ranker.fit(data)


def test_every_default_is_allowed_and_documented(name):
    cls = ranker_class(name)
    table = parameter_table(cls)
    assert {parameter.name for parameter in table} == set(cls._get_param_names())
    for parameter in table:
        assert parameter.constraint.accepts(parameter.default), parameter
        assert parameter.meaning, parameter
        assert f"\n{parameter.name} : " in cls.__doc__


def test_a_fit_that_fails_in_the_middle_leaves_the_old_model(name, data):
    """A metric that raises ends the fit after the first step, or after all of the training."""

    def fails(labels, scores):
        raise ArithmeticError("in the middle")

    ranker = quick(name).fit(data)
    before, attributes = ranker.predict(data), set(vars(ranker))
    other = make_ranking(15, docs_per_query=12, n_features=8, seed=9)
    metric = function_metric("fails", fails, "scores", True)
    metric.name = "fails"
    with pytest.raises(ValueError, match=r"the metric fails, query .*: in the middle"):
        ranker.fit(other, eval_set=data, eval_metric=metric())
    np.testing.assert_array_equal(ranker.predict(data), before)
    assert set(vars(ranker)) == attributes


@pytest.mark.parametrize("name", [n for n in NAMES if ranker_class(n).learns_in_steps])
def test_interruption_keeps_the_steps_that_are_done(name, data, tmp_path):
    def press(progress):
        if progress.iteration == 2:
            raise KeyboardInterrupt

    whole = quick(name, max_passes=2).fit(data)
    ranker = quick(name, max_passes=2)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data, callbacks=[press])
    assert ranker.model_.n_steps == 2
    second = list(whole.staged_predict(data))[1]
    np.testing.assert_allclose(ranker.predict(data), second, rtol=1e-9, atol=1e-12)
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))


INIT_MODELS = {
    "forest": lambda data: quick("rf-point").fit(data),
    "pairs": lambda data: quick("rf-pair").fit(data),
    "linear": lambda data: quick("adarank", normalisation="query-minmax").fit(data),
    "random": lambda data: quick("random").fit(data),
    "boosted forest": lambda data: quick("broof", preset="absolute").fit(data),
    "sum": lambda data: quick("mart").fit(data, init_model=quick("adarank").fit(data)),
}


# iGBRT starts from its own forest, McRank from models with the same outputs.
CONTINUING = [n for n in NAMES if ranker_class(n).continues_models and n not in ("igbrt", "mcrank")]


@pytest.mark.parametrize("kind", INIT_MODELS)
@pytest.mark.parametrize("name", CONTINUING)
def test_any_model_can_be_the_init_model(name, data, kind, tmp_path):
    """The new steps add to its scores, and both are in one file."""
    init_model = INIT_MODELS[kind](data)
    before = init_model.predict(data)
    other = make_ranking(15, docs_per_query=12, n_features=8, seed=9)
    ranker = quick(name).fit(other, init_model=init_model)
    nothing = quick(name, n_estimators=1).fit(other, init_model=init_model)
    stages = list(ranker.staged_predict(data))
    assert len(stages) == ranker.model_.n_steps == 4
    np.testing.assert_allclose(stages[0], nothing.predict(data), rtol=1e-9, atol=1e-12)
    assert not np.array_equal(ranker.predict(data), before)
    steps = ranker.predict(data) - before
    assert len(np.unique(np.round(steps, 9))) > 1
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))


@pytest.mark.parametrize("name", NAMES)
def test_predict_takes_a_number_of_steps(name, data):
    ranker = quick(name, max_passes=2).fit(data)
    steps = ranker.model_.n_steps
    if steps == 0:
        with pytest.raises(rankgrove.ModelError, match="n_steps=1: it was not built in steps"):
            ranker.predict(data, n_steps=1)
        return
    stages = list(ranker.staged_predict(data))
    for n in sorted({1, (steps + 1) // 2, steps}):
        scores = ranker.predict(data, n_steps=n)
        np.testing.assert_allclose(scores, stages[n - 1], rtol=1e-9, atol=1e-12)
    for wrong in (0, steps + 1, 1.0):
        with pytest.raises(ValueError, match=f"from 1 to {steps}, .* not {wrong}"):
            ranker.predict(data, n_steps=wrong)


@pytest.mark.parametrize("name", NAMES)
def test_best_score_is_the_deciding_metric_at_the_best_iteration(name, data, tmp_path):
    other = make_ranking(15, docs_per_query=12, n_features=8, seed=9)
    ranker = quick(name).fit(
        data, eval_set={"first": other, "train": data}, eval_metric=["map", "ndcg@5"]
    )
    if not ranker.learns_in_steps:
        assert ranker.best_score_ is None
        return
    values = ranker.evals_result_["first"]["map"]
    assert ranker.best_score_ == values[ranker.best_iteration_ - 1] == max(values)
    ranker.save(tmp_path / "model.rg")
    assert rankgrove.load_model(tmp_path / "model.rg").best_score_ == ranker.best_score_
    assert quick(name).fit(data).best_score_ is None
