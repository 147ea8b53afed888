"""The server process: socket, worker processes, signals, log."""

from __future__ import annotations

import logging

from rankgrove.serving import require_libraries
from rankgrove.serving.listener import listening
from rankgrove.serving.settings import Settings, start_log

logger = logging.getLogger("rankgrove.serving")


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; see ``HttpServer`` for what happens then."""
    require_libraries("httptools", "msgspec", "prometheus_client")
    from rankgrove.serving.shared_metrics import metrics_folder
    from rankgrove.serving.worker import WorkerPool, run_server

    start_log()
    with listening(settings.host, settings.port) as listener:

        def announce() -> None:
            host, port = listener.getsockname()[:2]
            place = f"[{host}]" if ":" in host else host
            logger.info("serving %s on http://%s:%d", ", ".join(settings.models), place, port)

        if settings.workers == 1:
            run_server(settings.server(listener), announce)
        else:
            settings.service()  # a model that cannot be loaded is reported here, once
            with metrics_folder():
                WorkerPool(settings, listener).run(announce)
    logger.info("stopped")
