"""Fits within Ray Tune and Ray Train: reports of metrics, and checkpoints to go on from.

A fit over several machines is ``rankgrove.distributed.fit`` with ``on="ray"``; here one trial, or
one worker of Ray Train, fits one ranker.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rankgrove._optional import require
from rankgrove.distributed.arrow_bytes import from_frames, to_frames
from rankgrove.distributed.rendezvous import Hub
from rankgrove.distributed.shard import Shard
from rankgrove.distributed.shard_fit import fit_shard
from rankgrove.errors import ModelError
from rankgrove.formats.container import load_model
from rankgrove.rankers.base.estimator import BaseRanker

Ranker = TypeVar("Ranker", bound=BaseRanker)

MODEL, RECORDS = "model.rg", "records.bin"


def fit_in_ray(
    ranker: Ranker,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    sample_weight: Any = None,
    eval_set: Mapping[str, Any] | None = None,
    every: int = 10,
    train: bool = False,
    **fit_options: Any,
) -> Ranker:
    """Fit a ranker inside a trial of Ray Tune or a worker of Ray Train; go on after its checkpoint.

    Metrics of the evaluation sets are reported after every step, as ``"SET/METRIC"`` and
    ``"step"``. Every few steps, a checkpoint holds the records of all steps so far: a
    trial that is pre-empted and started again goes on after them, to the bits that it would have
    had. The last checkpoint holds the model file, too (see ``ranker_of_checkpoint``).

    Parameters
    ----------
    ranker : boosted trees or a forest that can be fitted in shards
    X, y, qid, sample_weight : as in ``fit``, in the memory of this process
    eval_set : evaluation sets by name: a Dataset, a tuple (X, y, qid), or ``"train"``
    every : steps from one checkpoint to the next
    train : whether this is a worker of Ray Train; else it is a trial of Ray Tune
    fit_options : ``eval_metric``, ``early_stopping_rounds``, ``stopping_rule``, ``init_model``
    """
    session = require("ray.train" if train else "ray.tune", "ray", "a fit within Ray")
    if train and session.get_context().get_world_size() > 1:
        raise ModelError(
            "fit_in_ray fits one ranker in one worker; several workers fit one together by "
            "rankgrove.distributed.fit(..., on='ray')"
        )
    if every < 1:
        raise ValueError(f"every must be at least 1, not {every!r}")
    records = _records_of(session.get_checkpoint())
    step_so_far = 0

    def on_step(step: int, record: bytes, metrics: Mapping[str, Mapping[str, float]]) -> None:
        nonlocal step_so_far
        step_so_far = step
        records.append(record)
        if len(records) % every == 0:
            _report(session, step, metrics, _records_writer(records))
        else:
            session.report(_flat(step, metrics))

    shard = Shard(X, y, qid, sample_weight=sample_weight, eval_set=dict(eval_set or {}))
    token = secrets.token_bytes(32)
    with Hub("127.0.0.1").accept(1, token) as communicator:
        fit_shard(
            ranker,
            shard,
            communicator,
            fit_options=fit_options,
            resume=tuple(records),
            on_step=on_step,
        )

    def write(folder: Path) -> None:
        ranker.save(folder / MODEL)
        _records_writer(records)(folder)

    last = {
        name: {metric: values[-1] for metric, values in of_set.items()}
        for name, of_set in getattr(ranker, "evals_result_", {}).items()
    }
    _report(session, step_so_far or len(records), last, write)
    return ranker


def ranker_of_checkpoint(checkpoint: Any) -> Any:
    """Return the fitted ranker of the last checkpoint of ``fit_in_ray``."""
    with checkpoint.as_directory() as folder:
        path = Path(folder) / MODEL
        if not path.exists():
            raise ModelError(
                "this checkpoint was written while the fit was running: it has records to go on "
                "from, and no model yet"
            )
        return load_model(path)


def _records_of(checkpoint: Any) -> list[bytes]:
    if checkpoint is None:
        return []
    with checkpoint.as_directory() as folder:
        path = Path(folder) / RECORDS
        if not path.exists():
            raise ModelError(f"the checkpoint to go on from has no {RECORDS}")
        return list(from_frames(path.read_bytes()))


def _records_writer(records: list[bytes]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / RECORDS).write_bytes(to_frames(records))

    return write


def _report(
    session: Any,
    step: int,
    metrics: Mapping[str, Mapping[str, float]],
    write: Callable[[Path], None],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        session.report(_flat(step, metrics), checkpoint=session.Checkpoint.from_directory(folder))


def _flat(step: int, metrics: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    values = {
        f"{name}/{metric}": float(value)
        for name, of_set in metrics.items()
        for metric, value in of_set.items()
    }
    return {"step": step, **values}
