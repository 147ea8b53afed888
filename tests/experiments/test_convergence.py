"""Convergence curves."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove import Dataset, LambdaMART, RFPoint
from rankgrove.experiments.convergence import convergence


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(n_estimators=12, max_leaf_nodes=4, random_state=1),
        RFPoint(n_estimators=12, random_state=1),
    ],
    ids=["boosted", "forest"],
)
def test_curve_ends_at_the_score_of_the_whole_model(ranker, small_data):
    ranker.fit(small_data)
    curve = convergence(ranker, small_data, "ndcg@5")
    assert curve.steps == list(range(1, 13))
    assert len(curve.values) == 12
    assert curve.values[-1] == pytest.approx(ranker.score(small_data, metric="ndcg@5"))


def test_points_are_few_and_denser_at_the_beginning(small_data):
    ranker = LambdaMART(n_estimators=50, max_leaf_nodes=3, random_state=1).fit(small_data)
    curve = convergence(ranker, small_data, n_points=10)
    gaps = [after - before for before, after in zip(curve.steps, curve.steps[1:], strict=False)]
    assert curve.steps[0] == 1
    assert curve.steps[-1] == 50
    assert len(curve.steps) <= 10
    assert gaps == sorted(gaps)


@pytest.mark.filterwarnings("ignore:X has names for its columns")
@pytest.mark.filterwarnings("ignore:permutation importances has")
def test_ties_are_broken_by_document_ids(small_data):
    ids = np.random.default_rng(0).permutation(small_data.n_rows).astype(str)
    data = Dataset(small_data.X, small_data.y, small_data.qid, doc_ids=ids)
    ranker = LambdaMART(n_estimators=2, max_leaf_nodes=2, random_state=1).fit(data)
    metric = "ndcg@5(ties=doc_id)"
    score = ranker.score(data, metric=metric)
    assert convergence(ranker, data, metric).values[-1] == pytest.approx(score, rel=1e-12)
    assert score != pytest.approx(ranker.score(small_data, metric=metric), rel=1e-6)
    importances = [
        ranker.importances("permutation", d, metric=metric, n_repeats=1) for d in (data, small_data)
    ]
    assert (importances[0] != importances[1]).any()
