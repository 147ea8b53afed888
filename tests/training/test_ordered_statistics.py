"""Ordered target statistics: against a slow oracle, without leaks, part of the model."""

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.data.input_checks import ranking_input
from rankgrove.rankers.base.query_samples import distinct_queries, query_sample
from rankgrove.training.ordered_statistics import ordered_statistics
from rankgrove.workers.row_shard import RowShard


def make(n_queries=40, n=15, n_values=12, seed=0, effect=1.0):
    random = np.random.default_rng(seed)
    value = random.integers(0, n_values, n_queries * n)
    worth = random.normal(size=n_values) * effect
    label = np.clip(np.round(worth[value] + random.normal(size=len(value)) + 1.5), 0, 4)
    frame = pd.DataFrame({"label": label, "qid": np.repeat(np.arange(n_queries), n)})
    frame["c"] = pd.Categorical(np.where(random.random(len(value)) < 0.1, None, value))
    frame["noise"] = random.random(len(value))
    return frame


def oracle(codes, y, query, place, prior, smoothing):
    """Return the statistic of each document, by the definition."""
    advantage = y - np.array([y[query == q].mean() for q in query])
    found = np.full(len(y), float(prior))
    for d in range(len(y)):
        if np.isnan(codes[d]):
            continue
        seen = (codes == codes[d]) & (place[query] < place[query[d]])
        found[d] = (advantage[seen].sum() + smoothing * prior) / (seen.sum() + smoothing)
    return found


@pytest.mark.parametrize("shuffled", [False, True])
def test_statistics_are_those_of_the_definition(shuffled):
    frame = make(12, 6, 4)
    if shuffled:
        frame = frame.sample(frac=1, random_state=1)
    data = ranking_input(rg.load(frame))
    shard = RowShard.of(data.groups.offsets)
    options = {"prior": 0.25, "smoothing": 3.0, "seed": 7}
    found = ordered_statistics(data, [0], shard, n_orders=2, **options)[0]
    codes = data.groups.grouped(data.X.to_array()[:, 0])
    query = np.repeat(np.arange(data.groups.n_queries), data.groups.sizes)
    orders = [np.random.default_rng([0x0BDE, 7, order]).permutation(12) for order in range(2)]
    expected = np.mean([oracle(codes, data.y, query, o, 0.25, 3.0) for o in orders], axis=0)
    np.testing.assert_allclose(data.groups.grouped(found.training), expected, rtol=1e-6)
    whole = [
        oracle(np.r_[codes, c], np.r_[data.y, 0], np.r_[query, 12], np.r_[orders[0], 12], 0.25, 3.0)
        for c in range(len(found.table))
    ]
    np.testing.assert_allclose(found.table, [one[-1] for one in whole], rtol=1e-6)


def test_a_document_sees_no_label_of_its_own_query():
    frame = make()
    data = ranking_input(rg.load(frame))
    shard = RowShard.of(data.groups.offsets)
    options = {"n_orders": 3, "prior": 0.0, "smoothing": 1.0, "seed": 0}
    before = ordered_statistics(data, [0], shard, **options)[0].training
    for query in (0, 17, 39):
        rows = frame.qid == query
        changed = frame.assign(label=frame.label.where(~rows, 4 - frame.label))
        after = ordered_statistics(ranking_input(rg.load(changed)), [0], shard, **options)[
            0
        ].training
        np.testing.assert_array_equal(before[rows], after[rows])


def test_labels_shuffled_within_queries_leave_no_signal():
    """The statistic of training documents must not tell which of them got the high labels."""
    correlations = []
    for seed in range(20):
        frame = make(60, 10, 30, seed=seed)
        random = np.random.default_rng(seed)
        frame["label"] = frame.groupby("qid").label.transform(random.permutation)
        data = ranking_input(rg.load(frame))
        options = {"n_orders": 4, "prior": 0.0, "smoothing": 1.0, "seed": seed}
        found = ordered_statistics(data, [0], RowShard.of(data.groups.offsets), **options)[
            0
        ].training
        advantage = frame.label - frame.groupby("qid").label.transform("mean")
        correlations.append(np.corrcoef(found, advantage)[0, 1])
    # 20 means of about 600 documents each: 0.04 per correlation, 0.009 for their mean.
    assert abs(np.mean(correlations)) < 0.03


@pytest.mark.parametrize("ranker", [rg.LambdaMART, rg.MART, rg.RandomForest, rg.RankBoost])
def test_the_model_scores_without_statistics(ranker, tmp_path):
    train, test = make(seed=1), make(seed=1, n_queries=60).query("qid >= 40")
    fitted = ranker(n_estimators=20, random_state=0, category_splits="statistics")
    fitted.fit(rg.load(train), eval_set=rg.load(test))
    sets = fitted.model_.ensemble.category_sets
    assert sets is not None
    assert fitted.model_.columns.count == 2
    fitted.save(tmp_path / "model.rg")
    again = rg.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(again.predict(test), fitted.predict(test))
    measured = fitted.evals_result_["valid"]["ndcg@10"]
    steps = fitted.best_iteration_ or len(measured)
    assert measured[steps - 1] == pytest.approx(fitted.score(rg.load(test)))
    values = fitted.explain(rg.load(test))
    assert values.values.shape[1] == 2


def test_high_cardinality_is_learnt():
    train, test = (make(300, 10, 400, seed=2, effect=2.0) for _ in range(2))
    test["qid"] += 1000
    random = np.random.default_rng(9)
    test["noise"] = random.random(len(test))
    ranker = rg.LambdaMART(n_estimators=30, random_state=0, category_splits="statistics")
    blind = rg.LambdaMART(n_estimators=30, random_state=0)
    with_it = ranker.fit(rg.load(train)).score(rg.load(test))
    without = blind.fit(rg.load(train[["label", "qid", "noise"]])).score(rg.load(test))
    assert with_it > without + 0.1


def test_settings_without_effect_are_refused():
    data = rg.load(make())
    with pytest.raises(ValueError, match=r"statistics_orders .* no effect with category_splits="):
        rg.LambdaMART(n_estimators=2, statistics_orders=9, category_splits="subsets").fit(data)
    numbers = rg.load(make()[["label", "qid", "noise"]])
    with pytest.raises(ValueError, match=r"category_splits .* no effect without categorical"):
        rg.LambdaMART(n_estimators=2, category_splits="both").fit(numbers)


@pytest.mark.parametrize("splits", ["statistics", "both", "auto"])
def test_streams_give_the_model_of_memory(splits, tmp_path):
    make(60, 15, 150).to_parquet(tmp_path / "a.parquet")
    source = {"categorical": ["c"]}
    given = {"n_estimators": 8, "random_state": 0, "category_splits": splits}
    given["min_samples_leaf"] = 5
    memory = rg.LambdaMART(**given).fit(rg.load(tmp_path / "a.parquet", **source))
    streamed = rg.LambdaMART(**given).fit(rg.scan(tmp_path / "a.parquet", **source))
    assert memory.model_.ensemble.category_sets is not None
    data = rg.load(tmp_path / "a.parquet", **source)
    np.testing.assert_array_equal(memory.predict(data), streamed.predict(data))


def test_auto_uses_statistics_for_many_categories_alone():
    few, many = rg.load(make(60, 15, 60)), rg.load(make(60, 15, 300))
    given = {"n_estimators": 8, "random_state": 0, "min_samples_leaf": 5}
    for data, named in ((few, "subsets"), (many, "both")):
        auto = rg.LambdaMART(**given).fit(data).predict(data)
        alike = rg.LambdaMART(category_splits=named, **given).fit(data).predict(data)
        np.testing.assert_array_equal(auto, alike)
    constrained = rg.LambdaMART(monotone=[0, 1], **given).fit(many)
    sets = rg.LambdaMART(monotone=[0, 1], category_splits="subsets", **given).fit(many)
    np.testing.assert_array_equal(constrained.predict(many), sets.predict(many))


@pytest.mark.parametrize(
    "ranker",
    [
        rg.Bagged(ranker="mart:n_estimators=3", n_bags=3),
        rg.Auto(n_bags=2, n_estimators=3),
        rg.Blend(rankers=["mart:n_estimators=3", "yetirank:n_estimators=3"], n_folds=2),
        rg.Calibrated(ranker="mart:n_estimators=3", n_folds=2),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_fits_to_samples_of_queries_of_any_sizes_have_statistics(ranker):
    frame = make(100, 15, 150).sample(frac=0.7, random_state=0).sort_values("qid")
    data = rg.load(frame)
    assert len(set(np.diff(data.groups.offsets))) > 1
    ranker.set_params(random_state=0)
    assert np.isfinite(ranker.fit(data).predict(data)).all()


def test_a_query_that_a_sample_holds_twice_sees_no_label_of_its_own():
    frame = make(100, 15, 150, effect=0.0)
    data = ranking_input(rg.load(frame))
    queries = np.repeat(np.arange(50), 2)
    sample = query_sample(data, queries)
    once = distinct_queries(sample)
    np.testing.assert_array_equal(once.groups.ids, data.groups.ids[:50])
    given = {"n_orders": 1, "prior": 0.5, "smoothing": 1.0, "seed": 3}
    found = ordered_statistics(once, [0], RowShard.of(once.groups.offsets, None), **given)[0]
    alone = ranking_input(rg.load(frame[frame["qid"] < 50]))
    expected = ordered_statistics(alone, [0], RowShard.of(alone.groups.offsets, None), **given)[0]
    np.testing.assert_array_equal(found.training[: 50 * 15], expected.training)
    np.testing.assert_array_equal(found.training[50 * 15 :], 0.5)
    assert distinct_queries(data) is data
