"""Shapes of trees, noise and samples have the same bits for any number of workers and threads."""

from __future__ import annotations

import pytest

from fleet import fit_locally, make_data, make_shards, saved
from rankgrove.rankers.base.registry import make_ranker

DATA, VALID = make_data(seed=2), make_data(11, seed=7)
OPTIONS = {
    "oblivious leaves": {"tree": "oblivious", "min_samples_leaf": 5},
    "oblivious weights": {"tree": "oblivious", "min_child_weight": 0.2},
    "level by level": {"tree": "levelwise", "max_leaf_nodes": None, "max_depth": 3},
    "l1": {"l1": 0.2},
    "random strength": {"random_strength": 1.0},
    "random strength on levels": {"random_strength": 1.0, "tree": "oblivious"},
    "interactions": {"interactions": [[0, 1], [1, 2]]},
    "greedy bins": {"binning": "greedy-log-sum", "max_bins": 7},
    "bayesian": {"sampling": "bayesian"},
    "bayesian queries": {"sampling": "bayesian-queries", "temperature": 0.5},
    "goss": {"sampling": "goss"},
    "mvs": {"sampling": "mvs", "subsample": 0.6},
    "hard negatives": {"sampling": "hard-negatives", "subsample": 0.3, "selection_rounds": 2},
    "dart": {"drop_rate": 0.5, "skip_drop": 0.1},
}


def quick(params, **others):
    small = {"n_estimators": 8, "min_samples_leaf": 3, "random_state": 3, "n_jobs": 1}
    return make_ranker("lambdamart", **(small | params | others))


@pytest.mark.parametrize("option", OPTIONS)
def test_workers_threads_and_a_resumed_fit_have_the_bits_of_one_machine(fleet, option):
    params = OPTIONS[option]
    local = saved(fit_locally(quick(params), DATA, valid=VALID))
    assert local != saved(fit_locally(quick({}), DATA, valid=VALID))
    threads = fit_locally(quick(params, n_jobs=3), DATA, valid=VALID)
    threads.set_params(n_jobs=1)
    assert saved(threads) == local
    records: list[bytes] = []

    def keep(until):
        def on_step(step, record, metrics):
            records.append(record)
            return step == until

        return on_step

    for size, until in ((2, 3), (3, 20)):
        shards = make_shards(DATA, size, valid=VALID, seed=size)
        results = fleet.fit(quick(params), shards, resume=list(records), on_step=keep(until))
        assert not any(isinstance(result, Exception) for result in results), results
    assert results == [local] * 3


@pytest.mark.parametrize("rule", ["moving-average", "one-standard-error", "paired-test"])
def test_stopping_rules_choose_the_same_step_on_workers_and_when_resumed(fleet, rule):
    options = {"stopping_rule": rule, "early_stopping_rounds": 6}
    local = fit_locally(quick({}, n_estimators=30), DATA, valid=VALID, **options)
    records: list[bytes] = []

    def keep(until):
        def on_step(step, record, metrics):
            records.append(record)
            return step == until

        return on_step

    for size, until in ((2, 3), (3, 40)):
        shards = make_shards(DATA, size, valid=VALID, seed=size)
        results = fleet.fit(
            quick({}, n_estimators=30),
            shards,
            fit_options=options,
            resume=list(records),
            on_step=keep(until),
        )
    assert results == [saved(local)] * 3
