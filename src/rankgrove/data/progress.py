"""Progress of reading large files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankgrove.data.options import Progress

_LARGE_BYTES = 200 << 20


@contextmanager
def progress_reporter(path: Path, progress: bool | Progress | None) -> Iterator[Progress]:
    """Give a function of (bytes done, bytes in all) to be called while reading.

    ``None`` shows a bar on a terminal for large files, ``True`` always, ``False`` never; a callable
    is called itself.
    """
    if callable(progress):
        yield progress
        return
    if progress is None:
        progress = path.stat().st_size >= _LARGE_BYTES and sys.stderr.isatty()
    if not progress:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(f"reading {path.name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
