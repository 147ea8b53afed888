"""How a server is started, in this process or in a worker."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankgrove.serving.limits import Limits

if TYPE_CHECKING:
    from rankgrove.serving.connection_counts import ConnectionCounts
    from rankgrove.serving.http_server import HttpServer
    from rankgrove.serving.service import Service

logger = logging.getLogger("rankgrove.serving")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a server is started; see ``rankgrove serve --help``."""

    models: Mapping[str, str]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    n_jobs: int | None = None
    reload_seconds: float = 1.0
    drain_seconds: float = 5.0
    stop_seconds: float = 30.0
    access_log: bool = False

    def service(self) -> Service:
        """Load the models and return the service."""
        from rankgrove.serving.service import Service

        return Service(self.models, self.limits, self.n_jobs, self.reload_seconds)

    def server(self, listener: socket.socket, counts: ConnectionCounts | None = None) -> HttpServer:
        """Load the models and return a server on the socket.

        ``counts`` are the connections of the workers with which it shares the socket, if it does.
        """
        from rankgrove.serving.http_server import HttpServer

        return HttpServer(
            self.service(),
            listener,
            owns_listener=counts is None,
            counts=counts,
            drain_seconds=self.drain_seconds,
            stop_seconds=self.stop_seconds,
            access_log=self.access_log,
        )


def start_log() -> None:
    """Log to the standard error."""
    logging.basicConfig(
        stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING
    )
    logger.setLevel(logging.INFO)
