"""Finished cells in one SQLite file, which any number of processes may fill together.

Life of a cell in the store:

1. A process *claims* it: ``running``, with the process' name and a heartbeat.
2. The process keeps the heartbeat going; if it dies, others see that and claim the cell anew.
3. The result is written in one short transaction: ``done`` or ``failed``. It stays for good.

A claim is void when its process is known to be gone (same machine) or its heart has stopped for
``STALE_SECONDS``. Results are the same whoever computes them, so a cell that is computed twice by
mischance is only a waste.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankgrove.errors import DataError
from rankgrove.experiments.cells import Outcome
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.study import Cell, versions_of

FILE = "study.sqlite"
STALE_SECONDS = 60.0
BEAT_SECONDS = 5.0
_FORMAT = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, status TEXT NOT NULL, owner TEXT, host TEXT, pid INTEGER, beat REAL,
    data TEXT, fold INTEGER, ranker TEXT, params TEXT, seed INTEGER, versions TEXT, machine TEXT,
    finished REAL, validation REAL, fit_seconds REAL, score_microseconds REAL,
    peak_memory INTEGER, n_steps INTEGER, error TEXT, arrays BLOB);
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER, data TEXT, fold INTEGER, ranker TEXT, setting INTEGER, repeat INTEGER,
    params TEXT, key TEXT, fingerprint TEXT,
    PRIMARY KEY (data, fold, ranker, setting, repeat));
CREATE TABLE IF NOT EXISTS queries (fingerprint TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


@dataclass(frozen=True, eq=False)
class Entry:
    """One planned cell and its result, if it is there.

    Attributes
    ----------
    status : ``"done"``, ``"failed"``, ``"running"`` or ``"waiting"``
    """

    data: str
    fold: int
    ranker: str
    setting: int
    repeat: int
    params: dict[str, Any]
    fingerprint: str
    status: str
    outcome: Outcome
    seed: int | None = None
    versions: dict[str, str] | None = None
    machine: str = ""


class Store:
    """The results of studies in a folder; ``None`` keeps them in memory only."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.owner = uuid.uuid4().hex
        # Absolute, because workers may stand in other folders.
        self.folder = None if folder is None else Path(folder).absolute()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._base = _connect(":memory:" if self.folder is None else str(self.folder / FILE))
        self._stop = threading.Event()
        self._heart: threading.Thread | None = None

    @classmethod
    def existing(cls, folder: str | os.PathLike[str]) -> Store:
        """Open the store of a folder that must have one; a copy in memory if only that can be."""
        file = Path(folder) / FILE
        if not file.is_file():
            raise DataError(f"{folder} holds no results of a study (there is no {FILE} in it)")
        try:
            return cls(folder)
        except DataError as error:
            if not isinstance(error.__cause__, sqlite3.OperationalError):
                raise
        store = cls(None)
        _copy(file, store._base)
        return store

    def close(self) -> None:
        """Give up all claims and close the file."""
        self._stop.set()
        if self._heart is not None:
            self._heart.join()
        with self._transaction() as base:
            base.execute("DELETE FROM cells WHERE owner = ? AND status = 'running'", (self.owner,))
        with self._lock:
            self._base.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def study(self) -> dict[str, Any]:
        """The description of the study whose plan the store holds."""
        row = self._rows("SELECT value FROM meta WHERE name = 'study'")
        if not row:
            raise DataError("the store holds no study yet")
        found: dict[str, Any] = json.loads(row[0][0])
        return found

    def begin(self, description: dict[str, Any]) -> None:
        """Make this the study of the store; finished cells of others stay for use."""
        text = json.dumps(description, sort_keys=True)
        with self._transaction() as base:
            old = base.execute("SELECT value FROM meta WHERE name = 'study'").fetchone()
            if old is None or old[0] != text:
                base.execute("DELETE FROM plan")
                base.execute("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (text,))
        if self._heart is None:
            self._heart = threading.Thread(target=self._keep_beating, daemon=True)
            self._heart.start()

    def plan(self, cells: Sequence[Cell], queries: TestQueries, position: int) -> None:
        """Write down which cells belong to the study, and the queries that they are tested on."""
        rows = [
            (
                position + number,
                cell.data,
                cell.fold,
                cell.spec.label,
                cell.setting,
                cell.repeat,
                json.dumps(cell.all_params),
                cell.key,
                cell.fingerprint,
            )
            for number, cell in enumerate(cells)
        ]
        with self._transaction() as base:
            base.executemany("INSERT OR REPLACE INTO plan VALUES (?,?,?,?,?,?,?,?,?)", rows)
            base.execute(
                "INSERT OR IGNORE INTO queries VALUES (?, ?)",
                (cells[0].fingerprint, queries.to_bytes()),
            )

    def claim(self, cell: Cell) -> bool:
        """Take a cell to compute it; False if it is finished, or another process is at it."""
        now = time.time()
        with self._transaction() as base:
            row = base.execute(
                "SELECT status, host, pid, beat FROM cells WHERE key = ?", (cell.key,)
            ).fetchone()
            if row is not None and (row[0] != "running" or _is_alive(row[1:], now)):
                return False
            base.execute(
                "INSERT OR REPLACE INTO cells (key, status, owner, host, pid, beat, data, fold, "
                "ranker, params, seed, versions, machine) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    cell.key,
                    "running",
                    self.owner,
                    platform.node(),
                    os.getpid(),
                    now,
                    cell.data,
                    cell.fold,
                    cell.spec.use,
                    json.dumps(cell.all_params),
                    cell.seed,
                    json.dumps({**versions_of(cell.spec), **_surroundings()}),
                    f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
                ),
            )
        return True

    def finish(self, key: str, outcome: Outcome) -> None:
        """Write the result of a claimed cell."""
        with self._transaction() as base:
            base.execute(
                "UPDATE cells SET status = ?, finished = ?, validation = ?, fit_seconds = ?, "
                "score_microseconds = ?, peak_memory = ?, n_steps = ?, error = ?, arrays = ? "
                "WHERE key = ? AND status = 'running'",
                (
                    "failed" if outcome.error else "done",
                    time.time(),
                    outcome.validation,
                    outcome.fit_seconds,
                    outcome.score_microseconds,
                    outcome.peak_memory,
                    outcome.n_steps,
                    outcome.error,
                    outcome.arrays(),
                    key,
                ),
            )

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims without a result."""
        with self._transaction() as base:
            base.executemany(
                "DELETE FROM cells WHERE key = ? AND owner = ? AND status = 'running'",
                [(key, self.owner) for key in keys],
            )

    def forget_failures(self) -> None:
        """Let failed cells be computed again."""
        with self._transaction() as base:
            base.execute("DELETE FROM cells WHERE status = 'failed'")

    def open_cells(self) -> tuple[int, int]:
        """Number of planned cells that nobody is at, and that other processes are at."""
        now = time.time()
        rows = self._rows(
            "SELECT c.status, c.host, c.pid, c.beat FROM plan p "
            "LEFT JOIN cells c ON c.key = p.key WHERE c.status IS NULL OR c.status = 'running'"
        )
        elsewhere = sum(row[0] is not None and _is_alive(row[1:], now) for row in rows)
        return len(rows) - elsewhere, elsewhere

    def entries(self) -> list[Entry]:
        """All planned cells with their results, in order."""
        rows = self._rows(
            "SELECT p.data, p.fold, p.ranker, p.setting, p.repeat, p.params, p.fingerprint, "
            "c.status, c.validation, c.fit_seconds, c.score_microseconds, c.peak_memory, "
            "c.n_steps, c.error, c.arrays, c.seed, c.versions, c.machine "
            "FROM plan p LEFT JOIN cells c ON c.key = p.key ORDER BY p.position"
        )
        return [_entry(row) for row in rows]

    def outcome(self, key: str) -> Outcome | None:
        """The result of a cell, None if it is not finished."""
        rows = self._rows(
            "SELECT validation, fit_seconds, score_microseconds, peak_memory, n_steps, error, "
            "arrays FROM cells WHERE key = ? AND status IN ('done', 'failed')",
            key,
        )
        return _outcome(*rows[0]) if rows else None

    def queries(self, fingerprint: str) -> TestQueries:
        """The test queries of a fold."""
        rows = self._rows("SELECT content FROM queries WHERE fingerprint = ?", fingerprint)
        return TestQueries.from_bytes(rows[0][0])

    def _rows(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._base.execute(text, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def _keep_beating(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            with contextlib.suppress(sqlite3.OperationalError), self._transaction() as base:
                base.execute(
                    "UPDATE cells SET beat = ? WHERE owner = ? AND status = 'running'",
                    (time.time(), self.owner),
                )


def _connect(path: str) -> sqlite3.Connection:
    try:
        base = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        base.execute("PRAGMA journal_mode = WAL")
        base.executescript(_TABLES)
        base.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (str(_FORMAT),))
        _check_format(base, path)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path}: {error}") from error
    return base


def _check_format(base: sqlite3.Connection, path: str | Path) -> None:
    found = base.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()[0]
    if int(found) != _FORMAT:
        raise DataError(f"{path} has the format {found}, this rankgrove writes {_FORMAT}")


def _copy(path: Path, base: sqlite3.Connection) -> None:
    """Copy a file that cannot be written to."""
    address = path.absolute().as_uri()
    unfinished = path.with_name(path.name + "-wal").exists()
    # What nobody writes to needs no locks, for which a file beside it would have to be written.
    mode = "mode=ro" if unfinished else "immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(f"{address}?{mode}", uri=True)) as source:
            source.backup(base)
        _check_format(base, path)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path}: {error}") from error


def _is_alive(claim: Sequence[Any], now: float) -> bool:
    host, pid, beat = claim
    if now - beat > STALE_SECONDS:
        return False
    if host != platform.node():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _surroundings() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _entry(row: tuple[Any, ...]) -> Entry:
    data, fold, ranker, setting, repeat, params, fingerprint, status = row[:8]
    seed, versions, machine = row[15:]
    finished = status in ("done", "failed")
    return Entry(
        data=data,
        fold=fold,
        ranker=ranker,
        setting=setting,
        repeat=repeat,
        params=json.loads(params),
        fingerprint=fingerprint,
        status=status or "waiting",
        outcome=_outcome(*row[8:15]) if finished else Outcome(),
        seed=seed,
        versions=None if versions is None else json.loads(versions),
        machine=machine or "",
    )


def _outcome(
    validation: float | None,
    fit_seconds: float | None,
    score_microseconds: float | None,
    peak_memory: int | None,
    n_steps: int | None,
    error: str,
    arrays: bytes,
) -> Outcome:
    outcome = Outcome(
        validation=float("nan") if validation is None else validation,
        fit_seconds=fit_seconds,
        score_microseconds=score_microseconds,
        peak_memory=peak_memory,
        n_steps=n_steps,
        error=error,
    )
    outcome.take_arrays(arrays)
    return outcome
