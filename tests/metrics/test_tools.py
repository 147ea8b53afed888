"""Presets against the real tools, on random rankings with ties, empty and short queries.

Where a tool reports only the mean, the mean is compared. Scores are exact in float32, because
XGBoost and trec_eval keep them so.
"""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from metrics.ranking_cases import random_case
from rankgrove import evaluate, metric

SEEDS = range(4)
TOLERANCE = 1e-9


def mean(text, preset, case, y=None, **params):
    y = case.y if y is None else y
    return metric(text, preset=preset, **params)(
        y, case.scores, group_sizes=case.sizes, doc_ids=case.doc_ids
    )


# LightGBM ------------------------------------------------------------------------------------


def lightgbm_values(case, y, **params):
    """Metrics of LightGBM for given scores: they are the initial scores, and no tree is grown."""
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(
        np.arange(len(y))[:, None],
        y,
        group=case.sizes,
        init_score=case.scores,
        params={"min_data_in_bin": 1, "feature_pre_filter": False},
    )
    recorded = {}
    lightgbm.train(
        {
            "objective": lambda scores, data: (np.zeros(len(y)), np.ones(len(y))),
            "metric": ["ndcg", "map"],
            "eval_at": [1, 2, 3, 5, 10, 20],
            "min_gain_to_split": 1.0,
            "num_threads": 1,
            "verbose": -1,
            **params,
        },
        data,
        num_boost_round=1,
        valid_sets=[data],
        valid_names=["data"],
        callbacks=[lightgbm.record_evaluation(recorded)],
    )
    return {name: values[0] for name, values in recorded["data"].items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_lightgbm(seed):
    case = random_case(seed)
    for name, value in lightgbm_values(case, case.y).items():
        assert mean(name, "lightgbm", case) == pytest.approx(value, abs=TOLERANCE), name


def test_lightgbm_with_a_table_of_gains():
    case = random_case(9)
    table = [0, 2, 3, 10, 11]
    for name, value in lightgbm_values(case, case.y, label_gain=table, metric="ndcg").items():
        assert mean(name, "lightgbm", case, gain=table) == pytest.approx(value, abs=TOLERANCE)


def test_lightgbm_calls_fractional_labels_above_one_half_relevant():
    case = random_case(4)
    y = np.array([0.0, 0.5, 0.50001, 0.9, 2.0])[case.y.astype(int)]
    for name, value in lightgbm_values(case, y, metric="map").items():
        # LightGBM keeps labels in float32.
        assert mean(name, "lightgbm", case, y.astype(np.float32)) == pytest.approx(value, abs=1e-9)


# XGBoost -------------------------------------------------------------------------------------


def xgboost_values(case, y, names, **params):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(
        np.zeros((len(y), 1)), y, base_margin=case.scores.astype(np.float32), nthread=1
    )
    data.set_group(case.sizes)
    booster = xgboost.Booster({"objective": "rank:ndcg", "eval_metric": names, **params}, [data])
    texts = booster.eval(data).split("\t")[1:]
    return {name: float(text.rpartition(":")[2]) for name, text in zip(names, texts, strict=True)}


def as_xgboost(name):
    """Split XGBoost's name of a metric into ours and the preset."""
    preset = "xgboost-" if name.endswith("-") else "xgboost"
    return name.rstrip("-").replace("pre", "p"), preset


@pytest.mark.parametrize("seed", SEEDS)
def test_xgboost(seed):
    case = random_case(seed)
    graded = ["ndcg", "ndcg-", *(f"ndcg@{k}{m}" for k in (1, 3, 5, 10, 20) for m in ("", "-"))]
    binary = [n.replace("ndcg", other) for n in graded for other in ("map", "pre")]
    y = (case.y >= 3).astype(float)
    for name, value in xgboost_values(case, case.y, graded).items():
        assert mean(*as_xgboost(name), case) == pytest.approx(value, abs=TOLERANCE), name
    for name, value in xgboost_values(case, y, binary).items():
        assert mean(*as_xgboost(name), case, y) == pytest.approx(value, abs=TOLERANCE), name


def test_xgboost_with_linear_gain():
    pytest.importorskip("xgboost", minversion="3.0")  # (2.1 does not take the parameter)
    case = random_case(2)
    values = xgboost_values(case, case.y, ["ndcg@5", "ndcg@10-"], ndcg_exp_gain=False)
    for name, value in values.items():
        expected = pytest.approx(value, abs=TOLERANCE)
        assert mean(*as_xgboost(name), case, gain="linear") == expected


# CatBoost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_catboost(seed):
    utils = pytest.importorskip("catboost.utils")
    case = random_case(seed)
    families = {
        "NDCG": ("ndcg", {}),
        "NDCG:type=Exp": ("ndcg", {"gain": "exp"}),
        "NDCG:denominator=Position": ("ndcg", {"discount": "beta:1"}),
        "DCG": ("dcg", {}),
        "DCG:type=Exp": ("dcg", {"gain": "exp"}),
        "MAP": ("map", {}),
        "MAP:border=2": ("map", {"relevant_from": ">2"}),
        "MRR": ("mrr", {}),
        "ERR": ("err", {}),
        "PrecisionAt": ("p", {}),
        "RecallAt": ("recall", {}),
    }
    for (name, (ours, params)), k in itertools.product(families.items(), [None, 1, 3, 5, 12]):
        y = case.y / 4 if ours == "err" else case.y  # its ERR reads labels as probabilities
        theirs = name if k is None else f"{name}{';' if ':' in name else ':'}top={k}"
        value = utils.eval_metric(y, case.scores, theirs, group_id=case.qid, thread_count=1)[0]
        assert mean(ours, "catboost", case, y, k=k, **params) == pytest.approx(
            value, abs=TOLERANCE
        ), theirs
    value = utils.eval_metric(case.y, case.scores, "RMSE", thread_count=1)[0]
    assert mean("rmse", "catboost", case) == pytest.approx(value, abs=TOLERANCE)
    centred = case.scores - np.median(case.scores)
    value = utils.eval_metric(case.y, centred, "FilteredDCG", group_id=case.qid, thread_count=1)[0]
    filtered = metric("filtered-dcg")(case.y, centred, group_sizes=case.sizes)
    assert filtered == pytest.approx(value, abs=TOLERANCE)


# scikit-learn and SciPy ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_scikit_learn_ndcg_and_dcg(seed):
    from sklearn.metrics import dcg_score, ndcg_score

    case = random_case(seed, shortest=2)
    for k in (None, 1, 3, 5, 20):
        for text, score in (("ndcg", ndcg_score), ("dcg", dcg_score)):
            measured = metric(text, preset="sklearn", k=k)
            values = measured.per_query(case.y, case.scores, group_sizes=case.sizes)
            expected = [score([y], [s], k=k) for y, s in case.queries()]
            np.testing.assert_allclose(values, expected, rtol=0, atol=TOLERANCE)


def test_scikit_learn_average_precision_without_ties():
    from sklearn.metrics import average_precision_score

    case = random_case(1, ties=False)
    values = metric("map", relevant_from=2).per_query(case.y, case.scores, group_sizes=case.sizes)
    for value, (y, s) in zip(values, case.queries(), strict=True):
        if (y >= 2).any():
            assert value == pytest.approx(average_precision_score(y >= 2, s), abs=TOLERANCE)


def test_kendall_tau_and_rmse_of_scipy_and_scikit_learn():
    from scipy.stats import kendalltau
    from sklearn.metrics import root_mean_squared_error

    case = random_case(2, longest=40)
    values = metric("tau").per_query(case.y, case.scores, group_sizes=case.sizes)
    for value, (y, s) in zip(values, case.queries(), strict=True):
        if len(set(y)) > 1 and len(set(s)) > 1:
            assert value == pytest.approx(kendalltau(s, y).statistic, abs=TOLERANCE)
        else:
            assert np.isnan(value) == (len(set(y)) == 1)
    weight = np.arange(1.0, len(case.sizes) + 1)
    expected = root_mean_squared_error(
        case.y, case.scores, sample_weight=np.repeat(weight, case.sizes)
    )
    value = metric("rmse")(case.y, case.scores, group_sizes=case.sizes, query_weight=weight)
    assert value == pytest.approx(expected, abs=TOLERANCE)


# trec_eval and gdeval ------------------------------------------------------------------------


def trec_form(case):
    qrels, run = {}, {}
    for q, doc, label, score in zip(case.qid, case.doc_ids, case.y, case.scores, strict=True):
        qrels.setdefault(str(q), {})[doc] = int(label)
        run.setdefault(str(q), {})[doc] = float(score)
    return qrels, run


@pytest.mark.parametrize("seed", SEEDS)
def test_pytrec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    case = random_case(seed)
    qrels, run = trec_form(case)
    names = {
        "ndcg": "ndcg", "ndcg_cut_5": "ndcg@5", "ndcg_cut_10": "ndcg@10", "map": "map",
        "map_cut_5": "map@5", "recip_rank": "mrr", "P_5": "p@5", "P_10": "p@10",
        "recall_5": "recall@5", "recall_10": "recall@10",
    }  # fmt: skip
    wanted = {"ndcg", "ndcg_cut.5,10", "map", "map_cut.5", "recip_rank", "P.5,10", "recall.5,10"}
    values = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    ours = evaluate(
        case.y,
        case.scores,
        qid=case.qid,
        doc_ids=case.doc_ids,
        metrics=names.values(),
        preset="trec",
    )
    for theirs, name in names.items():
        expected = [values[str(q)][theirs] for q in range(len(case.sizes))]
        np.testing.assert_allclose(ours.values(name), expected, rtol=0, atol=TOLERANCE)


def ir_measures_module():
    """Return ir_measures; skip where it cannot parse names (0.4 on Python 3.14)."""
    if sys.version_info >= (3, 14):
        pytest.skip("ir_measures needs ast.Num, which Python 3.14 no longer has")
    return pytest.importorskip("ir_measures")


def test_ir_measures():
    ir_measures = ir_measures_module()
    case = random_case(5)
    qrels, run = trec_form(case)
    names = {
        "nDCG@5": "ndcg@5", "nDCG": "ndcg", "AP": "map", "AP(rel=2)": "map(relevant_from=2)",
        "AP@5": "map@5", "RR": "mrr", "RR(rel=3)": "mrr(relevant_from=3)", "P@5": "p@5",
        "P(rel=2)@10": "p@10(relevant_from=2)", "R@5": "recall@5",
    }  # fmt: skip
    measures = {name: ir_measures.parse_measure(name) for name in names}
    values = ir_measures.calc_aggregate(measures.values(), qrels, run)
    for theirs, ours in names.items():
        expected = pytest.approx(values[measures[theirs]], abs=TOLERANCE)
        assert mean(ours, "trec", case) == expected, theirs


@pytest.mark.process
def test_gdeval():
    """gdeval prints five decimals; its formulas are checked exactly against the definitions."""
    ir_measures = ir_measures_module()
    case = random_case(6)
    names = {"nDCG(dcg='exp-log2')@5": "ndcg@5", "ERR@5": "err@5", "ERR@20": "err@20"}
    measures = {ir_measures.parse_measure(name): ours for name, ours in names.items()}
    if not ir_measures.gdeval.is_available():
        pytest.skip("gdeval needs perl")
    values = {text: np.full(len(case.sizes), np.nan) for text in names.values()}
    for found in ir_measures.gdeval.iter_calc(list(measures), *trec_form(case)):
        values[measures[found.measure]][int(found.query_id)] = found.value
    for text, expected in values.items():
        ours = metric(text, preset="gdeval").per_query(
            case.y, case.scores, group_sizes=case.sizes, doc_ids=case.doc_ids
        )
        is_empty = np.bincount(case.qid, case.y) == 0
        np.testing.assert_array_equal(np.isnan(ours), is_empty)
        np.testing.assert_allclose(ours[~is_empty], expected[~is_empty], atol=5.1e-6)


# ranx ----------------------------------------------------------------------------------------


RANX_PROGRAM = """
import json, sys
import ranx
qrels, run, names = json.load(sys.stdin)
values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names)
print(json.dumps({name: float(value) for name, value in values.items()}))
"""


@pytest.mark.process
def test_ranx():
    """Runs apart, without numba's compiler: compiling takes minutes, the arithmetic is the same.

    Only its order of ties, which ranx leaves to the sort of the moment, differs then.
    """
    pytest.importorskip("ranx")
    case = random_case(7, ties=False)
    names = {
        "ndcg@5": "ndcg@5(gain=linear)", "ndcg_burges@5": "ndcg@5", "ndcg": "ndcg(gain=linear)",
        "map": "map", "map@5": "map@5", "map-l2": "map(relevant_from=2)", "mrr": "mrr",
        "mrr@3": "mrr@3",
        "precision@5": "p@5", "recall@5": "recall@5", "dcg_burges@5": "dcg@5",
    }  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-c", RANX_PROGRAM],
        input=json.dumps([*trec_form(case), list(names)]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    values = json.loads(answer.stdout.splitlines()[-1])
    for theirs, ours in names.items():
        assert mean(ours, None, case) == pytest.approx(values[theirs], abs=TOLERANCE), theirs
