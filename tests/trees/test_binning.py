import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankgrove import _native
from rankgrove.data.matrix.dense import CallerMatrix, LazyColumn
from rankgrove.trees.binning import bin_matrix, find_bins

TINY, HUGE = float(np.float32(1e-45)), float(np.float32(3.4e38))
values = st.one_of(
    st.floats(width=32, allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan, np.inf, -np.inf, TINY, HUGE, -HUGE]),
)
matrices = hnp.arrays(np.float32, st.tuples(st.integers(0, 60), st.integers(1, 3)), elements=values)


@pytest.mark.slow
@given(matrices, st.sampled_from([2, 3, 16, 255, 1000]))
@settings(max_examples=200, deadline=None)
def test_codes_follow_the_order_of_the_values_and_the_cuts(X, max_bins):
    bins = find_bins(X, max_bins=max_bins)
    binned = bin_matrix(X, bins)
    for f in range(X.shape[1]):
        cuts, codes, x = bins.cuts(f), binned.codes(f), X[:, f]
        assert bins.n_bins()[f] == len(cuts) + 1 <= max_bins
        assert np.isfinite(cuts).all()
        assert (cuts[1:] > cuts[:-1]).all()
        present = ~np.isnan(x)
        for cut in cuts[np.isin(cuts, x)]:
            assert np.nextafter(cut, np.float32(np.inf)) in x, "a cut is a value only if it must be"
        assert (codes[~present] == len(cuts) + 1).all()
        np.testing.assert_array_equal(codes[present], (x[present, None] > cuts).sum(axis=1))


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=80))
@settings(max_examples=100, deadline=None)
def test_few_values_get_a_bin_each(numbers):
    X = np.array(numbers, np.float32)[:, None]
    distinct = np.unique(X)
    np.testing.assert_allclose(
        find_bins(X, max_bins=255).cuts(0), (distinct[1:] + distinct[:-1]) / 2
    )


def test_many_values_get_bins_of_about_equal_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1)).astype(np.float32)
    codes = bin_matrix(X, find_bins(X, max_bins=100)).codes(0)
    counts = np.bincount(codes)
    assert len(counts) == 100
    assert counts.max() <= 2 * counts.min()


def test_a_frequent_value_stands_alone():
    rng = np.random.default_rng(0)
    x = rng.normal(size=10_000).astype(np.float32)
    x[:6000] = 0.25
    codes = bin_matrix(x[:, None], find_bins(x[:, None], max_bins=16)).codes(0)
    assert set(x[codes == codes[0]]) == {np.float32(0.25)}


def test_neighbouring_floats_are_cut_at_the_lower_one():
    low = np.float32(1.7e9)
    X = np.array([low, np.nextafter(low, np.float32(2e9))], np.float32)[:, None]
    assert find_bins(X).cuts(0).tolist() == [low]


def test_fill_stands_in_for_missing_values():
    X = np.array([[1.0], [np.nan], [3.0]], np.float32)
    bins = find_bins(X, fill=np.array([2.0], np.float32))
    assert bins.has_missing().tolist() == [0]
    assert bin_matrix(X, bins).codes(0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_cuts", [0, 1, 14, 15, 16, 17, 240, 254, 255, 256, 600])
def test_a_code_is_the_number_of_cuts_below_the_value(n_cuts):
    rng = np.random.default_rng(n_cuts)
    grid = np.arange(n_cuts + 1, dtype=np.float32)
    bins = find_bins(grid[:, None], max_bins=1000)
    cuts = bins.cuts(0)
    assert len(cuts) == n_cuts
    x = np.r_[grid, cuts, np.nextafter(cuts, np.float32(np.inf)), rng.normal(size=100) * 300]
    x = np.r_[x, np.inf, -np.inf, np.nan, -0.0].astype(np.float32)
    codes = bin_matrix(x[:, None], bins).codes(0)
    expected = np.where(np.isnan(x), n_cuts + 1, np.searchsorted(cuts, x, side="left"))
    np.testing.assert_array_equal(codes, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_strides_rows_and_threads_do_not_matter(order):
    rng = np.random.default_rng(0)
    wide = np.asarray(rng.normal(size=(40_000, 37)), np.float32, order=order)
    X = wide[::2, 3:30:3]
    rows = rng.permutation(len(X)).astype(np.int64)
    reference = bin_matrix(X.copy(), find_bins(X.copy(), n_jobs=1), n_jobs=1)
    binned = bin_matrix(X, find_bins(X, n_jobs=3), rows=rows, n_jobs=3)
    for f in range(X.shape[1]):
        np.testing.assert_array_equal(binned.codes(f), reference.codes(f)[rows])


def test_many_bins_take_two_bytes():
    rng = np.random.default_rng(0)
    X = rng.permutation(3000).astype(np.float32)[:, None]
    binned = bin_matrix(X, find_bins(X, max_bins=5000))
    assert binned.wide
    np.testing.assert_array_equal(binned.codes(0), X[:, 0])


def test_wrong_width_and_rows_are_refused():
    X = np.zeros((3, 2), np.float32)
    bins = find_bins(X)
    with pytest.raises(ValueError, match="3 features but the bins have 2"):
        bin_matrix(np.zeros((3, 3), np.float32), bins)
    with pytest.raises(ValueError, match="row number 7"):
        bin_matrix(X, bins, rows=np.array([0, 7]))
    with pytest.raises(ValueError, match="max_bins"):
        find_bins(X, max_bins=1)


@given(matrices, st.integers(0, 2**32), st.sampled_from(["f8", "F8", "made", "cut"]))
@settings(max_examples=100, deadline=None)
def test_given_matrices_have_the_codes_of_a_copy(X, seed, kind):
    """Some rows, in any order, of a matrix of float64 that lies in one of several ways."""
    rng = np.random.default_rng(seed)
    wide = X.astype(np.float64, order="F" if kind == "F8" else "C")
    parts = {
        "made": tuple(LazyColumn(lambda rows, j=j: wide[rows, j]) for j in range(X.shape[1])),
        "cut": tuple(wide[:, j : j + 1] for j in range(X.shape[1])),
    }.get(kind, (wide,))
    kept = np.flatnonzero(rng.random(len(X)) < 0.7)
    rows = rng.permutation(len(kept))
    given = CallerMatrix(parts, len(X)).select_rows(kept)
    bins, expected = find_bins(given, max_bins=8), find_bins(X[kept], max_bins=8)
    for one, other in zip(bins.arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)
    codes = bin_matrix(given, bins, rows=rows).all_codes
    np.testing.assert_array_equal(codes, bin_matrix(X[kept][rows], expected).all_codes)


def test_many_columns_that_are_made_are_never_there_at_the_same_time():
    made, most = [], []

    def make(rows):
        column = np.zeros(1000)
        made.append(weakref.ref(column))
        most.append(sum(array() is not None for array in made))
        return column

    given = CallerMatrix(tuple(LazyColumn(make) for _ in range(50)), 1000)
    bin_matrix(given, find_bins(given))
    assert len(made) == 100
    assert max(most) == 16


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([[np.zeros((4, 3))], [np.zeros((4, 1))]], "X has 4 features but the bins have 3"),
        ([[np.zeros((4, 2))]], "X has 2 features but the bins have 3"),
        ([[np.zeros((5, 3))]], "a part of X has 5 rows instead of 4"),
        ([[np.zeros((4, 3), np.complex64)]], "X has a type that is not read"),
    ],
)
def test_parts_that_do_not_fit_are_refused(blocks, message):
    bins = find_bins(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=message):
        _native.bin_matrix(blocks, 4, bins, None, 1)
    with pytest.raises(ValueError, match=r"fill must have one value per feature|X |of X"):
        _native.find_bins(blocks, 4, None, 255, "quantile", np.zeros(3, np.float32), 1)


def greedy_log_sum_cuts(x, max_bins):
    """The values after which bins end, by trying every place of every bin."""
    values, counts = np.unique(x, return_counts=True)
    last = int(np.isinf(values[-1]))
    bins = [list(range(len(values) - last)), *[[len(values) - 1]] * last]
    while len(bins) < min(max_bins, len(values)):
        best = None
        for number, one in enumerate(bins):
            for place in range(1, len(one)):
                left, right = counts[one[:place]].sum(), counts[one[place:]].sum()
                gain = np.log(float(left)) + np.log(float(right)) - np.log(float(left + right))
                if best is None or gain > best[0]:
                    best = (gain, number, place)
        _, number, place = best
        bins[number : number + 1] = [bins[number][:place], bins[number][place:]]
    return [(values[one[-1]], values[one[-1] + 1]) for one in bins[:-1]]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("max_bins", [2, 5, 31])
def test_greedy_log_sum_bins_equal_trying_every_division(seed, max_bins):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=200) ** 3, seed % 3).astype(np.float32)
    if seed % 4 == 0:
        x[3] = np.inf
    want = greedy_log_sum_cuts(x, max_bins)
    cuts = find_bins(x[:, None], max_bins=max_bins, binning="greedy-log-sum").cuts(0)
    assert len(cuts) == len(want)
    for cut, (below, above) in zip(cuts, want, strict=True):
        assert below <= cut < above


def test_greedy_log_sum_parts_a_frequent_value_from_rare_ones():
    x = np.repeat(np.arange(5, dtype=np.float32), [1, 1, 1, 1, 96])[:, None]
    assert find_bins(x, max_bins=3, binning="greedy-log-sum").cuts(0).tolist() == [1.5, 3.5]


def test_an_unknown_rule_of_bins_is_named():
    with pytest.raises(ValueError, match="not 'uniform'"):
        find_bins(np.ones((3, 1), np.float32), binning="uniform")
