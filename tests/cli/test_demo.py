"""``rankgrove demo``."""

from __future__ import annotations

import json

import pytest


def test_trains_prints_and_writes_a_page(rankgrove, tmp_path):
    pytest.importorskip("plotly")
    run = rankgrove("demo", "--queries", 6, "--rankers", "lambdamart", "rf-point", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    rankers = {result["ranker"]: result for result in found["results"]}
    assert {"LambdaMART", "RFPoint"} < set(rankers)
    assert rankers["feature bm25_whole"]["fit_seconds"] is None
    for name in ("ndcg@10", "err", "map"):
        assert 0 < rankers["RFPoint"][name] <= 1
    assert (tmp_path / found["page"]).stat().st_size > 1_000_000


def test_unknown_ranker_is_a_usage_error(rankgrove):
    run = rankgrove("demo", "--rankers", "lambda-mart")
    assert run.returncode == 2
    assert "unknown choice 'lambda-mart': did you mean 'lambdamart'?" in run.stderr
