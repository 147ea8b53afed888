"""Memoised binning: one result per matrix and options within a context."""

from __future__ import annotations

import numpy as np

from rankgrove.trees.bin_cache import bin_cache, cached_bins, cached_codes
from rankgrove.trees.binning import bin_matrix, find_bins

X = np.arange(40, dtype=np.float32).reshape(20, 2)


def test_the_same_matrix_is_binned_once_within_a_context():
    with bin_cache():
        bins = cached_bins(X)
        assert cached_bins(X) is bins
        assert cached_codes(X, bins) is cached_codes(X, bins)


def test_other_options_and_other_matrices_have_other_results():
    with bin_cache():
        bins = cached_bins(X)
        assert cached_bins(X, max_bins=4) is not bins
        assert cached_bins(X.copy()) is not bins
        assert cached_bins(X, fill=np.zeros(2, np.float32)) is not bins


def test_nothing_is_memoised_without_a_context():
    assert cached_bins(X) is not cached_bins(X)


def test_nothing_is_kept_after_the_context():
    with bin_cache():
        bins = cached_bins(X)
    with bin_cache():
        assert cached_bins(X) is not bins


def test_results_in_a_folder_equal_those_in_memory(tmp_path):
    rows = np.arange(20)[::-1].astype(np.int64)
    for _ in range(2):  # written, then read back
        with bin_cache(tmp_path):
            bins = cached_bins(X, max_bins=8)
            codes = cached_codes(X, bins, rows=rows)
        expected = find_bins(X, max_bins=8)
        for found, wanted in zip(bins.arrays(), expected.arrays(), strict=True):
            np.testing.assert_array_equal(found, wanted)
        made = bin_matrix(X[rows], expected)
        np.testing.assert_array_equal(codes.all_codes, made.all_codes)
    assert list(tmp_path.rglob("*"))
