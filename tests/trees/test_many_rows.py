"""Trees of more rows than fit here: few rows that say that they are a part of very many.

``Copies`` is a communicator whose workers all hold the same rows, so that every sum is that of one
worker times their number; ``RowShard`` says how many rows there are, and which numbers they have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgrove
from rankgrove.boosting.sampling import GradientSampling, MinimalVariance, RowSampler
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.conversion import convert
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.trees.binning import bin_matrix, categorical_bins, find_bins
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import CategoryRules, TreeGrower
from rankgrove.trees.packing import pack_trees, unpack_trees
from rankgrove.workers.communicator import Communicator, Traffic
from rankgrove.workers.row_shard import RowShard

STRUCTURE = ("feature", "threshold", "left", "missing_left")


class Copies(Communicator):
    """Workers that all hold the same rows; this one speaks for all of them."""

    rank, size = 0, 1

    def __init__(self, number):
        self.number = number

    def sum(self, values):
        # A worker that searches a feature also tells its sums this way; others would add 0. Such
        # sums are those of all workers already: bounded, they do not overflow.
        values[:] = np.clip(values * float(self.number), -(2.0**60), 2.0**60)

    def maximum(self, values):
        pass

    def sum_scatter(self, values, bounds, extra):
        values *= self.number
        extra *= self.number

    def gather(self, data):
        return [data]

    def broadcast(self, data):
        return data

    def exchange(self, parts):
        return list(parts)

    @property
    def traffic(self):
        return Traffic(0, 0, 0, 0, 0.0)

    def abort(self, reason):
        pass

    def close(self):
        pass


def problem(seed, n=300):
    """Data with NaN; gradients and Hessians that are exact in fixed point, with few bits."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    gradients = (rng.integers(-16, 17, n) / 8).astype(np.float32)
    hessians = (rng.integers(1, 9, n) / 8).astype(np.float32)
    bins = find_bins(X)
    return gradients, hessians, bin_matrix(X, bins)


def grown(binned, gradients, hessians, shard, *, seed=3, strength=0.0, **options):
    grower = TreeGrower(binned, n_jobs=1, shard=shard, **{"max_leaf_nodes": 16, **options})
    return grower.grow(gradients, hessians, seed=seed, random_strength=strength)


def shard_of(n_rows, copies=1, first_row=0):
    return RowShard(copies * n_rows, 1, first_row, communicator=Copies(copies))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tree=st.sampled_from(["leafwise", "levelwise", "oblivious"]),
    weighted=st.booleans(),
    least=st.sampled_from([1, 7]),
    branch=st.booleans(),
    copies=st.sampled_from([1 << 21, 1 << 24, 1 << 31]),
)
def test_a_tree_of_very_many_equal_rows_is_the_tree_of_few(
    seed, tree, weighted, least, branch, copies
):
    gradients, hessians, binned = problem(seed)
    options = {"tree": tree, "l2": 0.0, "missing_branch": branch and tree != "oblivious"}
    if tree == "oblivious":
        options["max_depth"] = 4
    n = len(gradients)
    hessians = hessians if weighted else None
    few = grown(binned, gradients, hessians, None, min_samples_leaf=least, **options)
    many = grown(
        binned,
        gradients,
        hessians,
        shard_of(n, copies),
        min_samples_leaf=1 if least == 1 else least * copies,
        **options,
    )
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name), name)
    np.testing.assert_array_equal(few.count * copies, many.count)
    np.testing.assert_allclose(few.value, many.value, rtol=1e-12)
    np.testing.assert_allclose(few.gain * float(copies), many.gain, rtol=1e-6)
    assert many.count[0] >= 2**29


def test_category_sets_and_constraints_of_very_many_rows_are_those_of_few():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 20, (400, 2)).astype(np.float32)
    gradients = (rng.integers(-16, 17, 400) / 8 + (codes[:, 0] % 3 - 1)).astype(np.float32)
    table = pd.DataFrame({f"c{j}": codes[:, j] for j in range(2)})
    table["kind"] = pd.Categorical(codes[:, 0].astype(int).astype(str))
    matrix = convert(table)
    binned = bin_matrix(matrix, categorical_bins(find_bins(matrix), matrix))
    rules = CategoryRules(smoothing=0.0, l2=0.0, min_samples=1, penalty=0.0)
    for options in ({"tree": "leafwise"}, {"tree": "oblivious", "max_depth": 3}):
        options["categories"] = rules
        few = grown(binned, gradients, None, None, **options)
        many = grown(binned, gradients, None, shard_of(400, 1 << 22), **options)
        assert few.category_sets is not None
        for one, other in zip(few.category_sets, many.category_sets, strict=True):
            np.testing.assert_array_equal(one, other)


def test_any_number_of_rows_gives_close_trees():
    """Real gradients are rounded to a few bits, and sums are scaled down for the search."""
    data = make_ranking(40, seed=1)
    binned = bin_matrix(data.matrix, find_bins(data.matrix))
    rng = np.random.default_rng(0)
    gradients = (data.y - data.y.mean() + 0.1 * rng.normal(size=len(data.y))).astype(np.float32)
    few = grown(binned, gradients, None, None, max_leaf_nodes=6)
    copies = 2**40 // len(gradients)
    many = grown(binned, gradients, None, shard_of(len(gradients), copies), max_leaf_nodes=6)
    np.testing.assert_array_equal(few.feature, many.feature)
    np.testing.assert_array_equal(few.threshold, many.threshold)
    np.testing.assert_allclose(few.value, many.value, rtol=1e-4, atol=1e-5)
    assert many.count[0] == copies * len(gradients) > 2**39


def test_rows_beyond_2_to_the_32_are_rounded_by_numbers_of_their_own():
    data = make_ranking(30, seed=1)
    n = len(data.y) // 2 * 2
    X, half = np.array(data.X[:n], np.float32), n // 2
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=n).astype(np.float32)
    bins = find_bins(X)

    def gains(rows, first_row):
        tree = grown(
            bin_matrix(X[rows], bins),
            gradients[rows],
            np.ones(len(gradients[rows]), np.float32),
            RowShard(1 << 40, 1, first_row),
            max_leaf_nodes=4,
        )
        return tree.gain.tolist()

    everything = slice(0, n)
    assert gains(everything, 5) == gains(everything, 5)
    assert gains(everything, 5) != gains(everything, 5 + (1 << 32))
    # Rows on both sides of the boundary, of which only the upper ones weigh anything.
    upper = slice(half, n)
    expected = gains(upper, 1 << 32)
    gradients[:half] = 0
    weights = np.r_[np.zeros(half), np.ones(half)].astype(np.float32)
    shard = RowShard(1 << 40, 1, (1 << 32) - half)
    tree = grown(bin_matrix(X, bins), gradients, weights, shard, max_leaf_nodes=4)
    assert tree.gain.tolist() == expected


def test_noise_of_very_many_rows_has_the_scale_of_few():
    gradients, hessians, binned = problem(1)
    few = grown(binned, gradients, hessians, None, strength=0.5)
    many = grown(binned, gradients, hessians, shard_of(300, 1 << 30), strength=0.5 * 2**15)
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name), name)


class FakeShare(FitWorkers):
    """Workers of a fit that all hold the same rows."""

    def checked_input(self, given):
        data, shard = super().checked_input(given)
        return data, replace(shard, n_rows=shard.n_rows * self.communicator.number)


def test_a_model_of_2_to_the_39_rows_is_saved_loaded_and_explained(tmp_path):
    data = make_ranking(30, seed=1)
    options = {"n_estimators": 5, "random_state": 0, "tree": "leafwise", "max_leaf_nodes": 6}
    options |= {"l2": 0.0, "min_samples_leaf": 1}
    few = rankgrove.MART(**options).fit(data)
    copies = 2**39 // len(data.y)
    workers = FakeShare(Copies(copies))
    many = rankgrove.MART(**options)
    many._fit(FitData(data), FitOptions(None), workers)
    counts = many.model_.ensemble.count
    assert counts.dtype == np.float64
    assert counts[0] == copies * len(data.y) > 2**32
    np.testing.assert_allclose(many.predict(data), few.predict(data), rtol=1e-4, atol=1e-4)

    path = tmp_path / "many.rg"
    many.save(path)
    again = rankgrove.load_model(path)
    np.testing.assert_array_equal(again.model_.ensemble.count, counts)
    one, other = (r.explain(data).values for r in (few, again))
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_counts_beyond_32_bits_go_through_records():
    gradients, hessians, binned = problem(2)
    trees = [
        grown(binned, gradients, hessians, None),
        grown(binned, gradients, hessians, shard_of(300, 1 << 30)),
    ]
    again = unpack_trees(pack_trees(trees))
    for one, other in zip(trees, again, strict=True):
        np.testing.assert_array_equal(one.count, other.count)
    assert TreeEnsemble.from_trees(again[:1], 4).count.dtype == np.uint32
    assert TreeEnsemble.from_trees(again, 4).count[trees[0].n_nodes] == 300 * 2**30


def test_more_rows_than_one_worker_can_number_are_refused_by_name():
    class Uneven(Copies):
        size = 3

        def gather(self, data):
            other = np.array([2**31, 1, 1], np.int64).tobytes()
            return [data, data, other]

    with pytest.raises(DataError, match=r"worker 2 holds 2,147,483,648 rows.*2\^31 - 1"):
        RowShard.of(np.array([0, 10]), Uneven(3))
    with pytest.raises(DataError, match=r"there are 2,147,483,648 rows.*use more workers"):
        RowShard.of(np.array([0, 2**31]))

    class TooMany(Copies):
        size = 1024

        def gather(self, data):
            return [data] * self.size

    with pytest.raises(DataError, match=r"hold 2,199,\d+,\d+,\d+ rows together.*2\^40"):
        RowShard.of(np.array([0, 2**31 - 1]), TooMany(1024))
    _, _, binned = problem(0)
    with pytest.raises(ValueError, match=r"at most 2\^40"):
        TreeGrower(binned, shard=RowShard(2**40 + 1, 1))


@pytest.mark.parametrize("unit", ["queries", "documents"])
def test_samples_of_very_many_rows_take_their_part_and_list_no_others(unit):
    groups = QueryGroups(np.arange(0, 5001, 5), None, np.arange(1000))
    shard = RowShard(1 << 40, 1 << 38, 1 << 33, 1 << 32, 1 << 38, 1 << 32)
    rows = RowSampler(groups, shard, 1, 0.3, unit).draw(4, None, None)
    assert 0.25 < len(rows) / 5000 < 0.35
    other = RowSampler(groups, replace(shard, first_row=0, first_nonempty_query=0), 1, 0.3, unit)
    assert rows.tolist() != other.draw(4, None, None).tolist()


def test_weighted_samples_of_very_many_rows_do_not_overflow():
    rng = np.random.default_rng(0)
    groups = QueryGroups(np.arange(0, 2001, 5), None, np.arange(400))
    copies = 2**39 // 2000
    shard = replace(shard_of(2000, copies), n_queries=400 * copies)
    gradients = rng.normal(size=(1, 2000)).astype(np.float32)
    hessians = np.ones((1, 2000), np.float32)
    plain = RowShard(2000, 400)
    for sampler in (GradientSampling, MinimalVariance):
        few, many = (
            sampler(groups, one, 1).draw(0, gradients.copy(), hessians.copy())
            for one in (plain, shard)
        )
        assert abs(len(few) - len(many)) < 20
