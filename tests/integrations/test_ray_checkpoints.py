"""Fits within Ray: reports, and checkpoints to go on from."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.formats.container import to_bytes
from rankgrove.integrations import ray_checkpoints
from rankgrove.integrations.ray_checkpoints import fit_in_ray, ranker_of_checkpoint

DATA, VALID = make_ranking(20, seed=1), make_ranking(10, seed=2)
SETS = {"valid": VALID}


class KilledError(Exception):
    pass


class Session:
    """What fit_in_ray uses of ray.tune; ends the trial at a report."""

    def __init__(self, Checkpoint, folder, ends_at=None, checkpoint=None):
        self.Checkpoint, self._folder, self._ends_at = Checkpoint, folder, ends_at
        self.newest, self.reported = checkpoint, []

    def get_checkpoint(self):
        return self.newest

    def report(self, metrics, checkpoint=None):
        self.reported.append(metrics)
        if checkpoint is not None:
            kept = self._folder / f"{len(self.reported)}"
            checkpoint.to_directory(kept)
            self.newest = self.Checkpoint.from_directory(kept)
        if len(self.reported) == self._ends_at:
            raise KilledError


def ranker():
    return rankgrove.LambdaMART(n_estimators=12, random_state=3, n_jobs=1)


def test_a_trial_that_is_ended_goes_on_after_its_checkpoint(monkeypatch, tmp_path):
    tune = pytest.importorskip("ray.tune")
    local = to_bytes(ranker().fit(DATA, eval_set=SETS))

    def session(number, **options):
        found = Session(tune.Checkpoint, tmp_path / f"{number}", **options)
        monkeypatch.setattr(ray_checkpoints, "require", lambda *given: found)
        return found

    first = session(0, ends_at=8)
    with pytest.raises(KilledError):
        fit_in_ray(ranker(), DATA, eval_set=SETS, every=3)
    with pytest.raises(ModelError, match="no model yet"):
        ranker_of_checkpoint(first.newest)
    second = session(1, checkpoint=first.newest)
    fitted = fit_in_ray(ranker(), DATA, eval_set=SETS, every=3)
    assert [metrics["step"] for metrics in second.reported[:-1]] == list(range(7, 13))
    assert set(second.reported[0]) == {"step", "valid/ndcg@10"}
    assert to_bytes(fitted) == to_bytes(ranker_of_checkpoint(second.newest)) == local


def test_refusals(monkeypatch, tmp_path):
    many = SimpleNamespace(get_context=lambda: SimpleNamespace(get_world_size=lambda: 2))
    monkeypatch.setattr(ray_checkpoints, "require", lambda *given: many)
    with pytest.raises(ModelError, match="on='ray'"):
        fit_in_ray(ranker(), DATA, train=True)


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_a_study_of_ray_tune(tmp_path):
    ray = pytest.importorskip("ray")
    tune = pytest.importorskip("ray.tune")

    def trial(config):
        made = rankgrove.MART(n_estimators=config["n"], random_state=3, n_jobs=1)
        fit_in_ray(made, DATA, eval_set=SETS, every=2)

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _node_ip_address="127.0.0.2",
        object_store_memory=100 << 20,
    )
    try:
        results = tune.Tuner(
            trial,
            param_space={"n": tune.grid_search([2, 5])},
            run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
        ).fit()
        assert not results.errors
        best = results.get_best_result(metric="valid/ndcg@10", mode="max")
        found = ranker_of_checkpoint(best.checkpoint)
    finally:
        ray.shutdown()
    local = rankgrove.MART(n_estimators=best.config["n"], random_state=3).fit(DATA, eval_set=SETS)
    assert to_bytes(found) == to_bytes(local)


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_a_worker_of_ray_train_that_is_killed_goes_on_after_its_checkpoint(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    train = pytest.importorskip("ray.train")
    trainers = pytest.importorskip("ray.train.v2.api.data_parallel_trainer")
    monkeypatch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "300")  # on a busy machine
    marker = tmp_path / "killed"

    def loop(config):
        import ray.train as session

        report, steps = session.report, []

        def killed_once(metrics, **options):
            report(metrics, **options)
            steps.append(metrics["step"])
            if len(steps) == 8 and not marker.exists():
                marker.touch()
                os._exit(1)

        session.report = killed_once
        try:
            fit_in_ray(ranker(), DATA, eval_set=SETS, every=3, train=True)
        finally:
            session.report = report
        assert steps[0] == 7  # after the checkpoint of step 6

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _node_ip_address="127.0.0.2",
        object_store_memory=100 << 20,
    )
    try:
        result = trainers.DataParallelTrainer(
            loop,
            train_loop_config={},
            scaling_config=train.ScalingConfig(num_workers=1),
            run_config=train.RunConfig(
                storage_path=str(tmp_path / "results"),
                failure_config=train.FailureConfig(max_failures=1),
            ),
        ).fit()
        found = ranker_of_checkpoint(result.checkpoint)
    finally:
        ray.shutdown()
    assert marker.exists()
    assert result.metrics["step"] == 12
    assert "valid/ndcg@10" in result.metrics
    assert to_bytes(found) == to_bytes(ranker().fit(DATA, eval_set=SETS))
