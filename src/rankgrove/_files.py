"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def require_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError unless ``path`` can become a file, before work is done in vain."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file to write", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no folder for this file", str(path))
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the folder of this file is not writable", str(path))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes the place of ``path`` once the block ends without an error.

    It is written under a temporary name in the same folder, so a reader sees the old file or the
    new one, and a failure leaves the old one.
    """
    require_place(path)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        error.filename = str(path)  # the caller knows nothing of the temporary name
        raise
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
