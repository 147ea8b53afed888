"""A sparse matrix means the dense one: the same models, bit for bit, and the same scores."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgrove
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names

SMALL = {
    **{"n_estimators": 4, "max_iter": 4, "max_passes": 1, "n_restarts": 1, "C": 1.0},
    **{"n_forest_trees": 4, "n_trees": 4},
}


def quick(name, **params):
    known = ranker_class(name)._get_param_names()
    sizes = {key: value for key, value in SMALL.items() if key in known}
    scale = {"max_grade": 4} if name in ("querycrossentropy", "listce") else {}
    return make_ranker(name, **{**sizes, **scale, "random_state": 0, "n_jobs": 1, **params})


def make(seed=0, n_queries=30, n_features=24, missing=0.02):
    """Columns from nearly empty to nearly full, with negative values and spelt-out NaN."""
    rng = np.random.default_rng(seed)
    shape = (n_queries * 12, n_features)
    filled = rng.random(shape) < np.linspace(0.02, 0.9, n_features)
    X = np.where(filled, rng.normal(size=shape).round(1), 0.0).astype(np.float32)
    X[rng.random(shape) < missing] = np.nan
    score = np.nan_to_num(X) @ rng.normal(size=n_features)
    y = np.digitize(score + rng.normal(size=len(X)), [-2.0, 0.0, 2.0]).astype(np.float64)
    return X, y, rng.permutation(np.repeat(np.arange(n_queries), 12))


def same_models(one, other):
    return to_bytes(one) == to_bytes(other)


@pytest.mark.filterwarnings("ignore:the objective of RankSVM may be")
@pytest.mark.parametrize("name", ranker_names())
def test_every_ranker_learns_the_same_from_sparse_and_dense_data(name):
    X, y, qid = make()
    sparse = scipy.sparse.csr_array(X)
    dense_fit = quick(name).fit(X, y, qid=qid)
    sparse_fit = quick(name).fit(sparse, y, qid=qid)
    assert same_models(dense_fit, sparse_fit)
    expected = dense_fit.predict(X, qid)
    np.testing.assert_array_equal(dense_fit.predict(sparse, qid), expected)
    np.testing.assert_array_equal(dense_fit.predict(sparse.tocsc(), qid), expected)


@pytest.mark.parametrize("missing", ["keep", "zero", "mean", "median", "inf"])
@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_every_policy_of_missing_values(missing, absent):
    X, y, qid = make()
    stored = scipy.sparse.csr_array(X)
    if absent == "missing":
        X = np.where(X == 0, np.nan, X)
    ranker = quick("lambdamart", missing=missing, n_estimators=8)
    dense = Dataset(X, y, qid, absent=absent)
    sparse = Dataset(stored, y, qid, absent=absent)
    assert isinstance(sparse.X, SparseMatrix)
    np.testing.assert_array_equal(sparse.X.toarray(), X)
    one = ranker.fit(dense)
    scores, leaves, model = one.predict(dense), one.apply(dense), to_bytes(one)
    other = ranker.fit(sparse)
    assert to_bytes(other) == model
    np.testing.assert_array_equal(other.predict(sparse), scores)
    np.testing.assert_array_equal(other.apply(sparse), leaves)


@pytest.mark.parametrize(
    "params",
    [
        {"tree": "levelwise"},
        {"tree": "oblivious", "max_depth": 3},
        {"max_bins": 4},
        {"max_bins": 300},
        {"subsample": 0.5, "max_features": 0.5},
        {"criterion": "least_squares"},
        {"criterion": lambda gl, hl, gr, hr: gl * gl / (hl + 1) + gr * gr / (hr + 1)},
        {"monotone": [1, -1, 0] * 8},
        {"min_samples_leaf": 1, "max_leaf_nodes": 60},
        {"min_samples_leaf": 40},
    ],
    ids=lambda params: " ".join(params),
)
def test_every_way_of_growing(params):
    X, y, qid = make(3, n_queries=60)
    sparse = scipy.sparse.csr_array(X)
    ranker = quick("lambdamart", **params)
    one = to_bytes(ranker.fit(X, y, qid=qid), named=False)
    assert to_bytes(ranker.fit(sparse, y, qid=qid), named=False) == one
    for n_jobs in (2, 3):
        ranker.set_params(n_jobs=n_jobs).fit(sparse, y, qid=qid)
        np.testing.assert_array_equal(
            ranker.predict(X), quick("lambdamart", **params).fit(X, y, qid=qid).predict(X)
        )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_samples_leaf": 15},
        {"min_samples_leaf": 1, "missing": "branch"},
        {"subsample": 0.7, "random_strength": 1.0},
    ],
    ids=lambda params: " ".join(params),
)
def test_small_leaves_whose_histograms_are_built_twice(params):
    """Words of rare values: a row is added up much quicker than a histogram is subtracted."""
    X, y, qid = rare_values(n_rows=1200, n_features=1500)
    ranker = quick("lambdamart", tree="leafwise", max_leaf_nodes=40, **params)
    one = to_bytes(ranker.fit(X.toarray(), y, qid=qid), named=False)
    for n_jobs in (1, 3):
        assert to_bytes(ranker.set_params(n_jobs=n_jobs).fit(X, y, qid=qid), named=False) == one


def rare_values(n_rows, n_features):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((n_rows, n_features), density=0.01, rng=rng, dtype=np.float32)
    X = scipy.sparse.hstack([X, rng.normal(size=(n_rows, 1)).astype(np.float32)]).tocsr()
    y = np.digitize(X @ rng.normal(size=n_features + 1), [-1.0, 0.5, 2.0]).astype(np.float64)
    return X, y, np.arange(n_rows) // 20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("n_leaves", "min_samples_leaf"),
    [(128, 1), (600, 2)],  # the second searches many nodes again, with rows counted
)
def test_leaves_do_not_each_take_the_memory_of_a_histogram(n_leaves, min_samples_leaf):
    X, y, qid = rare_values(n_rows=4000, n_features=10_000)
    n_words = 400_000  # of a histogram, about: 39 values and 0 in each column
    added = {}
    for n in (8, n_leaves):
        ranker = quick("lambdamart", tree="leafwise", max_leaf_nodes=n, n_estimators=1)
        ranker.set_params(min_samples_leaf=min_samples_leaf)
        added[n] = peak_memory(lambda r=ranker: r.fit(X, y, qid=qid))
        assert ranker.model_.ensemble.n_leaves.max() == n
    assert added[n_leaves] - added[8] < 10 * 8 * n_words


def peak_memory(call):
    """Return how far the resident memory of this process rises above its start, in bytes."""

    def resident(key):
        status = Path("/proc/self/status").read_text()
        return int(status.split(key)[1].split()[0]) << 10

    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS:")
    call()
    return resident("VmHWM:") - before


def test_evaluation_sets_weights_and_init_models():
    X, y, qid = make(1)
    other, other_y, other_qid = make(2)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)

    def fitted(form):
        first = quick("mart").fit(form(X), y, qid=qid)
        return quick("lambdamart", n_estimators=12).fit(
            form(X),
            y,
            qid=qid,
            sample_weight=weight,
            init_model=first,
            eval_set=(form(other), other_y, other_qid),
            early_stopping_rounds=3,
        )

    dense, sparse = fitted(np.asarray), fitted(scipy.sparse.csr_array)
    assert same_models(dense, sparse)
    assert dense.evals_result_ == sparse.evals_result_
    test = scipy.sparse.csr_array(other)
    assert dense.score(test, other_y, other_qid) == dense.score(other, other_y, other_qid)
    np.testing.assert_array_equal(dense.rank(test, other_qid), dense.rank(other, other_qid))
    for one, two in zip(dense.staged_predict(test), dense.staged_predict(other), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(
        dense.explain(test, other_qid).values, dense.explain(other, other_qid).values
    )
    np.testing.assert_array_equal(dense.compile().predict(test), dense.predict(other))


def test_columns_of_a_sparse_dataset_are_matched_by_name():
    X, y, qid = make()
    names = [f"column {j}" for j in range(X.shape[1])]
    train = Dataset(scipy.sparse.csr_array(X), y, qid, feature_names=names)
    ranker = quick("lambdamart").fit(train)
    order = np.random.default_rng(0).permutation(X.shape[1])
    mixed = Dataset(
        scipy.sparse.csr_array(X[:, order]), y, qid, feature_names=[names[j] for j in order]
    )
    np.testing.assert_array_equal(ranker.predict(mixed), ranker.predict(X))
    with pytest.raises(DataError, match="lacks 1 of the 24 features"):
        ranker.predict(Dataset(train.X[:, 1:], y, qid, feature_names=names[1:]))
    with pytest.raises(DataError, match="has 23 features, but LambdaMART is expecting 24"):
        ranker.predict(scipy.sparse.csr_array(X[:, 1:]))


def test_mostly_full_columns_are_dense_and_mostly_empty_ones_are_not():
    from rankgrove.trees.binning import bin_matrix, find_bins

    X, _, _ = make(n_queries=100)
    features = SparseMatrix.of(scipy.sparse.csr_array(X))
    binned = bin_matrix(features, find_bins(features))
    assert binned.is_sparse(0)
    assert not binned.is_sparse(X.shape[1] - 1)
    assert binned.nbytes < X.size


@pytest.mark.parametrize("name", ["rf-point", "rf-list", "rf-rand", "broof"])
@pytest.mark.parametrize("max_bins", [255, 300])
def test_forests_on_sparse_columns(name, max_bins, monkeypatch):
    X, y, qid = make(5, n_queries=60)
    params = {"n_estimators": 6, "max_bins": max_bins}
    dense = to_bytes(quick(name, **params).fit(X, y, qid=qid))
    monkeypatch.setattr("rankgrove.data.matrix.sparse.MAX_DENSE_BYTES", 1000)
    assert to_bytes(quick(name, **params).fit(scipy.sparse.csr_array(X), y, qid=qid)) == dense


@pytest.mark.parametrize("name", ["coordinate-ascent", "listmle", "rf-pair"])
def test_rankers_that_need_dense_data_refuse_large_ones_with_their_size(name, monkeypatch):
    X, y, qid = make()
    monkeypatch.setattr("rankgrove.data.matrix.sparse.MAX_DENSE_BYTES", 1000)
    with pytest.raises(DataError, match=rf"{ranker_class(name).__name__} needs a dense.*GiB"):
        quick(name).fit(scipy.sparse.csr_array(X), y, qid=qid)


@st.composite
def sparse_matrices(draw):
    n_rows, n_features = draw(st.integers(4, 40)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    n_entries = rng.binomial(n_rows * n_features, share)
    rows = rng.integers(0, n_rows, n_entries)
    columns = rng.integers(0, draw(st.integers(1, n_features)), n_entries)  # some are empty
    palette = draw(st.sampled_from([[1.0], [-2.0, 0.0, 3.0], [0.0, np.nan, 1.5, -0.0, np.inf]]))
    values = rng.choice(palette, n_entries).astype(draw(st.sampled_from([np.float32, np.float64])))
    order = np.lexsort((rng.random(n_entries), rows))  # columns are mixed up, and occur twice
    index = draw(st.sampled_from([np.int32, np.int64]))
    starts = np.r_[0, np.cumsum(np.bincount(rows, minlength=n_rows))].astype(index)
    return scipy.sparse.csr_matrix(
        (values[order], columns[order].astype(index), starts), shape=(n_rows, n_features)
    )


@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.slow
@given(sparse_matrices(), st.sampled_from(["keep", "mean", "median"]), st.sampled_from([3, 255]))
@settings(max_examples=150, deadline=None)
def test_any_sparse_matrix_is_its_dense_one(X, missing, max_bins):
    given_arrays = [array.copy() for array in (X.data, X.indices, X.indptr)]
    dense = X.toarray()
    rng = np.random.default_rng(X.nnz)
    y, qid = rng.integers(0, 3, X.shape[0]) + 1.0, rng.integers(0, 3, X.shape[0])
    y[0] = 0.0
    ranker = rankgrove.LambdaMART(
        **{"n_estimators": 3, "min_samples_leaf": 1, "missing": missing, "max_bins": max_bins},
        **{"random_state": 0, "n_jobs": 2},
    )
    expected = to_bytes(ranker.fit(dense, y, qid=qid))
    scores = ranker.predict(dense)
    assert to_bytes(ranker.fit(X, y, qid=qid)) == expected
    np.testing.assert_array_equal(ranker.predict(X), scores)
    for array, before in zip((X.data, X.indices, X.indptr), given_arrays, strict=True):
        np.testing.assert_array_equal(array, before)


def test_many_features_of_too_few_rows_are_counted_at_once():
    """Where no feature has enough rows, all must be looked at, and there is one answer."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((400, 3000), density=0.02, random_state=rng, format="csr")
    y, qid = rng.integers(0, 3, 400), np.repeat(np.arange(20), 20)
    ranker = quick("lambdamart", tree="leafwise", min_samples_leaf=10)
    one = to_bytes(ranker.fit(X, y, qid=qid))
    assert to_bytes(ranker.fit(X.toarray(), y, qid=qid)) == one
    assert ranker.model_.ensemble.count.min() >= 10
    assert ranker.model_.ensemble.n_leaves.max() > 1
