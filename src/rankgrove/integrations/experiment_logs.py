"""Callbacks that log the metrics of a running fit: TensorBoard, Weights & Biases, MLflow."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike, fspath
from typing import Any

from rankgrove._optional import require
from rankgrove.training.progress import Callback, FitProgress


def log_metrics(log: Callable[..., Any]) -> Callback:
    """Return a callback that passes the metrics of every step to ``log(values, step=step)``.

    ``wandb.init().log`` and ``mlflow.log_metrics`` are such functions::

        ranker.fit(train, eval_set=valid, callbacks=[log_metrics(mlflow.log_metrics)])

    ``values`` has one entry per evaluation set and metric, such as ``valid/ndcg_at_10`` (MLflow
    takes no ``@`` in a name).

    Parameters
    ----------
    log : called with a dict of values and the number of the step, which starts at 1
    """

    def callback(progress: FitProgress) -> None:
        log(newest_values(progress), step=progress.iteration)

    return callback


def log_to_tensorboard(folder: str | PathLike[str]) -> Callback:
    """Return a callback that writes the metrics of every step for TensorBoard.

    ``tensorboard --logdir FOLDER`` shows them while the fit is running. Needs tensorboard, not
    TensorFlow.

    Parameters
    ----------
    folder : where the event file is written; one folder per fit
    """
    summary = require("tensorboard.summary", "tensorboard", "logging to TensorBoard")
    writer = summary.Writer(fspath(folder))

    def callback(progress: FitProgress) -> None:
        for name, value in newest_values(progress).items():
            writer.add_scalar(name, value, progress.iteration)
        writer.flush()

    return callback


def newest_values(progress: FitProgress) -> dict[str, float]:
    """Return the values of the newest step by names that every tool accepts."""
    return {
        re.sub(r"[^\w./ -]", "_", f"{name}/{metric}".replace("@", "_at_")): float(values[-1])
        for name, metrics in progress.evals_result.items()
        for metric, values in metrics.items()
        if values
    }
