"""Interleaving: fair lists, unbiased credit, and the analysis of an experiment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgrove import DataError
from rankgrove.clicks import analyse_interleaving, interleave, sessions_needed

RANKINGS = st.permutations(list("abcdef")).map(lambda r: r[:5])


@given(RANKINGS, RANKINGS, st.integers(1, 8), st.integers(0, 20),
       st.sampled_from(["team-draft", "balanced"]))  # fmt: skip
def test_lists_hold_the_best_documents_of_both(a, b, length, seed, method):
    merged = interleave(a, b, length=length, seed=seed, method=method)
    shown = merged.documents
    assert len(set(shown)) == len(shown) == min(length, len({*a, *b}))
    prefixes = [{*a[:i], *b[:j]} for i in range(6) for j in range(6)]
    assert set(shown) in prefixes
    assert shown[0] in (a[0], b[0])


@given(RANKINGS, RANKINGS, st.integers(0, 1000))
def test_credit_of_balanced_lists_is_unbiased(a, b, seed):
    """The mean credit over both coins is the difference of expected clicks, for any relevance."""
    relevance = dict(zip("abcdef", np.random.default_rng(seed).random(6), strict=True))
    lists: dict = {}
    for coin in range(40):
        merged = interleave(a, b, length=5, method="balanced", seed=coin)
        lists[tuple(merged.documents)] = merged
    values = [
        sum(
            relevance[d] / k * c for k, d, c in zip(range(1, 6), m.documents, m.credit, strict=True)
        )
        for m in lists.values()
    ]
    shown = {d for documents in lists for d in documents}
    depth = max(n for n in range(6) if {*a[:n], *b[:n]} <= shown)
    assert depth >= 2
    alone = [sum(relevance[d] / k for k, d in enumerate(r[:depth], 1)) for r in (a, b)]
    assert np.mean(values) == pytest.approx(alone[0] - alone[1])


def test_no_balanced_ranking_is_preferred_if_all_documents_are_alike():
    """A lists documents as its fourth and B as its third that are never shown."""
    a, b, lists = list("abcde"), list("cefab"), {}
    for coin in range(20):
        merged = interleave(a, b, length=4, method="balanced", seed=coin)
        lists[tuple(merged.documents)] = sum(c / k for k, c in enumerate(merged.credit, 1))
    assert {d for documents in lists for d in documents} == {*"abce"}
    assert np.mean(list(lists.values())) == pytest.approx(0)


def test_team_draft_gives_both_rankers_the_same_chances():
    firsts = [interleave(["a", "b"], ["c", "d"], seed=seed).documents[0] for seed in range(400)]
    assert 160 < firsts.count("a") < 240
    equal = interleave(["a", "b"], ["a", "b"], length=2, seed=1)
    assert sorted(equal.documents) == ["a", "b"]


def simulated_preference(a, b, relevance, method, n_sessions=4000):
    rng = np.random.default_rng(1)
    session, credit = [], []
    for number in range(n_sessions):
        merged = interleave(a, b, length=4, method=method, seed=number)
        for k, (document, value) in enumerate(zip(merged.documents, merged.credit, strict=True), 1):
            clicked = rng.random() < relevance[document] / k
            session.append(number)
            credit.append(value if clicked else 0.0)
    return analyse_interleaving(session, credit)


@pytest.mark.parametrize("method", ["team-draft", "balanced"])
def test_the_better_ranking_is_preferred(method):
    relevance = {"a": 0.9, "b": 0.5, "c": 0.2, "d": 0.1}
    found = simulated_preference(list("abcd"), list("dcba"), relevance, method)
    assert found.mean > 0
    assert found.p_value < 1e-6
    assert "A is preferred" in str(found)
    level = simulated_preference(list("abcd"), list("abcd"), relevance, method)
    assert level.low <= 0 <= level.high


def test_analysis_is_the_t_test_over_sessions():
    from scipy.stats import ttest_1samp

    session, credit = [1, 1, 2, 3, 3, 4], [1.0, -1.0, 1.0, 1.0, 0.0, -1.0]
    found = analyse_interleaving(session, credit)
    expected = ttest_1samp([0.0, 1.0, 1.0, -1.0], 0)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.wins, found.losses, found.n_sessions) == (2, 1, 4)


def test_the_planner_reaches_its_power():
    n = sessions_needed(0.05, 1.0)
    rng = np.random.default_rng(1)
    found = sum(
        analyse_interleaving(np.arange(n), rng.normal(0.05, 1.0, n)).p_value < 0.05
        for _ in range(200)
    )
    assert 140 <= found <= 180
    with pytest.raises(ValueError, match="difference must be a number other than 0"):
        sessions_needed(0, 1)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="the ranking b lists a document twice"):
        interleave(["a"], ["b", "b"])
    with pytest.raises(ValueError, match="method must be"):
        interleave(["a"], ["b"], method="probabilistic")
    with pytest.raises(ValueError, match="examination has no effect"):
        interleave(["a"], ["b"], examination=[1.0])
    with pytest.raises(DataError, match="at least 2 sessions, not 1"):
        analyse_interleaving([1], [0.5])


@pytest.mark.parametrize(
    ("session", "credit", "message"),
    [
        (["a", None], [1, -1], "session of row 1 is missing"),
        ([1, np.nan, 2], [1, 0, 0], "session of row 1 is missing"),
        ([1, 2, 3], [1, np.nan, 0], "credit of row 1 is nan"),
        ([1, 2], [1], r"same length: they have the shapes \(2,\) and \(1,\)"),
    ],
)
def test_bad_rows_of_an_interleaving_log_are_named(session, credit, message):
    with pytest.raises(DataError, match=message):
        analyse_interleaving(session, credit)
