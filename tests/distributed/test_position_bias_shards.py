"""Corrections of clicks on several workers: the bits of one machine, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit
from rankgrove.distributed.shard import Shard
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes

TRUST = [(0.9, 0.05), (0.5, 0.03), (0.3, 0.02), (0.2, 0.01)]
SETTINGS = {
    ("lambdamart", "ips"): {},
    ("lambdamart", "unbiased"): {},
    ("lambdamart", "additive"): {"position_bias_reg": 0.01},
    ("lambdamart", "trust"): {"trust_bias": TRUST},
    ("mart", "ips"): {},
    ("mart", "additive"): {},
    ("querysoftmax", "additive"): {},
}


@pytest.fixture(scope="module")
def clicks():
    """Positions 3 and 4 occur at the end alone, so that not every worker has all."""
    data = make_ranking(40, seed=3)
    random = np.random.default_rng(1)
    position = random.integers(1, 3, data.n_rows)
    position[-200:] = random.integers(3, 5, 200)
    return rankgrove.Dataset(
        data.X,
        (data.y >= 2).astype(float),
        data.qid,
        feature_names=data.feature_names,
        position=position,
        propensity=1 / position,
    )


@pytest.fixture(scope="module")
def tables(clicks):
    table = to_arrow(clicks)
    third = table.num_rows // 3
    return [table.slice(0, third), table.slice(third, third), table.slice(2 * third)]


def ranker_of(name, bias, **params):
    small = {"n_estimators": 8, "random_state": 0, "position_bias": bias}
    return rankgrove.make_ranker(name, **small | SETTINGS[name, bias] | params)


@pytest.mark.parametrize(("name", "bias"), SETTINGS)
def test_every_correction_has_the_bits_of_a_local_fit(name, bias, clicks, tables, threads):
    shown = {"position": "position", "propensity": "propensity"}
    local = ranker_of(name, bias).fit(clicks)
    assert local.position_bias_["position"].tolist() == [1, 2, 3, 4]
    assert to_bytes(fit(ranker_of(name, bias), tables, on=threads, **shown)) == to_bytes(local)
    assert to_bytes(fit(ranker_of(name, bias), clicks, on=threads)) == to_bytes(local)


def test_arrays_and_files(clicks, two_threads, tmp_path):
    ranker = ranker_of("lambdamart", "unbiased")
    arrays = (clicks.X, clicks.y)
    sides = {"qid": clicks.qid, "position": clicks.position}
    far = fit(ranker_of("lambdamart", "unbiased"), *arrays, **sides, on=two_threads)
    assert to_bytes(far) == to_bytes(ranker.fit(*arrays, **sides))
    rankgrove.write_parquet(clicks, tmp_path / "clicks.parquet")
    far = fit(ranker_of("lambdamart", "unbiased"), tmp_path / "clicks.parquet", on=two_threads)
    assert to_bytes(far) == to_bytes(ranker_of("lambdamart", "unbiased").fit(clicks))


def test_processes_of_ones_own(fleet, clicks):
    halves = [clicks.select_queries(np.arange(40) // 20 == part) for part in (0, 1)]
    local = ranker_of("lambdamart", "additive").fit(clicks)
    shards = [Shard(half) for half in halves]
    ranker = ranker_of("lambdamart", "additive")
    assert [type(result) for result in fleet.fit(ranker, shards)] == [bytes, bytes]
    assert to_bytes(ranker) == to_bytes(local)
    halves[1].position = None
    errors = fleet.fit(ranker_of("lambdamart", "additive"), [Shard(half) for half in halves])
    assert any("position is 'given' for worker 0, but 'not given'" in str(e) for e in errors)


def test_positions_without_effect_are_refused_before_work_starts(clicks, two_threads):
    two_threads.start = None
    sides = {"qid": clicks.qid, "position": clicks.position, "on": two_threads}
    with pytest.raises(ValueError, match="RFPoint has no use for position"):
        fit(rankgrove.RFPoint(), clicks.X, clicks.y, **sides)
    with pytest.raises(ValueError, match="position has no effect on LambdaMART with position_bias"):
        fit(rankgrove.LambdaMART(), clicks.X, clicks.y, **sides)


def test_missing_and_wrong_positions_are_named(clicks, tables, two_threads):
    plain = [table.drop_columns(["position", "propensity"]) for table in tables]
    with pytest.raises(DataError, match="needs the position of each row"):
        fit(ranker_of("lambdamart", "unbiased"), plain, on=two_threads)
    wrong = np.where(np.arange(clicks.n_rows) == 7, 0, clicks.position)
    sides = {"qid": clicks.qid, "position": wrong}
    with pytest.raises(DataError, match="position of row 7 is 0"):
        fit(ranker_of("lambdamart", "unbiased"), clicks.X, clicks.y, **sides, on=two_threads)
