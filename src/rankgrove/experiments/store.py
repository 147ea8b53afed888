"""Store of finished cells: one SQLite file that several processes may write.

Life of a cell in the store:

1. A process *claims* it: ``running``, with the process' name and a heartbeat.
2. The process keeps the heartbeat going; if it dies, others see that and claim the cell anew.
3. The result is written in one short transaction: ``done`` or ``failed``. It stays for good.

A claim is void when its process is known to be gone (same machine) or its heart has stopped for
``STALE_SECONDS``. Results are the same whoever computes them, so a cell that is computed twice by
mischance is only a waste.

Cells belong to all studies of the folder, since their key says all that decides the result. A
*plan*, the list of the cells of one study, belongs to that study alone. A process reads results by
its own plan, which it keeps in a temporary table of its connection; the file holds a copy of the
plan of every study, for reports. The plan follows the data as they are now: cells of folds that are
gone leave it when all folds were read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sqlite3
import threading
import time
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankgrove._addresses import Address, file_path
from rankgrove.errors import DataError
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.stored_object import StoredObject
from rankgrove.experiments.study import Cell, versions_of

FILE = "study.sqlite"
STALE_SECONDS = 60.0
BEAT_SECONDS = 5.0
_FORMAT = 2

_PLAN = "position INTEGER, data TEXT, fold INTEGER, ranker TEXT, setting INTEGER, repeat INTEGER, "
_PLAN += "params TEXT, key TEXT, fingerprint TEXT"
_PLANNED_STUDIES = "studies WHERE study IN (SELECT study FROM plans) ORDER BY begun DESC"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS studies (
    study TEXT PRIMARY KEY, description TEXT NOT NULL, begun REAL NOT NULL);
CREATE TABLE IF NOT EXISTS plans (
    study TEXT, {_PLAN}, PRIMARY KEY (study, data, fold, ranker, setting, repeat));
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, status TEXT NOT NULL, owner TEXT, host TEXT, pid INTEGER, beat REAL,
    data TEXT, fold INTEGER, ranker TEXT, params TEXT, seed INTEGER, versions TEXT, machine TEXT,
    finished REAL, validation REAL, fit_seconds REAL, score_microseconds REAL,
    peak_memory INTEGER, n_steps INTEGER, error TEXT, arrays BLOB);
CREATE TABLE IF NOT EXISTS queries (fingerprint TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
_OWN_PLAN = (
    f"CREATE TEMPORARY TABLE plan ({_PLAN}, PRIMARY KEY (data, fold, ranker, setting, repeat))"
)
_ADVICE = "remove it, or give another folder of results"
# What reading a damaged archive of arrays raises.
_DAMAGED = (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError)


@dataclass(frozen=True, eq=False)
class CellResult:
    """One planned cell and its result, if there is one.

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
    outcome: CellOutcome
    seed: int | None = None
    versions: dict[str, str] | None = None
    machine: str = ""


class Store:
    """The results of studies in a folder; ``None`` keeps them in memory only.

    A folder behind an address has a local copy (``stored_object.py``).
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.owner = uuid.uuid4().hex
        self._object: StoredObject | None = None
        self._changed = False
        place = None if folder is None else file_path(folder)
        if isinstance(place, Address):
            self._object = StoredObject(place / FILE, FILE)
            self.folder: Path | None = self._object.folder
        else:
            # Absolute, because workers may stand in other folders.
            self.folder = None if place is None else place.absolute()
        if self.folder is not None:
            if self.folder.is_file():
                raise ValueError(f"the results need a folder, and this is a file: {self.folder}")
            self.folder.mkdir(parents=True, exist_ok=True)
        self.path = ":memory:" if self.folder is None else str(self.folder / FILE)
        self._lock = threading.RLock()
        shown = self.path if self._object is None else str(self._object.address)
        try:
            self._base = _connect(self.path, shown)
        except BaseException:
            if self._object is not None:
                self._object.remove_copy()
            raise
        self.path = shown
        self._study: str | None = None  # the id of the study whose plan is in the temporary table
        self._stop = threading.Event()
        self._heart: threading.Thread | None = None

    @classmethod
    def existing(cls, folder: str | os.PathLike[str]) -> Store:
        """Open the store of a folder that must have one; a copy in memory if it is read-only."""
        place = file_path(folder)
        file = place / FILE
        if not (file.exists() if isinstance(file, Address) else file.is_file()):
            raise DataError(f"{place} holds no results of a study (there is no {FILE} in it)")
        if isinstance(file, Address):
            return cls(place)
        try:
            return cls(folder)
        except DataError as error:
            if not isinstance(error.__cause__, sqlite3.OperationalError):
                raise
        store = cls(None)
        _copy(file, store._base)
        store.path = str(file)
        return store

    def close(self) -> None:
        """Give up all claims and close the file."""
        self._stop.set()
        if self._heart is not None:
            self._heart.join()
        # Claims that a full disk keeps in the file are void as soon as this process ends.
        with contextlib.suppress(DataError), self._transaction() as base:
            base.execute("DELETE FROM cells WHERE owner = ? AND status = 'running'", (self.owner,))
        with self._lock:
            if self._object is None:
                self._base.close()
            else:
                self._object.close(self._base, self._changed)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def study(self) -> dict[str, Any]:
        """The description of the study that was begun here, else of the last one in the file."""
        text = "SELECT description FROM studies WHERE study = ?"
        found: dict[str, Any] = json.loads(self._rows(text, self._planned_study())[0][0])
        return found

    def studies(self) -> list[dict[str, Any]]:
        """The descriptions of all studies in the file, the last one begun first.

        Searches of parameters are left out, as they test nothing, and studies that ended before
        anything was planned, such as one whose data could not be read.
        """
        rows = self._rows(f"SELECT description FROM {_PLANNED_STUDIES}")
        return [study for row in rows if "search" not in (study := json.loads(row[0]))]

    def begin(self, description: dict[str, Any]) -> None:
        """Begin a study with an empty plan; finished cells of all studies stay for use."""
        text = json.dumps(description, sort_keys=True)
        self._changed = True
        self._study = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        with self._transaction() as base:
            # The last study has the largest number, though clocks may have been set back.
            base.execute(
                "INSERT OR REPLACE INTO studies "
                "SELECT ?, ?, max(?, ifnull(max(begun) + 0.001, 0)) FROM studies",
                (self._study, text, time.time()),
            )
            base.execute("DELETE FROM temp.plan")
        if self._heart is None:
            self._heart = threading.Thread(target=self._keep_beating, daemon=True)
            self._heart.start()

    def plan(self, cells: Sequence[Cell], queries: TestQueries, position: int) -> None:
        """Add cells to the plan of the study, and the queries that they are tested on."""
        study = self._planned_study()
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
        own = [(study, *row) for row in rows]
        with self._transaction() as base:
            base.executemany("INSERT OR REPLACE INTO temp.plan VALUES (?,?,?,?,?,?,?,?,?)", rows)
            base.executemany("INSERT OR REPLACE INTO plans VALUES (?,?,?,?,?,?,?,?,?,?)", own)
            base.execute(
                "INSERT OR IGNORE INTO queries VALUES (?, ?)",
                (cells[0].fingerprint, queries.to_bytes()),
            )

    def complete_plan(self) -> None:
        """Remove the cells of an older plan of this study that are not planned any more."""
        with self._transaction() as base:
            base.execute(
                "DELETE FROM plans WHERE study = ? AND NOT EXISTS (SELECT 1 FROM temp.plan p WHERE "
                "p.data = plans.data AND p.fold = plans.fold AND p.ranker = plans.ranker AND "
                "p.setting = plans.setting AND p.repeat = plans.repeat)",
                (self._planned_study(),),
            )

    def claim(self, cell: Cell) -> bool:
        """Claim a cell; False if it is finished, or claimed by another process."""
        now = time.time()
        with self._transaction() as base:
            row = base.execute(
                "SELECT status, host, pid, beat FROM cells WHERE key = ?", (cell.key,)
            ).fetchone()
            if row is not None and (row["status"] != "running" or _is_alive(row, now)):
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

    def finish(self, key: str, outcome: CellOutcome) -> None:
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
        if self._object is not None:
            with self._lock:
                self._object.upload_now_and_then(self._base)

    def release(self, keys: Iterable[str]) -> None:
        """Give up claims without a result."""
        with self._transaction() as base:
            base.executemany(
                "DELETE FROM cells WHERE key = ? AND owner = ? AND status = 'running'",
                [(key, self.owner) for key in keys],
            )

    def forget_failures(self) -> None:
        """Delete failed cells, so that they are computed again."""
        self._changed = True
        with self._transaction() as base:
            base.execute("DELETE FROM cells WHERE status = 'failed'")

    def forget_failures_by(self, words: str, *, but: str | None) -> None:
        """Delete failed cells whose reason has these words, but not those that have others."""
        with self._transaction() as base:
            base.execute(
                "DELETE FROM cells WHERE status = 'failed' AND instr(error, ?) > 0 "
                "AND (? IS NULL OR instr(error, ?) = 0)",
                (words, but, but),
            )

    def open_cells(self) -> tuple[int, int]:
        """Return the number of unclaimed cells, and of those that other processes have claimed."""
        self._planned_study()
        now = time.time()
        rows = self._rows(
            "SELECT c.status, c.host, c.pid, c.beat FROM temp.plan p "
            "LEFT JOIN cells c ON c.key = p.key WHERE c.status IS NULL OR c.status = 'running'"
        )
        elsewhere = sum(row["status"] is not None and _is_alive(row, now) for row in rows)
        return len(rows) - elsewhere, elsewhere

    def results(self) -> list[CellResult]:
        """All planned cells with their results, in order."""
        self._planned_study()
        rows = self._rows(
            "SELECT p.data, p.fold, p.ranker, p.setting, p.repeat, p.params, p.fingerprint, "
            "c.status, c.validation, c.fit_seconds, c.score_microseconds, c.peak_memory, "
            "c.n_steps, c.error, c.arrays, c.seed, c.versions, c.machine "
            "FROM temp.plan p LEFT JOIN cells c ON c.key = p.key ORDER BY p.position"
        )
        return [self._result(row) for row in rows]

    def outcome(self, key: str) -> CellOutcome | None:
        """The result of a cell, None if it is not finished."""
        rows = self._rows(
            "SELECT data, fold, ranker, validation, fit_seconds, score_microseconds, peak_memory, "
            "n_steps, error, arrays FROM cells WHERE key = ? AND status IN ('done', 'failed')",
            key,
        )
        return self._outcome(rows[0]) if rows else None

    def queries(self, fingerprint: str) -> TestQueries:
        """The test queries of a fold."""
        rows = self._rows("SELECT content FROM queries WHERE fingerprint = ?", fingerprint)
        try:
            return TestQueries.from_bytes(rows[0]["content"])
        except (IndexError, TypeError, *_DAMAGED) as error:
            raise DataError(f"{self.path} is damaged (test queries): {_ADVICE}") from error

    def _planned_study(self) -> str:
        """Return the id of the current study; that of the last one in the file if none was begun.

        Raises
        ------
        DataError : the store holds no study
        """
        if self._study is None:
            with self._transaction() as base:
                begun = base.execute(f"SELECT study, description FROM {_PLANNED_STUDIES}")
                tested = (row for row in begun if "search" not in json.loads(row["description"]))
                if (row := next(tested, None)) is None:
                    raise DataError(f"{self.path} holds no study yet")
                columns = "position, data, fold, ranker, setting, repeat, params, key, fingerprint"
                base.execute(
                    f"INSERT INTO temp.plan SELECT {columns} FROM plans WHERE study = ?",
                    (row["study"],),
                )
            self._study = str(row["study"])
        return self._study

    def _result(self, row: sqlite3.Row) -> CellResult:
        finished = row["status"] in ("done", "failed")
        versions = row["versions"]
        return CellResult(
            data=row["data"],
            fold=row["fold"],
            ranker=row["ranker"],
            setting=row["setting"],
            repeat=row["repeat"],
            params=json.loads(row["params"]),
            fingerprint=row["fingerprint"],
            status=row["status"] or "waiting",
            outcome=self._outcome(row) if finished else CellOutcome(),
            seed=row["seed"],
            versions=None if versions is None else json.loads(versions),
            machine=row["machine"] or "",
        )

    def _outcome(self, row: sqlite3.Row) -> CellOutcome:
        validation = row["validation"]
        outcome = CellOutcome(
            validation=float("nan") if validation is None else validation,
            fit_seconds=row["fit_seconds"],
            score_microseconds=row["score_microseconds"],
            peak_memory=row["peak_memory"],
            n_steps=row["n_steps"],
            error=row["error"],
        )
        try:
            outcome.take_arrays(row["arrays"])
        except (TypeError, *_DAMAGED) as error:
            where = f"{row['ranker']}, {row['data']}, fold {row['fold']}"
            raise DataError(f"{self.path} is damaged ({where}): {_ADVICE}") from error
        return outcome

    def _rows(self, text: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock, _naming(self.path):
            return self._base.execute(text, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _naming(self.path):
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:  # SQLite ends it itself on a full disk
                    self._base.execute("ROLLBACK")
                raise

    def _keep_beating(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            with contextlib.suppress(DataError), self._transaction() as base:
                base.execute(
                    "UPDATE cells SET beat = ? WHERE owner = ? AND status = 'running'",
                    (time.time(), self.owner),
                )


@contextlib.contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Context in which errors of SQLite name the file."""
    try:
        yield
    except sqlite3.OperationalError as error:  # locked, full, read-only: the file may be good
        raise DataError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path}: {error}; {_ADVICE}") from error


def _connect(path: str, shown: str) -> sqlite3.Connection:
    with _naming(shown):
        base = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    try:
        with _naming(shown):
            base.row_factory = sqlite3.Row
            if base.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                _start_journal(base)
                base.executescript(
                    f"BEGIN IMMEDIATE; {_TABLES}"
                    f"INSERT OR IGNORE INTO meta VALUES ('format', '{_FORMAT}'); COMMIT;"
                )
            _check_format(base, shown)
            base.execute("PRAGMA temp_store = MEMORY")
            base.execute(_OWN_PLAN)
    except BaseException:
        base.close()
        raise
    return base


def _start_journal(base: sqlite3.Connection, attempts: int = 200) -> None:
    """Write ahead; try again while another process begins, for which SQLite does not wait."""
    try:
        base.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        if attempts == 1:
            raise
        time.sleep(0.05)
        _start_journal(base, attempts - 1)


def _check_format(base: sqlite3.Connection, path: str | Path) -> None:
    names = {row["name"] for row in base.execute("SELECT name FROM sqlite_master")}
    row = None
    if "meta" in names:
        with contextlib.suppress(sqlite3.OperationalError):  # columns of another program
            row = base.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    if row is None:
        raise DataError(f"{path} is an SQLite file of another program: {_ADVICE}")
    if row["value"] != str(_FORMAT):
        raise DataError(
            f"{path} has the format {row['value']}, this rankgrove writes {_FORMAT}: {_ADVICE}"
        )


def _copy(path: Path, base: sqlite3.Connection) -> None:
    """Copy a file that cannot be written to."""
    address = path.absolute().as_uri()
    unfinished = path.with_name(path.name + "-wal").exists()
    # What nobody writes to needs no locks, for which a file beside it would have to be written.
    mode = "mode=ro" if unfinished else "immutable=1"
    with (
        _naming(path),
        contextlib.closing(sqlite3.connect(f"{address}?{mode}", uri=True)) as source,
    ):
        source.backup(base)
        _check_format(base, path)


def _is_alive(claim: sqlite3.Row, now: float) -> bool:
    if abs(now - claim["beat"]) > STALE_SECONDS:  # a beat of the future: a clock was set back
        return False
    if claim["host"] != platform.node():
        return True
    try:
        os.kill(claim["pid"], 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


@functools.cache
def _surroundings() -> dict[str, str]:
    """Return versions; libraries are not imported for theirs, which takes a second."""
    libraries = ("numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in libraries
    }
