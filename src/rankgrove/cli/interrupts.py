"""What Ctrl-C does in a process of the command line.

While the modules of the command line are imported it ends the process, without a traceback: nothing
was written yet. While the verb runs it raises KeyboardInterrupt, and is remembered for libraries
that catch it. Libraries that catch it in the middle of their import go on as if it had not come, or
break in strange ways later, so that Ctrl-C then waits until the import has ended; a second Ctrl-C
does not wait.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SECONDS_BETWEEN_CHECKS = 0.02


def end_at_interrupts() -> None:
    """Let Ctrl-C end the process, unless the caller of the process ignores it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class Interrupts:
    """Whether Ctrl-C came while the verb ran."""

    def __init__(self) -> None:
        self.seen = False
        self._was_importing = False  # at the last check

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at Ctrl-C inside of the block; end the process after it."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            yield
            return
        try:
            signal.signal(signal.SIGALRM, self._raise_after_import)
            signal.signal(signal.SIGINT, self._raise)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        first, self.seen = not self.seen, True
        self._was_importing = first and _is_importing(frame)
        if self._was_importing:
            checks = _SECONDS_BETWEEN_CHECKS
            signal.setitimer(signal.ITIMER_REAL, checks, checks)
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    def _raise_after_import(self, number: int, frame: FrameType | None) -> None:
        """Raise if nothing was imported at two checks: the importer, too, may catch it at first."""
        was, self._was_importing = self._was_importing, _is_importing(frame)
        if not was and not self._was_importing:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported in a frame or in its callers."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            return True
        frame = frame.f_back
    return False
