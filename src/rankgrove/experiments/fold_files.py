"""Files of the folds of a running study, which its workers map."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import joblib

from rankgrove._files import is_unlocked, locked, naming_written
from rankgrove.experiments.sources import StudyFold

_FOLDS, _LOCK = ".folds-", "lock"


class FoldFiles:
    """Folds in files, one folder each; workers map them into memory instead of receiving copies.

    Beside a fold, workers leave its bins for each other.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_FOLDS, dir=folder))
        self._alive = ExitStack()
        self._alive.enter_context(locked(self.folder / _LOCK))
        self._open: dict[str, int] = {}
        self._closed: set[str] = set()

    def __enter__(self) -> FoldFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._alive.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, fold: StudyFold) -> str:
        """Write a fold; return its path."""
        folder = self.folder / fold.fingerprint
        path = str(folder / "fold.joblib")
        with naming_written(path):
            folder.mkdir()
            joblib.dump(fold.parts, path)
        self._open[path] = 0
        return path

    def taken(self, path: str) -> None:
        """Count a job that reads the fold."""
        self._open[path] += 1

    def returned(self, path: str) -> None:
        """Count a job that has finished."""
        self._open[path] -= 1
        self._tidy(path)

    def closed(self, path: str) -> None:
        """Mark the fold for removal once its jobs have finished."""
        self._closed.add(path)
        self._tidy(path)

    def _tidy(self, path: str) -> None:
        if path in self._closed and self._open[path] == 0:
            shutil.rmtree(Path(path).parent, ignore_errors=True)


def remove_stale(folder: Path) -> None:
    """Remove the unlocked folds of processes that were killed."""
    for left in folder.glob(f"{_FOLDS}*"):
        if is_unlocked(left / _LOCK):
            shutil.rmtree(left, ignore_errors=True)
