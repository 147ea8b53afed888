"""uvicorn's HTTP protocol with limits on the head of a request, which it lacks."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 << 10
HEAD_SECONDS = 30.0


class CarefulProtocol(HttpToolsProtocol):
    """Closes a connection whose request line and headers are too long, or take too long."""

    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Expect a request."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what arrives before the headers are complete."""
        super().data_received(data)
        if self._head_timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start to count and to wait."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """Leave the rest to the application."""
        self._head_is_there()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._head_is_there()
        self._head_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_is_there(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
