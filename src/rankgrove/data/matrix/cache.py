"""Cache of results computed from large data: for one process, or in a folder of the user.

Without a folder nothing outlives the process: files have no name, and arrays are in memory. In a
folder, each source and its options have a folder of their own, named after a digest of both. Files
appear whole or not at all, and are checked when they are opened; one that is damaged, or that
another version of rankgrove wrote, is made again. Processes that want the same wait for the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rankgrove import __version__
from rankgrove._addresses import local_path
from rankgrove._files import locked, replacing
from rankgrove.data.matrix.disk_matrix import naming_folder

Arrays = dict[str, npt.NDArray[Any]]
VARIABLE = "RANKGROVE_CACHE"
_PREFIX = "rankgrove-"
_DIGEST = 32  # bytes of a SHA-256


def cache_folder(given: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder that the caller or the environment names, or None."""
    name = given if given is not None else os.environ.get(VARIABLE) or None
    return None if name is None else local_path(name, "the cache")


def clear_cache(folder: str | os.PathLike[str] | None = None) -> int:
    """Delete the content of a cache folder, and return the number of bytes freed.

    Parameters
    ----------
    folder : the folder; by default the one that the variable RANKGROVE_CACHE names
    """
    place = cache_folder(folder)
    if place is None:
        raise ValueError(f"clear_cache needs a folder, or the variable {VARIABLE} that names one")
    freed = 0
    for entry in place.glob(f"{_PREFIX}*"):
        if entry.is_dir() and not entry.is_symlink():
            freed += sum(file.stat().st_size for file in entry.iterdir())
            shutil.rmtree(entry)
    return freed


def temporary_folder() -> Path:
    """Return the folder of large temporary files; /tmp is memory on some systems."""
    if "TMPDIR" not in os.environ and os.access("/var/tmp", os.W_OK):
        return Path("/var/tmp")
    return Path(tempfile.gettempdir())


class CacheEntry:
    """The cached results of one source: arrays and files by name, each computed on first use.

    ``outlives_process`` says whether another process finds them.
    """

    outlives_process = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def arrays(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Arrays:
        """Return the arrays of this name."""
        raise NotImplementedError

    def file(
        self, name: str, write: Callable[[BinaryIO], None], check: Callable[[BinaryIO], bool]
    ) -> BinaryIO:
        """Open the file of this name for reading; ``check`` tells whether an old one is whole."""
        raise NotImplementedError


class PartOfCacheEntry(CacheEntry):
    """A view of a cache entry that adds its own suffix to all names."""

    def __init__(self, whole: CacheEntry, name: str) -> None:
        super().__init__(whole.folder)
        self.outlives_process = whole.outlives_process
        self._whole = whole
        self._name = name

    def arrays(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Arrays:
        """Return the arrays of this name."""
        return self._whole.arrays(f"{name}-{self._name}", make)

    def file(
        self, name: str, write: Callable[[BinaryIO], None], check: Callable[[BinaryIO], bool]
    ) -> BinaryIO:
        """Open the file of this name."""
        return self._whole.file(f"{name}-{self._name}", write, check)


class TemporaryCacheEntry(CacheEntry):
    """A cache in memory and unnamed files, which ends with the process."""

    def __init__(self) -> None:
        super().__init__(temporary_folder())
        self._arrays: dict[str, Arrays] = {}
        self._files: dict[str, BinaryIO] = {}

    def arrays(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Arrays:
        """Return the arrays of this name."""
        if name not in self._arrays:
            self._arrays[name] = {key: np.asarray(value) for key, value in make().items()}
        return self._arrays[name]

    def file(
        self, name: str, write: Callable[[BinaryIO], None], check: Callable[[BinaryIO], bool]
    ) -> BinaryIO:
        """Open the file of this name."""
        if name not in self._files:
            with naming_folder(self.folder):
                file: Any = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
                try:
                    write(file)
                    file.flush()
                except BaseException:
                    file.close()
                    raise
            self._files[name] = file
        return os.fdopen(os.dup(self._files[name].fileno()), "rb")

    def __del__(self) -> None:
        for file in self._files.values():
            file.close()


class FolderCacheEntry(CacheEntry):
    """A cache on disk, in a folder whose name is a digest of the cache key."""

    outlives_process = True

    def __init__(self, folder: Path, key: str) -> None:
        digest = hashlib.sha256(f"{__version__}\n{key}".encode()).hexdigest()[:32]
        super().__init__(folder / f"{_PREFIX}{digest}")
        with naming_folder(folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def arrays(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Arrays:
        """Return the arrays of this name."""
        path = self.folder / f"{name}.arrays"
        with locked(self.folder / f".{name}.lock"):
            with contextlib.suppress(FileNotFoundError):
                content = memoryview(path.read_bytes())
                if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                    with np.load(io.BytesIO(content[_DIGEST:]), allow_pickle=False) as archive:
                        return {key: archive[key] for key in archive.files}
            made = {key: np.asarray(value) for key, value in make().items()}
            buffer = io.BytesIO()
            np.savez(buffer, **made)  # type: ignore[arg-type]
            with naming_folder(self.folder), replacing(path) as file:
                file.write(hashlib.sha256(buffer.getbuffer()).digest())
                file.write(buffer.getbuffer())
            return made

    def file(
        self, name: str, write: Callable[[BinaryIO], None], check: Callable[[BinaryIO], bool]
    ) -> BinaryIO:
        """Open the file of this name."""
        path = self.folder / name
        with locked(self.folder / f".{name}.lock"):
            with contextlib.suppress(FileNotFoundError):
                file = path.open("rb")
                if check(file):
                    return file
                file.close()
            with naming_folder(self.folder), replacing(path) as new:
                write(new)
            return path.open("rb")
