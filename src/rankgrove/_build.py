"""Digest of the installed code, which identifies the build that computed a result."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from rankgrove import _native


@cache
def build_digest() -> str:
    """Return a digest of the Python sources and of the native module of this process.

    The version alone does not tell two states of a working copy apart, nor two builds of the native
    module.
    """
    package = Path(__file__).parent
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    files["native"] = Path(str(_native.__file__))
    digest = hashlib.blake2b(digest_size=8)
    for name, path in sorted(files.items()):
        digest.update(f"{name} {hashlib.blake2b(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
