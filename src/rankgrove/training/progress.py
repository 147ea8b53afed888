"""Progress of a running fit: callbacks and a progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

History = dict[str, dict[str, list[float]]]
Measured = dict[str, dict[str, float]]
"""The metrics of the evaluation sets after one step."""


@dataclass
class FitProgress:
    """State of a running fit, as callbacks see it after each iteration.

    Attributes
    ----------
    iteration : iterations done, starting at 1
    n_estimators : iterations planned
    evals_result : ``{set name: {metric name: [value after each iteration]}}``
    best_iteration : iteration with the best validation metric so far, or None without validation
    ranker : the ranker in training
    """

    ranker: Any
    n_estimators: int
    iteration: int = 0
    evals_result: History = field(default_factory=dict)
    best_iteration: int | None = None

    def text(self) -> str:
        """Return the newest value of each metric as readable text."""
        return "  ".join(
            f"{name} {metric} {values[-1]:.4f}"
            for name, metrics in self.evals_result.items()
            for metric, values in metrics.items()
            if values
        )


Callback = Callable[[FitProgress], Any]
"""Called after each iteration; a true return value ends the training."""


@contextmanager
def progress_bar(title: str, verbose: int) -> Iterator[Callback]:
    """Yield a callback that draws a bar on a terminal, or lines elsewhere if verbose > 1."""
    if verbose == 0 or (verbose == 1 and not sys.stderr.isatty()):
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _rich_bar(title) as callback:
            yield callback
    else:
        yield lambda progress: print(
            f"{title} [{progress.iteration}/{progress.n_estimators}] {progress.text()}",
            file=sys.stderr,
        )


@contextmanager
def _rich_bar(title: str) -> Iterator[Callback]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[metrics]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, metrics="")

        def draw(progress: FitProgress) -> None:
            bar.update(
                task,
                completed=progress.iteration,
                total=progress.n_estimators,
                metrics=progress.text(),
            )

        yield draw
