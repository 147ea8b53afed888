"""Metrics of a running fit reach the tools that log them."""

from __future__ import annotations

import sys

import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import MissingDependencyError
from rankgrove.integrations import log_metrics, log_to_tensorboard


def fitted(callback):
    train, valid = make_ranking(20, n_features=5, seed=1), make_ranking(20, n_features=5, seed=2)
    return rankgrove.LambdaMART(n_estimators=4, random_state=0).fit(
        train,
        eval_set={"train": train, "valid": valid},
        eval_metric=["ndcg@5", "map"],
        callbacks=[callback],
    )


def test_every_step_is_logged_with_its_values():
    logged = []
    ranker = fitted(log_metrics(lambda values, step: logged.append((step, values))))
    assert [step for step, _ in logged] == [1, 2, 3, 4]
    assert set(logged[0][1]) == {
        "train/ndcg_at_5", "train/map", "valid/ndcg_at_5", "valid/map"
    }  # fmt: skip
    history = ranker.evals_result_["valid"]["ndcg@5"]
    assert [values["valid/ndcg_at_5"] for _, values in logged] == list(history)


def test_a_result_of_the_logging_function_does_not_end_the_training():
    assert len(fitted(log_metrics(lambda values, step: True)).evals_result_["valid"]["map"]) == 4


def test_tensorboard_reads_what_was_written(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    ranker = fitted(log_to_tensorboard(tmp_path))
    events = EventAccumulator(str(tmp_path)).Reload()
    found = events.Tensors("valid/ndcg_at_5")
    assert [event.step for event in found] == [1, 2, 3, 4]
    values = [float(make_ndarray(event.tensor_proto)) for event in found]
    assert values == pytest.approx(ranker.evals_result_["valid"]["ndcg@5"], abs=1e-6)


@pytest.mark.process
def test_weights_and_biases_have_the_last_step(tmp_path):
    wandb = pytest.importorskip("wandb")
    settings = wandb.Settings(silent=True, console="off")
    with wandb.init(mode="offline", dir=str(tmp_path), settings=settings) as run:
        ranker = fitted(log_metrics(run.log))
        run.log({"end": 1})  # a later step: the step before it is complete now
        assert run.summary["valid/map"] == ranker.evals_result_["valid"]["map"][-1]


def test_an_absent_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(MissingDependencyError, match=r"rankgrove\[tensorboard\]"):
        log_to_tensorboard("runs")
