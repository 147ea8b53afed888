"""Small studies."""

from __future__ import annotations

import pytest

from rankgrove.datasets import make_ranking
from rankgrove.experiments.study import make_study

RANKERS = ("lambdamart:n_estimators=5,max_leaf_nodes=4|8", "rf-point:n_estimators=4")


@pytest.fixture(scope="session")
def tiny_data():
    """36 queries of about 10 documents."""
    return make_ranking(36, docs_per_query=10, n_features=12, seed=3)


@pytest.fixture
def tiny_study(tiny_data):
    return make_study(
        tiny_data, list(RANKERS), folds=3, metrics=["ndcg@5", "map"], baseline="lambdamart"
    )


def results_of(store):
    """All that must be the same bits whoever computes it."""
    return [
        (
            e.data,
            e.fold,
            e.ranker,
            e.setting,
            e.repeat,
            e.seed,
            e.status,
            e.outcome.validation,
            e.outcome.n_steps,
            e.outcome.error,
            *(getattr(e.outcome, name).tobytes() for name in e.outcome._ARRAYS),
        )
        for e in store.results()
    ]


@pytest.fixture
def results():
    return results_of
