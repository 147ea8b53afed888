"""A ranker on Dask collections."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.integrations.dask_rankers import DaskRanker

pytestmark = [pytest.mark.timeout(1200), pytest.mark.cluster]


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_fit_and_predict_lazily(client):
    frames = pytest.importorskip("dask.dataframe")
    data = make_ranking(20, seed=1)
    frame = frames.from_pandas(to_arrow(data).to_pandas(), npartitions=3, sort=False)
    ranker = DaskRanker(rankgrove.RFPoint(n_estimators=4, random_state=1))
    ranker.set_params(ranker__n_estimators=3)
    assert ranker.get_params()["ranker__n_estimators"] == 3
    scores = ranker.fit(frame, share="rows").predict(frame)  # on the current client
    assert hasattr(scores, "compute")
    local = rankgrove.RFPoint(n_estimators=3, random_state=1).fit(data)
    np.testing.assert_array_equal(scores.compute().to_numpy(), local.predict(data))
    with pytest.raises(ValueError, match="no parameter 'trees'"):
        ranker.set_params(trees=3)


def test_arrays(client):
    array = pytest.importorskip("dask.array")
    data = make_ranking(10, seed=1)
    X, y, qid = (array.from_array(a, chunks=60) for a in (data.X, data.y, data.qid))
    ranker = DaskRanker(rankgrove.MART(n_estimators=3, random_state=1), client).fit(X, y, qid)
    scores = ranker.predict(X).compute()
    local = rankgrove.MART(n_estimators=3, random_state=1).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(scores, local.predict(data.X))
