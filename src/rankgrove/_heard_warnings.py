"""Warnings of many fits, or of many workers of one, of which each is to be heard once.

A thread tells its warnings to whoever listens, perhaps in another process or on another machine,
and that one raises each of them once, with the name of the teller that was first.
"""

from __future__ import annotations

import builtins
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rankgrove import errors

Tell = Callable[[str, str], None]

_LOCK = threading.Lock()
_LISTENERS: dict[int, Tell] = {}
_ORIGINAL: list[Any] = []  # what is put back when the last listener goes


@contextmanager
def warnings_told(tell: Tell) -> Iterator[None]:
    """Context in which warnings of this thread go to ``tell(category, text)``.

    Those of other threads are shown as ever; several threads may be in such a context.
    """
    thread = threading.get_ident()
    with _LOCK:
        if not _LISTENERS:
            kept = warnings.catch_warnings()
            kept.__enter__()
            _ORIGINAL[:] = [kept, warnings.showwarning]
            warnings.simplefilter("always", UserWarning)  # also what an earlier fit has warned of
            warnings.showwarning = _show
        _LISTENERS[thread] = tell
    try:
        yield
    finally:
        with _LOCK:
            del _LISTENERS[thread]
            if not _LISTENERS:
                _ORIGINAL[0].__exit__(None, None, None)


def _show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    tell = _LISTENERS.get(threading.get_ident())
    if tell is None:
        _ORIGINAL[1](message, category, *place, **more)
    else:
        tell(category.__name__, str(message))


class HeardWarnings:
    """The listener's side: raises what it is told, unless it has heard the same before.

    Numbers do not make it another warning: each teller counts in its own part of the data.
    """

    def __init__(self) -> None:
        self._heard: set[tuple[str, str]] = set()

    def hear(self, teller: str, category: str, text: str) -> None:
        """Warn of what somebody has told."""
        known = category, re.sub(r"\d+([.,]\d+)*", "#", text)
        if known in self._heard:
            return
        self._heard.add(known)
        warnings.warn(f"{teller}: {text}", _category(category), stacklevel=2)


def _category(name: str) -> type[Warning]:
    for module in (errors, builtins):
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, Warning):
            return found
    return UserWarning
