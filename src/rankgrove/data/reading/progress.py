"""Progress of reading large files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rankgrove.data.reading.byte_stream import ByteStream
from rankgrove.data.reading.options import Progress

_LARGE_BYTES = 200 << 20


@contextmanager
def progress_reporter(
    stream: ByteStream, progress: bool | Progress | None
) -> Iterator[Callable[[int, int | None], None]]:
    """Return a callback of (bytes done, total bytes) to be called while reading.

    ``None`` shows a bar on a terminal for large files, ``True`` always, ``False`` never; a callable
    is called itself.
    """
    if callable(progress):
        function: Any = progress
        yield function
        return
    if progress is None:
        progress = (stream.size or 0) >= _LARGE_BYTES and sys.stderr.isatty()
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
        task = bar.add_task(f"reading {stream.path.name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
