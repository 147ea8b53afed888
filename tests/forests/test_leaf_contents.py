"""A leaf says how many documents it has and their mean label: both must be those of the documents
that its rules send there, whatever the numbers of documents and features (codes, rows and labels
are moved in vectors of 8 and 16)."""

import numpy as np
import pytest

from rankgrove.rankers.base.registry import make_ranker


@pytest.mark.parametrize("name", ["rf-point", "extra-trees", "rf-rand"])
@pytest.mark.parametrize("max_bins", [255, 1000])
@pytest.mark.parametrize("n_features", [1, 15, 16, 17, 40])
@pytest.mark.parametrize("n_documents", [2, 7, 16, 17, 255, 1500])
def test_leaves_hold_what_their_rules_send_there(name, max_bins, n_features, n_documents):
    rng = np.random.default_rng(n_documents * 100 + n_features)
    X = rng.normal(size=(n_documents, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 5, n_documents)
    full = {"subsample": 1.0, "min_samples_leaf": 1}
    forest = make_ranker(name, n_estimators=2, max_bins=max_bins, random_state=0, **full)
    forest.fit(X, y, group_sizes=[n_documents])
    trees = forest.model_.ensemble
    for tree, leaf in enumerate(forest.apply(X).T):
        node = trees.tree_offsets[tree] + leaf
        _, inverse, counts = np.unique(node, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(trees.count[node], counts[inverse])
        means = np.bincount(inverse, weights=y) / counts
        np.testing.assert_allclose(trees.value[node], means[inverse], rtol=1e-6)
