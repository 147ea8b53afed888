"""Atomic file writes (temporary file, then rename) and inter-process file locks."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from rankgrove._addresses import Address, FilePath, file_path

_TEMPORARY = ".rankgrove-{}.tmp"
_STALE_SECONDS = 60.0


def reason(error: OSError) -> str:
    """Return why a file cannot be read or written; one wording for the most frequent reason."""
    if error.strerror == os.strerror(errno.ENOENT):
        return "no such file"
    return error.strerror or str(error)


def require_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError unless ``path`` can be written: to be called before long work."""
    place = file_path(path)
    if isinstance(place, Address):
        place.require_place()
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder for this file", str(path))
    if len(os.fsencode(target.name)) > os.pathconf(target.parent, "PC_NAME_MAX"):
        raise OSError(errno.ENAMETOOLONG, "the name of this file is too long", str(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file to write", str(path))
    if _is_special(target):
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "this is not writable", str(path))
    elif target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "this file is write-protected", str(path))
    elif not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder of this file is not writable", str(path))


def same_place(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two names are of the same file or address, which need not exist."""
    places = [file_path(one), file_path(other)]
    if any(isinstance(place, Address) for place in places):
        return places[0] == places[1]
    paths = [os.path.realpath(place) for place in places]
    if all(map(os.path.exists, paths)):
        return os.path.samefile(*paths)
    return paths[0] == paths[1]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that atomically replaces ``path`` once the block ends without an error.

    It is written beside the old file without a name, so a reader sees the old file or the new one,
    and a failure, even of the machine, leaves the old one. A symbolic link is followed, and the
    permissions of an old file are kept. A pipe or device is written to as it stands. For an
    address, a temporary file is written and then uploaded as a whole.
    """
    require_place(path)
    place = file_path(path)
    if isinstance(place, Address):
        with _uploading(place) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    with naming_written(path):
        if _is_special(target):
            with target.open("wb") as stream:
                yield stream
            return
        _remove_stale(target.parent)
        descriptor, temporary = _open_beside(target)
        written = _Written(os.dup(descriptor), temporary, target)
        together = _together.get()
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                _keep_permissions(descriptor, target)
                os.fsync(descriptor)
            if together is None:
                written.give_name()
                written.replace_target()
        except BaseException:
            written.remove()
            raise
        finally:
            if together is None:
                os.close(written.descriptor)
            else:
                together.append(written)


@contextlib.contextmanager
def _uploading(address: Address) -> Iterator[BinaryIO]:
    if _together.get() is not None:
        raise ValueError(
            f"{address}: files that belong together are renamed together, which stores cannot do: "
            "write to a local folder"
        )
    with tempfile.NamedTemporaryFile(prefix="rankgrove-") as stream:
        yield cast(BinaryIO, stream)
        stream.flush()
        address.upload(stream.name, os.fstat(stream.fileno()).st_size)


@contextlib.contextmanager
def local_file(place: FilePath, content: bytes) -> Iterator[str]:
    """Yield a local path for libraries without support of addresses; an object is copied from it.

    ``content`` is that of the object.
    """
    if isinstance(place, Path):
        yield str(place)
        return
    with tempfile.NamedTemporaryFile(prefix="rankgrove-", suffix=place.suffix) as file:
        file.write(content)
        file.flush()
        yield file.name


@contextlib.contextmanager
def replacing_together() -> Iterator[None]:
    """Let the files that ``replacing`` writes in this block replace the old ones at its end.

    All do, or none: they have been written in full, and only renaming is left. (A process that is
    killed between two renames leaves the rest undone.)
    """
    files: list[_Written] = []
    token = _together.set(files)
    try:
        yield
        for file in files:
            with naming_written(file.target):
                file.give_name()
        for file in files:
            with naming_written(file.target):
                file.replace_target()
    except BaseException:
        for file in files:
            file.remove()
        raise
    finally:
        _together.reset(token)
        for file in files:
            os.close(file.descriptor)


@dataclass
class _Written:
    """A file that is complete but has not taken the place of its target.

    Attributes
    ----------
    descriptor : keeps it, and its lock, alive
    temporary : its name; None if it has none yet, or no more
    """

    descriptor: int
    temporary: Path | None
    target: Path

    def give_name(self) -> None:
        """Make sure that the file has a name."""
        if self.temporary is None:
            name = _temporary_name(self.target.parent)
            _give_name(self.descriptor, name)
            self.temporary = name

    def replace_target(self) -> None:
        """Take the place of the target."""
        assert self.temporary is not None
        os.replace(self.temporary, self.target)
        self.temporary = None

    def remove(self) -> None:
        """Remove the file, if it has a name of its own."""
        if self.temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.temporary)
            self.temporary = None


_together: ContextVar[list[_Written] | None] = ContextVar("_together", default=None)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


@contextlib.contextmanager
def naming_written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Set the file name of write errors that lack it (a full disk) or name the temporary file."""
    try:
        yield
    except OSError as error:
        writing = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if (error.filename is None and writing) or _is_temporary(error.filename):
            error.filename, error.filename2 = str(path), None
        raise


def _is_temporary(name: object) -> bool:
    return isinstance(name, str | os.PathLike) and ".rankgrove-" in str(name)


def _temporary_name(folder: Path) -> Path:
    return folder / _TEMPORARY.format(secrets.token_hex(6))


def _open_beside(target: Path) -> tuple[int, Path | None]:
    """Open a temporary file in the folder of ``target``, unnamed (O_TMPFILE) where supported."""
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(target.parent, os.O_WRONLY | os.O_TMPFILE, 0o666), None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                error.filename = str(target)
                raise
    temporary = _temporary_name(target.parent)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    _lock(descriptor)
    return descriptor, temporary


def _give_name(descriptor: int, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder, Python calls linkat, which follows the link in /proc.
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _keep_permissions(descriptor: int, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        old = target.stat()
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Inter-process lock as a context, on systems that support file locks."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            file = stack.enter_context(path.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_unlocked(path: Path) -> bool:
    """Return whether no process holds the lock; False if that is unknown."""
    try:
        with path.open("rb") as file:
            return _lock(file.fileno())
    except OSError:
        return False


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # fcntl is missing on Windows, where stale files are not removed
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(folder: Path) -> None:
    """Remove temporary files of killed processes: old ones that no process has locked."""
    for temporary in folder.glob(_TEMPORARY.format("*")):
        with contextlib.suppress(OSError):
            if time.time() - temporary.stat().st_mtime < _STALE_SECONDS:
                continue
            descriptor = os.open(temporary, os.O_RDONLY)
            try:
                if _lock(descriptor):
                    temporary.unlink()
            finally:
                os.close(descriptor)
