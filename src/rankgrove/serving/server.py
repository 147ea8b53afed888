"""The server process: socket, worker processes, signals, log."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankgrove.serving import require_libraries
from rankgrove.serving.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette

logger = logging.getLogger("rankgrove.serving")

_SETTINGS = "RANKGROVE_SERVE"  # through which worker processes get them


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server is told at its start; see ``rankgrove serve --help``."""

    models: Mapping[str, str]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    n_jobs: int | None = None
    reload_seconds: float = 1.0
    stop_seconds: float = 30.0
    access_log: bool = False

    def app(self) -> Starlette:
        """Load the models and return the application."""
        from rankgrove.serving.app import make_app

        return make_app(
            self.models,
            limits=self.limits,
            n_jobs=self.n_jobs,
            reload_seconds=self.reload_seconds,
        )

    def to_text(self) -> str:
        """Return the settings as text for worker processes."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """Take back what ``to_text`` gave."""
        values = json.loads(text)
        return cls(**values | {"limits": Limits(**values["limits"])})


class _Stopped(BaseException):
    """SIGTERM or SIGINT arrived, and requests in flight were answered."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first."""
    require_libraries("starlette", "uvicorn", "httptools", "msgspec", "prometheus_client")
    _start_log(settings.access_log)
    with _stopped_by_signals(), _listening(settings.host, settings.port) as listener:
        if settings.workers == 1:
            app = settings.app()
            _announce(settings, listener)
            _run(app, settings, listener)
        else:
            settings.app()  # a model that cannot be loaded is told here, once
            _announce(settings, listener)
            _run_workers(settings, listener)
    logger.info("stopped")


def worker_app() -> Starlette:
    """Return the application of a worker process."""
    settings = Settings.from_text(os.environ[_SETTINGS])
    _start_log(settings.access_log)
    return settings.app()


def _run(app: Starlette, settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, **_options(settings))).run(sockets=[listener])


def _run_workers(settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    with tempfile.TemporaryDirectory(prefix="rankgrove-metrics-") as folder:
        os.environ[_SETTINGS] = settings.to_text()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        uvicorn.run(
            "rankgrove.serving.server:worker_app",
            factory=True,
            fd=listener.fileno(),
            workers=settings.workers,
            timeout_worker_healthcheck=30,  # on a busy machine a worker takes its time to start
            **_options(settings),
        )


def _options(settings: Settings) -> dict[str, Any]:
    from rankgrove.serving.http_protocol import CarefulProtocol

    return {
        "http": CarefulProtocol,
        "ws": "none",
        "log_config": None,
        "access_log": settings.access_log,
        "server_header": False,
        "timeout_keep_alive": 75,
        "timeout_graceful_shutdown": settings.stop_seconds,
        "backlog": 2048,
    }


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


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """End the block on SIGTERM and SIGINT, which uvicorn raises once more when it has stopped."""

    def stop(number: int, frame: Any) -> None:
        raise _Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except _Stopped:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _announce(settings: Settings, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    place = f"[{host}]" if ":" in host else host
    logger.info("serving %s on http://%s:%d", ", ".join(settings.models), place, port)


def _start_log(access_log: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING
    )
    logger.setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if access_log else logging.WARNING)
