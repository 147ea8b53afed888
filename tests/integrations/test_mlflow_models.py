"""A ranker logged to MLflow is loaded as a pyfunc that gives the same scores."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import MissingDependencyError, RankgroveError
from rankgrove.integrations import log_metrics, log_mlflow_model
from rankgrove.integrations.mlflow_models import _load_pyfunc


@pytest.fixture(scope="module")
def ranker():
    return rankgrove.LambdaMART(n_estimators=4, random_state=0).fit(make_ranking(20, n_features=5))


@pytest.mark.process  # MLflow takes seconds to import
def test_logged_model_scores_as_the_ranker(ranker, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", minversion="3.0")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    data = make_ranking(10, n_features=5, seed=3)
    with mlflow.start_run() as run:
        logs = log_metrics(mlflow.log_metrics)
        watched = rankgrove.MART(n_estimators=3).fit(data, eval_set={"all": data}, callbacks=[logs])
        info = log_mlflow_model(ranker)
    values = mlflow.MlflowClient().get_metric_history(run.info.run_id, "all/ndcg_at_10")
    assert [value.value for value in values] == watched.evals_result_["all"]["ndcg@10"]
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(loaded.predict(data.X), ranker.predict(data))


def test_model_file_is_what_mlflow_loads(ranker, tmp_path):
    ranker.save(tmp_path / "model.rg")
    data = make_ranking(10, n_features=5, seed=3)
    model = _load_pyfunc(str(tmp_path / "model.rg"))
    assert np.array_equal(model.predict(data.X), ranker.predict(data))
    assert np.array_equal(model.predict(data.X, {"qid": data.qid}), ranker.predict(data))


def test_what_the_function_sets_is_refused(ranker, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", object())
    with pytest.raises(RankgroveError, match="data_path is set by log_mlflow_model"):
        log_mlflow_model(ranker, data_path="elsewhere")


def test_an_absent_library_is_named(ranker, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(MissingDependencyError, match=r"rankgrove\[mlflow\]"):
        log_mlflow_model(ranker)
