"""``rankgrove demo``."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("plotly")


def test_compares_and_says_which_differences_are_real(rankgrove, tmp_path):
    run = rankgrove(
        "demo", "--queries", 6, "--ranker", "lambdamart", "--ranker", "rf-point", "--json"
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (tmp_path / found["page"]).stat().st_size > 1_000_000
    rows = {row["ranker"]: row for row in found["results"]}
    assert set(rows) == {"lambdamart", "rf-point"}
    for name in ("ndcg@10", "err", "map"):
        assert 0 < rows["rf-point"][name] <= 1
        assert rows["rf-point"][f"{name} tier"]


def test_unknown_ranker_is_a_usage_error(rankgrove):
    run = rankgrove("demo", "--ranker", "lambda-mart")
    assert run.returncode == 2
    assert "unknown choice 'lambda-mart': did you mean 'lambdamart'?" in run.stderr
