"""Calibrated rankers: heads against slow definitions, probabilities, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.metrics import reliability
from rankgrove.rankers.base.calibration import isotonic_head, platt_head
from support.rankers import quick


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, docs_per_query=12, n_features=6, seed=3)


@pytest.fixture(scope="module")
def valid():
    return make_ranking(60, docs_per_query=12, n_features=6, seed=4)


def calibrated(**params):
    common = {"ranker": "lambdamart:n_estimators=15", "random_state": 0, "n_jobs": 1}
    return rankgrove.Calibrated(**{**common, **params})


def pooled(scores, relevant):
    """Pool adjacent violators, one block at a time."""
    blocks = [list(relevant[scores == score]) for score in np.unique(scores)]
    i = 0
    while i + 1 < len(blocks):
        if np.mean(blocks[i]) >= np.mean(blocks[i + 1]):
            blocks[i : i + 2] = [blocks[i] + blocks[i + 1]]
            i = max(i - 1, 0)
        else:
            i += 1
    return np.concatenate([[np.mean(values)] * len(values) for values in blocks])


def test_isotonic_head_pools_adjacent_violators():
    rng = np.random.default_rng(1)
    scores = np.round(rng.normal(size=80), 1)
    relevant = (rng.random(80) < 1 / (1 + np.exp(-2 * scores))).astype(float)
    head = isotonic_head(scores, relevant)
    np.testing.assert_allclose(head(np.sort(scores)), pooled(scores, relevant), atol=1e-12)
    assert head(np.array([-99.0]))[0] == head(scores[[scores.argmin()]])[0]
    assert (np.diff(head(np.linspace(-3, 3, 200))) >= 0).all()


def test_platt_head_has_the_greatest_likelihood():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    scores = 3 + 10 * rng.normal(size=4000)
    relevant = (rng.random(4000) < 1 / (1 + np.exp(1 - 0.2 * scores))).astype(float)
    head = platt_head(scores, relevant)
    theirs = linear_model.LogisticRegression(C=1e9, tol=1e-10).fit(scores[:, None], relevant)
    np.testing.assert_allclose(head(scores), theirs.predict_proba(scores[:, None])[:, 1], atol=2e-3)
    falling = platt_head(-scores, relevant)
    assert np.ptp(falling(scores)) == 0  # a head never turns the order round


@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("held_out", [False, True])
def test_probabilities_hold_on_new_queries_and_keep_the_order(data, valid, method, held_out):
    ranker = calibrated(method=method).fit(data, eval_set=valid if held_out else None)
    test = make_ranking(150, docs_per_query=12, n_features=6, seed=8)
    probabilities = ranker.predict_proba(test)
    assert probabilities.shape == (test.n_rows, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    order = np.argsort(ranker.predict(test), kind="stable")
    assert (np.diff(probabilities[order, 1]) >= -1e-12).all()
    assert ranker.score(test, metric="ece") < 0.06
    raw = rankgrove.metric("ece")
    with pytest.raises(DataError, match="ece takes probabilities, and a score is"):
        raw(test.y, 10 * ranker.predict(test), groups=test.groups)


def test_ece_is_asked_for_the_labels_that_the_probabilities_are_of(data, valid):
    ranker = calibrated(relevant_from=2).fit(data, eval_set=valid)
    with pytest.raises(ValueError, match=r"ask for ece\(relevant_from=2\)"):
        ranker.score(valid, metric="ece")
    found = ranker.score(valid, metric="ece(relevant_from=2)")
    expected = rankgrove.metric("ece(relevant_from=2)")(
        valid.y, ranker.predict_proba(valid)[:, 1], groups=valid.groups
    )
    assert found == expected


def test_a_stream_is_measured_by_its_probabilities(data, valid, tmp_path):
    rankgrove.write_parquet(valid, tmp_path / "valid.parquet")
    ranker = calibrated().fit(data, eval_set=valid)
    streamed = ranker.score(rankgrove.scan(tmp_path / "valid.parquet"), metric="ece")
    assert streamed == ranker.score(valid, metric="ece")


def test_scores_are_those_of_the_ranker(data, valid):
    ranker = calibrated().fit(data, eval_set=valid)
    seed = ranker.draw_seed()
    alone = rankgrove.LambdaMART(n_estimators=15, random_state=seed, n_jobs=1)
    alone.fit(data, eval_set=valid)
    np.testing.assert_array_equal(ranker.predict(valid), alone.predict(valid))
    assert not hasattr(alone, "predict_proba")
    with pytest.raises(ModelError, match="the scores of LambdaMART are no probabilities"):
        alone.predict_proba(valid)
    with pytest.raises(ModelError, match="cannot tell probabilities: it is not calibrated"):
        alone.score(valid, metric="ece")


def test_file_export_and_explanation(data, valid, tmp_path):
    ranker = calibrated().fit(data, eval_set=valid)
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict_proba(valid), ranker.predict_proba(valid))
    lightgbm = pytest.importorskip("lightgbm")
    ranker.export(tmp_path / "model.txt", to="lightgbm")
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt").predict(valid.X)
    np.testing.assert_allclose(theirs, ranker.predict(valid), atol=1e-9)
    assert ranker.explain(valid).values.shape == valid.X.shape


def test_too_few_queries_are_refused_by_name(data, valid):
    few = valid.select_queries(np.arange(5))
    with pytest.raises(DataError, match=r"Calibrated needs 20 queries to .* and eval_set has 5"):
        calibrated().fit(data, eval_set=few)
    with pytest.raises(DataError, match="and the training data have 5"):
        calibrated().fit(few)
    with pytest.raises(DataError, match="n_folds of Calibrated is 7, and the training data have 5"):
        calibrated(min_queries=2, n_folds=7).fit(few)


def test_rankers_of_log_odds_tell_probabilities(data):
    for name in ("listce", "querycrossentropy"):
        ranker = quick(name).fit(data)
        probability = 1 / (1 + np.exp(-ranker.predict(data)))
        np.testing.assert_allclose(ranker.predict_proba(data)[:, 1], probability)


def test_ece_is_the_mean_gap_of_bins():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    p[:3] = 0, 1, 0.5
    y = (rng.random(200) < p**2) * 2
    sizes = [50, 0, 100, 50]
    expected = 0.0
    for low in np.arange(5) / 5:
        inside = (p >= low) & ((p < low + 0.2) | ((low == 0.8) & (p == 1)))
        expected += abs((p[inside] - (y[inside] >= 2)).sum()) / 200
    value = rankgrove.metric("ece(bins=5,relevant_from=2)")(y, p, group_sizes=sizes)
    assert value == pytest.approx(expected)
    table = reliability(p, y >= 2, 5)
    gaps = np.abs(table[:, 1] - table[:, 2])
    assert np.average(gaps, weights=table[:, 0]) == pytest.approx(expected)


def test_report_shows_reliability(data):
    from rankgrove.experiments.report import content

    rankers = {
        "head": calibrated(min_queries=5),
        "loss": rankgrove.ListCE(n_estimators=5, max_grade=4),
        "plain": rankgrove.MART(n_estimators=5),
    }
    found = content(rankgrove.compare(data, rankers, folds=3, n_jobs=1))["data"][0]["reliability"]
    assert list(found) == ["head", "loss"]
    assert sum(row[0] for row in found["head"]["bins"]) == data.n_rows
    assert 0 <= found["head"]["ece"] < 0.3


def test_command_writes_probabilities(data, valid, tmp_path):
    from rankgrove.cli.main import main

    calibrated().fit(data, eval_set=valid).save(tmp_path / "model.rg")
    quick("mart").fit(data).save(tmp_path / "mart.rg")
    rankgrove.write_parquet(valid, tmp_path / "valid.parquet")
    out = tmp_path / "out.txt"
    arguments = [str(tmp_path / "valid.parquet"), "--proba", "--out", str(out)]
    main(["predict", str(tmp_path / "model.rg"), *arguments])
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    expected = loaded.predict_proba(rankgrove.load(tmp_path / "valid.parquet"))[:, 1]
    np.testing.assert_array_equal(np.loadtxt(out), expected)
    out.unlink()
    assert main(["predict", str(tmp_path / "mart.rg"), *arguments]) != 0
    assert not out.exists()
