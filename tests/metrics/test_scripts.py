"""Presets of published evaluation scripts, against code that follows their description."""

import numpy as np
import pytest

from metrics.ranking_cases import random_case
from oracles import evaluation_scripts as scripts
from rankgrove import metric

SEEDS = range(5)
CUTOFFS = [1, 2, 3, 4, 5, 8, 10, 16]


def check(text, preset, case, formula):
    measured = metric(text, preset=preset)
    expected = [formula(scripts.ranked_labels(y, s)) for y, s in case.queries()]
    values = measured.per_query(case.y, case.scores, group_sizes=case.sizes)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    mean = measured(case.y, case.scores, group_sizes=case.sizes)
    assert mean == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("preset", "max_grade", "relevant_from"),
    [("letor3", 2, 1), ("letor4", 2, 1), ("mslr", 4, 2)],
)
def test_letor_and_mslr_scripts(preset, max_grade, relevant_from, seed):
    case = random_case(seed, max_grade=max_grade)
    for n in CUTOFFS:
        check(f"ndcg@{n}", preset, case, lambda ranked, n=n: scripts.letor_ndcg(ranked, n))
        check(
            f"p@{n}",
            preset,
            case,
            lambda ranked, n=n: scripts.letor_precision(ranked, n, relevant_from, preset),
        )
    check("meanndcg", preset, case, scripts.letor_mean_ndcg)
    check(
        "map", preset, case, lambda ranked: scripts.letor_average_precision(ranked, relevant_from)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_yahoo_script(seed):
    case = random_case(seed)
    check("ndcg@10", "yahoo", case, scripts.yahoo_ndcg)
    check("err", "yahoo", case, scripts.yahoo_err)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranklib(seed):
    case = random_case(seed)
    for k in CUTOFFS:
        check(f"ndcg@{k}", "ranklib", case, lambda r, k=k: scripts.ranklib_ndcg(r, k))
        check(f"dcg@{k}", "ranklib", case, lambda r, k=k: scripts.ranklib_dcg(r, k))
        check(f"p@{k}", "ranklib", case, lambda r, k=k: scripts.ranklib_precision(r, k))
        check(f"mrr@{k}", "ranklib", case, lambda r, k=k: scripts.ranklib_reciprocal_rank(r, k))
        check(f"err@{k}", "ranklib", case, lambda r, k=k: scripts.ranklib_err(r, k))
        check(f"map@{k}", "ranklib", case, scripts.ranklib_map)  # RankLib's MAP ignores k
