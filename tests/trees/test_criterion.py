"""Trees that a Python function of sums splits."""

import re
import sys
import threading

import numpy as np
import pytest

from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.growing import TreeGrower


def test_a_criterion_in_python_chooses_the_splits(large):
    _, g, h, binned = large

    def newton(gl, hl, gr, hr):
        parent = (gl + gr) ** 2 / (hl + hr)
        with np.errstate(divide="ignore", invalid="ignore"):
            return gl**2 / hl + gr**2 / hr - parent

    mine = TreeGrower(binned, criterion=newton, max_leaf_nodes=8, min_samples_leaf=50).grow(g, h)
    own = TreeGrower(binned, max_leaf_nodes=8, min_samples_leaf=50).grow(g, h)
    np.testing.assert_array_equal(mine.feature, own.feature)
    np.testing.assert_array_equal(mine.threshold, own.threshold)
    np.testing.assert_allclose(mine.gain, own.gain, rtol=1e-5)

    balanced = TreeGrower(binned, criterion=lambda gl, hl, gr, hr: np.minimum(hl, hr)).grow(g, h)
    assert abs(int(balanced.count[1]) - int(balanced.count[2])) < 0.05 * len(g)


def test_what_a_criterion_raises_or_returns_wrong_reaches_the_caller(large):
    _, g, h, binned = large

    def broken(gl, hl, gr, hr):
        raise RuntimeError("my own mistake")

    with pytest.raises(RuntimeError, match="my own mistake"):
        TreeGrower(binned, criterion=broken).grow(g, h)
    with pytest.raises(ValueError, match="one float64 gain per candidate"):
        TreeGrower(binned, criterion=lambda gl, hl, gr, hr: gl[:-1]).grow(g, h)


@pytest.mark.parametrize("gain", [np.nan, np.inf])
def test_a_criterion_that_returns_no_number_is_named(large, gain):
    _, g, h, binned = large

    def careless(gl, hl, gr, hr):
        gains = np.zeros_like(gl)
        gains[len(gains) // 2] = gain
        return gains

    with pytest.raises(ValueError, match=rf"criterion 'careless' returned {gain}.*feature 0"):
        TreeGrower(binned, criterion=careless).grow(g, h)


def test_a_criterion_may_rule_splits_out(large):
    _, g, h, binned = large

    def only_balanced(gl, hl, gr, hr):
        return np.where(np.minimum(hl, hr) > 0.4 * (hl + hr), np.minimum(hl, hr), -np.inf)

    tree = TreeGrower(binned, criterion=only_balanced, max_leaf_nodes=4).grow(g, h)
    assert tree.n_nodes > 1
    assert (
        not TreeGrower(binned, criterion=lambda *sums: np.full(len(sums[0]), -np.inf))
        .grow(g, h)
        .n_nodes
        > 1
    )


def test_references_to_a_criterion_are_counted_beside_other_threads():
    """Growers are made and dropped here while another thread refers to the same function."""
    binned = bin_matrix(np.zeros((2, 1), np.float32), find_bins(np.zeros((2, 1), np.float32)))

    def criterion(gl, hl, gr, hr):
        return gl

    stop = threading.Event()

    def refer():
        while not stop.is_set():
            _ = [criterion] * 64

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    before = sys.getrefcount(criterion)
    others = [threading.Thread(target=refer) for _ in range(2)]
    try:
        for thread in others:
            thread.start()
        for _ in range(5000):
            TreeGrower(binned, criterion=criterion, n_jobs=1)
    finally:
        stop.set()
        for thread in others:
            thread.join()
        sys.setswitchinterval(interval)
    assert sys.getrefcount(criterion) == before


def test_the_documented_criterion_grows_the_built_in_tree(large, repository):
    _, g, h, binned = large
    guide = (repository / "docs" / "how-to" / "boosting.md").read_text()
    example = re.search(r"^def newton.*?(?=^\S)", guide, re.MULTILINE | re.DOTALL)
    names = {}
    exec(example[0], names)
    for rules in ({"max_leaf_nodes": 200}, {"max_leaf_nodes": 40, "min_samples_leaf": 100}):
        own = TreeGrower(binned, l2=1.0, **rules).grow(g, h)
        documented = TreeGrower(binned, l2=1.0, criterion=names["newton"], **rules).grow(g, h)
        for name in ("feature", "threshold", "left", "missing_left", "value", "count"):
            np.testing.assert_array_equal(getattr(own, name), getattr(documented, name))
    # Nothing to gain: all gradients are equal.
    flat = np.ones_like(g)
    assert TreeGrower(binned, l2=1.0).grow(flat, None).n_nodes == 1
    assert TreeGrower(binned, l2=1.0, criterion=names["newton"]).grow(flat, None).n_nodes == 1
