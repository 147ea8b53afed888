"""Running a study: its open cells, one after the other or side by side, into a store."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from rankgrove._optional import require
from rankgrove.data.matrix.cache import CacheEntry, Entry, TemporaryEntry
from rankgrove.data.reading.folds import Fold
from rankgrove.experiments.cells import Outcome, reason, run_cell
from rankgrove.experiments.fold_files import Spool, remove_stale
from rankgrove.experiments.memory import limit_memory
from rankgrove.experiments.own_modules import OwnModules
from rankgrove.experiments.progress import NoProgress, StudyProgress
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.sources import RowsOf, StudyFold
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import Cell, Study
from rankgrove.experiments.study_warnings import StudyWarnings
from rankgrove.rankers.base.registry import registered
from rankgrove.trees.binning import remembered_bins

_WAIT_SECONDS = 0.5
_VIEWS = ".views"
_DIED = "the process that trained it died (most often: out of memory)"


@dataclass(frozen=True)
class Run:
    """How a study is run; results do not depend on it.

    Attributes
    ----------
    jobs : cells at a time
    backend : of joblib: ``"loky"`` (processes), ``"dask"``, ``"ray"``, ...
    n_jobs : threads of each fit; None: all cores, divided among the jobs
    memory_limit : bytes that all running cells may hold together; None: no limit
    """

    jobs: int = 1
    backend: str = "loky"
    n_jobs: int | None = None
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {self.jobs}")
        if self.jobs == 1 and self.backend != "loky":
            raise ValueError(
                f"the backend {self.backend!r} runs fits side by side: say how many, as in jobs=2 "
                "(--workers 2)"
            )

    @property
    def share(self) -> int | None:
        """Bytes for each of the jobs."""
        return None if self.memory_limit is None else self.memory_limit // self.jobs


def run_study(
    study: Study, store: Store, run: Run, progress: StudyProgress | NoProgress | None = None
) -> None:
    """Compute all cells of a study that the store does not hold yet.

    Cells that other processes are at are waited for, and taken over from those that die. Ctrl-C
    ends it at once; what is finished stays in the store.
    """
    progress = progress or NoProgress()
    progress.study(study)
    warned = StudyWarnings()
    if store.folder is not None:
        remove_stale(store.folder)
    store.begin(study.describe())
    while True:
        _run_open_cells(study, store, run, progress, warned)
        free, elsewhere = store.open_cells()
        while not free and elsewhere:
            progress.waiting(elsewhere)
            time.sleep(_WAIT_SECONDS)
            free, elsewhere = store.open_cells()
        if not free:
            return


@dataclass(frozen=True)
class Job:
    """A claimed cell and the file of its data, which workers map, as they do bins beside it."""

    cell: Cell
    fold: str
    test_rows: RowsOf | None
    n_jobs: int | None
    memory_limit: int | None = None
    kept: Entry | None = None
    modules: OwnModules = field(default_factory=OwnModules)


def run_job(job: Job) -> tuple[str, Outcome]:
    """Compute one cell in a process of its own."""
    job.modules.load()
    if job.memory_limit is not None:
        registered()  # a library that cannot be loaded would be a confusing reason
        limit_memory(job.memory_limit)
    try:
        fold = _mapped(job.fold)
        with remembered_bins(Path(job.fold).parent):
            outcome = run_cell(
                job.cell, fold, test_rows=job.test_rows, n_jobs=job.n_jobs, kept=job.kept
            )
    except MemoryError as error:  # so little that not even the data can be mapped
        outcome = Outcome(error=reason(error))
    return job.cell.key, outcome


@lru_cache(maxsize=1)
def _mapped(path: str) -> Fold:
    fold: Fold = joblib.load(path, mmap_mode="r")
    return fold


def _run_open_cells(
    study: Study,
    store: Store,
    run: Run,
    progress: StudyProgress | NoProgress,
    warned: StudyWarnings,
) -> None:
    if run.jobs == 1 and run.memory_limit is None:
        _run_here(study, store, run, progress, warned)
    else:
        _run_in_workers(study, store, run, progress, warned)


def _folds(
    study: Study, store: Store, progress: StudyProgress | NoProgress, warned: StudyWarnings
) -> Iterator[tuple[StudyFold, list[Cell]]]:
    """Yield each fold with its cells, after writing them down."""
    position = 0
    for source in study.sources:
        for fold in source.folds():
            warned.check(fold, study.metrics)
            cells = list(study.cells(fold))
            store.plan(cells, TestQueries.of(fold.parts), position)
            position += len(cells)
            progress.fold(fold, cells)
            yield fold, cells


def _kept(fold: StudyFold, cells: list[Cell], folder: Path | None) -> Entry | None:
    """Where what cells of a fold share is kept, also for other processes; None: they do not."""
    if not any("n_features" in cell.view for cell in cells):
        return None
    return TemporaryEntry() if folder is None else CacheEntry(folder / _VIEWS, fold.fingerprint)


def _skip(
    cell: Cell, store: Store, progress: StudyProgress | NoProgress, warned: StudyWarnings
) -> None:
    """Pass over a cell that is finished, or computed elsewhere."""
    progress.skipped(cell)
    known = store.outcome(cell.key)
    if known is not None:
        warned.tell(cell, known)


def _run_here(
    study: Study,
    store: Store,
    run: Run,
    progress: StudyProgress | NoProgress,
    warned: StudyWarnings,
) -> None:
    for fold, cells in _folds(study, store, progress, warned):
        kept = _kept(fold, cells, store.folder)
        with remembered_bins():
            for cell in cells:
                if not store.claim(cell):
                    _skip(cell, store, progress, warned)
                    continue
                callbacks = progress.begin(cell)
                outcome = run_cell(
                    cell,
                    fold.parts,
                    test_rows=fold.test_rows,
                    n_jobs=run.n_jobs,
                    callbacks=callbacks,
                    kept=kept,
                )
                store.finish(cell.key, outcome)
                progress.done(cell, outcome)
                warned.tell(cell, outcome)


def _run_in_workers(
    study: Study,
    store: Store,
    run: Run,
    progress: StudyProgress | NoProgress,
    warned: StudyWarnings,
) -> None:
    with Spool(store.folder) as spool, _OneWorker() as alone:
        feed = _Feed(study, store, run, progress, warned, spool)
        try:
            if run.jobs == 1:
                for job in feed.jobs():
                    feed.take(*alone(job))
            else:
                for key, outcome in _side_by_side(feed, run):
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


def _side_by_side(feed: _Feed, run: Run) -> Iterator[tuple[str, Outcome]]:
    if run.backend == "ray":
        _register_ray()
    with _dask_client() if run.backend == "dask" else contextlib.nullcontext():
        with joblib.parallel_config(backend=run.backend):
            parallel = joblib.Parallel(
                n_jobs=run.jobs,
                return_as="generator_unordered",
                pre_dispatch="n_jobs",
                batch_size=1,
            )
        yield from parallel(joblib.delayed(run_job)(job) for job in feed.jobs())


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
    """Let joblib know Ray, which it does not by itself, as a backend that tells of results at once.

    Ray's inherits from the one of multiprocessing that it does not, but it has all that it takes.
    """
    backend: Any = require("ray.util.joblib.ray_backend", "ray", "the backend 'ray'").RayBackend
    prompt = type("PromptRayBackend", (backend,), {"supports_return_generator": True})
    joblib.register_parallel_backend("ray", prompt)


class _OneWorker:
    """Computes cells in a process that may die without harm to others."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, job: Job) -> tuple[str, Outcome]:
        self._pool = self._pool or ProcessPoolExecutor(max_workers=1)
        try:
            result: tuple[str, Outcome] = self._pool.submit(run_job, job).result()
        except BrokenProcessPool:
            self._pool = None
            return job.cell.key, Outcome(error=_DIED)
        except MemoryError as error:  # too little to get its job, or to send what it found
            return job.cell.key, Outcome(error=reason(error))
        return result

    def __enter__(self) -> _OneWorker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, kill_workers=True)


class _Feed:
    """Claims cells for workers, and takes their results.

    joblib asks for jobs from threads of its own, where an error would be lost: it is kept.
    """

    def __init__(
        self,
        study: Study,
        store: Store,
        run: Run,
        progress: StudyProgress | NoProgress,
        warned: StudyWarnings,
        spool: Spool,
    ) -> None:
        self._study, self._store, self._run = study, store, run
        self._progress, self._warned, self._spool = progress, warned, spool
        self._modules = OwnModules.of_this_process()
        self.flying: dict[str, Job] = {}
        self.error: BaseException | None = None

    def jobs(self) -> Iterator[Job]:
        try:
            for fold, cells in _folds(self._study, self._store, self._progress, self._warned):
                path: str | None = None
                kept = _kept(fold, cells, self._store.folder or self._spool.folder)
                for cell in cells:
                    if not self._store.claim(cell):
                        _skip(cell, self._store, self._progress, self._warned)
                        continue
                    path = path or self._spool.put(fold)
                    self._spool.taken(path)
                    job = Job(
                        cell,
                        path,
                        fold.test_rows,
                        self._run.n_jobs,
                        self._run.share,
                        kept,
                        self._modules,
                    )
                    self.flying[cell.key] = job
                    self._progress.begin(cell)
                    yield job
                if path is not None:
                    self._spool.closed(path)
        except Exception as error:
            self.error = error

    def take(self, key: str, outcome: Outcome) -> None:
        job = self.flying.pop(key)
        self._store.finish(key, outcome)
        self._progress.done(job.cell, outcome)
        self._warned.tell(job.cell, outcome)
        self._spool.returned(job.fold)
