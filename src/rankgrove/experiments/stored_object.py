"""The results of a study in an object store: one object, and a copy of it on the local disk.

SQLite needs a disk. A study at an address works on a local copy, in a temporary folder, which is
uploaded as a whole: at the end, and after a finished cell if the last upload is a while ago. An
object that another machine has changed meanwhile is read again, and its results are added to the
copy before that is uploaded, so that none are lost. Claims of cells stay local: two machines that
work on one address do not share the work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
import warnings
from pathlib import Path

from rankgrove._addresses import Address
from rankgrove.errors import DataError

UPLOAD_SECONDS = 30.0
_SHARED_TABLES = ("studies", "plans", "queries")


class StoredObject:
    """The object of a study's results, and the local folder of its copy.

    Parameters
    ----------
    address : of the object
    name : of the copy in the local folder
    """

    def __init__(self, address: Address, name: str) -> None:
        self.address = address
        self._version: str | None = None  # of the object that the copy holds; None: there is none
        self._next_upload = time.monotonic() + UPLOAD_SECONDS
        self.folder = Path(tempfile.mkdtemp(prefix="rankgrove-study-"))
        self.copy = self.folder / name
        try:
            address.require_place()
            self._version = self._download(self.copy)
        except BaseException as error:
            self.remove_copy()
            if isinstance(error, OSError):
                raise DataError(f"{address}: {error.strerror}") from error
            raise

    @property
    def exists(self) -> bool:
        """Whether the store holds the object."""
        return self._version is not None

    def _download(self, file: Path) -> str | None:
        """Read the object into a file; return its version, None if there is no object."""
        try:
            version = self.address.stat().version
        except FileNotFoundError:
            return None
        with self.address.open("rb") as source, file.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return version

    def upload_now_and_then(self, base: sqlite3.Connection) -> None:
        """Upload if the last time is a while ago; a store that fails then is only warned of."""
        if time.monotonic() < self._next_upload:
            return
        try:
            self.upload(base)
        except OSError as error:
            warnings.warn(
                f"{self.address}: {error.strerror}: finished fits are kept in {self.folder}, and "
                "uploaded later",
                stacklevel=2,
            )
        self._next_upload = time.monotonic() + UPLOAD_SECONDS

    def upload(self, base: sqlite3.Connection) -> None:
        """Replace the object by the copy, merged with changes of other writers."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            other = Path(folder) / "other"
            try:
                version = self.address.stat().version
            except FileNotFoundError:
                version = None
            if version not in (None, self._version) and self._download(other) is not None:
                _add_results(base, other, self.address)
            file = Path(folder) / "upload"
            with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as target:
                base.backup(target)
                target.execute("DELETE FROM cells WHERE status = 'running'")
                target.execute("PRAGMA journal_mode = DELETE")
            self.address.upload(str(file), file.stat().st_size)
            self._version = self.address.stat().version

    def close(self, base: sqlite3.Connection, changed: bool) -> None:
        """Upload what has changed, close the copy and remove it; if that fails, it stays."""
        try:
            if changed:
                self.upload(base)
        except OSError as error:
            raise DataError(
                f"{self.address}: {error.strerror}: the results are not uploaded, but kept in "
                f"{self.folder}: give that as the folder of results, or copy {self.copy} to the "
                "address"
            ) from error
        finally:
            base.close()
        self.remove_copy()

    def remove_copy(self) -> None:
        """Remove the local folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _add_results(base: sqlite3.Connection, file: Path, address: Address) -> None:
    """Add the studies and finished cells of another copy; those of the same key are the same."""
    try:
        base.execute("ATTACH DATABASE ? AS other", (os.fspath(file),))
        try:
            base.execute("BEGIN IMMEDIATE")
            base.execute(
                "DELETE FROM cells WHERE status <> 'done' AND key IN (SELECT key FROM "
                "other.cells WHERE status = 'done')"
            )
            base.execute(
                "INSERT OR IGNORE INTO cells SELECT * FROM other.cells WHERE status <> 'running'"
            )
            for table in _SHARED_TABLES:
                base.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
            base.execute("COMMIT")
        except BaseException:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise
        finally:
            base.execute("DETACH DATABASE other")
    except sqlite3.DatabaseError as error:
        raise OSError(0, f"somebody has written something else meanwhile ({error})") from error
