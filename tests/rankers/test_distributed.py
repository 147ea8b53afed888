"""Trees of a forest spread over the workers of a Dask cluster."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from rankgrove.datasets import make_ranking
from rankgrove.rankers.base.merging import merge
from rankgrove.rankers.base.registry import make_ranker

N_PARTS, TREES_PER_PART = 3, 2


def grow_part(name, data, part):
    forest = make_ranker(
        name,
        n_estimators=TREES_PER_PART,
        first_tree=part * TREES_PER_PART,
        random_state=5,
        n_jobs=1,
    )
    return forest.fit(data)


def check(parts, name, data):
    whole = make_ranker(name, n_estimators=N_PARTS * TREES_PER_PART, random_state=5).fit(data)
    np.testing.assert_array_equal(merge(*parts).predict(data), whole.predict(data))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_backends_grow_parts_of_one_forest(backend):
    data = make_ranking(40, seed=3)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        parts = joblib.Parallel()(
            joblib.delayed(grow_part)("rf-point", data, part) for part in range(N_PARTS)
        )
    check(parts, "rf-point", data)


@pytest.mark.slow
def test_a_dask_cluster_grows_parts_of_one_forest():
    distributed = pytest.importorskip("dask.distributed")
    data = make_ranking(40, seed=3)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        shared = client.scatter(data, broadcast=True)
        futures = [client.submit(grow_part, "rf-list", shared, part) for part in range(N_PARTS)]
        check(client.gather(futures), "rf-list", data)
