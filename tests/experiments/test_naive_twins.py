"""Naive twins: each ranker that corrects clicks beside itself without the correction."""

from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking, simulate_clicks
from rankgrove.experiments.specs import read_specs, with_naive_twins


def test_twins_differ_by_the_correction_alone():
    text = "lambdamart:n_estimators=3,position_bias=unbiased,position_bias_reg=2"
    mart = rankgrove.MART(n_estimators=4, position_bias="ips", max_click_weight=3.0)
    specs = with_naive_twins(read_specs([text, mart, "rf-point"]))
    labels = [spec.label for spec in specs]
    assert labels == ["lambdamart", "lambdamart (naive)", "mart", "mart (naive)", "rf-point"]
    assert specs[1].settings == ({"n_estimators": 3},)
    assert specs[3].estimator.get_params() == rankgrove.MART(n_estimators=4).get_params()


def test_without_a_correction_there_is_no_twin():
    with pytest.raises(ValueError, match="no ranker has a position_bias"):
        with_naive_twins(read_specs(["mart"]))


@pytest.fixture(scope="module")
def clicks():
    judged = make_ranking(30, docs_per_query=12, n_features=6, seed=1)
    log = simulate_clicks(judged, n_sessions=200, ranker=judged.X[:, 0], exploration=0.5, seed=2)
    return rankgrove.Dataset(
        judged.X[log["row"].to_numpy()],
        log["clicked"].to_numpy().astype(float),
        log["session"].to_numpy().astype(np.int64),
        position=log["position"].to_numpy(),
    )


def compared(clicks):
    rankers = ["lambdamart:n_estimators=2,position_bias=unbiased"]
    return rankgrove.compare(clicks, rankers, naive_twin=True, max_folds=1, metrics="ndcg@10")


@pytest.mark.filterwarnings("ignore::rankgrove.DataWarning")
def test_the_table_says_when_the_difference_is_not_real(clicks):
    found = str(compared(clicks))
    assert "lambdamart against its naive twin" in found
    assert "no significant difference" in found


@pytest.mark.filterwarnings("ignore::rankgrove.DataWarning")
def test_a_small_p_value_is_not_written_as_0(clicks, monkeypatch):
    found = compared(clicks)
    real = found.pairs

    def pairs(*arguments, **options):
        names, table = real(*arguments, **options)
        return names, replace(table, p_holm=np.full_like(table.p_holm, 1e-5))

    monkeypatch.setattr(found, "pairs", pairs)
    assert "p < 0.0001 (Holm): significantly" in str(found)
