"""Off-policy estimates: unbiased on simulated truth, with intervals that cover it."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from rankgrove import DataError
from rankgrove.clicks import (
    ClickLog,
    estimate_clicks,
    estimate_value,
    fit_click_model,
    given_propensities,
)
from rankgrove.datasets import make_ranking, simulate_clicks

PROPENSITIES = given_propensities(1 / np.arange(1, 11))


def test_estimators_are_their_formulas():
    r, w = np.tile([0.0, 1.0, 1.0, 0.0], 10), np.tile([2.0, 0.5, 1.0, 0.5], 10)
    assert estimate_value(r, w, estimator="ips").value == pytest.approx(1.5 / 4)
    assert estimate_value(r, w, estimator="snips").value == pytest.approx(1.5 / 4)
    predicted, new = np.full(40, 0.25), np.full(40, 0.5)
    found = estimate_value(r, w, estimator="dr", predicted=predicted, predicted_new=new)
    assert found.value == pytest.approx((4 * 0.5 + 1.5 - 0.25 * 4) / 4)
    clipped = estimate_value(r, w, estimator="ips", clip=1.0)
    assert clipped.clipped == 0.25
    assert clipped.effective_size == pytest.approx(10 * 3**2 / 2.5)
    sessions = estimate_value(r, w, estimator="ips", session=np.repeat(np.arange(10), 4))
    assert sessions.value == pytest.approx(1.5)


@pytest.fixture(scope="module")
def judged():
    return make_ranking(80, preset="letor4", seed=9)


def expected_clicks(judged, table, scores):
    """Mean clicks of the lists of a log if sorted by scores: the simulation's own probabilities."""
    log = ClickLog.of(table)
    order = np.lexsort((table["position"].to_numpy(), np.asarray(table["session"]).astype(int)))
    rows = table["row"].to_numpy()[order]
    r = 0.1 + 0.9 * (2 ** judged.y[rows] - 1) / (2 ** judged.y.max() - 1)
    total = 0.0
    for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        ranked = np.argsort(-scores[rows[begin:end]], kind="stable")
        total += (r[begin:end][ranked] / np.arange(1, end - begin + 1)).sum()
    return total / log.n_sessions, scores[rows]


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_intervals_cover_the_truth(judged, estimator):
    """Of 60 intervals of 95 %, at least 51 cover (fewer has a probability below 0.002)."""
    scores = judged.y + 0.1 * np.arange(judged.n_rows) / judged.n_rows
    covered = 0
    for seed in range(60):
        table = simulate_clicks(judged, n_sessions=300, ranker=judged.X[:, 2], seed=seed)
        truth, new = expected_clicks(judged, table, scores)
        more = {}
        if estimator == "dr":
            fit = fit_click_model(table, "ctr")
            more = {"relevance": np.minimum(2 * fit.row_relevance(), 1)}
        found = estimate_clicks(table, new, PROPENSITIES, estimator=estimator, **more)
        covered += found.low <= truth <= found.high
    assert covered >= 51


def test_the_shown_order_itself_is_estimated_by_its_clicks(judged):
    table = simulate_clicks(judged, n_sessions=500, ranker=judged.X[:, 2], seed=1)
    found = estimate_clicks(table, -table["position"].to_numpy(), PROPENSITIES)
    assert found.value == pytest.approx(np.asarray(table["clicked"]).sum() / 500)
    assert "effective sample size" in str(found)


@pytest.mark.parametrize("reward", ["clicks", "dcg"])
@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_equal_scores_have_the_mean_of_their_orders(judged, estimator, reward):
    table = simulate_clicks(judged, n_sessions=200, ranker=judged.X[:, 2], seed=1)
    position = table["position"].to_numpy()
    session = table["session"].to_numpy()
    whole = np.isin(session, session[position == 10])
    table, position = table.filter(whole), position[whole]
    more = {"relevance": np.full(len(table), 0.3)} if estimator == "dr" else {}
    options = {"estimator": estimator, "reward": reward, **more}
    cycles = [(position + shift) % 10 for shift in range(10)]  # each document at every place once
    values = [estimate_clicks(table, x, PROPENSITIES, **options).value for x in cycles]
    tied = estimate_clicks(table, np.zeros(len(table)), PROPENSITIES, **options).value
    assert tied == pytest.approx(np.mean(values))
    assert np.std(values) > 0


def test_sessions_are_known_and_several():
    rewards, weights = np.ones(40), np.ones(40)
    with pytest.raises(DataError, match="at least 2 sessions"):
        estimate_value(rewards, weights, session=np.zeros(40))
    for missing in (np.nan, None):
        session = np.array([missing, *range(39)], object if missing is None else float)
        with pytest.raises(DataError, match="session of row 0 is missing"):
            estimate_value(rewards, weights, session=session)


@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_the_order_of_impressions_does_not_matter(judged, estimator):
    table = simulate_clicks(judged, n_sessions=200, ranker=judged.X[:, 2], seed=1)
    mixed = table.take(np.random.default_rng(0).permutation(table.num_rows))
    values = []
    for one in (table, mixed, ClickLog.of(mixed)):
        rows = (table if one is table else mixed)["row"].to_numpy()
        more = {"relevance": fit_click_model(one, "ctr").row_relevance()}
        options = {"estimator": estimator, **(more if estimator == "dr" else {})}
        values.append(estimate_clicks(one, judged.y[rows], PROPENSITIES, **options).value)
    assert values[0] == pytest.approx(values[1]) == pytest.approx(values[2])


def test_a_log_without_support_is_refused():
    with pytest.raises(DataError, match=r"does not support this policy: .* 1.0 of 100 rows"):
        estimate_value(np.ones(100), np.r_[1.0, np.zeros(99)], estimator="ips")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0]), "1 rewards and 2 weights"),
        (([1.0] * 20, [-1.0] * 20), "at least 0"),
        (([np.nan] * 20, [1.0] * 20), "rewards must be a list of finite numbers"),
    ],
)
def test_bad_rows_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        estimate_value(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip": 0.0}, "clip must be above 0"),
        ({"clip": -1.0}, "clip must be above 0"),
        ({"confidence": 95}, "confidence must be between 0 and 1, such as 0.95, not 95"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        estimate_value([1.0] * 20, [1.0] * 20, **options)


def test_clipped_weights_are_counted():
    found = estimate_value(np.ones(100), np.r_[np.ones(90), np.full(10, 9.0)], clip=3.0)
    assert found.clipped == pytest.approx(0.1)
    assert found.effective_size == pytest.approx(120**2 / 180)
    assert "effective sample size 80, 10.0% of the weights clipped" in str(found)


def test_predictions_belong_to_dr():
    with pytest.raises(ValueError, match="belong to estimator='dr'"):
        estimate_value([1.0] * 20, [1.0] * 20, estimator="dr")
    with pytest.raises(ValueError, match="by which snips divides"):
        estimate_clicks(None, [], PROPENSITIES, estimator="snips")


def open_bandit(path):
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if content[:2] == b"PK":
        archive = zipfile.ZipFile(io.BytesIO(content))
        content = archive.read(archive.namelist()[0])
    import pyarrow.csv

    return pyarrow.csv.read_csv(io.BytesIO(content))


@pytest.mark.data
def test_the_value_of_one_policy_from_the_log_of_the_other(letor_data):
    folder = letor_data / "open-bandit"
    if not folder.is_dir():
        pytest.skip("no Open Bandit data")
    random, sampled = (open_bandit(folder / f"{name}-all.csv.gz") for name in ("random", "bts"))
    items = 1 + max(int(np.max(t["item_id"])) for t in (random, sampled))
    place = {
        name: np.asarray(t["item_id"]) + items * (np.asarray(t["position"]) - 1)
        for name, t in (("random", random), ("bts", sampled))
    }
    positions = int(np.max(random["position"]))
    counts = np.bincount(place["bts"], minlength=items * positions).reshape(positions, items)
    policy = (counts / counts.sum(axis=1, keepdims=True)).ravel()
    weights = policy[place["random"]] / np.asarray(random["propensity_score"])
    found = estimate_value(np.asarray(random["click"], float), weights, estimator="snips")
    truth = float(np.mean(np.asarray(sampled["click"], float)))
    assert found.low <= truth <= found.high
