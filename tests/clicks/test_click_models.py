"""Click models: closed forms beside loops, E-steps beside enumeration, recovery of the truth."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.click_models import dbn_conditional, dbn_posterior, examination_model, sdbn
from rankgrove import DataError
from rankgrove.clicks import MODELS, ClickLog, fit_click_model
from rankgrove.clicks.models import dbn, pbm, ubm
from rankgrove.datasets import make_ranking, simulate_clicks

SESSIONS = st.lists(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.booleans()),
        min_size=1,
        max_size=5,
        unique_by=lambda shown: shown[0],
    ),
    min_size=1,
    max_size=6,
).filter(lambda sessions: len({click for shown in sessions for _, click in shown}) == 2)


def table(sessions):
    rows = [
        ("q", document, k, int(click), f"s{number}")
        for number, shown in enumerate(sessions)
        for k, (document, click) in enumerate(shown, 1)
    ]
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(list(column)) for column in columns],
        names=["query", "document", "position", "clicked", "session"],
    )


def by_document(fit, values):
    return dict(zip(fit.log.documents.to_pylist(), np.asarray(values).tolist(), strict=True))


@given(SESSIONS)
def test_sdbn_counts_as_a_loop_does(sessions):
    fit = fit_click_model(table(sessions), "sdbn", prior=2)
    expected = sdbn(sessions)
    attractiveness = by_document(fit, fit.parameters["attractiveness"])
    satisfaction = by_document(fit, fit.parameters["satisfaction"])
    for document, (examined, clicks, last) in expected.items():
        assert attractiveness[document] == pytest.approx((clicks + 1) / (examined + 2))
        assert satisfaction[document] == pytest.approx((last + 1) / (clicks + 2))


@given(SESSIONS)
def test_cascade_and_dcm_examine_to_the_first_and_the_last_click(sessions):
    cascade, dcm = (fit_click_model(table(sessions), name, prior=0) for name in ("cascade", "dcm"))
    trials: dict = {}
    for shown in sessions:
        clicked = [k for k, (_, click) in enumerate(shown) if click]
        for k, (document, _) in enumerate(shown):
            counts = trials.setdefault(document, [0, 0])
            counts[0] += not clicked or k <= clicked[0]
            counts[1] += not clicked or k <= clicked[-1]
    assert by_document(cascade, cascade.trials) == {d: n[0] for d, n in trials.items()}
    assert by_document(dcm, dcm.trials) == {d: n[1] for d, n in trials.items()}


@settings(deadline=None)
@given(SESSIONS, st.integers(0, 100), st.floats(0.05, 0.95))
def test_the_expectations_of_dbn_are_those_of_all_hidden_paths(sessions, seed, gamma):
    log = ClickLog.of(table(sessions))
    rng = np.random.default_rng(seed)
    a, s = rng.uniform(0.1, 0.9, log.n_pairs), rng.uniform(0.1, 0.9, log.n_pairs)
    rows_a, rows_s = a[log.pair], s[log.pair]
    after = dbn._no_click_after(log, rows_a, gamma)
    examined, satisfied, likelihood = dbn._expectations(log, rows_a, rows_s, gamma, after)
    expected = 0.0
    for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        rows = slice(begin, end)
        e, z, value = dbn_posterior(log.clicked[rows], rows_a[rows], rows_s[rows], gamma)
        np.testing.assert_allclose(examined[rows], e, atol=1e-12)
        np.testing.assert_allclose(satisfied[rows], z, atol=1e-12)
        expected += value
    assert likelihood == pytest.approx(expected)


@settings(deadline=None)
@given(SESSIONS, st.sampled_from(["pbm", "ubm", "dbn"]))
def test_no_iteration_of_em_lowers_the_likelihood(sessions, name):
    fit = fit_click_model(table(sessions), name, prior=0, max_iter=20)
    assert (np.diff(fit.log_likelihood) > -1e-9).all()


@settings(deadline=None)
@given(SESSIONS, st.integers(0, 100), st.floats(0.05, 0.95))
def test_the_likelihood_of_dbn_is_that_of_its_conditional_chances(sessions, seed, gamma):
    log = ClickLog.of(table(sessions))
    random = np.random.default_rng(seed)
    a, s = random.uniform(0.05, 0.95, (2, log.n_pairs))
    rows = a[log.pair], s[log.pair]
    none_after = dbn._no_click_after(log, rows[0], gamma)
    *_, likelihood = dbn._expectations(log, *rows, gamma, none_after)
    expected = sum(
        dbn_conditional(log.clicked[begin:end], rows[0][begin:end], rows[1][begin:end], gamma)
        for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True)
    )
    assert likelihood == pytest.approx(expected)


def position(shown, k):
    return k + 1


def position_and_last_click(shown, k):
    return k + 1, max((j for j in range(k) if shown[j][1]), default=-1) + 1


@settings(deadline=None)
@given(SESSIONS, st.integers(1, 4))
def test_em_of_pbm_and_ubm_is_that_of_a_loop(sessions, n_iterations):
    for context in (position, position_and_last_click):
        relevance, examination = examination_model(sessions, context, n_iterations, 2.0)
        log = ClickLog.of(table(sessions))
        numbers = log.position - 1
        if context is position_and_last_click:
            depth = int(log.position.max()) + 1
            numbers = (log.position - 1) * depth + ubm.previous_click(log)
        found, chances, _ = pbm.examination_em(log, numbers, 2.0, n_iterations)
        for document, value in zip(log.documents.to_pylist(), found, strict=True):
            assert value == pytest.approx(relevance[document], abs=1e-5)
        for key, value in examination.items():
            place = key - 1 if context is position else (key[0] - 1) * depth + key[1]
            assert chances[place] == pytest.approx(value, abs=1e-5)


def test_the_e_step_of_pbm_is_bayes_rule():
    log = ClickLog.of(table([[("a", False), ("b", True)]]))
    relevance, examination, _ = pbm.examination_em(log, log.position - 1, 0.0, 1)
    # From 1/2 and 1/2: P(R = 1 | no click) = P(E = 1 | no click) = (1/4) / (3/4)
    assert by_document_of(log, relevance) == pytest.approx({"a": 1 / 3, "b": 1})
    np.testing.assert_allclose(examination, [1 / 3, 1])


def by_document_of(log, values):
    return dict(zip(log.documents.to_pylist(), values.tolist(), strict=True))


def test_ubm_knows_the_click_before():
    log = ClickLog.of(table([[("a", False), ("b", True), ("c", False), ("d", True), ("e", False)]]))
    assert ubm.previous_click(log).tolist() == [0, 0, 2, 2, 4]


@pytest.fixture(scope="module")
def judged():
    return make_ranking(60, preset="letor4", seed=3)


@pytest.fixture(scope="module")
def explored(judged):
    """Clicks on lists that change from session to session."""
    return simulate_clicks(judged, n_sessions=40_000, top_k=6, exploration=2.0,
                           ranker=judged.y + judged.X[:, 0], seed=1)  # fmt: skip


def test_pbm_recovers_examination_within_5_percent(explored):
    fit = fit_click_model(explored, "pbm", prior=0, max_iter=500)
    truth = 1 / np.arange(1, 7)
    np.testing.assert_allclose(fit.parameters["examination"], truth, rtol=0.05)


def test_dbn_recovers_perseverance(judged):
    clicks = simulate_clicks(judged, n_sessions=20_000, model="dbn", top_k=8, exploration=2.0,
                             ranker=judged.X[:, 0], seed=2)  # fmt: skip
    fit = fit_click_model(clicks, "dbn", max_iter=300)
    assert fit.parameters["perseverance"] == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("name", MODELS)
def test_relevance_follows_the_grades_whatever_the_positions(judged, explored, name):
    fit = fit_click_model(explored, name)
    rows = np.zeros(fit.log.n_pairs, np.int64)
    numbered = dict(zip(explored["document"].to_pylist(), explored["row"].to_pylist(), strict=True))
    rows[:] = [numbered[document] for document in fit.log.documents.to_pylist()]
    seen = fit.trials > 50
    grades = judged.y[rows]
    means = [fit.relevance[seen & (grades == grade)].mean() for grade in np.unique(judged.y)]
    assert (np.diff(means) > 0).all()


def test_judgments_hold_counts_and_weights():
    fit = fit_click_model(table([[("a", True), ("b", False)], [("a", False)]]), "ctr", prior=2)
    found = {row["document"]: row for row in fit.judgments().to_pylist()}
    assert found["a"] == {"query": "q", "document": "a", "grade": 0.5, "weight": 4 / 3,
                          "impressions": 2, "clicks": 1}  # fmt: skip
    assert found["b"]["grade"] == pytest.approx(1 / 3)
    assert [row["document"] for row in fit.judgments(min_impressions=2).to_pylist()] == ["a"]


def test_the_order_of_rows_does_not_matter():
    log = table([[("a", True), ("b", False)], [("b", True), ("a", False)]])
    shuffled = log.take([3, 0, 2, 1])
    for name in MODELS:
        one, other = (fit_click_model(t, name) for t in (log, shuffled))
        assert by_document(one, one.relevance) == pytest.approx(by_document(other, other.relevance))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns("position"), "no column 'position'"),
        (lambda t: t.slice(0, 0), "there are no impressions"),
        (lambda t: pa.concat_tables([t, t]), "shows two documents at position 1"),
        (lambda t: t.append_column("propensity", pa.array([0.5, 0.0])), "a propensity is 0"),
    ],
)
def test_bad_logs_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        fit_click_model(change(table([[("a", True), ("b", False)]])))


def test_bad_parameters_are_refused():
    log = table([[("a", True)]])
    with pytest.raises(ValueError, match="model must be one of ctr"):
        fit_click_model(log, "pyclick")
    with pytest.raises(ValueError, match="prior must be at least 0, not -1"):
        fit_click_model(log, prior=-1)
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        fit_click_model(log, max_iter=0)
