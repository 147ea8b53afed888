"""Relay warnings from worker threads and processes; show each distinct one once.

A worker captures its warnings (``relaying_warnings``) and sends them on, perhaps to another process
or machine. The receiver (``WarningRelay``) shows each distinct one once, with the name of the first
worker that sent it.
"""

from __future__ import annotations

import builtins
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from rankgrove import errors

Send = Callable[[str, str], None]

_LOCK = threading.Lock()
_SENDERS: dict[int, Send] = {}
_ORIGINAL: list[Any] = []  # restored when the last context ends


@contextmanager
def relaying_warnings(send: Send) -> Iterator[None]:
    """Context in which warnings of this thread are passed to ``send(category, text)``.

    Warnings of other threads are shown as usual; several threads may be in such a context.
    """
    thread = threading.get_ident()
    with _LOCK:
        if not _SENDERS:
            kept = warnings.catch_warnings()
            kept.__enter__()
            _ORIGINAL[:] = [kept, warnings.showwarning]
            # Even if an earlier fit raised the same warning; other threads keep their filters.
            warnings.simplefilter("always", UserWarning)
            filters = cast("list[Any]", warnings.filters)
            filters[0] = ("always", _InRelayingThread(), UserWarning, None, 0)
            warnings.showwarning = _show
        _SENDERS[thread] = send
    try:
        yield
    finally:
        with _LOCK:
            del _SENDERS[thread]
            if not _SENDERS:
                _ORIGINAL[0].__exit__(None, None, None)


class _InRelayingThread:
    """In place of a filter's regular expression: matches all that a relaying thread warns of."""

    pattern = ""  # for libraries (scikit-learn) that set the same filters in their own threads

    def match(self, _: str) -> bool:
        return threading.get_ident() in _SENDERS


def _show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    send = _SENDERS.get(threading.get_ident())
    if send is None:
        _ORIGINAL[1](message, category, *place, **more)
    else:
        send(category.__name__, str(message))


# "3 of 9 values of 'colour', 4 of 9 values of 'size'", without the numbers.
_COUNTED = re.compile(r"""(# of # values of ('[^']*'|"[^"]*")(, )?)+""")


class WarningRelay:
    """Shows the warnings that workers send, each distinct one once.

    Warnings that differ in numbers alone are the same: each worker counts in its own data. So are
    those that count values of other columns.
    """

    def __init__(self) -> None:
        self._shown: set[tuple[str, str]] = set()

    def relay(self, source: str, category: str, text: str) -> None:
        """Show a warning of ``source``, unless an equal one was shown before."""
        key = category, _COUNTED.sub("#", re.sub(r"\d+([.,]\d+)*", "#", text))
        if key in self._shown:
            return
        self._shown.add(key)
        warnings.warn(f"{source}: {text}", _category(category), stacklevel=2)


def _category(name: str) -> type[Warning]:
    for module in (errors, builtins):
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, Warning):
            return found
    return UserWarning
