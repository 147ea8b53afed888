"""Run a function on a background thread, or inline if no thread can be started.

``threading.Thread.start`` blocks until the new thread runs, and blocks for ever if the thread dies
before, as it does when memory is short. A BackgroundCall never waits for a thread that has not
begun.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable
from typing import Any


class BackgroundCall:
    """A call of a function, made once: by a background thread or by ``result``."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._claim, self._busy = _thread.allocate_lock(), _thread.allocate_lock()
        self._busy.acquire()
        self._value: Any = None
        self._error: BaseException | None = None
        with contextlib.suppress(RuntimeError, MemoryError):  # no thread can be started
            _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._value = self._function()
        except BaseException as error:
            self._error = error
        finally:
            self._busy.release()

    def result(self) -> Any:
        """Return the result or raise the error of the call; run it here if it has not begun."""
        self._run()
        with self._busy:
            pass
        if self._error is not None:
            raise self._error
        return self._value

    def drop(self) -> None:
        """Cancel the call if it has not begun, else wait for its end."""
        if not self._claim.acquire(blocking=False):
            with self._busy:
                pass
