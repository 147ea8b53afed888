"""Significance tests of the differences between rankers, on values per query.

Vocabulary: ``values`` holds one row per ranker and one column per query, all rankers measured on
the same queries; ``differences`` holds one row per pair of rankers, first minus second, exactly 0
where the two values differ by rounding alone (``pair_differences``). Queries are what is sampled,
so with several seeds or repeats each query's values are averaged first (``query_means``): runs on
the same query are no new evidence. A table of all test queries of a cross-validation is the pooled
test; the columns of one fold alone make the fold-wise one.

Nothing here reads or writes files, and equal arguments give equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_integer, require_number
from rankgrove.data.matrix.numbers import as_numbers

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

TESTS = ("randomisation", "t", "wilcoxon")
Alternative = Literal["two-sided", "greater"]

# Resamples are drawn in blocks of about this many numbers.
_BLOCK = 4_000_000
# Sums that differ by less than this share of their terms are equal but for rounding.
_ROUNDING = 1e-12
# Values of a query that differ by at most this share of the largest value of the pair are equal.
_TIE = 1e-9


def query_means(values: npt.ArrayLike) -> Floats:
    """Return the mean over runs of values of shape (n_rankers, n_runs, n_queries).

    A query that no run measures stays NaN; one that only some runs measure is an error.
    """
    runs = as_numbers(values, "values").astype(np.float64)
    if runs.ndim != 3 or not runs.shape[1]:
        raise ValueError(f"values must have the axes ranker, run and query, not {runs.shape}")
    _require_same_queries(np.isnan(runs).reshape(-1, runs.shape[2]))
    means: Floats = runs.mean(axis=1)
    return means


def paired_t(differences: npt.ArrayLike, alternative: Alternative = "two-sided") -> Floats:
    """p-values of the paired t test: is the mean difference 0?

    ``alternative="greater"`` is the one-sided test: is the first ranker not better than the second?
    """
    from scipy import stats

    _require_alternative(alternative)

    def p_value(row: Floats) -> float:
        if np.ptp(row) <= _ROUNDING * np.abs(row).max():  # the same difference on every query
            return float(alternative == "greater" and row[0] < 0)
        return float(stats.ttest_1samp(row, 0.0, alternative=alternative).pvalue)

    return _by_row(differences, p_value)


def wilcoxon(differences: npt.ArrayLike, alternative: Alternative = "two-sided") -> Floats:
    """p-values of Wilcoxon's signed-rank test; queries without a difference do not count.

    They are exact for up to 50 queries without ties, else from the normal approximation, as scipy
    chooses. ``alternative="greater"`` asks whether the first ranker is not better than the second.
    """
    from scipy import stats

    _require_alternative(alternative)
    return _by_row(
        differences, lambda row: float(stats.wilcoxon(row, alternative=alternative).pvalue)
    )


def _require_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "greater"):
        raise ValueError(f"alternative must be 'two-sided' or 'greater', not {alternative!r}")


def randomisation(
    differences: npt.ArrayLike, *, n_resamples: int = 10_000, seed: int = 0
) -> Floats:
    """Two-sided p-values of the paired randomisation test (Fisher; Smucker et al. 2007).

    If two rankers do not differ, each query's difference could as well have the other sign. The
    p-value is the share of sign changes whose mean is at least as far from 0 as the observed one:
    of all of them if there are at most ``n_resamples``, else of ``n_resamples`` random ones with
    the observed one added. All rows share the draws, so that a table costs little more than a row.
    """
    _require_draws(n_resamples, seed)
    rows = _as_rows(differences)
    n_queries = rows.shape[1]
    exact = n_queries < 63 and 2**n_queries <= n_resamples
    scale = np.abs(rows).sum(axis=1)
    reached = np.abs(rows.sum(axis=1)) - _ROUNDING * scale
    counts = np.zeros(len(rows))
    n_signs = 2**n_queries if exact else n_resamples
    signs = _all_signs(n_queries) if exact else _random_signs(n_queries, n_resamples, seed)
    for block in signs:
        counts += (np.abs(rows @ block.T) >= reached[:, None]).sum(axis=1)
    return counts / n_signs if exact else (counts + 1) / (n_signs + 1)


def bootstrap_interval(
    values: npt.ArrayLike, *, confidence: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap interval of each row's mean over queries.

    Rows are values of rankers or differences of pairs; all share the draws of queries.
    """
    require_number(confidence, "confidence", "between 0 and 1", lambda x: 0 < x < 1)
    _require_draws(n_resamples, seed)
    rows = _as_rows(values)
    n_queries = rows.shape[1]
    rng = np.random.default_rng(seed)
    means = []
    for size in _blocks(n_resamples, n_queries):
        drawn = rng.integers(0, n_queries, (size, n_queries))
        drawn += np.arange(size)[:, None] * n_queries
        times = np.bincount(drawn.ravel(), minlength=size * n_queries).reshape(size, n_queries)
        means.append(rows @ times.T / n_queries)
    shares = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = np.quantile(np.concatenate(means, axis=1), shares, axis=1)
    return ends[0], ends[1]


def holm(p_values: npt.ArrayLike) -> Floats:
    """Correct p-values of one table for their number (Holm 1979).

    Calling those of at most alpha real is wrong even once with probability alpha at most.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def effect_size(differences: npt.ArrayLike) -> Floats:
    """Cohen's d_z of each row: the mean difference over its standard deviation between queries."""
    rows = _as_rows(differences)
    mean = rows.mean(axis=1)
    spread = rows.std(axis=1, ddof=1) if rows.shape[1] > 1 else np.zeros(len(rows))
    same = spread <= _ROUNDING * np.abs(mean)
    certain = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    sizes: Floats = np.where(same, certain, mean / np.where(same, 1.0, spread))
    return sizes


def win_tie_loss(differences: npt.ArrayLike) -> tuple[Whole, Whole, Whole]:
    """Count the queries on which the first is better, equal and worse, for each row."""
    rows = _as_rows(differences)
    wins = (rows > 0).sum(axis=1)
    losses = (rows < 0).sum(axis=1)
    return wins, rows.shape[1] - wins - losses, losses


def pair_differences(values: npt.ArrayLike, pairs: npt.ArrayLike) -> Floats:
    """Return the differences of pairs of rankers, with 0 where they are rounding errors.

    A difference is a tie if it is at most 1e-9 of the largest absolute value of the two rankers, so
    that tests, counts and effect sizes agree on what a tie is, whatever the scale of the metric.
    """
    rows, numbers = np.asarray(values, np.float64), np.asarray(pairs, np.int64)
    first, second = rows[numbers[:, 0]], rows[numbers[:, 1]]
    differences: Floats = first - second
    scale = np.maximum(np.abs(first), np.abs(second)).max(axis=1, initial=0.0)
    differences[np.abs(differences) <= _TIE * scale[:, None]] = 0.0
    return differences


@dataclass(frozen=True)
class PairTable:
    """Pairs of rankers and the tests of their differences, one entry per pair.

    Attributes
    ----------
    first, second : the rankers, as rows of the values
    difference : mean over queries of first minus second
    low, high : ends of its bootstrap interval
    effect : Cohen's d_z
    wins, ties, losses : queries on which the first is better, equal, worse
    p : p-values of the test
    p_holm : the same, corrected over all pairs of rankers
    n_queries : queries that were compared
    """

    first: Whole
    second: Whole
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    wins: Whole
    ties: Whole
    losses: Whole
    p: Floats
    p_holm: Floats
    n_queries: int


def compare_pairs(
    values: npt.ArrayLike,
    *,
    baseline: int | None = None,
    test: str = "randomisation",
    greater_is_better: bool = True,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairTable:
    """Compare every pair of rankers, or every ranker with a baseline.

    p-values are corrected over all pairs of rankers in both cases, as in ``tiers``: a pair has one
    p-value, wherever it is shown.

    Parameters
    ----------
    values : one row per ranker, one column per query; a query that is NaN for all is left out
    baseline : row of the ranker that all others are compared with; None compares all pairs
    test : ``"randomisation"``, ``"t"`` or ``"wilcoxon"``
    greater_is_better : direction of the metric; it decides what wins and losses are
    confidence, n_resamples, seed : of the bootstrap interval and the randomisation test
    """
    rows = _comparable(values)
    all_pairs = _all_pairs(len(rows))
    differences = pair_differences(rows, all_pairs)
    p = p_values(differences, test, n_resamples=n_resamples, seed=seed)
    shown, turned = _shown_pairs(all_pairs, len(rows), baseline)
    pairs = np.where(turned[:, None], all_pairs[shown][:, ::-1], all_pairs[shown])
    differences = np.where(turned[:, None], -differences[shown], differences[shown])
    low, high = bootstrap_interval(
        differences, confidence=confidence, n_resamples=n_resamples, seed=seed
    )
    wins, ties, losses = win_tie_loss(differences if greater_is_better else -differences)
    return PairTable(
        first=pairs[:, 0],
        second=pairs[:, 1],
        difference=differences.mean(axis=1),
        low=low,
        high=high,
        effect=effect_size(differences),
        wins=wins,
        ties=ties,
        losses=losses,
        p=p[shown],
        p_holm=holm(p)[shown],
        n_queries=rows.shape[1],
    )


def p_values(
    differences: npt.ArrayLike, test: str, *, n_resamples: int = 10_000, seed: int = 0
) -> Floats:
    """p-values of each row by the test of a name, without correction."""
    if test == "randomisation":
        return randomisation(differences, n_resamples=n_resamples, seed=seed)
    if test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(TESTS)}, not {test!r}")
    return paired_t(differences) if test == "t" else wilcoxon(differences)


def tiers(
    values: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    test: str = "randomisation",
    greater_is_better: bool = True,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> list[list[int]]:
    """Groups of rankers without a significant difference, the best group first.

    Two rankers share a tier exactly if their difference is not significant: if the p-value of their
    pair, corrected by Holm over all pairs, is above ``alpha``. Every tier is as large as it can be.
    Since "no significant difference" need not carry over from a to b and b to c, tiers may overlap;
    this is the compact letter display of Piepho (2004). Inside a tier rankers are listed by their
    mean, which says nothing about them that is significant.
    """
    require_number(alpha, "alpha", "between 0 and 1", lambda x: 0 < x < 1)
    rows = _comparable(values)
    means = rows.mean(axis=1) if greater_is_better else -rows.mean(axis=1)
    pairs = _all_pairs(len(rows))
    differences = pair_differences(rows, pairs)
    p = holm(p_values(differences, test, n_resamples=n_resamples, seed=seed))
    groups = [frozenset(range(len(rows)))]
    for first, second in pairs[p <= alpha].tolist():
        parts = []
        for group in groups:
            both = first in group and second in group
            parts += [group - {first}, group - {second}] if both else [group]
        groups = [g for g in dict.fromkeys(parts) if not any(g < other for other in parts)]
    best_first = np.lexsort((np.arange(len(rows)), -means)).tolist()
    place = {ranker: rank for rank, ranker in enumerate(best_first)}
    listed = [sorted(group, key=place.__getitem__) for group in groups]
    return sorted(listed, key=lambda group: [place[ranker] for ranker in group])


def tier_letters(groups: Sequence[Sequence[int]]) -> list[str]:
    """Letters of each ranker by its tiers: 'a' for the first, 'ab' for one in the first two.

    Rankers without a letter in common differ significantly. Beyond z tiers count aa, ab, ...
    """
    n_rankers = 1 + max((ranker for group in groups for ranker in group), default=-1)
    letters = [""] * n_rankers
    for number, group in enumerate(groups):
        letter = _letter(number)
        for ranker in group:
            joint = "," if letters[ranker] and len(groups) > 26 else ""
            letters[ranker] += joint + letter
    return letters


def _letter(number: int) -> str:
    high, low = divmod(number, 26)
    return ("" if high == 0 else _letter(high - 1)) + chr(ord("a") + low)


def _comparable(values: npt.ArrayLike) -> Floats:
    """Return the values of the queries that every ranker has; others are left out."""
    rows = as_numbers(values, "values").astype(np.float64)
    if rows.ndim != 2:
        raise ValueError(f"values must have a row per ranker and a column per query: {rows.shape}")
    absent = np.isnan(rows)
    _require_same_queries(absent)
    counted: Floats = rows[:, ~absent.any(axis=0)]
    if not np.isfinite(counted).all():
        raise ValueError("values must be finite numbers, or NaN for queries that are left out")
    if not counted.shape[1]:
        raise ValueError("there is no query to compare rankers on")
    return counted


def _require_same_queries(absent: npt.NDArray[np.bool_]) -> None:
    uneven = np.flatnonzero(absent.any(axis=0) & ~absent.all(axis=0))
    if len(uneven):
        raise ValueError(
            f"query {uneven[0]} has a value for some and NaN for others: rankers must be measured "
            "on the same queries"
        )


def _all_pairs(n_rankers: int) -> Whole:
    return np.array(list(combinations(range(n_rankers), 2)), np.int64).reshape(-1, 2)


def _shown_pairs(
    pairs: Whole, n_rankers: int, baseline: int | None
) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """Return the pairs with the baseline, and which of them have it in the first place."""
    if baseline is None:
        return np.arange(len(pairs)), np.zeros(len(pairs), np.bool_)
    require_integer(baseline, "baseline")
    if not 0 <= baseline < n_rankers:
        raise ValueError(f"baseline must be a row of the {n_rankers} rankers, not {baseline!r}")
    shown = np.flatnonzero((pairs == baseline).any(axis=1))
    shown = shown[np.argsort(pairs[shown].sum(axis=1), kind="stable")]  # by the other ranker
    return shown, pairs[shown, 0] == baseline


def _require_draws(n_resamples: int, seed: int) -> None:
    require_integer(n_resamples, "n_resamples", 1)
    require_integer(seed, "seed", 0)


def _as_rows(differences: npt.ArrayLike) -> Floats:
    rows = np.atleast_2d(as_numbers(differences, "differences").astype(np.float64))
    if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
        raise ValueError(f"differences must be finite numbers, a row per pair: {rows.shape}")
    return rows


def _by_row(differences: npt.ArrayLike, test: Callable[[Floats], float]) -> Floats:
    """Apply a test of scipy to each row that has something to test."""
    return np.array(
        [float(test(row)) if row.any() and len(row) > 1 else 1.0 for row in _as_rows(differences)]
    )


def _all_signs(n_queries: int) -> Iterator[Floats]:
    begin = 0
    for size in _blocks(2**n_queries, n_queries):
        numbers = np.arange(begin, begin + size)
        yield _as_signs(numbers[:, None] >> np.arange(n_queries) & 1)
        begin += size


def _random_signs(n_queries: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    for size in _blocks(n_resamples, n_queries):
        bits = np.unpackbits(np.frombuffer(rng.bytes(size * -(-n_queries // 8)), np.uint8))
        yield _as_signs(bits.reshape(size, -1)[:, :n_queries])


def _as_signs(bits: npt.NDArray[Any]) -> Floats:
    signs: Floats = 1.0 - 2.0 * bits.astype(np.float64)
    return signs


def _blocks(n_resamples: int, n_queries: int) -> Iterator[int]:
    size = max(1, _BLOCK // n_queries)
    for begin in range(0, n_resamples, size):
        yield min(size, n_resamples - begin)
