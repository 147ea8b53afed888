"""Wrong numbers, texts and missing values as arguments of functions are refused by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rankgrove
from rankgrove import clicks, experiments, metrics
from rankgrove.datasets import make_ranking, simulate_clicks

DATA = make_ranking(12, docs_per_query=5, n_features=4, seed=1)
LOG = simulate_clicks(DATA, n_sessions=60)
RANKER = rankgrove.MART(n_estimators=2).fit(DATA)
VALUES = np.random.default_rng(0).random((3, 20))
# Calls with one argument left open, its name in messages.
WHOLE = {
    "kfold n_folds": lambda x: rankgrove.kfold(DATA, n_folds=x),
    "kfold seed": lambda x: rankgrove.kfold(DATA, seed=x),
    "split seed": lambda x: rankgrove.split(DATA, (0.5, 0.5), seed=x),
    "make_ranking n_queries": lambda x: make_ranking(x),
    "make_ranking n_features": lambda x: make_ranking(5, n_features=x),
    "make_ranking seed": lambda x: make_ranking(5, seed=x),
    "simulate_clicks n_sessions": lambda x: simulate_clicks(DATA, n_sessions=x),
    "simulate_clicks top_k": lambda x: simulate_clicks(DATA, n_sessions=5, top_k=x),
    "simulate_clicks seed": lambda x: simulate_clicks(DATA, n_sessions=5, seed=x),
    "interleave length": lambda x: clicks.interleave(["a"], ["b"], length=x),
    "interleave seed": lambda x: clicks.interleave(["a"], ["b"], seed=x),
    "fit_click_model max_iter": lambda x: clicks.fit_click_model(LOG, max_iter=x),
    "estimate_trust_bias max_iter": lambda x: clicks.estimate_trust_bias(LOG, max_iter=x),
    "bootstrap n_resamples": lambda x: experiments.bootstrap_interval(VALUES, n_resamples=x),
    "bootstrap seed": lambda x: experiments.bootstrap_interval(VALUES, seed=x),
    "randomisation n_resamples": lambda x: experiments.randomisation(VALUES, n_resamples=x),
    "randomisation seed": lambda x: experiments.randomisation(VALUES, seed=x),
    "compare_pairs baseline": lambda x: experiments.compare_pairs(VALUES, baseline=x),
    "compare best_features": lambda x: rankgrove.compare(DATA, "random", best_features=x),
    "reliability n_bins": lambda x: metrics.reliability([0.5], [1], x),
    "partial_dependence n_values": lambda x: rankgrove.explain.partial_dependence(
        RANKER, DATA, 0, n_values=x
    ),
}
NUMBERS = {
    "make_ranking docs_per_query": lambda x: make_ranking(5, docs_per_query=x),
    "make_ranking noise": lambda x: make_ranking(5, noise=x),
    "make_ranking missing": lambda x: make_ranking(5, missing=x),
    "simulate_clicks bias": lambda x: simulate_clicks(DATA, n_sessions=5, bias=x),
    "simulate_clicks noise": lambda x: simulate_clicks(DATA, n_sessions=5, noise=x),
    "simulate_clicks exploration": lambda x: simulate_clicks(DATA, n_sessions=5, exploration=x),
    "fit_click_model prior": lambda x: clicks.fit_click_model(LOG, prior=x),
    "estimate_value clip": lambda x: clicks.estimate_value([1.0], [1.0], clip=x),
    "estimate_value confidence": lambda x: clicks.estimate_value([1.0], [1.0], confidence=x),
    "sessions_needed difference": lambda x: clicks.sessions_needed(x, 1.0),
    "sessions_needed deviation": lambda x: clicks.sessions_needed(1.0, x),
    "sessions_needed power": lambda x: clicks.sessions_needed(1.0, 1.0, power=x),
    "bootstrap confidence": lambda x: experiments.bootstrap_interval(VALUES, confidence=x),
    "tiers alpha": lambda x: experiments.tiers(VALUES, alpha=x),
    "compare train_share": lambda x: rankgrove.compare(DATA, "random", train_share=x),
    "split share": lambda x: rankgrove.split(DATA, (x, 0.5)),
}
ARRAYS = {
    "given_propensities examination": clicks.given_propensities,
    "analyse_interleaving credit": lambda x: clicks.analyse_interleaving([1, 2], x),
    "estimate_value weights": lambda x: clicks.estimate_value([1.0, 2.0], x),
    "query_means values": experiments.query_means,
    "tiers values": experiments.tiers,
    "randomisation differences": experiments.randomisation,
    "reliability probabilities": lambda x: metrics.reliability(x, [0, 1]),
    "reliability relevance": lambda x: metrics.reliability([0.1, 0.9], x),
    "simulate_clicks ranker": lambda x: simulate_clicks(DATA, n_sessions=5, ranker=x),
}


def refused(call, value):
    with pytest.raises(ValueError, match=r"must|holds") as caught:
        call(value)
    return str(caught.value)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", ["a", math.nan, 2.5, -1, True, np.array([])])
def test_what_is_no_whole_number_is_refused_by_name(name, value):
    message = refused(WHOLE[name], value)
    assert name.split()[1] in message
    assert repr(value) in message


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["a", math.nan, [0.5], np.array([])])
def test_what_is_no_number_is_refused_by_name(name, value):
    message = refused(NUMBERS[name], value)
    assert name.split()[1].replace("train_", "") in message
    assert repr(value) in message


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("value", [["x", "y"], {}, [None, "x"]])
def test_arrays_without_numbers_are_refused_by_name(name, value):
    assert name.split()[1] in refused(ARRAYS[name], value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rankgrove.load_model(None), "named by a text or a path, not by None"),
        (lambda: rankgrove.write_letor(DATA, 3), "named by a text or a path, not by 3"),
        (lambda: rankgrove.make_ranker([]), r"named by a text.* not by \[\]"),
        (lambda: rankgrove.align_features(DATA, None), "feature_names must be a list.*None"),
        (lambda: rankgrove.Dataset([[1.0]], [1], [1], feature_names=3), "feature_names must be.*3"),
        (lambda: rankgrove.Dataset([[1.0]], [1], [1], doc_ids=3), "doc_ids must be a list.*int"),
        (lambda: rankgrove.compare(None, "random"), "data must be a path.*None"),
        (lambda: rankgrove.compare(DATA, "random", metrics=None), "metrics must be.*None"),
        (lambda: rankgrove.evaluate(DATA.y, DATA.y, DATA.qid, metrics=None), "metrics must.*None"),
        (lambda: rankgrove.register_reader("x"), "takes a Reader, not 'x'"),
        (lambda: rankgrove.register_target("x"), "takes a Target, not 'x'"),
        (lambda: rankgrove.register_ranker(3), "name is lower case.*3"),
        (lambda: experiments.curves_svg("title"), "must be a list of Curve objects.*'title'"),
        (lambda: simulate_clicks("x", n_sessions=3), "takes a Dataset, not str"),
        (lambda: clicks.interleave(None, ["b"]), "the ranking a must be a list of.*None"),
        (lambda: clicks.interleave(["a"], "b"), "the ranking b must be a list of.*'b'"),
        (lambda: rankgrove.split(DATA, (x for x in (0.5, 0.5))), "shares must be two or more"),
        (lambda: make_ranking(5, grade_shares=[]), r"grade_shares must be shares.*\[\]"),
        (
            lambda: rankgrove.explain.partial_dependence(RANKER, DATA, None),
            "a feature is a name or a number, not None",
        ),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_queries_may_be_the_third_argument_of_metrics_as_of_fit_and_score():
    scores = RANKER.predict(DATA)
    named = rankgrove.evaluate(DATA.y, scores, qid=DATA.qid)
    assert rankgrove.evaluate(DATA.y, scores, DATA.qid).to_dict() == named.to_dict()
    ndcg = rankgrove.metric("ndcg@5")
    assert ndcg(DATA.y, scores, DATA.qid) == ndcg(DATA.y, scores, qid=DATA.qid)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, None], "y of row 1 is nan, not a finite number$"),
        ([[1], [2, 3]], "y must hold numbers"),
    ],
)
def test_labels_that_are_no_texts_have_no_hint_on_texts(labels, message):
    with pytest.raises(rankgrove.DataError, match=message) as caught:
        rankgrove.Dataset([[1.0], [2.0]], labels, [1, 1])
    assert "not relevant" not in str(caught.value)


@pytest.mark.parametrize("how", ["array", "fit", "frame", "csv", "letor"])
def test_labels_that_are_texts_are_refused_with_what_to_write(how, tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"qid": [1, 1], "label": ["relevant", "not relevant"], "f": [1.0, 2.0]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "data.txt").write_text("relevant qid:1 1:0.5\n")
    ways = {
        "array": lambda: rankgrove.load(frame[["f"]].to_numpy(), frame.label, qid=frame.qid),
        "fit": lambda: rankgrove.MART().fit([[1.0], [2.0]], ["yes", "no"], qid=[1, 1]),
        "frame": lambda: rankgrove.load(frame),
        "csv": lambda: rankgrove.load(tmp_path / "data.csv"),
        "letor": lambda: rankgrove.load(tmp_path / "data.txt"),
    }
    with pytest.raises(
        rankgrove.DataError, match="write 0 for 'not relevant' and 1 for 'relevant'"
    ):
        ways[how]()
