from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.rankers.custom import CustomMART
from rankgrove.rankers.klmart import KLMART
from rankgrove.rankers.mart import MART

SETTINGS = {"n_estimators": 5, "n_jobs": 2, "random_state": 0}


def least_squares(scores, y, qid, weight):
    return weight * (scores - y), weight


def list_entropy(scores, y, qid, weight):
    gains = 2.0**y - 1
    p = np.exp(scores - scores.max())
    p /= p.sum()
    if gains.sum() == 0:
        return 0 * p, 0 * p
    return p - gains / gains.sum(), p * (1 - p)


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_vectorised_objective(small_data):
    y = small_data.y - small_data.y.mean()  # so that MART starts at 0, too
    ours = CustomMART(objective=least_squares, **SETTINGS).fit(small_data.X, y, qid=small_data.qid)
    theirs = MART(**SETTINGS).fit(small_data.X, y, qid=small_data.qid)
    np.testing.assert_allclose(ours.predict(small_data), theirs.predict(small_data), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
def test_objective_of_one_query(small_data, compiled):
    if compiled:
        pytest.importorskip("numba")
    ours = CustomMART(objective=list_entropy, per_query=True, compiled=compiled, **SETTINGS)
    theirs = KLMART(max_leaf_nodes=31, **SETTINGS).fit(small_data)
    np.testing.assert_allclose(
        ours.fit(small_data).predict(small_data), theirs.predict(small_data), atol=1e-4
    )


def test_model_file_predicts_without_the_function(small_data, tmp_path):
    ours = CustomMART(objective=least_squares, **SETTINGS).fit(small_data)
    ours.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(small_data), ours.predict(small_data))
    with pytest.raises(ValueError, match=r"parameter objective of CustomMART was .*set it"):
        loaded.fit(small_data)


def test_split_criterion_of_the_user(small_data):
    def newton(gl, hl, gr, hr):
        hl, hr = np.maximum(hl, 1e-9), np.maximum(hr, 1e-9)
        return gl**2 / hl + gr**2 / hr - (gl + gr) ** 2 / (hl + hr)

    ours = MART(criterion=newton, l2=0.0, max_leaf_nodes=8, **SETTINGS).fit(small_data)
    theirs = MART(tree="leafwise", l2=0.0, max_leaf_nodes=8, **SETTINGS).fit(small_data)
    np.testing.assert_allclose(ours.predict(small_data), theirs.predict(small_data), atol=1e-6)


@pytest.mark.parametrize("per_query", [True, False])
def test_errors_name_the_callers_query(small_data, per_query):
    def wrong(scores, y, qid, weight):
        return scores + np.where(np.broadcast_to(qid, len(y)) == 3, np.nan, 0), weight

    names = np.array([f"query {q}" for q in small_data.qid])
    how = {"per_query": True, "compiled": False} if per_query else {}
    ranker = CustomMART(objective=wrong, **how, **SETTINGS)
    fourth = list(dict.fromkeys(names))[3]
    with pytest.raises(ValueError, match=f"gradients with the value nan .* of query {fourth}"):
        ranker.fit(small_data.X, small_data.y, qid=names)


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_a_function_honours_weights_by_itself(small_data):
    weight = np.random.default_rng(0).integers(0, 3, small_data.n_rows).astype(float)
    arguments = (small_data.X, small_data.y - small_data.y @ weight / weight.sum())
    ours = CustomMART(objective=least_squares, **SETTINGS)
    ours.fit(*arguments, qid=small_data.qid, sample_weight=weight)
    theirs = MART(**SETTINGS).fit(*arguments, qid=small_data.qid, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(small_data), theirs.predict(small_data), atol=1e-4)
