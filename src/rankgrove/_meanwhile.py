"""Calls that another thread makes meanwhile, if there is one.

``threading`` waits until a new thread has begun, and waits for ever if it ends before: so it does
where memory is short. Here nobody waits for a thread that has not begun.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable
from typing import Any


class Meanwhile:
    """A call of a function without arguments, made once, by whoever comes first."""

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
        """Return what the function returned, or raise what it raised; call it if nobody has."""
        self._run()
        with self._busy:
            pass
        if self._error is not None:
            raise self._error
        return self._value

    def drop(self) -> None:
        """Wait until the call is made; it is not begun any more."""
        if not self._claim.acquire(blocking=False):
            with self._busy:
                pass
