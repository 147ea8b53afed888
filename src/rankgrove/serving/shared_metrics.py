"""The files through which worker processes share their metrics: a folder, and its life.

prometheus_client maps a few files of each process into memory, and they grow as they are written
to. A write to a mapped page for which the disk has no room ends the process, so the files of a
worker are filled with zeros before they are mapped: a full disk is an error at the start then.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import multiprocess

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_LOST = "counts-lost"  # a file in a folder that replaces one that was removed
_KINDS = ("counter", "gauge_livesum", "histogram")
_BYTES = 64 << 10  # of a file for each model, which has about 70 values with names of 200 bytes


@contextmanager
def metrics_folder() -> Iterator[None]:
    """Have a folder for the metrics of all workers while the block runs."""
    with tempfile.TemporaryDirectory(prefix="rankgrove-metrics-", ignore_cleanup_errors=True) as it:
        folder = os.open(it, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_SH)  # systemd-tmpfiles leaves locked folders alone
            os.environ[VARIABLE] = it
            yield
        finally:
            os.close(folder)


def reserve_metrics(n_models: int) -> None:
    """Allocate the files of this process; OSError if there is no room for them."""
    if VARIABLE not in os.environ:
        return
    folder = Path(os.environ[VARIABLE])
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / _LOST).touch()
    for kind in _KINDS:
        path = folder / f"{kind}_{os.getpid()}.db"
        if path.exists():
            continue
        try:
            path.write_bytes(bytes(_BYTES * (1 + n_models)))
        except OSError as error:
            path.unlink(missing_ok=True)
            raise OSError(f"no room for the metrics in {folder}: {error.strerror}") from error


def counts_are_lost() -> bool:
    """Return whether the folder was removed, so that counts of other workers are missing."""
    if VARIABLE not in os.environ:
        return False
    folder = Path(os.environ[VARIABLE])
    return not folder.is_dir() or (folder / _LOST).exists()


def end_metrics(process: int) -> None:
    """Keep the counts of a process that has ended, in files that are no longer than these."""
    if VARIABLE not in os.environ:
        return
    folder = Path(os.environ[VARIABLE])
    multiprocess.mark_process_dead(process)  # type: ignore[no-untyped-call]
    for path in folder.glob(f"*_{process}.db"):
        with path.open("r+b") as file:
            (used,) = struct.unpack("i", file.read(4) or bytes(4))
            file.truncate(max(used, 8))
