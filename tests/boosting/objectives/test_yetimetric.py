import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles.random_numbers import Random, mix64

import rankgrove
from rankgrove.boosting.objectives.yetiloss import YetiLossPairs
from rankgrove.boosting.objectives.yetimetric import YetiMetricPairs
from rankgrove.datasets import make_ranking
from rankgrove.metrics.listwise_metric import is_listwise_metric
from rankgrove.metrics.registry import metric_names

OF_SCORES = ("rmse", "class-error", "err-bound", "ece", "filtered-dcg")
METRICS = [
    *(name for name in metric_names() if name not in (*OF_SCORES, "p", "recall")),
    *("p@5", "recall@5", "ndcg@4(gain=linear)", "ndcg(discount=alpha:0.1)", "map(relevant_from=2)"),
    *("err(max_grade=4)", "mrr@3(relevant_from=2)", "rbp(persistence=0.9)", "p@3(short=cut)"),
    "tau(variant=a)",
]


def by_definition(measure, data, scores, iteration, n_permutations):
    """Rank with noise, swap neighbours, evaluate both rankings."""
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        random = Random(data.seed ^ mix64(iteration), query)
        for _ in range(n_permutations):
            u = np.array([random.uniform() for _ in range(begin, end)])
            order = begin + np.argsort(-(scores[begin:end] + np.log(u / (1 - u))))
            for rank in range(len(order) - 1):
                swapped = order.copy()
                swapped[[rank, rank + 1]] = swapped[[rank + 1, rank]]
                if data.y[order[rank]] == data.y[order[rank + 1]]:
                    continue
                change = value(measure, data.y[order]) - value(measure, data.y[swapped])
                better, worse = order[rank], order[rank + 1]
                if change < 0:
                    better, worse = worse, better
                weight = abs(change) / n_permutations
                rho = 1 / (1 + np.exp(scores[better] - scores[worse]))
                gradient[better] -= weight * rho
                gradient[worse] += weight * rho
                hessian[[better, worse]] += weight * rho * (1 - rho)
    return gradient, hessian


def value(measure, labels):
    found = measure.per_query(
        labels, -np.arange(len(labels), dtype=float), group_sizes=[len(labels)]
    )
    return 0.0 if np.isnan(found[0]) else found[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", METRICS)
def test_every_metric_matches_the_definition(text):
    data = training_data([1, 12, 0, 20, 2, 12], seed=9)
    scores = np.random.default_rng(9).normal(size=len(data.y))
    measure = rankgrove.metric(text)
    got = run(YetiMetricPairs(data, measure, 3), scores, iteration=5)
    want = by_definition(measure, data, scores, 5, 3)
    assert np.abs(want[0]).max() > 1e-4
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-6)


def test_a_function_is_a_metric_too():
    data = training_data([6, 9], seed=2)
    scores = np.random.default_rng(2).normal(size=15)

    def first_grade(labels):
        return float(labels[0]) + 0.5 * float(labels[1])

    measure = rankgrove.metric(first_grade)
    got = run(YetiMetricPairs(data, measure, 2), scores)
    want = by_definition(measure, data, scores, 0, 2)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-6)


def test_parts_of_the_swaps_are_evaluated_at_a_time(monkeypatch):
    data = training_data([30, 7], seed=3)
    scores = np.random.default_rng(3).normal(size=37)
    whole = run(YetiMetricPairs(data, rankgrove.metric("meanndcg"), 2), scores)
    monkeypatch.setattr("rankgrove.boosting.objectives.yetimetric._MOST_VALUES", 64)
    parts = run(YetiMetricPairs(data, rankgrove.metric("meanndcg"), 2), scores)
    np.testing.assert_array_equal(whole[0], parts[0])


def test_metrics_whose_swaps_are_evaluated_warn_of_long_lists():
    data = training_data([2001], seed=1)
    with pytest.warns(UserWarning, match="a query has 2001 documents"):
        YetiMetricPairs(data, rankgrove.metric("meanndcg"))


@pytest.mark.parametrize("text", ["ic", "tau", "tau(variant=a)", "pair-accuracy", "spearman"])
def test_metrics_of_the_whole_order_take_long_lists(text):
    data = training_data([100_000], seed=1)
    gradients, _ = run(YetiMetricPairs(data, rankgrove.metric(text), 1), np.zeros(100_000))
    assert np.isfinite(gradients).all()
    assert gradients.any()


def test_metrics_with_kernels_of_their_own_are_the_same_in_general():
    data = training_data([12, 30], seed=4)
    scores = np.random.default_rng(4).normal(size=42)
    for own, text in ((("ndcg", 5), "ndcg@5"), (("map", None), "map"), (("mrr", 4), "mrr@4")):
        kernel = run(YetiLossPairs(data, *own), scores)
        general = run(YetiMetricPairs(data, rankgrove.metric(text)), scores)
        np.testing.assert_allclose(kernel[0], general[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_matter(n_threads):
    data = training_data([40, 7, 25], seed=4, n_threads=n_threads)
    one = training_data([40, 7, 25], seed=4)
    scores = np.random.default_rng(4).normal(size=72)
    for text in ("p@5", "tau"):
        got, want = (run(YetiMetricPairs(d, rankgrove.metric(text)), scores) for d in (data, one))
        np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize("text", ["p@3", "rbp", "spearman", "pair-accuracy", "meanndcg"])
def test_the_ranker_raises_the_metric(text, tmp_path):
    train, test = make_ranking(40, docs_per_query=12, seed=1), make_ranking(40, seed=2)
    ranker = rankgrove.YetiLoss(metric=text, n_estimators=15, random_state=0).fit(train)
    assert ranker.score(test, metric=text) > rankgrove.make_ranker("random", random_state=0).fit(
        train
    ).score(test, metric=text)
    ranker.save(tmp_path / "model.rg")
    assert rankgrove.load_model(tmp_path / "model.rg").get_params()["metric"] == text


@pytest.mark.parametrize("text", [*OF_SCORES, "p", "recall", "no-such-metric", 3])
def test_what_no_ranking_can_raise_is_refused_by_name(text):
    assert not is_listwise_metric(text)
    with pytest.raises(ValueError, match="parameter metric of YetiLoss"):
        rankgrove.YetiLoss(metric=text).check_params()


def test_parameters_of_the_kernels_are_refused_beside_a_metric_with_its_own():
    data = make_ranking(5, seed=1)
    with pytest.raises(ValueError, match="gain of YetiLoss has no effect with metric='p@3'"):
        rankgrove.YetiLoss(metric="p@3", gain="linear").fit(data)
