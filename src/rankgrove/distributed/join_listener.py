"""Background threads that accept the workers of a fit on a listening socket."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable

from rankgrove.distributed.handshake import HANDSHAKE_SECONDS, HandshakeError, keep_alive, welcome

_ACCEPT_SECONDS = 0.5  # between checks whether the listener was closed
_RETRY_SECONDS = 0.05  # after an accept that failed
_MAX_STRANGERS = 64  # connections whose handshake is unfinished, besides one per worker

OnJoin = Callable[[int, socket.socket, str], None]


class JoinListener:
    """Accepts connections until it is closed, and passes on those of authenticated workers.

    Handshakes run concurrently, so that a silent connection does not hold up the others. When too
    many are unfinished, or no file descriptor is left, the oldest is cut off: a worker proves
    itself within moments, and reconnects if it was cut off nevertheless.

    Parameters
    ----------
    listener : a listening socket, which this object closes
    ranks : the workers that may join, each once
    size : number of workers of the fit
    on_join : called with rank, socket and address of each worker, in a thread of its own
    """

    def __init__(
        self,
        listener: socket.socket,
        ranks: Iterable[int],
        size: int,
        token: bytes,
        on_join: OnJoin,
    ) -> None:
        self._listener = listener
        self._listener.settimeout(_ACCEPT_SECONDS)
        self._free = set(ranks)
        self._size, self._token, self._on_join = size, token, on_join
        self._unfinished: dict[socket.socket, str] = {}  # the oldest first
        self._lock = threading.Lock()
        self._closed = False
        self.last_refusal = ""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening, and cut off unfinished handshakes; may be called twice."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        while self._cut_off_oldest():
            pass

    def _accept(self) -> None:
        while not self._closed:
            with contextlib.suppress(TimeoutError):
                self._accept_one()

    def _accept_one(self) -> None:
        try:
            link, address = self._listener.accept()
            self._start_handshake(link, f"{address[0]}:{address[1]}")
        except TimeoutError:
            raise
        except (OSError, RuntimeError):  # no file descriptor or thread is left; or closed
            self._cut_off_oldest()
            time.sleep(_RETRY_SECONDS)

    def _start_handshake(self, link: socket.socket, address: str) -> None:
        with self._lock:
            crowded = len(self._unfinished) >= self._size + _MAX_STRANGERS
            self._unfinished[link] = address
        if crowded:
            self._cut_off_oldest()
        try:
            threading.Thread(target=self._shake_hands, args=(link, address), daemon=True).start()
        except RuntimeError:
            self._finish(link)
            link.close()
            raise

    def _cut_off_oldest(self) -> bool:
        """Cut off the oldest unfinished handshake, whose thread then closes it."""
        with self._lock:
            link = next(iter(self._unfinished), None)
            if link is None:
                return False
            del self._unfinished[link]
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        return True

    def _finish(self, link: socket.socket) -> None:
        with self._lock:
            self._unfinished.pop(link, None)

    def _shake_hands(self, link: socket.socket, address: str) -> None:
        claimed: list[int] = []

        def claim(rank: int) -> bool:
            """Reserve a rank; from now on the connection is not cut off."""
            with self._lock:
                cut_off = self._unfinished.pop(link, None) is None
                if cut_off or self._closed or rank not in self._free:
                    return False
                self._free.remove(rank)
                claimed.append(rank)
                return True

        try:
            deadline = time.monotonic() + HANDSHAKE_SECONDS
            rank = welcome(link, self._size, self._token, claim, deadline)
            keep_alive(link)
        except (HandshakeError, OSError) as error:
            self.last_refusal = f"{address} was turned away: {error}"
            with self._lock:
                self._free.update(claimed)
                self._unfinished.pop(link, None)
            link.close()
        else:
            self._on_join(rank, link, address)
