"""The number of connections of each worker, by which workers share out new ones.

A connection stays with the process that has accepted it, and the kernel wakes the processes that
listen in no particular order: one of them might take all connections of a client that opens a few
and keeps them. So a worker that has more connections than another leaves a new one to it, for some
milliseconds. It asks no further if nothing has happened in the other workers by then: they may be
stopped, or busy with a long request.

Example: of two workers, A has 1 connection and B none. A new one wakes both. A leaves it, B takes
it. The next is taken by either, as both have 1.
"""

from __future__ import annotations

from typing import Any

DECLINE_SECONDS = 0.001  # after which a worker looks at a connection again that it has left
_MOST_DECLINES = 20  # in a row, while nothing happens in other workers
_NOT_ACCEPTING = -1
_SLACK = 8  # among many connections, a worker may have more than another by this part of them


class ConnectionCounts:
    """The connection counts of all workers, in shared memory; each worker writes its own.

    Parameters
    ----------
    numbers : one number per worker; -1: it accepts no connections
    place : of the own number
    """

    def __init__(self, numbers: Any, place: int) -> None:
        self._numbers = numbers
        self._place = place
        self._seen: list[int] = []
        self._declines = 0

    @staticmethod
    def alone() -> ConnectionCounts:
        """Return the numbers of a server without other workers."""
        return ConnectionCounts([_NOT_ACCEPTING], 0)

    def set(self, number: int) -> None:
        """Publish the number of connections of this worker."""
        self._numbers[self._place] = number

    def stop_accepting(self) -> None:
        """Publish that this worker accepts no more connections."""
        self._numbers[self._place] = _NOT_ACCEPTING

    def should_decline(self) -> bool:
        """Return whether to leave a connection that waits to a worker that has fewer."""
        others = list(self._numbers)
        own = others.pop(self._place)
        if others != self._seen:
            self._seen, self._declines = others, 0
        accepting = [number for number in others if number != _NOT_ACCEPTING]
        if not accepting or self._declines == _MOST_DECLINES:
            return False
        least = min(accepting)
        if own <= least + least // _SLACK:
            return False
        self._declines += 1
        return True
