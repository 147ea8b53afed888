"""Fits that many workers do together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rankgrove.distributed.communicator import Communicator
from rankgrove.distributed.shard import Shard

Ranker = TypeVar("Ranker")

OnStep = Callable[[int, bytes, Mapping[str, Mapping[str, float]]], Any]
"""``on_step(step, record, metrics)``, called by worker 0 after each step: the number of the step
(from 1), a record of its trees, a few kilobytes, and ``{set: {metric: newest value}}``. A true
answer ends the training. Kept in order, the records are what ``resume`` takes."""


def fit_shard(
    ranker: Ranker,
    shard: Shard,
    communicator: Communicator,
    *,
    fit_options: Mapping[str, Any] | None = None,
    resume: Sequence[bytes] = (),
    on_step: OnStep | None = None,
) -> Ranker:
    """Fit a ranker together with the other workers, each of which calls this with its shard.

    All workers return the same ranker, fitted: ``save`` writes the same bytes as after one ``fit``
    of all shards in a row, whatever the number of workers. (Where ``random_state`` is None, worker
    0 draws the seed.) If it raises on one worker, the others raise ``WorkerFailed`` or
    ``WorkerLost``; the ranker stays as it was.

    Parameters
    ----------
    ranker : with the same parameters on every worker (``n_jobs`` and ``verbose`` may differ; bars
        and lines are drawn by worker 0 alone)
    shard : this worker's part of the data
    communicator : connects the workers; it stays open for what comes next, unless the fit fails:
        then the others have been told, and it is closed
    fit_options : ``eval_metric``, ``early_stopping_rounds``, ``init_model`` and ``callbacks`` (of
        worker 0 alone) as for ``fit``, the same on every worker
    resume : records of the steps that an earlier attempt on the same data finished, in order,
        whatever the number of its workers; those of worker 0 count. The fit goes on after them, to
        the bits that it would have had uninterrupted. They are checked: records of another fit are
        refused
    on_step : called by worker 0 after each new step

    Raises
    ------
    ModelError : for a ranker that cannot be fitted in shards; names it and says why
    DataError : for shards that do not belong together; names the workers
    WorkerLost, WorkerFailed : when another worker died, or gave up with an error
    """
    raise NotImplementedError
