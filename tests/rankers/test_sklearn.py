"""scikit-learn's own checks of estimators, over every registered ranker, and its tools.

The checks know nothing of queries and judgments: here all rows are one query, and real-valued
targets become grades. What is left out is named with its reason.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataWarning
from rankgrove.rankers.base.registry import ranker_class, ranker_names

QUICK = {"n_estimators": 3, "random_state": 0, "n_jobs": 1, "n_forest_trees": 3, "n_trees": 3}

# Of every ranker.
EXPECTED = {
    "check_dtype_object": "our error is a ValueError that names the value, not a TypeError",
}
_PROBABILITIES = {
    "check_estimator_sparse_array": "it tells probabilities, but is no classifier",
    "check_estimator_sparse_matrix": "it tells probabilities, but is no classifier",
    "check_regressors_no_decision_function": "it tells probabilities, but is no classifier",
}
# Of single rankers.
EXPECTED_OF = {
    "listce": _PROBABILITIES,
    "querycrossentropy": _PROBABILITIES,
    "mcrank": {"check_fit2d_1sample": "it needs two different labels, and says so"},
    "rcrank": {
        "check_sample_weight_equivalence_on_dense_data": "least squares refuses unequal weights",
        "check_sample_weight_equivalence_on_sparse_data": "least squares refuses unequal weights",
    },
    "rf-pair": {"check_methods_subset_invariance": "a score depends on the rest of the list"},
}


def _grades(y):
    """Turn real-valued targets into grades 0 to 4."""
    try:
        values = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        return y
    if values.size == 0 or not np.isfinite(values).all() or len(np.unique(values)) <= 5:
        return y
    return np.digitize(values, np.quantile(values, [0.2, 0.4, 0.6, 0.8])).astype(float)


def _one_query(X):
    return np.zeros(X.shape[0] if hasattr(X, "shape") else len(np.asarray(X)), int)


def judged(cls):
    """Give a ranker's class the queries and judgments that the checks do not know."""

    class Judged(cls):
        def fit(self, X, y=None, **options):
            if y is not None and getattr(X, "ndim", 2) == 2:
                options.setdefault("qid", _one_query(X))
                y = _grades(y)
            return super().fit(X, y, **options)

        def predict(self, X, **options):
            if (
                self.__sklearn_is_fitted__()
                and self.model_.needs_queries
                and getattr(X, "ndim", 2) == 2
            ):
                options.setdefault("qid", _one_query(X))
            return super().predict(X, **options)

        def score(self, X, y=None, **options):
            options.setdefault("qid", _one_query(X))
            return super().score(X, _grades(y), **options)

    name = f"Judged{cls.__name__}"
    Judged.__name__ = Judged.__qualname__ = name
    globals()[name] = Judged
    return Judged


@pytest.mark.slow
@pytest.mark.parametrize("name", ranker_names())
def test_scikit_learn_accepts_the_ranker(name):
    if name in ("blend", "calibrated"):
        pytest.skip("out-of-fold predictions need several queries")
    cls = judged(ranker_class(name))
    known = cls._get_param_names()
    scale = {"max_grade": 1000.0} if name in ("querycrossentropy", "listce") else {}
    ranker = cls(**{key: value for key, value in QUICK.items() if key in known}, **scale)
    expected = EXPECTED | EXPECTED_OF.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            ranker, expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    failed = {
        result["check_name"]: result["exception"]
        for result in results
        if result["status"] == "failed"
    }
    assert not failed
    assert len(results) > 30


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, docs_per_query=10, n_features=5, seed=1)


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.MART(n_estimators=10, random_state=0, n_jobs=1).fit(data)


def test_partial_dependence_works(ranker, data):
    found = partial_dependence(ranker, data.X, [0], grid_resolution=5)
    assert found["average"].shape[0] == 1
    assert np.isfinite(found["average"]).all()


def test_permutation_importance_works_with_queries(ranker, data):
    def score(estimator, X, y):
        return estimator.score(X, y, data.qid)

    found = permutation_importance(ranker, data.X, data.y, scoring=score, n_repeats=3)
    assert found["importances_mean"].argmax() == ranker.feature_importances_.argmax()


def test_pipelines_score_with_routing(data):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), rankgrove.MART(n_estimators=10, random_state=0))
        pipeline.fit(data.X, data.y, qid=data.qid)
        assert pipeline.score(data.X, data.y, qid=data.qid) > 0.6


MART = rankgrove.MART(n_estimators=2, random_state=0)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.process)])
@pytest.mark.parametrize(
    ("estimator", "prefix"), [(MART, ""), (make_pipeline(StandardScaler(), MART), "mart__")]
)
def test_grid_search_without_routing_fails_and_says_what_to_switch_on(
    data, estimator, prefix, n_jobs
):
    grid = {f"{prefix}max_leaf_nodes": [2, 4]}
    search = GridSearchCV(estimator, grid, cv=GroupKFold(2), n_jobs=n_jobs)
    options = {f"{prefix}qid": data.qid, "groups": data.qid}
    with pytest.raises(ValueError, match=r"fits failed[^$]*enable_metadata_routing=True"):
        search.fit(data.X, data.y, **options)
    assert not hasattr(search, "best_score_")


@pytest.mark.parametrize("estimator", [MART, make_pipeline(StandardScaler(), MART)])
def test_folds_that_cut_queries_are_told(data, estimator):
    """scikit-learn's own folds are of rows: documents of one query train and test."""
    shuffled = KFold(2, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.warns(DataWarning, match=r"GroupKFold\(5\) and groups=qid"):
            cross_val_score(estimator, data.X, data.y, params={"qid": data.qid}, cv=shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            params = {"qid": data.qid, "groups": data.qid}
            cross_val_score(estimator, data.X, data.y, params=params, cv=GroupKFold(2))


def test_grid_search_needs_no_routing_with_a_scoring_function(data):
    queries = dict(zip(map(bytes, data.X), data.qid, strict=True))

    def scoring(ranker, X, y):
        return ranker.score(X, y, [queries[bytes(row)] for row in X])

    search = GridSearchCV(MART, {"max_leaf_nodes": [2, 4]}, cv=GroupKFold(2), scoring=scoring)
    search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
    assert search.best_score_ > 0.5


@pytest.mark.filterwarnings("ignore:X has names for its columns")
@pytest.mark.parametrize("name", ["mart", "lambdamart", "rf-point", "rf-list", "rf-pair", "broof"])
def test_weight_0_is_removal(name, data):
    kept = np.random.default_rng(0).random(data.n_rows) < 0.7
    options = {key: QUICK[key] for key in QUICK if key in ranker_class(name)._get_param_names()}
    removed = rankgrove.make_ranker(name, **options).fit(
        data.X[kept], data.y[kept], qid=data.qid[kept], sample_weight=np.ones(kept.sum())
    )
    weighted = rankgrove.make_ranker(name, **options).fit(
        data.X, data.y, qid=data.qid, sample_weight=kept.astype(float)
    )
    np.testing.assert_array_equal(removed.predict(data), weighted.predict(data))


def test_out_of_bag_predictions_of_rows_without_weight_are_missing(data):
    kept = np.random.default_rng(0).random(data.n_rows) < 0.7
    forest = rankgrove.RFPoint(n_estimators=20, oob_score=True, random_state=0)
    forest.fit(data.X, data.y, qid=data.qid, sample_weight=kept.astype(float))
    assert len(forest.oob_prediction_) == data.n_rows
    assert np.isnan(forest.oob_prediction_[~kept]).all()
    assert np.isfinite(forest.oob_prediction_[kept]).any()


def test_weights_in_model_selection_are_for_fit_alone():
    """scikit-learn asks whether ``score`` wants them, too; an error of ``score`` would be a NaN."""
    data = make_ranking(12, seed=3)
    options = {"qid": data.qid, "groups": data.qid, "sample_weight": np.ones(data.n_rows)}
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = rankgrove.MART(n_estimators=2).set_fit_request(sample_weight=True)
        with pytest.raises(ValueError, match="set_score_request"):
            cross_val_score(ranker, data.X, data.y, cv=GroupKFold(3), params=options)
        ranker.set_score_request(sample_weight=False)
        found = cross_val_score(ranker, data.X, data.y, cv=GroupKFold(3), params=options)
    assert np.isfinite(found).all()
    with pytest.raises(ValueError, match="set_score_request"):
        ranker.fit(data).score(data.X, data.y, data.qid, sample_weight=np.ones(data.n_rows))


def test_weights_in_the_search_of_a_pipeline_need_another_name():
    """scikit-learn's Pipeline fails in ``score``, for its own estimators, too, which gives NaN."""
    data = make_ranking(12, seed=3)
    weights = np.random.default_rng(0).random(data.n_rows) + 0.1
    queries = {"qid": data.qid, "groups": data.qid}
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        ranker = rankgrove.MART(n_estimators=2).set_fit_request(sample_weight=True)
        for declined in (ranker, clone(ranker).set_score_request(sample_weight=False)):
            pipeline = make_pipeline(scaler, declined)
            options = {"cv": GroupKFold(3), "params": {**queries, "sample_weight": weights}}
            with pytest.raises(ValueError, match=r"set_fit_request.sample_weight='fit_weight'"):
                cross_val_score(pipeline, data.X, data.y, **options)
        with pytest.raises(ValueError, match="score has no use for sample_weight"):
            ranker.set_score_request(sample_weight=True)
        named = make_pipeline(scaler, ranker.set_fit_request(sample_weight="fit_weight"))
        options["params"] = {**queries, "fit_weight": weights}
        assert np.isfinite(cross_val_score(named, data.X, data.y, **options)).all()


def test_cross_validation_without_routing_fails_instead_of_giving_nan(data):
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        cross_val_score(
            MART, data.X, data.y, groups=data.qid, cv=GroupKFold(2), params={"qid": data.qid}
        )
