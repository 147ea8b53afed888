"""Tests of differences between rankers, against scipy and against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankgrove.experiments.significance import (
    bootstrap_interval,
    compare_pairs,
    effect_size,
    holm,
    p_values,
    paired_t,
    query_means,
    randomisation,
    tier_letters,
    tiers,
    wilcoxon,
    win_tie_loss,
)


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    queries = rng.random(80)
    shifts = np.array([0.0, 0.01, 0.15, 0.3])
    return np.clip(queries + shifts[:, None] + rng.normal(0, 0.1, (4, 80)), 0, 2)


@pytest.mark.slow
def test_paired_t_and_wilcoxon_are_scipys(values):
    differences = values[1:] - values[0]
    t = [stats.ttest_rel(row, values[0]).pvalue for row in values[1:]]
    np.testing.assert_allclose(paired_t(differences), t, rtol=1e-9)
    w = [stats.wilcoxon(row, values[0]).pvalue for row in values[1:]]
    np.testing.assert_allclose(wilcoxon(differences), w, rtol=1e-9)
    few = np.round(differences[:, :12], 1)  # ties and zeros
    w = [stats.wilcoxon(row).pvalue for row in few]
    np.testing.assert_allclose(wilcoxon(few), w, rtol=1e-12)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=10))
def test_randomisation_of_few_queries_counts_all_sign_changes(numbers):
    row = np.array(numbers) / 10
    reached = [
        abs(np.dot(signs, numbers)) >= abs(sum(numbers))
        for signs in itertools.product([1, -1], repeat=len(numbers))
    ]
    assert randomisation(row)[0] == np.mean(reached)


def test_randomisation_agrees_with_scipy(values):
    few = (values[2] - values[0])[:9]
    exact = stats.permutation_test((few,), np.mean, permutation_type="samples", n_resamples=10**4)
    assert randomisation(few)[0] == pytest.approx(exact.pvalue)
    many = values[1] - values[0]
    drawn = stats.permutation_test(
        (many,), np.mean, permutation_type="samples", n_resamples=20_000, random_state=1
    )
    assert randomisation(many, n_resamples=20_000)[0] == pytest.approx(drawn.pvalue, abs=0.015)


def test_drawn_randomisation_comes_near_the_exact_one():
    rng = np.random.default_rng(5)
    differences = rng.normal(0.2, 1, (3, 14))
    exact = randomisation(differences, n_resamples=2**14)
    np.testing.assert_allclose(randomisation(differences, n_resamples=9000), exact, atol=0.02)


def test_a_seed_gives_the_same_numbers_also_beside_other_rows(values):
    differences = values[1:] - values[0]
    table = randomisation(differences, seed=3)
    assert table.tolist() == randomisation(differences, seed=3).tolist()
    np.testing.assert_allclose(randomisation(differences[1], seed=3), table[1:2])
    assert randomisation(differences, seed=4).tolist() != table.tolist()


def test_smallest_p_of_draws_is_above_zero():
    assert randomisation(np.ones(100), n_resamples=99)[0] == 1 / 100


def test_bootstrap_interval_agrees_with_scipy(values):
    differences = values[1:] - values[0]
    low, high = bootstrap_interval(differences, confidence=0.9)
    for row, *ends in zip(differences, low, high, strict=True):
        theirs = stats.bootstrap(
            (row,), np.mean, confidence_level=0.9, method="percentile", random_state=0
        ).confidence_interval
        np.testing.assert_allclose(ends, theirs, atol=0.1 * row.std() / np.sqrt(len(row)))


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([], []),
    ],
)
def test_holm(p, expected):
    np.testing.assert_allclose(holm(p), expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_holm_rejects_as_the_step_down_procedure_does(p, alpha):
    rejected = set()
    for step, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (len(p) - step) > alpha:
            break
        rejected.add(int(place))
    assert set(np.flatnonzero(holm(p) <= alpha)) == rejected


def test_effect_size_and_counts():
    differences = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1], [-1, -1, -1]])
    np.testing.assert_allclose(effect_size(differences), [2.0, 0.0, np.inf, -np.inf])
    wins, ties, losses = win_tie_loss([[0.1, -0.1, 0.0, 0.2]])
    assert (wins[0], ties[0], losses[0]) == (2, 1, 1)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_rounding_alone_is_a_tie_in_counts_and_tests(test, scale):
    values = np.random.default_rng(0).uniform(0.3, 0.9, 40)
    rounded = values + np.spacing(values)
    table = compare_pairs(scale * np.stack([rounded, values]), test=test)
    assert (table.wins[0], table.ties[0], table.losses[0]) == (0, 40, 0)
    assert table.p[0] == 1.0
    assert table.difference[0] == table.effect[0] == 0.0
    assert tiers(scale * np.stack([rounded, values]), test=test) == [[0, 1]]
    table = compare_pairs(scale * np.stack([values + 1e-6, values]), test=test)
    assert table.wins[0] == 40
    assert table.p[0] < 0.001


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_no_difference_and_the_same_difference_everywhere(test):
    assert p_values(np.zeros((1, 20)), test)[0] == 1.0
    assert p_values(np.full((1, 20), 0.1), test)[0] < 0.001
    assert p_values([[0.5]], test)[0] == 1.0  # one query tells nothing


def test_table_of_all_pairs_and_against_a_baseline(values):
    table = compare_pairs(values)
    assert list(zip(table.first, table.second, strict=True)) == list(
        itertools.combinations(range(4), 2)
    )
    np.testing.assert_allclose(table.difference[0], (values[0] - values[1]).mean())
    np.testing.assert_array_equal(table.p_holm, holm(table.p))
    np.testing.assert_array_equal(table.wins + table.ties + table.losses, 80)
    assert (table.low < table.difference).all()
    assert (table.difference < table.high).all()
    small = compare_pairs(values, baseline=2, test="t", greater_is_better=False)
    assert small.first.tolist() == [0, 1, 3]
    assert small.second.tolist() == [2, 2, 2]
    np.testing.assert_array_equal(small.wins, (values[[0, 1, 3]] < values[2]).sum(axis=1))
    np.testing.assert_allclose(small.difference, (values[[0, 1, 3]] - values[2]).mean(axis=1))


def test_a_pair_has_one_corrected_p_value_with_and_without_a_baseline(values):
    table = compare_pairs(values, test="t")
    pairs = {
        frozenset(pair): p
        for *pair, p in zip(table.first.tolist(), table.second.tolist(), table.p_holm, strict=True)
    }
    for baseline in range(4):
        small = compare_pairs(values, baseline=baseline, test="t")
        for first, p in zip(small.first.tolist(), small.p_holm, strict=True):
            assert p == pairs[frozenset((first, baseline))]


def test_rankers_that_cannot_be_told_apart_share_a_tier(values):
    assert sorted(map(sorted, tiers(values))) == [[0, 1], [2], [3]]
    assert tiers(values)[0] == [3]
    assert tiers(values, greater_is_better=False)[-1] == [3]
    assert tiers(np.tile(values[0], (3, 1))) == [[0, 1, 2]]
    assert tiers(values[:1]) == [[0]]


@pytest.mark.parametrize("seed", range(5))
def test_two_share_a_tier_exactly_if_their_difference_is_not_significant(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (7, 40)) + rng.normal(0, 0.5, (7, 1))
    groups = tiers(values, test="t")
    table = compare_pairs(values, test="t", n_resamples=10)
    for first, second, p in zip(table.first, table.second, table.p_holm, strict=True):
        assert any(first in g and second in g for g in groups) == (p > 0.05)
    assert not any(set(a) < set(b) for a in groups for b in groups)
    letters = tier_letters(groups)
    for first, second, p in zip(table.first, table.second, table.p_holm, strict=True):
        assert bool(set(letters[first]) & set(letters[second])) == (p > 0.05)


def test_letters_go_on_after_z():
    letters = tier_letters([[0, number + 1] for number in range(28)])
    assert letters[26:] == ["z", "aa", "ab"]
    assert letters[0].split(",")[-3:] == ["z", "aa", "ab"]


def test_runs_are_averaged_per_query(values):
    runs = np.stack([values - 0.1, values + 0.1], axis=1)
    np.testing.assert_allclose(query_means(runs), values)
    runs[:, :, 3] = np.nan
    assert np.isnan(query_means(runs)[:, 3]).all()
    assert compare_pairs(query_means(runs)).n_queries == 79
    runs[1, 0, 5] = np.nan
    with pytest.raises(ValueError, match="query 5 has a value for some and NaN for others"):
        query_means(runs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: compare_pairs(v[0]), "a row per ranker and a column per query"),
        (lambda v: compare_pairs(v, baseline=4), "baseline must be a row of the 4 rankers, not 4"),
        (lambda v: compare_pairs(v, test="z"), "test must be one of randomisation, t, wilcoxon"),
        (lambda v: compare_pairs(v + np.inf), "must be finite numbers"),
        (lambda v: compare_pairs(v * np.nan), "no query to compare"),
        (lambda v: compare_pairs(np.where(v == v[0, 7], np.nan, v)), "query 7 has a value for so"),
        (lambda v: randomisation(v, n_resamples=0), "n_resamples must be at least 1, not 0"),
        (lambda v: bootstrap_interval(v, confidence=95), "confidence must be between 0 and 1"),
        (lambda v: query_means(v), "the axes ranker, run and query"),
    ],
)
def test_bad_arguments_are_refused(values, call, message):
    with pytest.raises(ValueError, match=message):
        call(values)


@pytest.mark.parametrize("test", [paired_t, wilcoxon])
def test_one_sided_p_values_are_half_of_the_two_sided_ones_on_the_side_of_the_mean(test):
    rng = np.random.default_rng(0)
    differences = rng.normal(0.2, 1.0, (4, 60))
    differences[1] *= -1
    two, one = test(differences), test(differences, "greater")
    other = test(-differences, "greater")
    np.testing.assert_allclose(np.minimum(one, other), two / 2, rtol=1e-9)
    assert one[0] < 0.5 < one[1]
    with pytest.raises(ValueError, match=r"alternative must be .* not 'less'"):
        test(differences, "less")


def test_a_constant_difference_is_significant_on_its_own_side_alone():
    constant = np.array([[0.1] * 5, [-0.1] * 5])
    np.testing.assert_array_equal(paired_t(constant), [0, 0])
    np.testing.assert_array_equal(paired_t(constant, "greater"), [0, 1])
