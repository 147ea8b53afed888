"""Bags: members, their sum as one model, out-of-bag validation, uncertainty, going on."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.core.queries import QueryGroups
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.metrics import registry as metrics
from rankgrove.rankers.base.query_samples import bootstrap_queries, others
from rankgrove.rankers.base.registry import ranker_class, ranker_names
from rankgrove.rankers.base.uncertainty import chance_by_labels
from support.rankers import quick

pytestmark = [
    pytest.mark.filterwarnings("ignore:the objective of RankSVM may be"),
    pytest.mark.filterwarnings("ignore:every document gets the same score"),
    pytest.mark.filterwarnings("ignore:eval_set 'valid' shares"),
]

BAGGABLE = [name for name in ranker_names() if ranker_class(name).can_be_bagged]


def few_values(n_queries, seed):
    """Features of few values, all of which every sample of queries has: bins are the same."""
    data = make_ranking(n_queries, docs_per_query=12, n_features=5, seed=seed)
    return data.with_features(np.round(np.clip(data.X, -1, 1)), None)


@pytest.fixture(scope="module")
def data():
    return few_values(40, 3)


def bagged(ranker, **params):
    return rankgrove.Bagged(
        ranker=ranker, **{"n_bags": 3, "random_state": 0, "n_jobs": 1, **params}
    )


@pytest.mark.parametrize("name", BAGGABLE)
def test_a_saved_bag_of_any_ranker_is_loaded(name, data, tmp_path):
    bag = bagged(quick(name), n_bags=2).fit(data)
    bag.save(tmp_path / "bag.rg")
    loaded = rankgrove.load_model(tmp_path / "bag.rg").set_params(n_jobs=1)
    assert np.array_equal(loaded.predict(data), bag.predict(data))
    found = [part.scores(data.X, data.groups) for part in loaded.members_]
    assert np.array_equal(found, [part.scores(data.X, data.groups) for part in bag.members_])


def test_a_bag_without_trees_of_version_1_0_0_is_loaded(data, tmp_path):
    """It wrote the empty list of numbers of trees as float64."""
    bag = bagged("single-feature").fit(data)
    bag.member_trees_ = np.array([])
    bag.save(tmp_path / "bag.rg")
    loaded = rankgrove.load_model(tmp_path / "bag.rg")
    assert np.array_equal(loaded.predict(data), bag.predict(data))


@pytest.mark.parametrize("name", BAGGABLE)
def test_the_score_is_the_mean_of_fits_on_samples_of_the_queries(name, data):
    """Each member is the ranker fitted to the documents of its sample, written out."""
    bag = bagged(quick(name)).fit(data, eval_set=few_values(20, 9))
    n_queries = data.n_queries
    seed = bag.draw_seed()
    expected = np.zeros(data.n_rows)
    for number in range(3):
        queries = bootstrap_queries(n_queries, seed, number)
        rows = np.concatenate([np.arange(*data.groups.offsets[q : q + 2]) for q in queries])
        sizes = data.groups.sizes[queries]
        member_seed = int(np.random.default_rng([seed, number, 1]).integers(2**31 - 1))
        member = quick(name, random_state=member_seed)
        member.fit(data.X[rows], data.y[rows], group_sizes=sizes, eval_set=few_values(20, 9))
        expected += member.predict(data) / 3
        own = bag.members_[number].scores(data.X, data.groups)
        np.testing.assert_allclose(own, member.predict(data), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(bag.predict(data), expected, rtol=1e-6, atol=1e-9)


def test_seeds_alone_make_members_differ(data):
    ranker = rankgrove.LambdaMART(n_estimators=5, subsample=0.5, min_samples_leaf=2)
    bag = bagged(ranker, sampling="seeds").fit(data)
    first, second = (part.scores(data.X) for part in bag.members_[:2])
    assert not np.array_equal(first, second)
    assert bag.oob_score_ is None
    assert bag.oob_prediction_ is None


def test_trees_become_one_ensemble_that_explains_and_exports(data, tmp_path):
    bag = bagged("mart:n_estimators=4,min_samples_leaf=2").fit(data)
    assert bag.model_.kind == "trees"
    assert bag.model_.ensemble.n_trees == bag.member_trees_.sum()
    explained = bag.explain(data)
    np.testing.assert_allclose(
        explained.expected + explained.values.sum(axis=1), bag.predict(data), atol=1e-6
    )
    bag.export(tmp_path / "model.txt", to="lightgbm")
    lightgbm = pytest.importorskip("lightgbm")
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt").predict(data.X)
    np.testing.assert_allclose(theirs, bag.predict(data), rtol=1e-9, atol=1e-12)


def test_members_of_other_kinds_become_a_sum(data):
    bag = bagged("rf-pair:n_estimators=3").fit(data)
    assert bag.model_.kind == "sum"
    assert bag.model_.n_steps == 0
    with pytest.raises(ModelError, match="it was not built in steps"):
        bag.predict(data, n_steps=1)


def test_out_of_bag_predictions_come_from_members_that_did_not_see_the_query(data):
    bag = bagged("mart:n_estimators=3,min_samples_leaf=2", n_bags=4).fit(data)
    seed = bag.draw_seed()
    total, count = np.zeros(data.n_rows), np.zeros(data.n_rows)
    query = data.groups.query_of_row()
    for number, member in enumerate(bag.members_):
        queries = bootstrap_queries(data.n_queries, seed, number)
        unseen = np.isin(query, others(queries, data.n_queries))
        total += np.where(unseen, member.scores(data.X), 0)
        count += unseen
    expected = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    np.testing.assert_allclose(bag.oob_prediction_, expected, atol=1e-12)
    known = count > 0
    score = rankgrove.metric("ndcg@10")(data.y[known], expected[known], qid=data.qid[known])
    assert bag.oob_score_ == pytest.approx(score)


def test_members_end_on_their_out_of_bag_queries():
    data = make_ranking(60, docs_per_query=12, n_features=8, seed=3)
    bag = bagged("lambdamart:n_estimators=60,min_samples_leaf=5").fit(data)
    assert bag.member_trees_.min() < 60
    stopped = bagged("lambdamart:n_estimators=60,min_samples_leaf=5").fit(
        data, early_stopping_rounds=2
    )
    assert stopped.member_trees_.sum() <= bag.member_trees_.sum()
    with pytest.raises(ValueError, match="early_stopping_rounds must be a whole number"):
        bagged("lambdamart").fit(data, early_stopping_rounds=0)
    with pytest.raises(ValueError, match="needs validation data"):
        bagged("lambdamart", sampling="seeds").fit(data, early_stopping_rounds=2)
    with pytest.raises(ValueError, match="it does not learn in steps"):
        bagged("rf-point").fit(data, early_stopping_rounds=2)


def test_file_keeps_members_and_noise(data, tmp_path):
    bag = bagged("mart:n_estimators=4,min_samples_leaf=2").fit(data)
    bag.save(tmp_path / "bag.rg")
    loaded = rankgrove.load_model(tmp_path / "bag.rg").set_params(n_jobs=1)
    assert (loaded.oob_score_, loaded.noise_) == (bag.oob_score_, bag.noise_)
    np.testing.assert_array_equal(loaded.oob_prediction_, bag.oob_prediction_)
    ours, theirs = bag.uncertainty(data), loaded.uncertainty(data)
    np.testing.assert_array_equal(ours.ranks, theirs.ranks)
    np.testing.assert_array_equal(ours.score_low, theirs.score_low)


def test_a_stopped_fit_goes_on_from_its_folder(data, tmp_path, monkeypatch):
    from rankgrove.boosting.loop import Boosting

    text = "mart:n_estimators=4,min_samples_leaf=2"
    whole = bagged(text, n_bags=4).fit(data)
    steps = []

    def counted(self, step=Boosting.step):
        steps.append(1)
        if len(steps) == 10:
            raise KeyboardInterrupt
        step(self)

    folder = str(tmp_path / "members")
    interrupted = bagged(text, n_bags=4, folder=folder)
    with monkeypatch.context() as patch:
        patch.setattr(Boosting, "step", counted)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(data)
    assert len(interrupted.members_) == 2  # what is finished is the model
    steps.clear()
    with monkeypatch.context() as patch:
        patch.setattr(
            Boosting, "step", lambda self, step=Boosting.step: (steps.append(1), step(self))
        )
        resumed = bagged(text, n_bags=4, folder=folder).fit(data)
    assert len(steps) == 2 * 4  # of the two members that were not finished
    np.testing.assert_array_equal(resumed.predict(data), whole.predict(data))
    other = bagged(text, n_bags=4, folder=folder).fit(few_values(40, 4))
    assert not np.array_equal(other.predict(data), whole.predict(data))
    for path in (tmp_path / "members").iterdir():
        path.write_bytes(b"no record")
    with pytest.raises(ModelError, match=r"member-.* is no record of a member"):
        bagged(text, n_bags=4, folder=folder).fit(data)


def test_members_of_another_fit_are_not_taken_from_the_folder(data, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(metrics, "_families", dict(metrics._families))

    def own_metric(sign):
        metrics._families.pop("own", None)
        rankgrove.register_metric("own", of="ranked")(lambda labels, k=3: sign * labels[:k].sum())
        return {"eval_metric": "own@3", "eval_set": data.select_queries(range(20))}

    def frame(names, brands):
        brand = pandas.Categorical.from_codes((data.y > 0).astype(int), brands)
        return pandas.DataFrame(data.X, columns=names).assign(brand=brand)

    plain, categorical = "lambdamart:n_estimators=25", "mart:n_estimators=5,min_samples_category=1"
    x, rule = frame([*"abcde"], ["acme", "globex"]), {"stopping_rule": "one-standard-error"}
    fits = {
        "names": (categorical, x, {}, frame([*"bacde"], ["acme", "globex"]), lambda: {}),
        "categories": (categorical, x, {}, frame([*"abcde"], ["acme", "hooli"]), lambda: {}),
        "rule": (plain, data.X, {}, data.X, lambda: rule),
        "metric": (plain, data.X, own_metric(1.0), data.X, lambda: own_metric(-1.0)),
    }
    for name, (text, X, options, other_X, other_options) in fits.items():
        folder = str(tmp_path / name)
        bagged(text, n_bags=2, folder=folder).fit(X, data.y, data.qid, **options)
        found = [
            bagged(text, n_bags=2, folder=place)
            .fit(other_X, data.y, data.qid, **other_options())
            .predict(other_X)
            for place in (folder, None)
        ]
        np.testing.assert_array_equal(*found, err_msg=name)
        assert len(list((tmp_path / name).iterdir())) == 4


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        ("random", "RandomRanking cannot be bagged"),
        ("bagged", "Bagged cannot be bagged"),
        ("rf-point:oob_score=true", "RFPoint cannot be bagged with out-of-bag predictions"),
        ("igbrt:residuals=oob", "IGBRT cannot be bagged with out-of-bag predictions"),
    ],
)
def test_what_cannot_be_bagged_is_refused_by_name(data, ranker, message):
    with pytest.raises(ModelError, match=message):
        bagged(ranker).fit(data)


def test_bad_rankers_and_labels_are_refused_before_any_member(data):
    with pytest.raises(ValueError, match="unknown ranker 'lambdamrt': did you mean 'lambdamart'"):
        bagged("lambdamrt").fit(data)
    with pytest.raises(ValueError, match="parameter n_estimators of mart must be"):
        bagged("mart:n_estimators=many").fit(data)
    with pytest.raises(TypeError, match="n_estimator"):
        bagged("mart:n_estimator=3").fit(data)
    with pytest.raises(ModelError, match="a fitted MART"):
        bagged(quick("mart").fit(data)).fit(data)
    with pytest.raises(DataError, match="QueryCrossEntropy takes labels from 0 to 1"):
        bagged("querycrossentropy").fit(data)
    with pytest.raises(DataError, match="ndcg@10"):
        bagged("mart").fit(data.X, data.y - 3, qid=data.qid)


def test_threads_do_not_change_the_bag(data):
    one = bagged("lambdamart:n_estimators=5,min_samples_leaf=2", n_bags=5).fit(data)
    many = bagged("lambdamart:n_estimators=5,min_samples_leaf=2", n_bags=5, n_jobs=4).fit(data)
    np.testing.assert_array_equal(one.predict(data), many.predict(data))
    assert one.noise_ == many.noise_


def test_chance_by_labels_is_that_of_all_orders():
    labels = np.array([2.0, 1, 1, 1, 0, 5, 5])
    groups = QueryGroups.from_sizes([5, 2])
    np.testing.assert_allclose(chance_by_labels(labels, groups, 1), [1, 0, 0, 0, 0, 0.5, 0.5])
    np.testing.assert_allclose(
        chance_by_labels(labels, groups, 3), [1, 2 / 3, 2 / 3, 2 / 3, 0, 1, 1]
    )


def test_chances_and_rank_intervals_hold_on_held_out_queries():
    """Of documents with a chance near p, a share near p is in the top k by label."""
    train, test = make_ranking(150, seed=1), make_ranking(150, seed=2)
    bag = bagged("lambdamart:n_estimators=60", n_bags=10).fit(train)
    found = bag.uncertainty(test, level=0.8)
    for k in (3, 10):
        chance, truth = found.chance_in_top(k), chance_by_labels(test.y, test.groups, k)
        bins = np.digitize(chance, [0.1, 0.3, 0.5, 0.7, 0.9])
        sizes = np.bincount(bins, minlength=6)
        gaps = [
            abs(chance[bins == b].mean() - truth[bins == b].mean()) for b in range(6) if sizes[b]
        ]
        assert np.average(gaps, weights=sizes[sizes > 0]) < 0.05
    first = np.zeros(test.n_rows)
    for k in range(1, int(test.group_sizes.max()) + 1):
        within = chance_by_labels(test.y, test.groups, k) - chance_by_labels(
            test.y, test.groups, k - 1
        )
        first += within * ((found.rank_low <= k) & (k <= found.rank_high))
    assert 0.75 < first.mean() < 0.95
    raw = bagged("lambdamart:n_estimators=60", n_bags=10).fit(train)
    raw.noise_ = 0.0  # members alone are too sure
    sure = raw.uncertainty(test, level=0.8)
    assert (sure.rank_high - sure.rank_low).mean() < (found.rank_high - found.rank_low).mean()


def test_uncertainty_refuses_what_makes_no_sense(data):
    bag = bagged("mart:n_estimators=2").fit(data)
    with pytest.raises(ValueError, match=r"level must be a number between 0 and 1, not 1\.5"):
        bag.uncertainty(data, level=1.5)
    with pytest.raises(ValueError, match="n_draws must be"):
        bag.uncertainty(data, n_draws=0)
    with pytest.raises(ValueError, match="k must be a whole number"):
        bag.uncertainty(data).chance_in_top(0)
    with pytest.raises(DataError, match="needs the queries"):
        bag.uncertainty(data.X)
