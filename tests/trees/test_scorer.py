"""Every way to score gives the bits of the plain walk over the trees."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import scoring
from tests.oracles.ensembles import random_ensemble, rows_for

import rankgrove
import rankgrove.datasets
from rankgrove.data.core.columns import Columns
from rankgrove.errors import DataError, ModelError
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.scorer import Scorer, check_ensemble


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_trees=st.integers(1, 12),
    n_leaves=st.sampled_from([1, 2, 3, 5, 8, 9, 31, 32, 33, 64, 65, 100, 200]),
    n_features=st.integers(1, 40),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_outputs=st.integers(1, 3),
    n_rows=st.sampled_from([0, 1, 2, 7, 8, 9, 31, 32, 33, 40, 41, 100]),
    with_fill=st.booleans(),
)
def test_scores_equal_the_plain_walk(
    seed, n_trees, n_leaves, n_features, shape, n_outputs, n_rows, with_fill
):
    ensemble = random_ensemble(seed, n_trees, n_leaves, n_features, shape, n_outputs)
    X = rows_for(ensemble, n_rows, seed)
    fill = None
    if with_fill:
        fill = np.random.default_rng(seed).choice([np.nan, 0.0, 1.0], n_features)
    expected = scoring.predict(ensemble, X, fill)
    for options in ({}, {"vector_bits": 256}, {"vector_bits": 0}, {"walk": True}):
        scores = Scorer(ensemble, fill, **options).predict(X)
        np.testing.assert_array_equal(scores, expected, strict=True)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_leaves=st.sampled_from([1, 2, 8, 31, 64, 300]),
    shape=st.sampled_from(["random", "chain", "oblivious"]),
    n_rows=st.sampled_from([1, 8, 9, 31, 32, 33, 40, 41, 129, 300]),
    with_fill=st.booleans(),
)
def test_precise_thresholds_are_compared_in_float64(seed, n_leaves, shape, n_rows, with_fill):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(seed, 5, n_leaves, 6, shape)
    # Between two float32 numbers; also such that float32 takes different ones for the same.
    steps = rng.choice([[3.0], [1.0, 2.0, 3.0]][rng.integers(2)], len(ensemble.threshold))
    exact = ensemble.threshold.astype(np.float64)
    step = np.where(np.isfinite(exact), np.spacing(np.abs(exact)), 0.0)
    ensemble = dataclasses.replace(ensemble, precise=exact + np.nan_to_num(step) * steps)
    X = rows_for(ensemble, n_rows, seed).astype(np.float64)
    drawn = rng.choice(ensemble.precise, X.shape)
    beside = np.nextafter(drawn, rng.choice([-np.inf, np.inf], X.shape))
    X = np.choose(rng.integers(3, size=X.shape), [X, drawn, beside])
    fill = rng.choice([np.nan, 0.0, 1.0], 6) if with_fill else None
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    for rows in (X, np.asfortranarray(X), narrow):
        expected = scoring.predict(ensemble, rows, fill)
        for options in ({}, {"vector_bits": 256}, {"vector_bits": 0}, {"walk": True}):
            scores = Scorer(ensemble, fill, **options).predict(rows)
            np.testing.assert_array_equal(scores, expected, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["random", "chain", "oblivious"])
@pytest.mark.parametrize("n_leaves", [1, 2, 31, 64, 200, 3000])
def test_batch_size_and_threads_do_not_change_a_bit(shape, n_leaves):
    n_leaves = min(n_leaves, 512) if shape == "oblivious" else n_leaves
    ensemble = random_ensemble(3, 9, n_leaves, 17, shape, n_thresholds=200)
    X = rows_for(ensemble, 3000, 4)
    scorer = Scorer(ensemble)
    expected = scorer.predict(X, n_jobs=1)
    np.testing.assert_array_equal(expected[:60], scoring.predict(ensemble, X[:60]))
    np.testing.assert_array_equal(scorer.predict(X, n_jobs=3), expected)
    for size in (1, 7, 8, 9, 33, 128, 129, 257, 1000):
        parts = [scorer.predict(X[i : i + size]) for i in range(0, 1000, size)]
        np.testing.assert_array_equal(np.concatenate(parts)[:1000], expected[:1000])


def test_missing_values_in_some_rows_only():
    ensemble = random_ensemble(11, 6, 400, 5, n_thresholds=100)
    X = np.nan_to_num(rows_for(ensemble, 300, 12))
    scorer = Scorer(ensemble, walk=True)
    np.testing.assert_array_equal(scorer.predict(X), scoring.predict(ensemble, X))
    X[7, 2] = np.nan
    np.testing.assert_array_equal(scorer.predict(X), scoring.predict(ensemble, X))


def test_every_kind_of_value_meets_every_kind_of_threshold():
    tiny, huge = np.float32(1e-45), np.finfo(np.float32).max
    values = np.r_[[0.0, tiny, 1e-3, 1.0, huge, np.inf], [-0.0, -tiny, -1e-3, -1.0, -huge]]
    ensemble = random_ensemble(15, 40, 9, 3)
    rng = np.random.default_rng(16)
    thresholds = rng.choice(values, len(ensemble.threshold)).astype(np.float32)
    ensemble = dataclasses.replace(ensemble, threshold=thresholds)
    X = rng.choice(np.r_[values, -np.inf, np.nan, -np.nan], (500, 3)).astype(np.float32)
    expected = scoring.predict(ensemble, X)
    for options in ({}, {"vector_bits": 256}, {"vector_bits": 0}, {"walk": True}):
        np.testing.assert_array_equal(Scorer(ensemble, **options).predict(X), expected)


@pytest.mark.slow
def test_a_huge_tree_with_many_features_is_walked():
    ensemble = random_ensemble(17, 1, 40_000, 35_000, n_thresholds=100)
    X = rows_for(ensemble, 9, 18)
    np.testing.assert_array_equal(Scorer(ensemble).predict(X), scoring.predict(ensemble, X))


@pytest.mark.parametrize("values", [[1.5], [0.0, -0.0], [0.0, 1.0, 2.0, 0.1]])
@pytest.mark.parametrize("n_leaves", [2, 9, 700])
def test_leaves_with_equal_values_share_places(values, n_leaves):
    ensemble = random_ensemble(13, 6, n_leaves, 5, n_thresholds=100)
    drawn = np.random.default_rng(0).choice(values, len(ensemble.value))
    ensemble = dataclasses.replace(ensemble, value=drawn)
    X = rows_for(ensemble, 300, 14)
    scores = Scorer(ensemble, walk=True).predict(X)
    np.testing.assert_array_equal(scores, scoring.predict(ensemble, X))


def test_trees_of_several_shapes_mix_in_one_ensemble():
    parts = [
        random_ensemble(1, 3, 31, 6),
        random_ensemble(2, 2, 3000, 6, n_thresholds=500),
        random_ensemble(3, 3, 64, 6, "oblivious"),
        random_ensemble(4, 2, 1, 6),
        random_ensemble(5, 3, 40, 6, "chain"),
    ]
    ensemble = joined(parts)
    X = rows_for(ensemble, 300, 6)
    np.testing.assert_array_equal(Scorer(ensemble).predict(X), scoring.predict(ensemble, X))


def test_no_trees_and_no_features():
    empty = random_ensemble(0, 3, 4, 5).head(0)
    np.testing.assert_array_equal(
        Scorer(empty).predict(np.zeros((4, 5))), np.repeat(empty.base_score, 4)
    )
    featureless = random_ensemble(0, 3, 1, 0)
    X = np.zeros((40, 0), np.float32)
    np.testing.assert_array_equal(Scorer(featureless).predict(X), scoring.predict(featureless, X))


@pytest.mark.slow
@pytest.mark.parametrize("n_leaves", [31, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_is_read_in_place(n_leaves, dtype):
    ensemble = random_ensemble(7, 6, n_leaves, 9)
    X = rows_for(ensemble, 500, 8).astype(dtype)
    expected = Scorer(ensemble).predict(np.ascontiguousarray(X))
    wide = np.full((1000, 27), 7.0, dtype)
    wide[::2, ::3] = X
    views = {
        "fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "transposed": np.ascontiguousarray(X.T).T,
        "read-only": X.copy(),
        "other byte order": X.astype(X.dtype.newbyteorder()),
        "unaligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(dtype).reshape(X.shape),
        "broadcast": None,
    }
    views["read-only"].flags.writeable = False
    del views["broadcast"]
    for name, view in views.items():
        np.testing.assert_array_equal(Scorer(ensemble).predict(view), expected, err_msg=name)
    repeated = np.broadcast_to(X[0], X.shape)
    np.testing.assert_array_equal(Scorer(ensemble).predict(repeated), np.full(500, expected[0]))


def test_float64_is_rounded_to_the_nearest_float32():
    ensemble = random_ensemble(1, 1, 2, 1)
    ensemble = dataclasses.replace(ensemble, threshold=np.full(3, 0.3, np.float32))
    t = float(ensemble.threshold[0])
    tiny = np.spacing(np.float32(t)) / 8
    X = np.array([[t], [t + tiny], [t - tiny], [1e300], [-1e300], [np.nan]])
    np.testing.assert_array_equal(Scorer(ensemble).predict(X), scoring.predict(ensemble, X))
    on, above, *_ = Scorer(ensemble).predict(X)
    assert on == above


def test_small_magnitudes_can_count_as_missing():
    ensemble = random_ensemble(4, 10, 16, 3)
    X = rows_for(ensemble, 200, 5)
    up_to = np.array([-1.0, 0.0, 0.25], np.float32)
    expected = scoring.predict(ensemble, np.where(np.abs(X) <= up_to, np.float32(np.nan), X))
    np.testing.assert_array_equal(Scorer(ensemble, missing_up_to=up_to).predict(X), expected)


def test_out_receives_the_scores():
    ensemble = random_ensemble(1, 4, 8, 3, n_outputs=2)
    X = rows_for(ensemble, 10, 1)
    out = np.full((10, 2), np.nan)
    assert Scorer(ensemble).predict(X, out=out) is out
    np.testing.assert_array_equal(out, scoring.predict(ensemble, X))
    for wrong in (np.empty(10), np.empty((10, 2), np.float32), np.empty((2, 10)).T):
        with pytest.raises(ValueError, match="out must be"):
            Scorer(ensemble).predict(X, out=wrong)


def test_an_output_that_cannot_be_written_or_is_part_of_the_input_is_refused():
    ensemble = random_ensemble(0, 3, 8, 5)
    X = rows_for(ensemble, 20, 0).astype(np.float64)
    X = np.ascontiguousarray(X)
    fixed = np.empty(20)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="not a read-only one"):
        Scorer(ensemble).predict(X, out=fixed)
    with pytest.raises(ValueError, match="out shares memory with X"):
        Scorer(ensemble).predict(X, out=X.reshape(-1)[20:40])


def test_other_inputs_are_converted_or_refused():
    ensemble = random_ensemble(1, 4, 8, 3)
    X = np.arange(12).reshape(4, 3)
    expected = scoring.predict(ensemble, X.astype(np.float32))
    np.testing.assert_array_equal(Scorer(ensemble).predict(X), expected)
    np.testing.assert_array_equal(Scorer(ensemble).predict(X.tolist()), expected)
    with pytest.raises(DataError, match="4 features, but the model is expecting 3"):
        Scorer(ensemble).predict(np.zeros((2, 4)))
    with pytest.raises(DataError, match="one row per document"):
        Scorer(ensemble).predict(np.zeros(3))
    with pytest.raises(DataError, match="numbers"):
        Scorer(ensemble).predict(np.array([["a", "b", "c"]]))


def test_columns_of_frames_and_datasets_are_matched():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    ensemble = random_ensemble(1, 4, 8, 3)
    scorer = Scorer(ensemble, columns=Columns(("a", "b", "c"), 3))
    X = rows_for(ensemble, 20, 2)
    columns = dict(zip("abc", X.T, strict=True))
    dataset = rankgrove.load(X, np.zeros(20), group_sizes=[20], feature_names=["a", "b", "c"])
    for same in (pandas.DataFrame(columns), polars.DataFrame(columns), dataset):
        np.testing.assert_array_equal(scorer.predict(same), scorer.predict(X))
        np.testing.assert_array_equal(scorer.top_k(same, 5)[0], scorer.top_k(X, 5)[0])
    shuffled = {name: columns[name] for name in "bac"}
    for frame in (pandas.DataFrame(shuffled), polars.DataFrame(shuffled)):
        for score in (scorer.predict, lambda frame: scorer.top_k(frame, 5)):
            for got, expected in zip(score(frame), score(X), strict=True):
                np.testing.assert_array_equal(got, expected)


def test_compiled_rankers_know_their_columns():
    pandas = pytest.importorskip("pandas")
    data = rankgrove.datasets.make_ranking(10, n_features=3, seed=1)
    frame = pandas.DataFrame(data.X, columns=["a", "b", "c"])
    ranker = rankgrove.MART(n_estimators=2).fit(frame, data.y, qid=data.qid)
    np.testing.assert_array_equal(ranker.compile().predict(frame), ranker.predict(frame))
    mixed = frame[["c", "b", "a"]]
    np.testing.assert_array_equal(ranker.compile().predict(mixed), ranker.predict(frame))


def test_one_scorer_serves_many_threads():
    ensemble = random_ensemble(5, 40, 31, 20)
    X = rows_for(ensemble, 400, 6)
    scorer = Scorer(ensemble)
    expected = scorer.predict(X)
    failures = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            start, size = rng.integers(300), rng.integers(1, 100)
            scores = scorer.predict(X[start : start + size], n_jobs=1)
            if not np.array_equal(scores, expected[start : start + size]):
                failures.append((seed, start, size))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


BROKEN = {
    "feature beyond the last": ("feature", 0, 99, "splits on feature 99 of 4"),
    "negative feature of a split": ("feature", 0, -1, "splits on feature -1"),
    "child beyond the tree": ("left", 0, 9999, "left child at 9999"),
    "child of itself": ("left", 0, 0, "left child at 0"),
    "leaf with a feature": ("left", 0, -1, "neither a leaf nor a split"),
    "threshold NaN": ("threshold", 0, np.nan, "threshold"),
    "threshold -inf": ("threshold", 0, -np.inf, "threshold"),
    "missing direction": ("missing_left", 0, 2, "missing_left 2"),
    "offset": ("tree_offsets", 1, -5, "tree 0 ends at node -5"),
    "first offset": ("tree_offsets", 0, 1, "does not start with 0"),
    "last offset": ("tree_offsets", -1, 7, "tree"),
    "output": ("tree_outputs", 0, 1, "output 1 of 1"),
    "weight": ("tree_weights", 0, np.inf, "weight of tree 0"),
    "value of an inner node": ("value", 0, np.nan, "node 0 of tree 0 has the value nan"),
    "base score": ("base_score", 0, np.nan, "base_score"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_trees_are_refused(what):
    field, position, value, message = BROKEN[what]
    ensemble = random_ensemble(1, 3, 8, 4)
    array = getattr(ensemble, field).copy()
    array[position] = value
    with pytest.raises(ModelError, match=message):
        Scorer(dataclasses.replace(ensemble, **{field: array}))


@pytest.mark.parametrize(
    ("field", "array", "message"),
    [
        ("tree_offsets", np.array([0.0, 7.0]), "tree_offsets are not int64"),
        ("tree_weights", np.ones((1, 1)), "tree_weights are not float64"),
        ("gain", np.full(7, np.nan, np.float32), "a gain that is no number"),
        ("gain", np.full(7, np.inf, np.float32), "a gain that is no number"),
    ],
)
def test_what_scoring_would_let_pass_is_refused_in_a_model(field, array, message):
    ensemble = random_ensemble(1, 1, 4, 4, "oblivious")
    check_ensemble(ensemble)
    with pytest.raises(ModelError, match=message):
        check_ensemble(dataclasses.replace(ensemble, **{field: array}))


def test_two_parents_and_short_arrays_are_refused():
    ensemble = random_ensemble(1, 1, 4, 4, "oblivious")
    left = ensemble.left.copy()
    left[2] = left[1]
    with pytest.raises(ModelError, match="shares its children"):
        Scorer(dataclasses.replace(ensemble, left=left))
    with pytest.raises(ModelError, match="value has 6 entries instead of 7"):
        Scorer(dataclasses.replace(ensemble, value=ensemble.value[:-1]))
    value = ensemble.value.copy()
    value[-1] = np.inf
    with pytest.raises(ModelError, match="node 6 of tree 0 has the value inf"):
        Scorer(dataclasses.replace(ensemble, value=value))
    with pytest.raises(ModelError, match="fill must have one value for each of 4 features"):
        Scorer(ensemble, fill=[0.0])


def joined(parts: list[TreeEnsemble]) -> TreeEnsemble:
    def stack(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    sizes = np.concatenate([np.diff(part.tree_offsets) for part in parts])
    names = ("tree_weights", "tree_outputs", "feature", "threshold", "left", "missing_left")
    return dataclasses.replace(
        parts[0],
        tree_offsets=np.r_[0, np.cumsum(sizes)],
        **{name: stack(name) for name in (*names, "value", "count", "gain")},
    )
