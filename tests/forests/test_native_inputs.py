"""The native grower: features are built once, and what it refuses it names."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove import _native
from rankgrove.data.input_checks import ranking_input
from rankgrove.forests.growing import ForestGrower, Growth
from rankgrove.forests.sampling import TreeSample
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.workers.row_shard import RowShard

ARRAYS = ("feature", "threshold", "left", "missing_left", "value", "count", "gain")


def features(X, offsets):
    binned = bin_matrix(X, find_bins(X))
    return _native.ForestFeatures(binned, np.array(offsets), X.min(0), X.max(0), 1)


@pytest.fixture
def few():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    return features(X, [0, 3, 6])


def test_features_serve_any_targets_and_weights(small_data):
    """As in a boosting of forests: targets and the chances to be drawn change every round."""
    data = ranking_input(small_data, what="fit")
    rng = np.random.default_rng(0)
    growth = Growth(max_features=5, max_leaf_nodes=30)
    shard = RowShard.of(data.groups.offsets)
    shared = ForestGrower(data, shard, max_bins=255, fill=None, n_threads=2)
    for round_ in range(3):
        y = rng.normal(size=len(data.y))
        chance = rng.random(len(data.y))
        sample = TreeSample.of(data, shard, 1.0, "bootstrap", chance)
        grown = []
        for grower in (shared, ForestGrower(data, shard, max_bins=255, fill=None, n_threads=1)):
            targets = grower.targets(y, by="squared_error")
            bag = np.zeros(len(y)), np.zeros(len(y), np.int32)
            trees = grower.grow(
                targets, growth, sample, seed=round_, first_tree=4, n_trees=3, out_of_bag=bag
            )
            grown.append((trees, bag))
        (one, one_bag), (other, other_bag) = grown
        assert one.numbers == other.numbers == [4, 5, 6]
        for a, b in zip(one.trees, other.trees, strict=True):
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        np.testing.assert_array_equal(one_bag[0], other_bag[0])
        np.testing.assert_array_equal(one_bag[1], other_bag[1])
        assert 0 < one_bag[1].mean() < 3


def test_out_of_bag_sums_are_those_of_the_trees_without_the_row(small_data):
    data = ranking_input(small_data, what="fit")
    shard = RowShard.of(data.groups.offsets)
    grower = ForestGrower(data, shard, max_bins=255, fill=None, n_threads=2)
    sample = TreeSample.of(data, shard, 0.5, "bootstrap", None)
    bag = np.zeros(len(data.y)), np.zeros(len(data.y), np.int32)
    growth = Growth(max_features=4, max_depth=5)
    targets = grower.targets(data.y, by="squared_error")
    grown = grower.grow(targets, growth, sample, seed=9, first_tree=0, n_trees=4, out_of_bag=bag)
    binned = bin_matrix(data.X, find_bins(data.X), rows=data.groups.order)
    sums, counts = np.zeros(len(data.y)), np.zeros(len(data.y), int)
    for number, tree in zip(grown.numbers, grown.trees, strict=True):
        out = np.ones(len(data.y), bool)
        drawn = sample.native(shard).draw(data.filled_offsets, seed=9, tree_number=number)
        out[drawn] = False
        sums[out] += tree.value[tree.apply_binned(binned, 1)[out]]
        counts[out] += 1
    np.testing.assert_array_equal(bag[1], counts)
    np.testing.assert_allclose(bag[0], sums, rtol=1e-12)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"max_features": 0}, "max_features must be at least 1, not 0"),
        ({"min_samples_split": 1}, "min_samples_split must be at least 2, not 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be at least 1, not 0"),
        ({"max_depth": 0}, "max_depth must be at least 1, not 0"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be at least 2, not 1"),
        ({"listwise_levels": -1}, "listwise_levels must be at least 0, not -1"),
        ({"min_gain": float("nan")}, "min_gain must be at least 0.* not nan"),
        ({"threshold_fraction": 0.0}, r"threshold_fraction must lie in \(0, 1\], not 0"),
        ({"query_fraction": 1.5}, r"query_fraction must lie in \(0, 1\], not 1.5"),
        ({"splitter": "worst"}, "splitter must be one of best, random.* not 'worst'"),
        ({"order": "last"}, "order must be one of .* not 'last'"),
        ({"criterion": "charm"}, "no criterion 'charm'"),
    ],
)
def test_options_are_refused_by_name_and_value(option, message):
    with pytest.raises(ValueError, match=message):
        _native.ForestOptions(**{"max_features": 1, **option})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("pages", 3),
            "sampling must be one of bootstrap, bootstrap-queries, documents, queries, not 'pages'",
        ),
        (("queries", -1), "sample size must be at least 0, not -1"),
        (("bootstrap", 2, [1.0, -1.0]), "unit 1 is -1"),
        (("bootstrap", 2, [1.0, np.inf]), "unit 1 is inf"),
        (("bootstrap", 2, [0.0, 0.0]), "weights of a sample are all 0"),
    ],
)
def test_samples_are_refused_by_name_and_value(arguments, message):
    *rest, last = arguments
    last = np.array(last) if isinstance(last, list) else last
    with pytest.raises(ValueError, match=message):
        _native.ForestSample(*rest, last)


def test_targets_must_fit_their_features(few):
    one = np.ones(6)
    with pytest.raises(ValueError, match="target must have one value per row"):
        _native.ForestTargets(few, np.ones(5))
    with pytest.raises(ValueError, match="weight must have one value per row"):
        _native.ForestTargets(few, one, weight=np.ones(7))
    with pytest.raises(ValueError, match="a label lies beyond the class values"):
        _native.ForestTargets(few, one, np.full(6, 2, np.uint8), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="labels and class values go together"):
        _native.ForestTargets(few, one, np.zeros(6, np.uint8))


def test_growth_and_sample_must_fit_the_targets(few):
    targets = _native.ForestTargets(few, np.arange(6.0))

    def grow(sample=("queries", 2), bag=None, **options):
        _native.grow_forest(
            targets,
            _native.ForestOptions(max_features=1, **options),
            _native.ForestSample(*sample),
            [],
            seed=0,
            n_trees=1,
            out_of_bag=bag,
            n_threads=1,
        )

    with pytest.raises(ValueError, match="listwise splits need a metric"):
        grow(listwise_levels=None)
    with pytest.raises(ValueError, match="'entropy' needs labels that are classes"):
        grow(criterion="entropy")
    with pytest.raises(ValueError, match="one weight per unit of sampling"):
        grow(sample=("queries", 2, np.ones(6)))
    with pytest.raises(ValueError, match="out-of-bag sums and counts must have one value per row"):
        grow(bag=(np.zeros(5), np.zeros(6, np.int32)))
    with pytest.raises(ValueError, match=r"sample of 601 documents.*there are 6"):
        grow(sample=("bootstrap", 601))
    grow(sample=("bootstrap", 600))


@pytest.mark.parametrize("weights", [[2.0], [0, 1, 0], [1, 3], [0, 5, 1, 0, 2, 0], [1e-300, 1, 9]])
def test_weighted_documents_are_drawn_in_proportion(weights):
    n_draws, n_trees = 20 * len(weights), 500
    sample = _native.ForestSample("bootstrap", n_draws, np.array(weights, float))
    offsets = np.array([0, len(weights)])
    drawn = [sample.draw(offsets, seed=3, tree_number=tree) for tree in range(n_trees)]
    share = np.bincount(np.concatenate(drawn), minlength=len(weights)) / (n_draws * n_trees)
    chance = np.array(weights) / np.sum(weights)
    assert (share[np.array(weights) == 0] == 0).all()
    np.testing.assert_allclose(share, chance, atol=5 * 0.5 / np.sqrt(n_draws * n_trees))
