"""What losses, bags, blends and calibration cannot take is refused by name, before work starts."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import rankgrove as rg
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning, LabelError, ModelError

NAMES = list("abcdef")
SHAPE = {"docs_per_query": 8, "n_features": 6}
DATA = make_ranking(40, seed=1, **SHAPE)
FEW = make_ranking(5, seed=3, **SHAPE)
X, QID = np.asarray(DATA.X), np.asarray(DATA.qid)
FRAME = pandas.DataFrame(X, columns=NAMES)
OTHER_QUERY = int(np.flatnonzero(QID[0] != QID)[0])
MART = "mart:n_estimators=2"
WRONG_GROUP = rg.LambdaMART(n_estimators=2, interactions=[["a", "no such"]])
PAIRS = rg.PairLogit(n_estimators=2, pairs=[[0, 1]])
GOSS = {"sampling": "goss", "n_estimators": 2}


def fitted(frame, y=DATA.y):
    return rg.MART(n_estimators=2, random_state=0).fit(frame, y, qid=QID)


def with_category(frame, side="x"):
    column = np.where(frame["a"] > frame["a"].median(), side, "y")
    return frame.assign(kind=pandas.Categorical(column))


@pytest.fixture
def no_work(monkeypatch):
    """Every fit fails that bins a matrix, grows a forest or moves along a line."""

    def work(*_, **__):
        raise AssertionError("work has started")

    for place in (
        "rankgrove.rankers.base.boosted.shared_bins",
        "rankgrove.rankers.base.forest.ForestGrower",
        "rankgrove.rankers.base.linear.LinearRanker._walk",
    ):
        monkeypatch.setattr(place, work)


LABELS = {
    "QueryCrossEntropy above 1": (rg.QueryCrossEntropy(), 1.0, r"\(2\) is no prob.*QueryCross"),
    "QueryCrossEntropy below 0": (rg.QueryCrossEntropy(), -1, r"\(-1\) is no prob.*QueryCross"),
    "ListCE above 1": (rg.ListCE(), 1.0, r"label of row \d+ \(2\) is no probability: ListCE"),
    "LambdaMART below 0": (rg.LambdaMART(), -1, r"LambdaMART: label of row \d+ \(-1\)"),
    "LambdaMART beyond 53": (
        rg.LambdaMART(),
        40,
        r"LambdaMART: .*\(80\) is too large for the gain",
    ),
    "XE-NDCG below 0": (rg.XENDCG(), -1, "XENDCG: label of row"),
    "XE-NDCG beyond 53": (rg.XENDCG(), 40, "XENDCG: label of row"),
    "YetiRank below 0": (rg.YetiRank(), -1, "YetiRank: label of row"),
    "YetiLoss below 0": (rg.YetiLoss(), -1, "YetiLoss: label of row"),
    "LambdaLoss below 0": (rg.LambdaLoss(), -1, "LambdaLoss: label of row"),
    "QuerySoftMax below 0": (rg.QuerySoftMax(), -1, "QuerySoftMax: label of row"),
    "McRank below 0": (rg.McRank(), -1, "McRank: label of row"),
    "RF-list below 0": (rg.RFList(), -1, "RFList: label of row"),
    "a bag": (rg.Bagged(ranker="rf-hybrid", metric="spearman"), -1, "RFHybrid: label of row"),
    "the second of a blend": (
        rg.Blend(rankers=[MART, "lambdamart"], metric="spearman"),
        -1,
        "LambdaMART: label of row",
    ),
    "a linear one of a blend": (
        rg.Blend(rankers=[MART, "adarank"], metric="spearman"),
        -1,
        "ndcg@10: label of row",
    ),
    "what is calibrated": (rg.Calibrated(ranker="yetirank"), -1, "YetiRank: label of row"),
}


@pytest.mark.parametrize(("ranker", "change", "message"), LABELS.values(), ids=LABELS)
def test_labels_that_a_loss_cannot_take(ranker, change, message, no_work):
    y = DATA.y - 1 if change == -1 else DATA.y * change
    with pytest.raises(LabelError, match=message):
        ranker.fit(X, y, qid=QID)


def test_a_loss_of_classes_needs_two(no_work):
    refused = pytest.raises(DataError, match="McRank needs at least two different labels")
    with pytest.warns(DataWarning, match="every label is 1"), refused:
        rg.McRank().fit(X, np.ones(len(X)), qid=QID)


SETTINGS = {
    "empty pairs": (rg.PairLogit(pairs=np.empty((0, 2))), "pairs is empty"),
    "pairs across queries": (rg.PairLogit(pairs=[[0, OTHER_QUERY]]), "belong to the queries"),
    "a bag by samples, of listed pairs": (
        rg.Bagged(ranker=PAIRS),
        "PairLogit with pairs.*cannot be bag",
    ),
    "a blend of listed pairs": (
        rg.Blend(rankers=[MART, PAIRS]),
        "PairLogit with pairs.*cannot be blended",
    ),
    "calibrated listed pairs": (
        rg.Calibrated(ranker=PAIRS),
        "PairLogit with pairs.*cannot be calibrated",
    ),
    "a bag of pairs in a blend": (
        rg.Blend(rankers=[MART, rg.Bagged(ranker=PAIRS, sampling="seeds")]),
        "Bagged with pairs",
    ),
    "a bag of bags": (rg.Bagged(ranker="bagged"), "Bagged cannot be bagged"),
    "a bag of auto": (rg.Bagged(ranker="auto"), "Auto cannot be bagged"),
    "a bag of calibrated ones": (rg.Bagged(ranker="calibrated"), "Calibrated cannot be bagged"),
    "a bag of random orders": (rg.Bagged(ranker="random"), "RandomRanking cannot be bagged"),
    "a bag of imported models": (rg.Bagged(ranker="imported"), "ImportedRanker cannot be bagged"),
    "a bag with its own out-of-bag": (
        rg.Bagged(ranker="rf-point:oob_score=true"),
        "RFPoint cannot be",
    ),
    "a bag without a loss": (
        rg.Bagged(ranker="custom"),
        "objective of CustomMART must be a function",
    ),
    "a blend of an imported model": (
        rg.Blend(rankers=[MART, "imported"]),
        "was trained by another lib",
    ),
    "a blend of one": (rg.Blend(rankers=[MART]), "rankers of Blend holds 1 of them"),
    "a blend of none": (rg.Blend(rankers=[]), "rankers of Blend holds 0 of them"),
    "a blend of few queries": (rg.Blend(n_folds=50), "n_folds of Blend is 50.* have 40 queries"),
    "calibration, few queries": (rg.Calibrated(min_queries=41), "needs 41 queries .* have 40"),
    "calibration, few for folds": (rg.Calibrated(n_folds=41), "n_folds of Calibrated is 41"),
    "calibration, none relevant": (rg.Calibrated(relevant_from=9), "relevant_from=9 no document"),
    "calibration, all relevant": (rg.Calibrated(relevant_from=0), "relevant_from=0 every document"),
    "absent column": (WRONG_GROUP, "interactions names the column 'no such'"),
    "absent column number": (rg.MART(interactions=[[0, 6]]), "the column number 6, but the data"),
    "absent column in a bag": (rg.Bagged(ranker=WRONG_GROUP), "names the column 'no such'"),
    "absent column in a blend": (
        rg.Blend(rankers=[MART, WRONG_GROUP]),
        "names the column 'no such'",
    ),
    "absent column, calibrated": (rg.Calibrated(ranker=WRONG_GROUP), "names the column 'no such'"),
    "absent monotone column": (rg.MART(monotone={"z": 1}), "monotone names the column 'z'"),
    "GOSS, no large gradients": (rg.MART(**GOSS, top_rate=0.0), "top_rate of MART must be"),
    "GOSS, more than all": (rg.MART(**GOSS, top_rate=1.5), "top_rate of MART must be"),
    "GOSS, others below 0": (rg.MART(**GOSS, other_rate=-0.1), "other_rate of MART must be"),
    "GOSS, rates above 1": (
        rg.MART(**GOSS, top_rate=0.7, other_rate=0.5),
        r"top_rate \(0.7\) and other_rate \(0.5\) of MART sum to more than 1",
    ),
    "GOSS in a blend": (
        rg.Blend(rankers=[MART, "yetirank:sampling=goss,top_rate=0.7,other_rate=0.5"]),
        "of YetiRank sum to more than 1",
    ),
    "a rate without GOSS": (rg.MART(top_rate=0.5), "top_rate of MART has no effect"),
    "MVS of everything": (rg.MART(sampling="mvs"), "subsample=1.0 keeps everything"),
    "DART, rate above 1": (rg.MART(drop_rate=1.5), "drop_rate of MART must be"),
    "DART switched off": (rg.MART(max_drop=3), "max_drop of MART has no effect with drop_rate=0"),
    "oblivious and monotone": (
        rg.MART(tree="oblivious", monotone={"a": 1}),
        "monotone of MART is .* which oblivious trees do not take",
    ),
    "oblivious and too deep": (
        rg.MART(tree="oblivious", max_depth=13),
        "max_depth of MART is 13, which oblivious trees do not take",
    ),
}


@pytest.mark.parametrize(("ranker", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_fitted(ranker, message, no_work):
    with pytest.raises(ValueError, match=message):
        ranker.fit(FRAME, DATA.y, qid=QID)


def test_few_validation_queries_cannot_calibrate(no_work):
    with pytest.raises(DataError, match=r"Calibrated needs 20 queries .* eval_set has 5"):
        rg.Calibrated().fit(DATA, eval_set=FEW)


COLUMNS = {
    "another name": (
        lambda: fitted(FRAME.rename(columns={"a": "z"})),
        FRAME,
        r"fitted MART of the blend does not fit the data: .* lacks 1 of the 6 .*: 'z'",
    ),
    "more columns": (lambda: fitted(FRAME.assign(g=0.0)), FRAME, "lacks 1 of the 7 features .*'g'"),
    "categories where data have numbers": (
        lambda: fitted(with_category(FRAME)),
        FRAME.assign(kind=0.0),
        "column 'kind' holds numbers in the data, but categories in the model",
    ),
    "numbers where data have categories": (
        lambda: fitted(FRAME.assign(kind=0.0)),
        with_category(FRAME),
        "column 'kind' holds categories in the data, but numbers in the model",
    ),
}


@pytest.mark.parametrize(("make", "frame", "message"), COLUMNS.values(), ids=COLUMNS)
def test_fitted_rankers_of_other_columns_cannot_be_blended(make, frame, message):
    other = make()
    with pytest.raises(ModelError, match=message):
        rg.Blend(rankers=[other, MART]).fit(
            frame, DATA.y, qid=QID, eval_set=(frame.iloc[::-1], DATA.y[::-1], QID[::-1])
        )


@pytest.mark.filterwarnings("ignore:.*are categories that MART does not know")
def test_fitted_rankers_of_the_same_columns_in_another_form_score_as_alone():
    """Another order, fewer columns, other categories: matched by name and by value."""
    frame = with_category(FRAME)
    members = [
        fitted(frame),
        fitted(frame[["kind", *NAMES[::-1]]]),
        fitted(FRAME[NAMES[:4]]),
        fitted(with_category(FRAME, side="another")),
    ]
    unseen = make_ranking(25, seed=2, **SHAPE)
    valid = with_category(pandas.DataFrame(np.asarray(unseen.X), columns=NAMES))
    for member in members[1:]:
        blend = rg.Blend(rankers=[members[0], member])
        blend.fit(frame, DATA.y, qid=QID, eval_set=(valid, unseen.y, np.asarray(unseen.qid)))
        blend_of_two = blend.predict(valid)
        basis = np.stack([members[0].predict(valid), member.predict(valid), np.ones(len(valid))])
        weights, *_ = np.linalg.lstsq(basis.T, blend_of_two, rcond=None)
        np.testing.assert_allclose(weights @ basis, blend_of_two, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("inner", ["bagged:ranker=[mart:n_estimators=2],n_bags=2", "rf-point"])
def test_out_of_fold_fits_of_what_predicts_out_of_bag(inner):
    """Members learn from a part of the rows, whose out-of-bag predictions nobody sees."""
    inner = "rf-point:n_estimators=10,oob_score=true" if inner == "rf-point" else inner
    blend = rg.Blend(rankers=[inner, MART], n_folds=2).fit(DATA)
    assert np.isfinite(blend.predict(DATA)).all()
    calibrated = rg.Calibrated(ranker=inner, n_folds=2).fit(DATA)
    assert np.isfinite(calibrated.predict_proba(DATA)).all()


def test_early_stopping_of_dart_keeps_the_weights_of_the_best_step():
    """Trees are weighed anew in later steps: the kept ones have the weights that they had."""
    valid = make_ranking(25, seed=2, **SHAPE)
    ranker = rg.LambdaMART(n_estimators=40, drop_rate=0.5, skip_drop=0.0, random_state=0)
    ranker.fit(DATA, eval_set=valid, early_stopping_rounds=5)
    found = rg.metric("ndcg@10")(valid.y, ranker.predict(valid), groups=valid.groups)
    assert found == pytest.approx(ranker.best_score_)
