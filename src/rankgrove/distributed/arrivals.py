"""The workers that connect to a listening socket of another worker."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from rankgrove.distributed.join_listener import JoinListener

Link = tuple[socket.socket, str]
"""A socket to another worker, and its address."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address of this machine; port 0 takes a free one."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family, backlog=128)


class MissingWorkers(Exception):  # noqa: N818
    """Workers that have not connected in time; ``hint`` names refused peers."""

    def __init__(self, ranks: list[int], hint: str) -> None:
        super().__init__(ranks, hint)
        self.ranks = ranks
        self.hint = hint


class Arrivals(AbstractContextManager["Arrivals"]):
    """Accepts authenticated workers in the background until it is closed.

    Parameters
    ----------
    listener : a listening socket, which this object closes
    ranks : the workers that are expected
    """

    def __init__(
        self, listener: socket.socket, ranks: Iterable[int], size: int, token: bytes
    ) -> None:
        self._expected = set(ranks)
        self._links: dict[int, Link] = {}
        self._changed, self._closed = threading.Condition(), False
        self._listener = JoinListener(listener, self._expected, size, token, self._on_join)

    def _on_join(self, rank: int, link: socket.socket, address: str) -> None:
        with self._changed:
            if self._closed:
                link.close()
                return
            self._links[rank] = (link, address)
            self._changed.notify()

    def wait(self, deadline: float) -> dict[int, Link]:
        """Return the sockets of all expected workers by rank, which belong to the caller then.

        Raises
        ------
        MissingWorkers : if not all have connected by then
        """
        with self._changed:
            while len(self._links) < len(self._expected):
                left = deadline - time.monotonic()
                if left <= 0:
                    missing = sorted(self._expected - set(self._links))
                    raise MissingWorkers(missing, self._listener.last_refusal)
                self._changed.wait(left)
            links, self._links = self._links, {}
            return links

    def __exit__(self, *error: Any) -> None:
        """Stop listening, and close the sockets that nobody has taken."""
        with self._changed:
            self._closed = True
            for link, _ in self._links.values():
                link.close()
        self._listener.close()
