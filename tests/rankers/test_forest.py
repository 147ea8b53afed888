"""What forests do beside growing: samples, out-of-bag predictions, parts, statistics."""

from __future__ import annotations

import re
import subprocess
import sys
import weakref

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import rankgrove
from rankgrove import _native
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning, ModelError
from rankgrove.forests.growing import ForestGrower
from rankgrove.rankers.base.merging import merge
from rankgrove.rankers.base.registry import make_ranker
from rankgrove.trees.ensemble import TreeEnsemble

FORESTS = ["rf-point", "rf-list", "rf-hybrid", "rf-rand", "extra-trees", "rf"]


def draw(offsets, tree, sampling="queries", size=3, weights=None, seed=0):
    sample = _native.ForestSample(sampling, size, weights)
    return sample.draw(np.asarray(offsets, np.int64), seed=seed, tree_number=tree)


def test_a_sample_of_queries_holds_all_their_documents_once():
    offsets = [0, 2, 5, 6, 10, 12]
    seen = set()
    for tree in range(20):
        rows = draw(offsets, tree)
        queries = {q for q in range(5) if offsets[q] in rows}
        assert len(queries) == 3
        assert list(rows) == [r for q in sorted(queries) for r in range(offsets[q], offsets[q + 1])]
        seen.add(tuple(rows))
    assert len(seen) > 3


def test_a_bootstrap_draws_documents_with_replacement():
    rows = np.concatenate([draw([0, 1000], t, "bootstrap", 1000) for t in range(20)])
    counts = np.bincount(rows, minlength=1000)
    assert len(rows) == 20_000
    distinct = np.mean([len(np.unique(draw([0, 1000], t, "bootstrap", 1000))) for t in range(20)])
    assert distinct == pytest.approx(632, abs=10)
    assert counts.std() == pytest.approx(np.sqrt(20), rel=0.15)


def test_a_sample_of_documents_holds_each_once():
    samples = [draw([0, 4, 10], tree, "documents", 6) for tree in range(200)]
    assert all(len(rows) == 6 and (np.diff(rows) > 0).all() for rows in samples)
    share = np.bincount(np.concatenate(samples), minlength=10) / 200
    np.testing.assert_allclose(share, 0.6, atol=0.12)
    np.testing.assert_array_equal(draw([0, 4, 10], 0, "documents", 10), np.arange(10))


def test_a_bootstrap_of_queries_holds_all_their_documents_as_often_as_they_were_drawn():
    offsets = np.array([0, 2, 5, 6, 10, 12])
    drawn = np.zeros(5)
    for tree in range(300):
        times = np.bincount(draw(offsets, tree, "bootstrap-queries", 5), minlength=12)
        of_query = times[offsets[:-1]]
        np.testing.assert_array_equal(times, np.repeat(of_query, np.diff(offsets)))
        assert of_query.sum() == 5
        drawn += of_query
    np.testing.assert_allclose(drawn / 300, 1.0, atol=0.2)


@pytest.mark.parametrize("unit", ["queries", "documents", "bootstrap", "bootstrap-queries"])
def test_weights_are_chances_to_be_drawn(unit):
    offsets = np.arange(11)
    weights = np.r_[np.zeros(2), np.ones(4), np.full(4, 3.0)]
    rows = np.concatenate([draw(offsets, t, unit, 2, weights) for t in range(2000)])
    counts = np.bincount(rows, minlength=10)
    assert counts[:2].sum() == 0
    ratio = counts[6:].mean() / counts[2:6].mean()
    assert ratio == pytest.approx(3.0 if unit.startswith("bootstrap") else 2.6, rel=0.15)


@pytest.mark.parametrize("name", ["rf-point", "rf-list", "rf-hybrid", "rf"])
def test_a_tree_on_a_bootstrap_of_queries_is_one_on_copies_of_them(name):
    data = make_ranking(40, seed=2)
    # Not to the leaves: gains of single documents tie but for rounding.
    common = {"n_estimators": 1, "random_state": 5, "max_bins": 4000, "max_depth": 5}
    common["min_samples_leaf"] = 1  # which counts the documents of a query once
    tree = make_ranker(name, sampling="bootstrap-queries", subsample=1.0, **common).fit(data)
    seed = int(tree.tree_seeds_[0])
    offsets = data.groups.offsets
    rows = draw(offsets, 0, "bootstrap-queries", len(offsets) - 1, seed=seed)
    times = np.bincount(rows, minlength=len(data.y))[offsets[:-1]]
    assert times.max() >= 3
    copies = np.repeat(np.arange(len(times)), times)
    chosen = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in copies])
    qid = np.repeat(np.arange(len(copies)), np.diff(offsets)[copies])
    expected = make_ranker(name, sampling="queries", subsample=1.0, **common)
    X, y = np.asarray(data.X), data.y
    expected.fit(X[chosen], y[chosen], qid=qid)
    assert len(tree.model_.ensemble.left) == len(expected.model_.ensemble.left)
    np.testing.assert_allclose(tree.predict(X[chosen]), expected.predict(X[chosen]))


@pytest.mark.parametrize("name", ["rf-point", "rf"])
def test_a_tree_on_documents_without_replacement_is_one_on_these_documents(name, small_data):
    data = small_data
    common = {"n_estimators": 1, "random_state": 5, "max_bins": 4000}
    tree = make_ranker(name, sampling="documents", subsample=0.4, **common).fit(data)
    n_rows = len(data.y)
    seed = int(tree.tree_seeds_[0])
    rows = draw(data.groups.offsets, 0, "documents", round(0.4 * n_rows), seed=seed)
    X, y, qid = np.asarray(data.X)[rows], data.y[rows], data.qid[rows]
    expected = make_ranker(name, sampling="queries", subsample=1.0, **common).fit(X, y, qid=qid)
    assert tree.model_.ensemble.count[0] == len(rows)
    assert len(tree.model_.ensemble.left) == len(expected.model_.ensemble.left)
    np.testing.assert_allclose(tree.predict(X), expected.predict(X))


@pytest.mark.parametrize(("subsample", "expected"), [(0.05, 5), (0.3, 30), (0.63, 63), (7, 7)])
def test_subsample_is_a_fraction_or_a_number_of_queries(small_data, subsample, expected):
    forest = make_ranker("rf-point", n_estimators=1, subsample=subsample, random_state=0)
    forest.fit(small_data)
    rows = draw(small_data.groups.offsets, 0, size=expected, seed=int(forest.tree_seeds_[0]))
    assert forest.model_.ensemble.count[0] == len(rows)


@pytest.mark.filterwarnings("ignore:oob_score")
@pytest.mark.parametrize("name", FORESTS)
def test_a_forest_in_parts_is_the_forest(name, small_data):
    common = {"random_state": 3, "oob_score": True}
    whole = make_ranker(name, n_estimators=5, **common).fit(small_data)
    parts = [
        make_ranker(name, n_estimators=n, first_tree=first, **common).fit(small_data)
        for first, n in ((0, 2), (2, 3))
    ]
    merged = merge(*parts)
    assert merged.n_estimators == 5
    np.testing.assert_array_equal(merged.model_.ensemble.value, whole.model_.ensemble.value)
    np.testing.assert_array_equal(merged.predict(small_data), whole.predict(small_data))
    np.testing.assert_allclose(merged.oob_prediction_, whole.oob_prediction_, rtol=1e-14)
    grown = make_ranker(name, n_estimators=2, warm_start=True, **common).fit(small_data)
    grown.set_params(n_estimators=5).fit(small_data)
    np.testing.assert_array_equal(grown.predict(small_data), whole.predict(small_data))
    np.testing.assert_allclose(grown.oob_prediction_, whole.oob_prediction_, rtol=1e-14)


def test_merge_says_what_does_not_fit(small_data):
    def fit(name="rf-point", **params):
        return make_ranker(name, **{"n_estimators": 2, "random_state": 0, **params}).fit(small_data)

    first = fit()
    with pytest.raises(ModelError, match="share trees"):
        merge(first, fit())
    with pytest.raises(ModelError, match="different max_depth: None and 3"):
        merge(first, fit(max_depth=3, first_tree=2))
    with pytest.raises(ModelError, match="RFPoint with RFRand"):
        merge(first, fit("rf-rand"))
    with pytest.raises(TypeError, match="LambdaMART"):
        merge(first, rankgrove.LambdaMART())


def test_warm_start_refuses_fewer_trees_and_other_features(small_data):
    forest = make_ranker("rf-point", n_estimators=3, warm_start=True).fit(small_data)
    with pytest.raises(ValueError, match="n_estimators is 2, less than the 3 trees"):
        forest.set_params(n_estimators=2).fit(small_data)
    with pytest.raises(DataError, match="features"):
        forest.set_params(n_estimators=4).fit(small_data.X[:, :3], small_data.y, qid=small_data.qid)


def test_out_of_bag_predictions_come_from_trees_without_the_query(small_data):
    forest = make_ranker("rf-point", n_estimators=6, random_state=0, oob_score=True)
    forest.fit(small_data)
    trees = forest.model_.ensemble
    leaves = forest.apply(small_data)
    sums, counts = np.zeros(len(leaves)), np.zeros(len(leaves))
    for t in range(6):
        rows = draw(small_data.groups.offsets, t, size=63, seed=int(forest.tree_seeds_[t]))
        out = np.ones(len(leaves), bool)
        out[rows] = False
        sums[out] += trees.value[trees.tree_offsets[t] + leaves[out, t]]
        counts[out] += 1
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(forest.oob_prediction_, sums / counts, rtol=1e-6)
    assert np.isnan(forest.oob_prediction_).any()
    in_sample = forest.score(small_data)
    assert 0 < forest.oob_score_ < in_sample


def test_apply_gives_the_leaves_that_predict_adds(web_data):
    forest = make_ranker("rf-list", n_estimators=4, random_state=0, max_depth=6).fit(web_data)
    trees, leaves = forest.model_.ensemble, forest.apply(web_data)
    assert leaves.shape == (len(web_data.X), 4)
    values = trees.value[trees.tree_offsets[:-1] + leaves]
    np.testing.assert_allclose(
        values.mean(axis=1, dtype=np.float64), forest.predict(web_data), rtol=1e-13
    )
    assert (trees.left[trees.tree_offsets[:-1] + leaves] == -1).all()


def test_tree_statistics_count_leaves_documents_scores_and_depth(small_data):
    forest = make_ranker("rf-point", n_estimators=3, random_state=0, subsample=1.0, max_depth=4)
    statistics = forest.fit(small_data).tree_statistics()
    n_rows = len(small_data.X)
    np.testing.assert_allclose(statistics.n_leaves * statistics.leaf_size, n_rows)
    assert (statistics.depth == 4).all()
    trees = forest.model_.ensemble
    first = slice(0, trees.tree_offsets[1])
    leaf = trees.left[first] < 0
    assert statistics.leaf_score[0] == pytest.approx(trees.value[first][leaf].mean())
    assert statistics.means()["n_leaves"] == pytest.approx(trees.n_leaves.mean())


@pytest.mark.parametrize("name", ["rf-point", "rf-list"])
def test_strength_curve_is_the_expected_ndcg_after_each_split(name, small_data):
    forest = make_ranker(name, n_estimators=3, random_state=0).fit(small_data)
    test = make_ranking(30, seed=99)
    endcg = rankgrove.metric("endcg")
    for data in (small_data, test):
        curve = forest.strength_curve(data, n_trees=1)
        single = next(forest.staged_predict(data))
        last = endcg(data.y, single, groups=data.groups)
        assert curve.mean[-1] == pytest.approx(last, abs=1e-12)
        constant = endcg(data.y, np.zeros(len(data.y)), groups=data.groups)
        assert curve.mean[0] == pytest.approx(constant, abs=1e-12)
    whole = forest.strength_curve(small_data)
    assert len(whole.mean) == forest.tree_statistics().n_leaves.max()
    assert len(whole.thinned(50).mean) <= 50


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("meanndcg", "meanndcg is no sum over ranks"),
        ("rmse", "the metric rmse cannot choose listwise splits: it is not a mean over queries"),
        ("p", "p needs a k, as in 'p@10'"),
        ("ndcg(empty=1)", "empty=1.0 is not possible for single trees"),
        ("ndcg@3(ties=worst)", "ties=worst is not possible"),
        ("ndcg@3(short=zero)", "ndcg@3(short=zero) is no sum over ranks"),
        ("nonsense", "unknown metric 'nonsense'"),
    ],
)
def test_strength_curve_refuses_what_it_cannot_compute(metric, message, small_data):
    forest = make_ranker("rf-point", n_estimators=1).fit(small_data)
    with pytest.raises(ValueError, match=re.escape(message)):
        forest.strength_curve(small_data, metric=metric)


@pytest.mark.parametrize("preset", ["letor3", "letor4", "mslr", "sklearn"])
def test_strength_is_measured_by_the_conventions_of_presets(preset, small_data):
    """Where no k is given, no list is too short for it."""
    forest = make_ranker("rf-point", n_estimators=1, random_state=0).fit(small_data)
    measure = rankgrove.metric("ndcg", preset=preset)
    last = forest.strength_curve(small_data, metric=str(measure)).mean[-1]
    expected = measure.replace(ties="average")(
        small_data.y, forest.predict(small_data), groups=small_data.groups
    )
    assert last == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["map", "err@5", "mrr"])
def test_strength_curve_takes_sums_over_ranks_alone(metric, small_data):
    forest = make_ranker("rf-list", n_estimators=1, metric=metric).fit(small_data)
    with pytest.raises(ValueError, match=f"{metric} is no sum over ranks"):
        forest.strength_curve(small_data, metric=metric)


def test_listwise_gains_add_up_to_the_strength_of_the_tree(small_data):
    forest = make_ranker("rf-list", n_estimators=1, subsample=1.0, random_state=0).fit(small_data)
    curve = forest.strength_curve(small_data).mean
    trees = forest.model_.ensemble
    inner = np.flatnonzero(trees.left >= 0)
    gains = trees.gain[inner[np.argsort(trees.left[inner])]]
    assert (np.diff(curve) > 0).all()
    np.testing.assert_allclose(np.diff(curve), gains, rtol=3e-7, atol=1e-13)


@pytest.mark.slow
def test_squared_error_agrees_with_scikit_learn_within_noise():
    train, test = make_ranking(150, seed=1), make_ranking(150, seed=2)
    ours, theirs = [], []
    for seed in range(3):
        forest = rankgrove.RandomForest(n_estimators=60, max_features=5, random_state=seed).fit(
            train
        )
        ours.append(forest.score(test))
        peer = RandomForestRegressor(60, max_features=5, random_state=seed, n_jobs=2)
        peer.fit(train.X, train.y)
        theirs.append(rankgrove.metric("ndcg@10")(test.y, peer.predict(test.X), groups=test.groups))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.02)


def test_leaf_score_is_the_mean_of_g(small_data):
    for rule, g in (("label", lambda c: c), ("square", np.square), ("power", np.exp2)):
        forest = make_ranker(
            "rf-point", n_estimators=1, subsample=1.0, max_depth=1, leaf_score=rule, random_state=0
        ).fit(small_data)
        leaves = forest.apply(small_data)[:, 0]
        for leaf in (1, 2):
            expected = g(small_data.y[leaves == leaf].astype(float)).mean()
            assert forest.model_.ensemble.value[leaf] == pytest.approx(expected)


@pytest.mark.parametrize(
    "change",
    [
        {"min_samples_leaf": 5},
        {"min_samples_split": 30},
        {"max_depth": 3},
        {"max_leaf_nodes": 9},
        {"min_gain": 0.002},
        {"threshold_fraction": 0.2},
        {"query_fraction": 0.3},
        {"metric": "ndcg@5"},
        {"gain_table": [0, 1, 1, 1, 1]},
        {"discount_table": [1.0, 0.5, 0.25]},
    ],
)
def test_each_way_to_save_time_changes_the_listwise_tree(small_data, change):
    def leaves(**params):
        return make_ranker("rf-list", n_estimators=1, random_state=0, **params).fit(small_data)

    full, cheap = leaves(min_samples_leaf=1), leaves(**{"min_samples_leaf": 1, **change})
    assert not np.array_equal(full.model_.ensemble.value, cheap.model_.ensemble.value)
    trees = cheap.model_.ensemble
    leaf = trees.left < 0
    if "min_samples_leaf" in change:
        assert trees.count[leaf].min() >= 5
    if "min_samples_split" in change:
        assert trees.count[~leaf].min() >= 30
    if "max_depth" in change:
        assert cheap.tree_statistics().depth[0] <= 3
    if "max_leaf_nodes" in change:
        assert trees.n_leaves[0] == 9
    if "min_gain" in change:
        assert trees.gain[~leaf].min() > 0.002


def test_a_metric_by_tables_is_the_metric_by_name(small_data):
    def fit(**params):
        return make_ranker("rf-list", n_estimators=2, random_state=0, **params).fit(small_data)

    ranks = np.arange(1, small_data.group_sizes.max() + 1)
    by_name = fit(metric="ndcg(discount=beta:0.5,gain=linear)")
    by_table = fit(metric="ndcg", gain_table=[0, 1, 2, 3, 4], discount_table=ranks**-0.5)
    np.testing.assert_array_equal(by_name.model_.ensemble.value, by_table.model_.ensemble.value)


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_errors_name_the_parameter_and_the_value(small_data):
    with pytest.raises(ValueError, match=r"metric of RFList must be .* not 'rmse'"):
        make_ranker("rf-list", metric="rmse").fit(small_data)
    with pytest.raises(ValueError, match="parameter gain_table has no effect on map"):
        make_ranker("rf-list", metric="map", gain_table=[0, 1, 2, 3, 4]).fit(small_data)
    with pytest.raises(
        ValueError, match=r"sampling of RFList must be 'queries' or 'b.* not 'bootstrap'"
    ):
        make_ranker("rf-list", sampling="bootstrap").fit(small_data)
    with pytest.raises(DataError, match=r"label of row 0 \(4\) lies beyond the table of gains"):
        make_ranker("rf-list", gain_table=[0, 1]).fit(
            small_data.X, np.full(len(small_data.y), 4), qid=small_data.qid
        )
    with pytest.raises(DataError, match="at most 255 different labels, and y has 300"):
        make_ranker("rf-point").fit(np.zeros((300, 1)), np.arange(300), group_sizes=[300])
    with pytest.raises(AttributeError, match="oob_score=True"):
        _ = make_ranker("rf-point", n_estimators=1).fit(small_data).oob_prediction_


# A second thread presses Ctrl-C as soon as the progress bar has counted a tree.
INTERRUPTED_FIT = """
import contextlib, signal, threading
import rankgrove.rankers.base.forest
from rankgrove import make_ranker
from rankgrove.datasets import make_ranking

one_is_done = threading.Event()

@contextlib.contextmanager
def watched(name, verbose):
    yield lambda progress: progress.iteration and one_is_done.set()

def interrupt():
    one_is_done.wait()
    signal.raise_signal(signal.SIGINT)

rankgrove.rankers.base.forest.progress_bar = watched
threading.Thread(target=interrupt, daemon=True).start()
data = make_ranking(200, preset="mslr", seed=1)
forest = make_ranker("rf-list", n_estimators=2000, random_state=0, n_jobs=2, verbose=True)
try:
    forest.fit(data)
except KeyboardInterrupt:
    print("interrupted")
print(forest.model_.ensemble.n_trees, len(forest.predict(data)) == data.n_rows)
"""


@pytest.mark.process
def test_interruption_keeps_the_finished_trees():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_FIT], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    interrupted, n_trees, predicts = done.stdout.split()
    assert interrupted == "interrupted"
    assert 1 <= int(n_trees) < 2000
    assert predicts == "True"


@pytest.mark.parametrize("leaf_score", ["label", "power"])
def test_labels_that_differ_in_their_last_bits_alone_are_told_apart(leaf_score):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 200).astype(float) + (1e9 if leaf_score == "label" else 1000)
    forest = make_ranker("rf-point", n_estimators=3, leaf_score=leaf_score, random_state=0)
    forest.fit(y[:, None] - y.min(), y, qid=np.repeat(np.arange(20), 10))
    scores = forest.predict(y[:, None] - y.min())
    assert len(np.unique(scores)) == 5
    np.testing.assert_array_equal(np.argsort(scores, kind="stable"), np.argsort(y, kind="stable"))


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_forests_on_plain_labels_keep_four_bytes_per_value(small_data):
    for y in (small_data.y, np.ones(len(small_data.y)), small_data.y - 2):
        forest = make_ranker("rf-point", n_estimators=1, random_state=0)
        forest.fit(small_data.X, y, qid=small_data.qid)
        assert forest.model_.ensemble.value.dtype == np.float32


def test_a_bootstrap_beyond_all_measure_is_refused_before_it_is_drawn(small_data):
    forest = make_ranker("rf", n_estimators=1, subsample=10**9)
    n = len(small_data.y)
    with pytest.raises(ValueError, match=f"sample of 1000000000 documents.*there are {n}"):
        forest.fit(small_data)
    large = make_ranker("rf", n_estimators=1, subsample=3 * n, random_state=0).fit(small_data)
    assert large.model_.ensemble.count[0] == 3 * n


@pytest.mark.parametrize("name", ["rf-point", "rf"])
def test_a_subsample_of_one_is_everything(name, small_data):
    common = {"n_estimators": 2, "random_state": 0}
    whole = make_ranker(name, subsample=1.0, **common).fit(small_data).model_.ensemble
    one = make_ranker(name, subsample=1, **common).fit(small_data).model_.ensemble
    assert (one.count[one.tree_offsets[:-1]] == len(small_data.y)).all()
    np.testing.assert_array_equal(one.value, whole.value)


@pytest.mark.parametrize(("rule", "label"), [("power", 1024), ("square", 1e160)])
def test_a_label_whose_leaf_score_overflows_is_named(rule, label, small_data):
    y = small_data.y.copy()
    y[3] = label
    forest = make_ranker("rf-point", n_estimators=1, leaf_score=rule)
    with pytest.raises(
        DataError,
        match=rf"label {re.escape(format(label, 'g'))} is too large for leaf_score='{rule}'",
    ):
        forest.fit(small_data.X, y, qid=small_data.qid)


def test_codes_are_gone_before_the_trees_are_laid_out(monkeypatch):
    """Both would have to fit into memory at the same time."""
    growers = []

    def noted(*given, **options):
        grower = ForestGrower(*given, **options)
        growers.append(weakref.ref(grower))
        return grower

    def lay_out(trees, *given, **options):
        assert [grower() for grower in growers] == [None]
        return from_trees(trees, *given, **options)

    from_trees = TreeEnsemble.from_trees
    monkeypatch.setattr("rankgrove.rankers.base.forest.ForestGrower", noted)
    monkeypatch.setattr(TreeEnsemble, "from_trees", lay_out)
    data = make_ranking(10, seed=0)
    assert rankgrove.RFPoint(n_estimators=2).fit(data).model_.ensemble.n_trees == 2


def test_out_of_bag_predictions_that_no_document_has_are_told(small_data):
    with pytest.warns(DataWarning, match="every tree saw every document: set subsample below 1"):
        forest = make_ranker("extra-trees", n_estimators=2, oob_score=True).fit(small_data)
    assert np.isnan(forest.oob_score_)
    few = make_ranker("rf-point", n_estimators=1, subsample=0.63, oob_score=True, random_state=0)
    assert np.isfinite(few.fit(small_data).oob_score_)
    few.set_params(sampling="bootstrap", subsample=1.0)
    with pytest.warns(DataWarning, match="grow more trees"):
        few.fit(small_data)


@pytest.mark.parametrize("ranker", ["rf-point", "rf-list", "rf-rand", "rf", "extra-trees"])
def test_without_redraw_a_node_whose_drawn_features_are_constant_is_a_leaf(ranker):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 4), np.float32)
    X[:, 2] = rng.random(60)
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    params = {} if ranker == "rf-rand" else {"max_features": 1}
    params |= {"n_estimators": 400, "random_state": 1, "max_depth": 1, "min_samples_leaf": 1}
    forests = [
        rankgrove.make_ranker(ranker, redraw=redraw, **params).fit(X, y, qid=qid)
        for redraw in (True, False)
    ]
    split, strict = ((forest.tree_statistics().n_leaves == 2).mean() for forest in forests)
    assert split > 0.95
    assert 0.17 < strict < 0.33  # one feature of four


@pytest.mark.parametrize("max_features", [3, 12])
def test_redraw_changes_nothing_where_no_feature_is_constant(max_features):
    data = make_ranking(20, docs_per_query=10, n_features=14, seed=4)
    X = data.X + np.random.default_rng(0).random(data.X.shape).astype(np.float32)
    params = {
        "n_estimators": 3,
        "max_features": max_features,
        "random_state": 0,
        "max_bins": 65_534,
    }
    scores = [
        rankgrove.RandomForest(redraw=redraw, **params).fit(X, data.y, qid=data.qid).predict(X)
        for redraw in (True, False)
    ]
    np.testing.assert_array_equal(*scores)
