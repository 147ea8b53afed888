"""Running a study: its open cells, one after the other or side by side, into a store."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from rankgrove._build import build_digest
from rankgrove._optional import require
from rankgrove.data.matrix.cache import CacheEntry, FolderCacheEntry, TemporaryCacheEntry
from rankgrove.data.reading.folds import Fold
from rankgrove.experiments.cells import LACK_OF_MEMORY, CellOutcome, reason, run_cell
from rankgrove.experiments.fold_files import FoldFiles, remove_stale
from rankgrove.experiments.memory import limited_memory
from rankgrove.experiments.own_modules import OwnModules
from rankgrove.experiments.progress import NoProgress, StudyProgress
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.sources import StudyFold
from rankgrove.experiments.store import CellResult, Store
from rankgrove.experiments.study import Cell, Study
from rankgrove.experiments.study_warnings import StudyWarnings
from rankgrove.experiments.views import WHOLE
from rankgrove.rankers.base.registry import registered
from rankgrove.trees.bin_cache import bin_cache

_WAIT_SECONDS = 0.5
_VIEWS = ".views"
_LIMITED = " (the limit of memory was "
_DIED = "the process that trained it died (most often: out of memory)"


@dataclass(frozen=True)
class Run:
    """Settings of running a study; results do not depend on them.

    Attributes
    ----------
    workers : cells at a time
    backend : of joblib: ``"loky"`` (processes), ``"dask"``, ``"ray"``, ...
    n_jobs : threads of each fit; None: all cores, divided among the jobs
    memory_limit : bytes that all running cells may hold together; None: no limit
    """

    workers: int = 1
    backend: str = "loky"
    n_jobs: int | None = None
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1, not {self.workers}")
        if self.workers == 1 and self.backend != "loky":
            raise ValueError(
                f"the backend {self.backend!r} runs fits side by side: say how many, as in "
                "workers=2 (--workers 2)"
            )

    @property
    def share(self) -> int | None:
        """Return the memory limit of each worker in bytes."""
        return None if self.memory_limit is None else self.memory_limit // self.workers

    @property
    def limit_note(self) -> str | None:
        """Return the part of the reason of a fit without memory that names the limit."""
        return None if self.share is None else f"{_LIMITED}{self.share / 2**20:,.1f} MB per fit)"


def run_study(
    study: Study, store: Store, run: Run, progress: StudyProgress | NoProgress | None = None
) -> None:
    """Compute all cells of a study that the store does not hold yet.

    Cells that other processes are at are waited for, and taken over from those that die. Ctrl-C
    ends it at once; what is finished stays in the store. A study whose own models rank the features
    is run on all data and features first.
    """
    shown = progress or NoProgress()
    if study.awaits_its_models:
        whole = replace(study, specs=[replace(spec, view=WHOLE) for spec in study.specs])
        StudyRun(whole, store, run, shown).execute()
        study = replace(study, feature_orders=features_by_splits(store.results()))
    StudyRun(study, store, run, shown).execute()


def features_by_splits(cells: Sequence[CellResult]) -> dict[str, list[int]]:
    """Return the features of each fold, by its fingerprint, those with the most splits first."""
    total: dict[str, npt.NDArray[np.float64]] = {}
    for cell in cells:
        if len(cell.outcome.splits):
            total[cell.fingerprint] = cell.outcome.splits + total.get(cell.fingerprint, 0)
    for cell in cells:
        if cell.fingerprint not in total:
            raise ValueError(
                f"feature_order='study' counts splits, and no model of {cell.data}, fold "
                f"{cell.fold}, has any: give a ranker with trees, or feature_order='lambdamart'"
            )
    return {key: np.argsort(-counts, kind="stable").tolist() for key, counts in total.items()}


@dataclass(frozen=True, kw_only=True)
class CellJob:
    """A claimed cell, and the file of its fold, which workers map into memory."""

    cell: Cell
    fold: str
    n_jobs: int | None
    memory_limit: int | None = None
    kept: CacheEntry | None = None
    modules: OwnModules = field(default_factory=OwnModules)


def run_job(job: CellJob) -> tuple[str, CellOutcome]:
    """Compute one cell in a process of its own."""
    job.modules.load()
    if job.memory_limit is not None:
        registered()  # a library that cannot be loaded would be a confusing reason
    try:
        with limited_memory(job.memory_limit):
            fold = _mapped(job.fold)
            with bin_cache(Path(job.fold).parent):
                outcome = run_cell(job.cell, fold, n_jobs=job.n_jobs, kept=job.kept)
    except MemoryError as error:  # so little that not even the data can be mapped
        outcome = CellOutcome(error=reason(error))
    return job.cell.key, outcome


@lru_cache(maxsize=1)
def _mapped(path: str) -> Fold:
    fold: Fold = joblib.load(path, mmap_mode="r")
    return fold


class StudyRun:
    """One run of a study into a store, with its settings and its progress."""

    def __init__(
        self, study: Study, store: Store, run: Run, progress: StudyProgress | NoProgress
    ) -> None:
        self.study, self.store, self.run, self.progress = study, store, run, progress
        self.warned = StudyWarnings()
        self.read_all_folds = False

    def execute(self) -> None:
        """Compute open cells and wait for other processes until every cell is finished."""
        self.progress.study(self.study)
        if self.store.folder is not None:
            remove_stale(self.store.folder)
        self.store.begin(self.study.describe())
        self.store.forget_failures_by(_LIMITED, but=self.run.limit_note)  # under another limit
        while True:
            if self.run.workers == 1 and self.run.memory_limit is None:
                self._run_here()
            else:
                _run_in_workers(self)
            free, elsewhere = self.store.open_cells()
            while not free and elsewhere:
                self.progress.waiting(elsewhere)
                time.sleep(_WAIT_SECONDS)
                free, elsewhere = self.store.open_cells()
            if not free and self.read_all_folds:  # a broken pool of workers ends in the middle
                return

    def folds(self) -> Iterator[tuple[StudyFold, list[Cell]]]:
        """Yield each fold with its cells, after adding them to the plan."""
        position = 0
        for source in self.study.sources:
            for fold in source.folds():
                self.warned.check(fold, self.study.metrics)
                cells = list(self.study.cells(fold))
                self.store.plan(cells, TestQueries.of(fold.parts), position)
                position += len(cells)
                self.progress.fold(fold, cells)
                yield fold, cells
        self.store.complete_plan()
        self.read_all_folds = True

    def claim(self, cell: Cell) -> bool:
        """Claim a cell; False if it is finished, or computed elsewhere."""
        if self.store.claim(cell):
            return True
        self.progress.skipped(cell)
        known = self.store.outcome(cell.key)
        if known is not None:
            self.warned.show(cell, known)
        return False

    def finish(self, cell: Cell, outcome: CellOutcome) -> None:
        """Store the result of a claimed cell."""
        self.store.finish(cell.key, outcome)
        self.progress.done(cell, outcome)
        self.warned.show(cell, outcome)

    def _run_here(self) -> None:
        for fold, cells in self.folds():
            shared = _shared_entry(fold, cells, self.store.folder)
            with bin_cache():
                for cell in cells:
                    if not self.claim(cell):
                        continue
                    outcome = run_cell(
                        cell,
                        fold.parts,
                        n_jobs=self.run.n_jobs,
                        callbacks=self.progress.begin(cell),
                        kept=shared,
                    )
                    self.finish(cell, outcome)


def _shared_entry(fold: StudyFold, cells: list[Cell], folder: Path | None) -> CacheEntry | None:
    """Return the cache entry that the cells of a fold share between processes, or None."""
    if not any(cell.view.n_features is not None for cell in cells):
        return None
    return (
        TemporaryCacheEntry()
        if folder is None
        else FolderCacheEntry(folder / _VIEWS, f"{fold.fingerprint} {build_digest()}")
    )


def _run_in_workers(study_run: StudyRun) -> None:
    with FoldFiles(study_run.store.folder) as files, _OneWorker() as alone:
        feed = _Feed(study_run, files)
        try:
            if study_run.run.workers == 1:
                for job in feed.jobs():
                    feed.take(*alone(job))
            else:
                for key, outcome in _side_by_side(feed, study_run.run):
                    feed.take(key, outcome)
        except BrokenProcessPool:
            # Whose fault it was, only a process for each can tell.
            for job in list(feed.flying.values()):
                feed.take(*alone(job))
        except BaseException:
            with contextlib.suppress(Exception):
                get_reusable_executor().shutdown(wait=False, kill_workers=True)
            raise
        if feed.error is not None:
            raise feed.error


def _side_by_side(feed: _Feed, run: Run) -> Iterator[tuple[str, CellOutcome]]:
    if run.backend == "ray":
        _register_ray()
    with _dask_client() if run.backend == "dask" else contextlib.nullcontext():
        with joblib.parallel_config(backend=run.backend):
            parallel = joblib.Parallel(
                n_jobs=run.workers,
                return_as="generator_unordered",
                pre_dispatch="n_jobs",
                batch_size=1,
            )
        results = parallel(joblib.delayed(run_job)(job) for job in feed.jobs())
        try:
            # "yield from" would close them itself, with the warning.
            for result in results:  # noqa: UP028
                yield result
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that fits are given up, in words of joblib
                results.close()


def _dask_client() -> contextlib.AbstractContextManager[Any]:
    """Find the caller's Dask client, or connect to the scheduler that Dask's settings name."""
    distributed = require("distributed", "dask", "the backend 'dask'")
    try:
        return contextlib.nullcontext(distributed.get_client())
    except ValueError:
        if not require("dask", "dask", "the backend 'dask'").config.get("scheduler-address", None):
            raise ValueError(
                "the backend 'dask' needs a cluster: set DASK_SCHEDULER_ADDRESS to the address of "
                "its scheduler, such as tcp://host:8786, or connect to it by distributed.Client in "
                "Python; on this machine alone, the backend 'loky' runs fits side by side"
            ) from None
    client: contextlib.AbstractContextManager[Any] = distributed.Client()
    return client


def _register_ray() -> None:
    """Register Ray with joblib, as a backend that returns results as they are finished.

    Ray's inherits from the one of multiprocessing that it does not, but it has all that it takes.
    """
    backend: Any = require("ray.util.joblib.ray_backend", "ray", "the backend 'ray'").RayBackend
    prompt = type("PromptRayBackend", (backend,), {"supports_return_generator": True})
    joblib.register_parallel_backend("ray", prompt)


class _OneWorker:
    """Computes cells in a subprocess whose death leaves other cells unharmed."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, job: CellJob) -> tuple[str, CellOutcome]:
        self._pool = self._pool or ProcessPoolExecutor(max_workers=1)
        try:
            result: tuple[str, CellOutcome] = self._pool.submit(run_job, job).result()
        except BrokenProcessPool:
            self._pool = None
            return job.cell.key, CellOutcome(error=_DIED)
        except MemoryError as error:  # too little to get its job, or to send what it found
            return job.cell.key, CellOutcome(error=reason(error))
        return result

    def __enter__(self) -> _OneWorker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, kill_workers=True)


class _Feed:
    """Claims cells for workers, and stores their results.

    joblib asks for jobs from threads of its own, where an error would be lost: it is kept.
    """

    def __init__(self, study_run: StudyRun, files: FoldFiles) -> None:
        self._study_run, self._files = study_run, files
        self._modules = OwnModules.of_this_process()
        self.flying: dict[str, CellJob] = {}
        self.error: BaseException | None = None

    def jobs(self) -> Iterator[CellJob]:
        study_run, run = self._study_run, self._study_run.run
        try:
            for fold, cells in study_run.folds():
                path: str | None = None
                shared = _shared_entry(fold, cells, study_run.store.folder or self._files.folder)
                for cell in cells:
                    if not study_run.claim(cell):
                        continue
                    path = path or self._files.put(fold)
                    self._files.taken(path)
                    job = CellJob(
                        cell=cell,
                        fold=path,
                        n_jobs=run.n_jobs,
                        memory_limit=run.share,
                        kept=shared,
                        modules=self._modules,
                    )
                    self.flying[cell.key] = job
                    study_run.progress.begin(cell)
                    yield job
                if path is not None:
                    self._files.closed(path)
        except Exception as error:
            self.error = error

    def take(self, key: str, outcome: CellOutcome) -> None:
        job = self.flying.pop(key)
        note = self._study_run.run.limit_note
        if note is not None and outcome.error.startswith((LACK_OF_MEMORY, _DIED)):
            outcome.error += note
        self._study_run.finish(job.cell, outcome)
        self._files.returned(job.fold)
