"""Objects of stores behind addresses such as ``s3://bucket/key``, with the interface of ``Path``.

fsspec reaches the stores; it is imported when an address is used. Errors are OSErrors that name the
address and the cause. Passwords and query strings of an address are never printed.
"""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from rankgrove._optional import require
from rankgrove.errors import MissingDependencyError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]+)*://")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^\s'\"]*)")
_CONTAINER_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})  # CONTAINER@ACCOUNT is no secret
# What changes with the content of an object, by the names that file systems use.
_VERSION_KEYS = (
    *("size", "ETag", "etag", "VersionId", "version_id", "generation", "md5Hash", "content_md5"),
    *("LastModified", "last_modified", "updated", "mtime", "created", "modificationTime"),
)
_MIN_FETCH, _MAX_FETCH = 1 << 16, 1 << 23  # bytes of a request
_MAX_MESSAGE = 300


def is_address(path: Any) -> bool:
    """Return whether this is an address (``scheme://...``) rather than the path of a file."""
    return isinstance(path, Address) or (isinstance(path, str) and bool(_ADDRESS.match(path)))


def file_path(path: str | os.PathLike[str]) -> FilePath:
    """Return the Path of a file, or the Address of an object."""
    if isinstance(path, Address):
        return path
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"a file or folder is named by a text or a path, not by {path!r:.60}")
    return Address(path) if isinstance(path, str) and is_address(path) else Path(path)


def local_path(path: str | os.PathLike[str], what: str) -> Path:
    """Return the Path of a file; refuse an address, which ``what`` cannot use."""
    found = file_path(path)
    if isinstance(found, Address):
        raise ValueError(f"{found}: {what} must be on a local disk, not behind an address")
    return found


def printable(text: str) -> str:
    """Return the text without passwords and query strings of the addresses in it."""
    return _URL.sub(_without_secrets, text)


def _without_secrets(found: re.Match[str]) -> str:
    scheme, rest = found.groups()
    rest = rest.split("?", 1)[0]
    host, slash, path = rest.partition("/")
    user, at, server = host.rpartition("@")
    if at and (":" in user or scheme not in _CONTAINER_SCHEMES):
        host = server
    return f"{scheme}://{host}{slash}{path}"


@dataclass(frozen=True)
class ObjectStatus:
    """Size and version of an object in a store.

    Attributes
    ----------
    st_size : bytes; None if the server does not say
    version : differs after a change of the object (etag, time of change)
    """

    st_size: int | None
    version: str


class Address(os.PathLike[str]):
    """The address of an object, or of a folder (a common prefix) of objects."""

    def __init__(self, url: str, *, is_file: bool | None = None) -> None:
        self._url = url
        self._known_file = is_file

    def __fspath__(self) -> str:
        return self._url

    def __str__(self) -> str:
        return printable(self._url)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self._url == other._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __lt__(self, other: Address) -> bool:
        return self._url < other._url

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(str(self).split("://", 1)[1])

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The suffix of the name."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes of the name."""
        return self._pure.suffixes

    def with_name(self, name: str) -> Address:
        """Return the address with another name."""
        place, mark, query = self._url.partition("?")
        return Address(f"{place.rstrip('/').rpartition('/')[0]}/{name}{mark}{query}")

    def __truediv__(self, name: str) -> Address:
        """Return the address of what is in this folder."""
        place, mark, query = self._url.partition("?")
        return Address(f"{place.rstrip('/')}/{name}{mark}{query}")

    def with_suffix(self, suffix: str) -> Address:
        """Return the address with another suffix."""
        return self.with_name(self.stem + suffix)

    def is_file(self) -> bool:
        """Return whether this is an object that may be read.

        Many stores deny access to objects that do not exist, so one that is denied counts as none.
        """
        if self._known_file is None:
            return self._kind() == "file"
        return self._known_file

    def is_dir(self) -> bool:
        """Return whether this is a folder."""
        if self._known_file is None:
            return self._kind() == "directory"
        return not self._known_file

    def exists(self) -> bool:
        """Return whether there is an object or a folder."""
        return self._kind() is not None

    def iterdir(self) -> Iterator[Address]:
        """Return the addresses of the folder."""
        with self._asking() as (system, path):
            system.invalidate_cache(path)
            found = system.ls(path, detail=True)
            names = {entry["name"]: entry["type"] == "file" for entry in found}
            here = path.rstrip("/")
            urls = {
                system.unstrip_protocol(n): f for n, f in names.items() if n.rstrip("/") != here
            }
        return iter([Address(url, is_file=is_file) for url, is_file in urls.items()])

    def matches(self) -> list[Address]:
        """Return the addresses that match this one as a pattern, sorted."""
        with self._asking() as (system, path):
            found = sorted(system.glob(path))
            return [Address(system.unstrip_protocol(name)) for name in found]

    def stat(self) -> ObjectStatus:
        """Ask the store for the size and the version of the object."""
        found = self._info()
        if found.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "this is a folder, not an object", str(self))
        version = " ".join(f"{key}={found[key]}" for key in _VERSION_KEYS if key in found)
        return ObjectStatus(found.get("size"), version)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open the object for reading bytes."""
        assert mode == "rb"
        return cast(BinaryIO, OpenObject(self))

    def read_bytes(self) -> bytes:
        """Read the object."""
        with self.open("rb") as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """Read the object as text."""
        return self.read_bytes().decode(encoding)

    def fetch(self, start: int | None, end: int | None) -> bytes:
        """Read a range of bytes, or all."""
        with self._asking() as (system, path):
            return bytes(system.cat_file(path, start=start, end=end))

    def upload(self, file: str, size: int) -> None:
        """Replace the object by a local file of ``size`` bytes."""
        with self._asking() as (system, path):
            system.put_file(file, path)
        stored = self.stat().st_size
        if stored is not None and stored != size:
            cause = f"the store holds {stored} bytes of {size} after the upload"
            raise OSError(errno.EIO, cause, str(self))

    def require_place(self) -> None:
        """Raise OSError early if nothing can be written to this address."""
        if not self.name or self._url.endswith("/"):
            raise IsADirectoryError(errno.EISDIR, "this is a folder, not an object", str(self))
        with self._asking() as (system, path):
            bucket, slash, _ = str(path).partition("/")
            system.invalidate_cache()
        if not slash:
            raise OSError(errno.EINVAL, "this names a bucket, not an object in it", str(self))
        if bucket:  # of object stores; paths of other file systems begin with a slash
            try:
                with self._asking() as (system, _):
                    system.info(bucket)
            except PermissionError:
                pass  # some may write to a bucket that they may not look at
            except FileNotFoundError:
                cause = "there is no such bucket"
                raise FileNotFoundError(errno.ENOENT, cause, str(self)) from None
        if self.is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder, not an object", str(self))

    def _kind(self) -> str | None:
        try:
            return str(self._info()["type"])
        except (FileNotFoundError, PermissionError):
            return None

    def _info(self) -> dict[str, Any]:
        with self._asking() as (system, path):
            system.invalidate_cache()  # which may describe an older object
            found: dict[str, Any] = system.info(path)
        return found

    def _detail(self, error: BaseException) -> str:
        text = self._cleaned(str(getattr(error, "strerror", None) or error))[:_MAX_MESSAGE]
        return f": {text}" if text else ""

    def _cleaned(self, text: str) -> str:
        """Return a message of the store without what is secret in an address."""
        place, _, query = self._url.partition("?")
        user = place.split("://", 1)[1].partition("/")[0].rpartition("@")[0]
        hidden = [part for part in (query, user) if part and part not in str(self)]
        for part in hidden:
            text = text.replace(part, "...")
        return printable(text)

    @contextmanager
    def _asking(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the path in it; errors name the address and the cause."""
        shown = str(self)
        core = require("fsspec.core", "remote", f"{shown}: an address")
        try:
            local = self._url.startswith(("file://", "local://"))
            yield core.url_to_fs(self._url, **({"auto_mkdir": True} if local else {}))
        except ImportError as error:
            raise MissingDependencyError(
                f"{shown}: {self._cleaned(str(error))} (pip install 'rankgrove[remote]' installs "
                "what s3:// needs)"
            ) from None
        except FileNotFoundError as error:
            if _is_denial(error.__cause__):
                raise PermissionError(errno.EACCES, "the store denies access", shown) from None
            raise FileNotFoundError(errno.ENOENT, "no such object", shown) from None
        except PermissionError as error:
            cause = f"the store denies access{self._detail(error)}"
            raise PermissionError(errno.EACCES, cause, shown) from None
        except TimeoutError as error:
            cause = f"the store did not answer in time{self._detail(error)}"
            raise TimeoutError(errno.ETIMEDOUT, cause, shown) from None
        except Exception as error:
            if _is_denial(error):
                raise PermissionError(errno.EACCES, "the store denies access", shown) from None
            if type(error).__name__ in ("NoCredentialsError", "DefaultCredentialsError"):
                cause = f"no credentials were found{self._detail(error)}"
                raise PermissionError(errno.EACCES, cause, shown) from None
            cause = f"the store cannot be used: {type(error).__name__}{self._detail(error)}"
            raise OSError(errno.EIO, cause, shown) from None


def _is_denial(error: BaseException | None) -> bool:
    """Return whether an HTTP server refused a request."""
    return getattr(error, "status", None) in (401, 403)


class OpenObject(io.RawIOBase):
    """The bytes of an object: read by ranges, in order or not, and all of one version.

    Reads that follow each other become larger requests. A request that yields fewer bytes than the
    object has is an error, and so is an object that has changed when its end is read or it is left.
    """

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self._status = address.stat()
        self._position = 0
        self._block, self._start, self._ahead = b"", 0, _MIN_FETCH
        if self._status.st_size is None:  # no ranges
            self._block = address.fetch(None, None)
        self.size = len(self._block) if self._status.st_size is None else self._status.st_size

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "a negative position", str(self._address))
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; fewer bytes are read only at the end."""
        view = memoryview(buffer).cast("B")
        filled = 0
        wanted = min(len(view), max(self.size - self._position, 0))
        while filled < wanted:
            offset = self._position - self._start
            if not 0 <= offset < len(self._block):
                self._fetch(wanted - filled)
                offset = 0
            part = self._block[offset : offset + wanted - filled]
            view[filled : filled + len(part)] = part
            filled += len(part)
            self._position += len(part)
        if filled and self._position == self.size:
            self.require_unchanged()
        return filled

    def _fetch(self, n_bytes: int) -> None:
        """Fetch the block that begins at the position."""
        follows = self._position == self._start + len(self._block)
        self._ahead = min(2 * self._ahead, _MAX_FETCH) if follows else _MIN_FETCH
        start = self._position
        end = min(start + max(min(n_bytes, _MAX_FETCH), self._ahead), self.size)
        block = self._address.fetch(start, end)
        if len(block) != end - start:
            self.require_unchanged()
            cause = f"the store sent {len(block)} bytes of {end - start} from byte {start} on"
            raise OSError(errno.EIO, cause, str(self._address))
        self._block, self._start = block, start

    def require_unchanged(self) -> None:
        """Raise OSError if the object is not the one that was opened."""
        if self._address.stat().version != self._status.version:
            cause = "the object has changed while it was read"
            raise OSError(errno.ESTALE, cause, str(self._address))

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if error is None or isinstance(error, Exception):
                self.require_unchanged()
        finally:
            self.close()


FilePath = Path | Address
