"""What Ctrl-C does in a process of the command line.

While modules are imported it ends the process, without a traceback: nothing was written yet, and
libraries that catch KeyboardInterrupt in the middle of their import break in strange ways later.
While the verb runs it raises KeyboardInterrupt, and is remembered for libraries that catch it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def end_at_interrupts() -> None:
    """Let Ctrl-C end the process, unless the caller of the process ignores it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class Interrupts:
    """Whether Ctrl-C came while the verb ran."""

    def __init__(self) -> None:
        self.seen = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at Ctrl-C inside of the block; end the process after it."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            yield
            return
        try:
            signal.signal(signal.SIGINT, self._raise)
            yield
        finally:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt
