"""Score documents over HTTP: JSON or Arrow in, scores out.

Each MODEL is a model file; its name is that of the file without the suffix, or NAME in NAME=MODEL.
POST /score uses the first model, POST /models/NAME/score any. GET /models, /health, /ready and
/metrics describe the server. A replaced model file is loaded again; if it is damaged, the server
reports it and keeps the old model. After SIGTERM the server drains for --drain-seconds (/ready
answers 503, responses close their connections), then it answers the requests in flight and stops;
Ctrl-C skips the draining. docs/how-to/serving.md shows requests and responses.

There is no encryption and no authentication: listen on other addresses than loopback (--host) only
behind a proxy that does both.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rankgrove.cli.options import add_threads_option, add_workers_option, positive_int

EXAMPLES = """\
  rankgrove serve model.rg --port 8000
  rankgrove serve web=web.rg images=images.rg --port 8000 --workers 4
  curl -H 'content-type: application/json' -d '{"rows": [[0.1, 3], [0.4, null]]}' \\
    localhost:8000/score"""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``serve``."""
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="model files to serve")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", type=int, default=8000, help="port to listen on; 0: any free one (%(default)s)"
    )
    add_workers_option(parser)
    add_threads_option(parser)
    parser.add_argument(
        "--max-body", type=positive_int, default=16 << 20, metavar="BYTES", help="(%(default)s)"
    )
    parser.add_argument(
        "--max-rows",
        type=positive_int,
        default=100_000,
        metavar="N",
        help="rows to score in one request; of RF-pair, comparisons (%(default)s)",
    )
    parser.add_argument(
        "--max-concurrent",
        type=positive_int,
        default=64,
        metavar="N",
        help="requests that wait or are scored, per process; further ones get 503 (%(default)s)",
    )
    parser.add_argument(
        "--read-seconds",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="time in which a request must arrive (%(default)s)",
    )
    parser.add_argument(
        "--reload-seconds",
        type=_seconds,
        default=1.0,
        metavar="S",
        help="how often to check for replaced model files; 0: never (%(default)s)",
    )
    parser.add_argument(
        "--drain-seconds",
        type=_seconds,
        default=5.0,
        metavar="S",
        help="how long requests are still accepted after SIGTERM (%(default)s)",
    )
    parser.add_argument(
        "--stop-seconds",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="how long a stop then waits for requests in flight (%(default)s)",
    )
    parser.add_argument("--access-log", action="store_true", help="log every request")


def run(arguments: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    from rankgrove.serving.limits import Limits
    from rankgrove.serving.server import serve
    from rankgrove.serving.settings import Settings

    limits = Limits(
        max_body=arguments.max_body,
        max_rows=arguments.max_rows,
        max_concurrent=arguments.max_concurrent,
        read_seconds=arguments.read_seconds,
    )
    serve(
        Settings(
            models=_named(arguments.models),
            host=arguments.host,
            port=arguments.port,
            workers=arguments.workers,
            limits=limits,
            n_jobs=arguments.n_jobs,
            reload_seconds=arguments.reload_seconds,
            drain_seconds=arguments.drain_seconds,
            stop_seconds=arguments.stop_seconds,
            access_log=arguments.access_log,
        )
    )


def _named(words: list[str]) -> dict[str, str]:
    """Return the model file of each name."""
    models: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or Path(word).is_file():
            name, path = Path(word).name.removesuffix(".rg"), word
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{word}: {name!r} cannot be the name of a model in an address; give it another, "
                "of letters, digits, '.', '_' and '-', as NAME=MODEL"
            )
        if name in models:
            raise ValueError(
                f"two models have the name {name!r} ({models[name]} and {path}): give one another "
                "as NAME=MODEL"
            )
        models[name] = path
    return models


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time from 0 seconds")
    return value
