"""Rules that choose the step at which a model is cut."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.training.stopping import STOPPING_RULES, mean_and_error, stopping_rule


def curve(seed, n_steps=60, n_queries=40):
    """Values per step and query: they rise, fall, and are noisy; some queries have none."""
    rng = np.random.default_rng(seed)
    step = np.arange(n_steps)[:, None]
    values = 0.5 - ((step - 25) / 100) ** 2 + rng.normal(0, 0.1, n_queries)
    values = values + np.cumsum(rng.normal(0, 0.01, (n_steps, n_queries)), axis=0)
    values[:, ::9] = np.nan
    return values


def chosen(name, values, greater_is_better=True):
    rule = stopping_rule(name, greater_is_better)
    for one in values:
        rule.note(float(np.nanmean(one)), one)
    return rule


def by_definition(name, values):
    means = np.nanmean(values, axis=1)
    n = len(means)
    if name == "best":
        return int(np.argmax(means)) + 1
    if name == "moving-average":
        smooth = [means[max(0, i - 5) : i + 6].mean() for i in range(n)]
        return int(np.argmax(smooth)) + 1

    def better(new, old):
        mean, error = mean_and_error(values[new] - values[old])
        return mean > error

    if name == "one-standard-error":
        top = int(np.argmax(means))
        return next(i for i in range(n) if not better(top, i)) + 1
    kept = 0
    for i in range(1, n):
        kept = i if better(i, kept) else kept
    return kept + 1


@pytest.mark.parametrize("name", STOPPING_RULES)
@pytest.mark.parametrize("seed", range(8))
def test_each_rule_equals_its_definition(name, seed):
    values = curve(seed)
    rule = chosen(name, values)
    assert rule.best_step == by_definition(name, values)
    assert rule.best_value == np.nanmean(values, axis=1)[rule.best_step - 1]
    lower = chosen(name, -values, greater_is_better=False)
    assert lower.best_step == rule.best_step
    assert lower.best_value == -rule.best_value


@pytest.mark.parametrize("name", STOPPING_RULES)
def test_one_step_one_query_and_nan(name):
    assert chosen(name, np.array([[0.5]])).best_step == 1
    assert chosen(name, np.array([[0.5], [0.7]])).best_step in (1, 2)
    rule = stopping_rule(name, True)
    rule.note(np.nan, np.array([np.nan]))
    assert rule.best_step == 1
    rule.note(0.5, np.array([0.5, 0.5]))
    assert rule.best_step in (1, 2)


@pytest.mark.parametrize("name", STOPPING_RULES)
@pytest.mark.parametrize("without", [[0], [0, 1], [20], [0, 24, 25]])
def test_steps_at_which_no_query_has_a_value_change_no_choice(name, without):
    values = curve(3)
    rule = stopping_rule(name, True)
    for step, one in enumerate(values):
        if step in without:
            rule.note(np.nan, np.full(len(one), np.nan))
        rule.note(float(np.nanmean(one)), one)
    assert np.isfinite(rule.best_value)
    if name != "moving-average":  # the steps without values are in its windows
        left_out = sum(step < by_definition(name, values) for step in without)
        assert rule.best_step == by_definition(name, values) + left_out
    else:
        assert abs(rule.best_step - by_definition(name, values)) <= 3


@pytest.mark.parametrize("name", STOPPING_RULES)
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7123456])
def test_a_metric_that_does_not_change_chooses_the_first_step(name, value):
    rule = stopping_rule(name, True)
    for _ in range(200):
        rule.note(value, np.full(5, value))
        assert rule.best_step == rule.last_progress == 1


@pytest.mark.parametrize("name", STOPPING_RULES)
def test_a_metric_without_any_value_chooses_the_last_step(name):
    rule = stopping_rule(name, True)
    for step in range(1, 20):
        rule.note(np.nan, np.full(5, np.nan))
        assert rule.best_step == step


def test_the_standard_error_is_that_of_a_paired_test():
    assert mean_and_error(np.array([1.0, 2.0, np.nan, 6.0])) == pytest.approx(
        (3.0, 7**0.5 / 3**0.5)
    )


@pytest.fixture(scope="module")
def data():
    return [make_ranking(40, noise=2.0, seed=seed) for seed in (1, 2)]


@pytest.mark.parametrize("name", STOPPING_RULES)
def test_a_fit_keeps_the_step_that_its_rule_chooses(name, data, tmp_path):
    train, valid = data
    whole = rankgrove.LambdaMART(n_estimators=30, random_state=0).fit(train)
    metric = rankgrove.metric("ndcg@10")
    values = [metric.per_query(valid, whole.predict(valid, n_steps=n)) for n in range(1, 31)]
    ranker = rankgrove.LambdaMART(n_estimators=30, random_state=0).fit(
        train, eval_set={"train": train, "valid": valid}, stopping_rule=name
    )
    assert ranker.best_iteration_ == by_definition(name, np.array(values))
    assert ranker.stopping_rule_ == name
    assert ranker.model_.n_steps == ranker.best_iteration_
    assert (
        ranker.best_score_ == ranker.evals_result_["valid"]["ndcg@10"][ranker.best_iteration_ - 1]
    )
    assert len(ranker.evals_result_["valid"]["ndcg@10"]) == 30
    ranker.save(tmp_path / "model.rg")
    assert rankgrove.load_model(tmp_path / "model.rg").stopping_rule_ == name


def test_the_plain_rule_is_the_default(data):
    train, valid = data
    plain = rankgrove.MART(n_estimators=20, random_state=0).fit(train, eval_set=valid)
    named = rankgrove.MART(n_estimators=20, random_state=0).fit(
        train, eval_set=valid, stopping_rule="best"
    )
    assert plain.stopping_rule_ == "best"
    np.testing.assert_array_equal(plain.predict(valid), named.predict(valid))
    assert rankgrove.MART(n_estimators=2).fit(train).stopping_rule_ is None


def test_what_makes_no_sense_is_refused(data):
    train, valid = data
    ranker = rankgrove.MART(n_estimators=2)
    with pytest.raises(ValueError, match=r"stopping_rule must be one of best, .*not 'bst'"):
        ranker.fit(train, eval_set=valid, stopping_rule="bst")
    with pytest.raises(ValueError, match="stopping_rule needs validation data: pass eval_set"):
        ranker.fit(train, stopping_rule="best")
    with pytest.raises(ValueError, match="eval_set holds the training data alone"):
        ranker.fit(train, eval_set=train, stopping_rule="best")
    with pytest.raises(ValueError, match="RFPoint has no use for stopping_rule"):
        rankgrove.RFPoint(n_estimators=2).fit(train, eval_set=valid, stopping_rule="best")


@pytest.mark.parametrize("name", ["adarank", "rankboost", "coordinate-ascent", "mcrank"])
def test_other_rankers_with_steps_take_rules(name, data):
    train, valid = data
    ranker = rankgrove.make_ranker(name)
    if not ranker.learns_in_steps:
        pytest.skip("it has no steps")
    ranker.set_params(**{k: 5 for k in ("n_estimators",) if k in ranker.get_params()})
    ranker.fit(train, eval_set=valid, stopping_rule="paired-test")
    assert ranker.stopping_rule_ == "paired-test"
