import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import regression_tree as oracle
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import TreeGrower, add_leaf_values, apply_binned
from rankgrove.trees.scorer import Scorer
from rankgrove.workers.row_shard import RowShard

ARRAYS = ("feature", "threshold", "left", "missing_left", "value", "count", "gain")


def small_problem(seed):
    """Data with ties, constant and equal columns and NaN; gradients exact in fixed point."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    X = rng.integers(0, rng.integers(2, 9), (n, 4)).astype(np.float32)
    X[:, 2] = X[:, 0] if rng.random() < 0.5 else 3.0
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    if rng.random() < 0.2:
        X[0, 1] = np.inf
    g = rng.integers(-16, 17, n) / 8
    h = rng.integers(1, 9, n) / 8
    bins = find_bins(X)
    return X, g, h, bins, bin_matrix(X, bins), [bins.cuts(f) for f in range(4)]


def assert_same_tree(tree, root, X, g, h, cuts, rules):
    nodes = [root]
    seen = 0
    while nodes:
        node = nodes.pop()
        seen += 1
        i = node.number
        assert tree.count[i] == node.rows.sum()
        expected = oracle.node_value(g, h, node.rows, rules)
        assert tree.value[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        if not node.children:
            assert tree.left[i] == tree.feature[i] == -1
            continue
        gain, feature, bin_, missing_left = node.split
        assert tree.left[i] == node.children[0].number == node.children[1].number - 1
        assert tree.feature[i] == feature
        top = np.inf
        assert tree.threshold[i] == (cuts[feature][bin_] if bin_ < len(cuts[feature]) else top)
        if np.isnan(X[node.rows, feature]).any():
            assert bool(tree.missing_left[i]) == missing_left
        assert tree.gain[i] == np.float32(gain)
        nodes.extend(node.children)
    assert tree.n_nodes == seen


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**9),
    tree=st.sampled_from(["leafwise", "levelwise"]),
    max_leaf_nodes=st.integers(1, 12),
    max_depth=st.sampled_from([None, 1, 2, 3]),
    min_samples_leaf=st.sampled_from([1, 2, 5]),
    min_child_weight=st.sampled_from([0.0, 1.5]),
    l1=st.sampled_from([0.0, 0.0, 0.75]),
    l2=st.sampled_from([0.0, 0.5]),
    min_gain=st.sampled_from([0.0, 0.25]),
    interactions=st.sampled_from([None, None, [[0, 1], [1, 2]], [[0], [1, 3]]]),
    random_strength=st.sampled_from([0.0, 0.0, 0.5, 2.0]),
    with_hessians=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_tree_equals_trying_every_split(seed, tree, with_hessians, random_strength, **rules):
    X, g, h, _, binned, cuts = small_problem(seed)
    if not with_hessians:
        h = np.ones(len(X))
    grower = TreeGrower(binned, tree=tree, **rules)
    grown = grower.grow(
        g.astype(np.float32),
        h.astype(np.float32) if with_hessians else None,
        seed=seed,
        random_strength=random_strength,
    )
    every_rule = oracle.Rules(**rules, random_strength=random_strength, seed=seed)
    root = oracle.grow_node_by_node(X, g, h, cuts, every_rule, leaf_wise=tree == "leafwise")
    assert_same_tree(grown, root, X, g, h, cuts, every_rule)
    np.testing.assert_array_equal(grower.leaf_of_row, apply_binned(grown, binned))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**9),
    l2=st.sampled_from([0.0, 0.5, 1e6]),
    min_child_weight=st.sampled_from([0.0, 3.0]),
)
@settings(max_examples=25, deadline=None)
def test_tree_equals_trying_every_split_of_features_with_more_and_more_bins(seed, **rules):
    rng = np.random.default_rng(seed)
    n_values = [2, 20, 31, 33, 64, 65, 255]
    X = np.stack([rng.integers(0, n, 300) for n in n_values], axis=1).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    g, h = rng.integers(-16, 17, 300) / 8, rng.integers(1, 9, 300) / 8
    bins = find_bins(X)
    cuts = [bins.cuts(f) for f in range(len(n_values))]
    rules["max_leaf_nodes"] = 4
    grown = TreeGrower(bin_matrix(X, bins), min_samples_leaf=1, **rules).grow(
        g.astype(np.float32), h.astype(np.float32)
    )
    root = oracle.grow_node_by_node(X, g, h, cuts, oracle.Rules(**rules), leaf_wise=True)
    assert_same_tree(grown, root, X, g, h, cuts, oracle.Rules(**rules))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**9),
    max_depth=st.integers(1, 4),
    min_samples_leaf=st.sampled_from([1, 2, 5]),
    min_child_weight=st.sampled_from([0.0, 1.5]),
    l1=st.sampled_from([0.0, 0.0, 0.75]),
    l2=st.sampled_from([0.0, 0.5]),
    interactions=st.sampled_from([None, None, [[0, 1], [1, 2]], [[0], [1, 3]]]),
    random_strength=st.sampled_from([0.0, 0.0, 0.5, 2.0]),
    with_hessians=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_oblivious_tree_equals_trying_every_rule(seed, with_hessians, random_strength, **rules):
    X, g, h, _, binned, cuts = small_problem(seed)
    if not with_hessians:
        h = np.ones(len(X))
    grower = TreeGrower(binned, tree="oblivious", **rules)
    tree = grower.grow(
        g.astype(np.float32),
        h.astype(np.float32) if with_hessians else None,
        seed=seed,
        random_strength=random_strength,
    )
    every_rule = oracle.Rules(**rules, random_strength=random_strength, seed=seed)
    levels, leaf, values = oracle.grow_oblivious(X, g, h, cuts, every_rule)
    assert tree.n_nodes == 2 ** (len(levels) + 1) - 1
    top = np.inf
    for level, (feature, bin_, missing_left) in enumerate(levels):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        threshold = cuts[feature][bin_] if bin_ < len(cuts[feature]) else top
        assert (tree.feature[nodes] == feature).all()
        assert (tree.threshold[nodes] == threshold).all()
        if np.isnan(X[:, feature]).any():
            assert (tree.missing_left[nodes] == missing_left).all()
    leaves = slice(2 ** len(levels) - 1, None)
    np.testing.assert_array_equal(grower.leaf_of_row, leaf + leaves.start)
    np.testing.assert_allclose(tree.value[leaves], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tree", ["leafwise", "levelwise", "oblivious"])
def test_tree_is_the_same_for_any_number_of_threads(large, tree):
    _, g, h, binned = large
    depth = 5 if tree == "oblivious" else None
    growers = [TreeGrower(binned, tree=tree, max_depth=depth, n_jobs=jobs) for jobs in (1, 2, 5)]
    for seed in range(3):
        first, *others = [grower.grow(g, h, seed=seed) for grower in growers]
        for other in others:
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(first, name), getattr(other, name))


@pytest.mark.parametrize("options", [{}, {"max_features": 0.4}, {"min_samples_leaf": 20}])
def test_threads_that_share_features_of_few_rows_grow_the_same_tree(options):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 44)).astype(np.float32)
    X[:, 10:20] = np.maximum(X[:, 10:20] - 1, 0)  # mostly zero
    X[:, 20] = 7.0
    X[:, 21:25] = np.round(X[:, 21:25])
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, 30:] = np.nan_to_num(X[:, 30:])
    g = (rng.normal(size=3000) + X[:, 31]).astype(np.float32)
    h = rng.random(3000).astype(np.float32)
    binned = bin_matrix(X, find_bins(X))
    growers = [TreeGrower(binned, n_jobs=jobs, **options) for jobs in (1, 2, 3, 5)]
    for seed in range(20):
        rows = None if seed % 2 else np.flatnonzero(rng.random(3000) < 0.5).astype(np.int32)
        first, *others = [grower.grow(g, h, rows=rows, seed=seed) for grower in growers]
        assert first.n_nodes == 61
        for other in others:
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(first, name), getattr(other, name))


def traverse(tree, X):
    node = np.zeros(len(X), int)
    for _ in range(64):
        x = X[np.arange(len(X)), np.maximum(tree.feature[node], 0)]
        left = np.where(np.isnan(x), tree.missing_left[node] == 1, x <= tree.threshold[node])
        node = np.where(tree.left[node] < 0, node, tree.left[node] + ~left)
    return node


@pytest.mark.parametrize("tree", ["leafwise", "oblivious"])
def test_rows_outside_the_sample_get_their_leaf_too(large, tree):
    X, g, h, binned = large
    rows = np.flatnonzero(np.arange(len(X)) % 3 == 0).astype(np.int32)
    grower = TreeGrower(binned, tree=tree, max_depth=6)
    grown = grower.grow(g, h, rows=rows)
    np.testing.assert_array_equal(grower.leaf_of_row, traverse(grown, X))
    assert grown.count[0] == len(rows)
    alone = TreeGrower(bin_matrix(X[rows], binned.bins), tree=tree, max_depth=6)
    again = alone.grow(g[rows], h[rows])
    np.testing.assert_array_equal(grown.feature[:3], again.feature[:3])


@pytest.mark.parametrize("tree", ["leafwise", "oblivious"])
def test_a_view_of_leaves_outlives_the_next_tree(large, tree):
    X, g, h, binned = large
    grower = TreeGrower(binned, tree=tree, max_depth=3)
    grower.grow(g, h, rows=np.arange(0, len(X), 3, dtype=np.int32))
    view = grower.leaf_of_row
    grower.grow(-g, h, rows=np.arange(0, len(X), 2, dtype=np.int32))
    assert np.shares_memory(view, grower.leaf_of_row)


@pytest.mark.parametrize("tree", ["leafwise", "oblivious"])
def test_an_infinity_never_seen_goes_with_the_values_and_not_with_the_missing(tree):
    X = np.tile(np.array([[1.0], [np.nan]], np.float32), (50, 1))
    bins = find_bins(X)
    grower = TreeGrower(bin_matrix(X, bins), tree=tree, max_depth=1)
    grown = grower.grow(np.tile([1.0, -1.0], 50).astype(np.float32), None)
    others = np.array([[np.inf], [1.0], [np.nan]], np.float32)
    infinite, value, missing = apply_binned(grown, bin_matrix(others, bins))
    assert infinite == value != missing
    scores = Scorer(TreeEnsemble.from_trees([grown], 1)).predict(others)
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize("tree", ["leafwise", "levelwise", "oblivious"])
@pytest.mark.parametrize("sides", ["both", "none"])
def test_missing_values_never_seen_follow_the_heavier_child(tree, sides):
    """Of a level's children together, if all its nodes share one rule."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 30, (300, 4)).astype(np.float32)
    if sides == "both":  # one feature has missing values, but few: most nodes have none
        X[rng.random(300) < 0.02, 0] = np.nan
    g, h = rng.integers(-16, 17, 300) / 8, rng.integers(1, 9, 300) / 8
    grower = TreeGrower(bin_matrix(X, find_bins(X)), tree=tree, max_depth=5, min_samples_leaf=1)
    chosen = set()
    for seed in range(5):
        grown = grower.grow(np.roll(g, seed).astype(np.float32), h.astype(np.float32))
        for rule, rows, left in rules_with_rows(grown, X, together=tree == "oblivious"):
            if not np.isnan(X[rows, grown.feature[rule]]).any():
                heavier = h[left].sum() >= h[rows].sum() / 2
                assert grown.missing_left[rule] == heavier
                chosen.add(bool(heavier))
    assert chosen == {False, True}


def rules_with_rows(tree, X, together):
    """List (node, its rows, those that go left) of the inner nodes, a level at a time or each."""
    nodes = [(0, np.arange(len(X)))]
    found = []
    while nodes:
        level = [(node, rows) for node, rows in nodes if tree.left[node] >= 0]
        nodes, sides = [], []
        for node, rows in level:
            x = X[rows, tree.feature[node]]
            left = np.where(np.isnan(x), tree.missing_left[node] == 1, x <= tree.threshold[node])
            nodes += [(tree.left[node], rows[left]), (tree.left[node] + 1, rows[~left])]
            sides.append((node, rows, rows[left]))
        if together and sides:
            sides = [(sides[0][0], *(np.concatenate([s[i] for s in sides]) for i in (1, 2)))]
        found += sides
    return found


def test_gains_too_large_for_their_type_stay_finite():
    X = np.repeat(np.float32([[0.0], [1.0]]), 50, axis=0)
    tree = TreeGrower(bin_matrix(X, find_bins(X))).grow(
        np.repeat(np.float32([1e30, -1e30]), 50), None
    )
    assert tree.n_nodes == 3
    assert tree.gain[0] == np.finfo(np.float32).max


def test_least_squares_chooses_as_unit_hessians_and_answers_with_newton(large):
    _, g, h, binned = large
    unit = TreeGrower(binned).grow(g, None, seed=1)
    grower = TreeGrower(binned, criterion="least_squares")
    tree = grower.grow(g, h, seed=1)
    for name in ("feature", "threshold", "left"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(unit, name))
    leaf = grower.leaf_of_row
    for node in np.unique(leaf):
        rows = leaf == node
        expected = -g[rows].sum(dtype=float) / h[rows].sum(dtype=float)
        assert tree.value[node] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("direction", [1, -1])
def test_monotone_constraint_holds_everywhere(direction):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 3)).astype(np.float32)
    target = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + rng.normal(0, 0.3, 4000)
    binned = bin_matrix(X, find_bins(X))
    grower = TreeGrower(binned, monotone=[direction, 0, 0], max_leaf_nodes=40)
    tree = grower.grow((-target).astype(np.float32), None)
    assert tree.n_nodes > 20
    assert 0 in tree.feature
    grid = np.linspace(-3, 3, 200, dtype=np.float32)
    for row in X[:50]:
        path = np.tile(row, (200, 1))
        path[:, 0] = grid
        answers = tree.value[traverse(tree, path)]
        assert (direction * np.diff(answers) >= 0).all()


def test_feature_draws_are_seeded_and_limited(large):
    _, g, h, binned = large
    grower = TreeGrower(binned, max_features_tree=0.25)
    used = [set(grower.grow(g, h, seed=s).feature) - {-1} for s in range(8)]
    assert all(len(features) <= 3 for features in used)
    assert len(set.union(*used)) > 3
    per_node = TreeGrower(binned, max_features=0.1)
    first, again = per_node.grow(g, h, seed=4), per_node.grow(g, h, seed=4)
    np.testing.assert_array_equal(first.feature, again.feature)
    assert len(set(first.feature)) > 3


def test_sixteen_bit_codes_grow_the_same_tree():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 200, (5000, 3)).astype(np.float32)
    g = (X[:, 0] - 100 + rng.normal(size=5000)).astype(np.float32)
    narrow = bin_matrix(X, find_bins(X))
    both = np.hstack([X, np.arange(5000, dtype=np.float32)[:, None]])
    wide_bins = find_bins(both, max_bins=6000)
    wide = bin_matrix(both, wide_bins)
    assert wide.wide
    assert not narrow.wide
    tree_narrow = TreeGrower(narrow, max_leaf_nodes=8).grow(g, None)
    tree_wide = TreeGrower(wide, max_leaf_nodes=8).grow(g, None)
    np.testing.assert_array_equal(tree_narrow.feature, tree_wide.feature)
    np.testing.assert_array_equal(tree_narrow.threshold, tree_wide.threshold)


def test_weighted_gradients_equal_repeated_rows():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 20, (300, 3)).astype(np.float32)
    g = rng.integers(-32, 33, 300) / 16
    weight = rng.integers(1, 4, 300)
    repeated = np.repeat(np.arange(300), weight)
    bins = find_bins(X)
    weighted = TreeGrower(bin_matrix(X, bins)).grow(
        (g * weight).astype(np.float32), weight.astype(np.float32)
    )
    plain = TreeGrower(bin_matrix(X[repeated], bins)).grow(g[repeated].astype(np.float32), None)
    for name in ("feature", "threshold", "left", "gain"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(plain, name))
    np.testing.assert_allclose(weighted.value, plain.value, rtol=1e-12)


def test_bad_gradients_and_arguments_are_named(large):
    _, g, h, binned = large
    bad = g.copy()
    bad[17] = np.nan
    with pytest.raises(ValueError, match="gradient of nan for row 17"):
        TreeGrower(binned).grow(bad, h)
    with pytest.raises(ValueError, match="one entry per row"):
        TreeGrower(binned).grow(g[:-1], None)
    with pytest.raises(ValueError, match="rows must ascend"):
        TreeGrower(binned).grow(g, h, rows=np.array([3, 2], np.int32))
    with pytest.raises(ValueError, match="one of leafwise, levelwise, oblivious, not 'bonsai'"):
        TreeGrower(binned, tree="bonsai")
    with pytest.raises(ValueError, match="max_depth of oblivious trees must be 1 to 12"):
        TreeGrower(binned, tree="oblivious")
    with pytest.raises(ValueError, match=r"1099511627777 rows in all, and a tree .* at most 2\^40"):
        TreeGrower(binned, shard=RowShard(n_rows=(1 << 40) + 1, n_queries=1))


def test_add_leaf_values_adds_in_place():
    scores = np.array([1.0, 2.0, 3.0])
    add_leaf_values(scores, np.array([0, 1, 1], np.int32), np.array([10.0, 20.0]))
    assert scores.tolist() == [11.0, 22.0, 23.0]
    with pytest.raises(ValueError, match="not there"):
        add_leaf_values(scores, np.array([0, 1, 2], np.int32), np.array([10.0, 20.0]))


@pytest.mark.parametrize("tree", ["leafwise", "levelwise"])
def test_leaves_have_enough_rows_where_missing_values_weigh_nothing(tree):
    """Gradient and Hessian of documents without a value are 0, as in queries of equal labels."""
    n_splits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3)).astype(np.float32)
        X[rng.random(300) < 0.3, 0] = np.nan
        X[rng.random(300) < 0.6, 1] = np.nan
        g = (np.nan_to_num(X[:, 1]) + rng.normal(size=300)).astype(np.float32)
        h = rng.gamma(1, 1, 300).astype(np.float32)
        weightless = np.isnan(X).any(axis=1)
        g[weightless] = h[weightless] = 0
        grown = TreeGrower(bin_matrix(X, find_bins(X)), tree=tree, min_samples_leaf=20).grow(g, h)
        assert grown.count.min() >= 20
        counts = np.bincount(traverse(grown, X), minlength=grown.n_nodes)
        np.testing.assert_array_equal(counts[grown.left < 0], grown.count[grown.left < 0])
        n_splits += grown.n_nodes // 2
    assert n_splits > 20


def test_least_squares_rules_leave_the_least_variance_whatever_l2():
    """Equation 6 of the RCRank paper, level by level."""
    rng = np.random.default_rng(8)
    X = rng.integers(0, 6, (80, 3)).astype(np.float32)
    g = rng.integers(-8, 9, 80) / 4
    h = rng.gamma(1, 1, 80).astype(np.float32)
    tree = TreeGrower(
        bin_matrix(X, find_bins(X)),
        tree="oblivious",
        max_depth=3,
        l2=30.0,
        criterion="least_squares",
    ).grow(g.astype(np.float32), h)
    assert tree.n_nodes == 15

    def unexplained(cells):
        return sum(len(rows) * g[rows].var() for rows in cells if len(rows))

    def parted(cells, feature, threshold):
        left = X[:, feature] <= threshold
        return [part for rows in cells for part in (rows[left[rows]], rows[~left[rows]])]

    cells = [np.arange(80)]
    for first in (0, 1, 3):
        rules = [(f, t) for f in range(3) for t in range(5)]
        least = min(unexplained(parted(cells, *rule)) for rule in rules)
        cells = parted(cells, tree.feature[first], tree.threshold[first])
        assert unexplained(cells) == pytest.approx(least, rel=1e-9)
    for number, rows in enumerate(cells, 7):
        if len(rows):
            expected = -g[rows].sum() / (h[rows].sum(dtype=float) + 30)
            assert tree.value[number] == pytest.approx(expected, rel=1e-6)


def test_small_leaves_of_oblivious_trees_answer_as_the_nearest_large_node(large):
    _, g, h, binned = large
    grower = TreeGrower(binned, tree="oblivious", max_depth=8, min_samples_leaf=100)
    tree = grower.grow(g, h)
    leaves = np.flatnonzero(tree.left < 0)
    small = leaves[tree.count[leaves] < 100]
    assert 0 < len(small) < len(leaves)
    parent = np.full(tree.n_nodes, -1)
    inner = np.flatnonzero(tree.left >= 0)
    parent[tree.left[inner]] = parent[tree.left[inner] + 1] = inner
    for leaf in small:
        node = leaf
        while tree.count[node] < 100:
            node = parent[node]
        assert tree.value[leaf] == tree.value[node]
    again = TreeGrower(binned, tree="oblivious", max_depth=8, min_samples_leaf=100, n_jobs=3)
    np.testing.assert_array_equal(again.grow(g, h).value, tree.value)


def test_random_strength_varies_with_the_seed_and_not_with_threads(large):
    _, g, h, binned = large
    for tree in ("leafwise", "oblivious"):
        growers = [TreeGrower(binned, tree=tree, max_depth=4, n_jobs=jobs) for jobs in (1, 3)]
        first, other = [grower.grow(g, h, seed=7, random_strength=3.0) for grower in growers]
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
        features = [growers[0].grow(g, h, seed=s, random_strength=3.0).feature[:3] for s in (1, 2)]
        calm = [growers[0].grow(g, h, seed=s).feature[:3] for s in (1, 2)]
        np.testing.assert_array_equal(*calm)
        assert not np.array_equal(*features)


def test_the_leaves_of_rows_stay_in_place_when_rows_are_sampled(large):
    """The view of the last tree is overwritten by the next one, and never dangles."""
    X, g, h, binned = large
    grower = TreeGrower(binned, max_leaf_nodes=8)
    whole = grower.grow(g, h)
    view = grower.leaf_of_row
    np.testing.assert_array_equal(view, traverse(whole, X))
    part = grower.grow(g, h, rows=np.arange(0, len(X), 2, dtype=np.int32), seed=1)
    assert np.shares_memory(view, grower.leaf_of_row)
    np.testing.assert_array_equal(view, traverse(part, X))
