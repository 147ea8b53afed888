"""The models of a server by name, reloaded when their files change."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import local_path
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.formats.container import load_model
from rankgrove.models.model import Model
from rankgrove.serving.category_watch import CategoryWatch
from rankgrove.serving.documents import RequestDocuments

logger = logging.getLogger("rankgrove.serving")

Signature = tuple[int, ...]
_CLOSE_SECONDS = 5.0  # in which a model that is being reloaded is waited for
_TRIAL_ROWS = 32


@dataclass(frozen=True)
class ServedModel:
    """A model that is ready to score.

    Attributes
    ----------
    name : what clients call it
    model : scores documents
    modified : when its file was written, in seconds since 1970
    seconds_per_row : what a trial took
    provenance : when and from what it was trained, None if its file does not say
    category_watch : counts the categories in requests that it does not know
    """

    name: str
    model: Model
    modified: float
    seconds_per_row: float
    provenance: dict[str, Any] | None = None
    category_watch: CategoryWatch = field(default_factory=CategoryWatch)

    @classmethod
    def prepare(
        cls, name: str, model: Model, modified: float, provenance: dict[str, Any] | None = None
    ) -> ServedModel:
        """Warm up: score a few empty rows, so that the first request is not slower."""
        X = np.full((_TRIAL_ROWS, model.columns.count), np.nan)
        groups = QueryGroups.from_sizes([_TRIAL_ROWS])
        model.scores(X, groups, 1)
        start = time.perf_counter()
        model.scores(X, groups, 1)
        seconds = time.perf_counter() - start
        return cls(name, model, modified, seconds / model.work(_TRIAL_ROWS, groups), provenance)

    def expected_seconds(self, documents: RequestDocuments) -> float:
        """Return the expected scoring time of documents on one thread."""
        return self.seconds_per_row * self.model.work(len(documents.X), documents.groups)

    def scores(self, documents: RequestDocuments, n_jobs: int | None) -> npt.NDArray[np.float64]:
        """Score the documents."""
        return self.model.scores(documents.X, documents.groups, n_jobs)

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        names = self.model.columns.names
        written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.modified))
        record = {key: value for key, value in (self.provenance or {}).items() if key != "ranges"}
        return {
            "name": self.name,
            "kind": self.model.kind,
            "n_features": self.model.columns.count,
            "feature_names": None if names is None else list(names),
            "needs_queries": self.model.needs_queries,
            "written": written,
            "provenance": record or None,
        }


class ModelStore:
    """Models by name. A replaced file is reloaded; a damaged one changes nothing.

    Files are read, not mapped: a copy over a mapped file would change, or end, a running server.

    Parameters
    ----------
    paths : file of each name; the first is the default
    on_reload : called with the name and whether a new file could be loaded
    """

    def __init__(
        self,
        paths: Mapping[str, str | os.PathLike[str]],
        on_reload: Callable[[str, bool], None] = lambda name, loaded: None,
    ) -> None:
        if not paths:
            raise ValueError("give at least one model to serve")
        self._paths = {
            name: local_path(path, "a served model").absolute() for name, path in paths.items()
        }
        self._on_reload = on_reload
        self._seen: dict[str, Signature | None] = {}
        self._models: dict[str, ServedModel] = {}
        self._problems: dict[str, str] = {}
        self._watcher: threading.Thread | None = None
        self._watcher_process = 0
        self._stop = threading.Event()
        for name, path in self._paths.items():
            self._seen[name] = _signature(path)
            self._models[name] = _load(name, path)

    @property
    def names(self) -> list[str]:
        """Names of the models, the default first."""
        return list(self._paths)

    def get(self, name: str | None) -> ServedModel | None:
        """Return a model, the default for None; None if there is none of that name."""
        return self._models.get(self.names[0] if name is None else name)

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a model, and the error of its newest file if that could not be loaded."""
        return self._models[name].describe() | {"problem": self._problems.get(name)}

    def refresh(self) -> None:
        """Reload the files that were replaced since the last check."""
        for name, path in self._paths.items():
            signature = _signature(path)
            if signature == self._seen[name]:
                continue
            self._seen[name] = signature
            try:
                loaded = _load(name, path)
            except Exception as error:  # whatever it is, the old model must go on
                if isinstance(error.__cause__ or error, OSError | MemoryError):
                    self._seen[name] = None  # it may pass: try again
                problem = str(error) or type(error).__name__
                if problem != self._problems.get(name):
                    self._problems[name] = problem
                    logger.error("model %s stays as it was: %s", name, problem)
                    self._on_reload(name, False)
            else:
                self._problems.pop(name, None)
                logger.info("model %s was loaded anew from %s", name, path)
                before, now = self._models[name].model.columns, loaded.model.columns
                if (before.names, before.count) != (now.names, now.count):
                    logger.warning(
                        "model %s has other columns than before: requests that do not name their "
                        "columns mean something else now",
                        name,
                    )
                self._on_reload(name, True)
                self._models[name] = loaded  # last: whoever sees its answers finds it counted

    def watch(self, seconds: float) -> None:
        """Check the files periodically on a background thread until ``close``."""
        if self._watcher_process == os.getpid() or seconds <= 0:
            return
        self._watcher_process = os.getpid()
        self._stop = threading.Event()
        self._watcher = threading.Thread(
            target=self._follow, args=(self._stop, seconds), name="rankgrove-reload", daemon=True
        )
        self._watcher.start()
        atexit.register(self.close)

    def _follow(self, stop: threading.Event, seconds: float) -> None:
        while not stop.wait(seconds):
            self.refresh()

    def close(self) -> None:
        """Stop the background thread."""
        atexit.unregister(self.close)
        self._stop.set()
        if self._watcher is not None and self._watcher_process == os.getpid():
            self._watcher.join(_CLOSE_SECONDS)  # a file system that stalls must not stall the stop
        self._watcher, self._watcher_process = None, 0


def _load(name: str, path: Path) -> ServedModel:
    if path.exists() and not path.is_file():  # opening a pipe would wait for its writer
        raise ModelError(f"{path} is not a file: a served model is a regular file")
    ranker = load_model(path)
    return ServedModel.prepare(name, ranker.model_, path.stat().st_mtime, ranker.provenance_)


def _signature(path: Path) -> Signature | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # A copy may keep size and modification time (cp -p), but not the time of the change itself.
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
