"""The server process: socket, worker processes, signals, log."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankgrove.serving import require_libraries
from rankgrove.serving.limits import Limits

if TYPE_CHECKING:
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

    def server(self, listener: socket.socket) -> HttpServer:
        """Load the models and return a server on the socket."""
        from rankgrove.serving.http_server import HttpServer

        return HttpServer(
            self.service(),
            listener,
            drain_seconds=self.drain_seconds,
            stop_seconds=self.stop_seconds,
            access_log=self.access_log,
        )


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; see ``HttpServer`` for what happens then."""
    require_libraries("httptools", "msgspec", "prometheus_client")
    from rankgrove.serving.worker import WorkerPool, run_server

    start_log()
    with _listening(settings.host, settings.port) as listener:

        def announce() -> None:
            host, port = listener.getsockname()[:2]
            place = f"[{host}]" if ":" in host else host
            logger.info("serving %s on http://%s:%d", ", ".join(settings.models), place, port)

        if settings.workers == 1:
            run_server(settings.server(listener), announce)
        else:
            settings.service()  # a model that cannot be loaded is reported here, once
            with tempfile.TemporaryDirectory(prefix="rankgrove-metrics-") as folder:
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
                WorkerPool(settings, listener).run(announce)
    logger.info("stopped")


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OSError(f"cannot listen on {host} port {port}: {reason or error}") from error
    with listener:
        yield listener


def start_log() -> None:
    """Log to the standard error."""
    logging.basicConfig(
        stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING
    )
    logger.setLevel(logging.INFO)
