"""The service as an ASGI application, for other servers and frameworks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from rankgrove.serving import errors
from rankgrove.serving.errors import RequestError
from rankgrove.serving.http_message import HttpResponse, RequestHead
from rankgrove.serving.limits import Limits
from rankgrove.serving.service import ScoreCall, Service, body_too_large

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def make_app(
    models: Mapping[str, str | os.PathLike[str]],
    *,
    limits: Limits | None = None,
    n_jobs: int | None = None,
    reload_seconds: float = 1.0,
) -> AsgiApp:
    """Return an ASGI application that scores documents with models.

    Parameters
    ----------
    models : model file of each name; ``/score`` asks the first
    limits : what one request may ask for
    n_jobs : threads for one large request; None: all
    reload_seconds : how often files are checked, to load those that were replaced; 0: never
    """
    return AsgiApp(Service(models, limits, n_jobs, reload_seconds))


class AsgiApp:
    """An ASGI application around a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or the events of the server's life."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            self.service.start()  # mounted in another application, there is no lifespan
            response = await self._respond(scope, receive)
            await _send(response, scope["method"] == "HEAD", send)
        else:
            await send({"type": "websocket.close"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.service.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        begun = self.service.begin(_head(scope), time.perf_counter())
        if not isinstance(begun, ScoreCall):
            return begun if isinstance(begun, HttpResponse) else begun()
        limits = self.service.limits
        try:
            body = await asyncio.wait_for(_body(receive, limits.max_body), limits.read_seconds)
        except asyncio.TimeoutError:
            seconds = f"{limits.read_seconds:g}"
            error = RequestError(
                errors.TIMEOUT, "timeout", f"no whole body within {seconds} seconds"
            )
            return self.service.refuse(begun, error)
        except RequestError as error:
            return self.service.refuse(begun, error)
        response: asyncio.Future[HttpResponse] = asyncio.get_running_loop().create_future()
        try:
            self.service.submit(begun, body, response.set_result)
            return await response
        finally:
            if not response.done() or response.cancelled():
                begun.abandon()


def _head(scope: Scope) -> RequestHead:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return RequestHead(scope["method"], path, scope["query_string"].decode("latin-1"), headers)


async def _body(receive: Receive, max_body: int) -> bytes:
    parts, size = [], 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise RequestError(errors.MALFORMED, "body", "the client went away")
        part = event.get("body", b"")
        size += len(part)
        if size > max_body:
            raise body_too_large(max_body)
        parts.append(part)
        if not event.get("more_body", False):
            return b"".join(parts)


async def _send(response: HttpResponse, without_body: bool, send: Send) -> None:
    headers = [
        ("content-type", response.content_type),
        ("content-length", str(len(response.body))),
        *response.headers,
    ]
    if response.close:
        headers.append(("connection", "close"))
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": response.status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if without_body else response.body})
