"""Progress display of a running study: bars of the study, the fold and the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.sources import StudyFold
from rankgrove.experiments.study import Cell, Study


class NoProgress:
    """The interface of progress reports; this implementation shows nothing."""

    def study(self, study: Study) -> None:
        """Report the start of a study."""

    def fold(self, fold: StudyFold, cells: Sequence[Cell]) -> None:
        """Report the start of a fold."""

    def begin(self, cell: Cell) -> list[Any]:
        """Report the start of a cell; return callbacks for its fit."""
        return []

    def skipped(self, cell: Cell) -> None:
        """Report a cell that was finished before, or elsewhere."""

    def done(self, cell: Cell, outcome: CellOutcome) -> None:
        """Report the end of a cell."""

    def waiting(self, n_cells: int) -> None:
        """Report that only cells of other processes are left."""


class StudyProgress(NoProgress):
    """Nested bars on a terminal; a context."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Left

        self._bars = Progress(
            TextColumn("{task.description}", table_column=None),
            BarColumn(),
            MofNCompleteColumn(),
            Left(),
            console=Console(stderr=True),
            transient=True,
        )
        self._study = self._bars.add_task("study", total=None)
        self._fold = self._bars.add_task("fold", total=None)
        self._fit = self._bars.add_task("fit", total=None, visible=False)
        self._expected = self._known = 0

    def __enter__(self) -> StudyProgress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def study(self, study: Study) -> None:
        """Set the number of cells; folders may hold another number of folds than expected."""
        n_cells = sum(
            1 if spec.library == "scores" else len(spec.settings) * study.repeats
            for spec in study.specs
        )
        self._expected = n_cells * sum(
            min(source.n_folds, source.max_folds or source.n_folds) for source in study.sources
        )

    def fold(self, fold: StudyFold, cells: Sequence[Cell]) -> None:
        """Restart the bar of the fold."""
        self._known += len(cells)
        self._bars.update(self._study, total=max(self._expected, self._known))
        self._bars.reset(
            self._fold, total=len(cells), description=f"{fold.data}, fold {fold.number}"
        )

    def begin(self, cell: Cell) -> list[Any]:
        """Restart the bar of the fit."""
        self._bars.reset(self._fit, total=None, description=cell.spec.label, visible=True)

        def step(progress: Any) -> None:
            self._bars.update(self._fit, completed=progress.iteration, total=progress.n_estimators)

        return [step]

    def skipped(self, cell: Cell) -> None:
        """Count a cell that needs no work."""
        self._advance()

    def done(self, cell: Cell, outcome: CellOutcome) -> None:
        """Count a finished cell."""
        self._advance()
        if outcome.error:
            self._bars.console.print(
                f"{cell.spec.label}, {cell.data}, fold {cell.fold}: {outcome.error}",
                markup=False,
                highlight=False,
            )

    def waiting(self, n_cells: int) -> None:
        """Show that only cells of other processes are left."""
        self._bars.update(self._fit, description=f"{n_cells} cells run in other processes")

    def _advance(self) -> None:
        self._bars.advance(self._study)
        self._bars.advance(self._fold)
