"""The application: what each address answers.

A request passes through ``score``: the model is found, a slot is taken, the body is read within its
limits, decoded, scored and answered. Short work is done where it arrives, on the event loop; long
work goes to a few threads, so that nobody waits behind it. Handing work over costs about 0.1 ms.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import anyio
import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rankgrove._native import usable_cores
from rankgrove.errors import DataError
from rankgrove.serving import answer, arrow_body, errors, metrics
from rankgrove.serving.documents import Documents, check_documents
from rankgrove.serving.errors import RequestError
from rankgrove.serving.json_body import read_json
from rankgrove.serving.limits import Limits
from rankgrove.serving.models import ModelStore, ServedModel

logger = logging.getLogger("rankgrove.serving")

JSON, ARROW = "application/json", arrow_body.CONTENT_TYPE
SHORT_BODY = 256 << 10
SHORT_SECONDS = 0.002


def make_app(
    models: Mapping[str, str | os.PathLike[str]],
    *,
    limits: Limits | None = None,
    n_jobs: int | None = None,
    reload_seconds: float = 1.0,
) -> Starlette:
    """Return an ASGI application that scores documents with models.

    Parameters
    ----------
    models : model file of each name; ``/score`` asks the first
    limits : what one request may ask for
    n_jobs : threads for one large request; None: all
    reload_seconds : how often files are looked at, to load those that were replaced; 0: never
    """
    return Service(models, limits or Limits(), n_jobs, reload_seconds).app


class Service:
    """The models, limits and counters behind the addresses of one application."""

    def __init__(
        self,
        models: Mapping[str, str | os.PathLike[str]],
        limits: Limits,
        n_jobs: int | None,
        reload_seconds: float,
    ) -> None:
        self.metrics = metrics.Metrics()
        self.store = ModelStore(models, self.metrics.count_reload)
        self.limits = limits
        self.n_jobs = n_jobs
        self.reload_seconds = reload_seconds
        self.in_progress = 0

    @cached_property
    def app(self) -> Starlette:
        """The addresses."""
        return Starlette(
            routes=[
                Route("/score", self.score, methods=["POST"]),
                Route("/models", self.list_models),
                Route("/models/{name}", self.describe_model),
                Route("/models/{name}/score", self.score, methods=["POST"]),
                Route("/health", self.health),
                Route("/ready", self.ready),
                Route("/metrics", self.show_metrics),
            ],
            exception_handlers={HTTPException: _refuse, Exception: _fail},
            lifespan=self._life,
        )

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for long work: few, so that few large bodies are unpacked at once."""
        return ThreadPoolExecutor(usable_cores(), "rankgrove-score")

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self.store.watch(self.reload_seconds)
        yield
        self.store.close()

    async def score(self, request: Request) -> Response:
        """Answer a score request, and count it."""
        self.store.watch(self.reload_seconds)  # mounted in another application, nobody else does
        start = time.perf_counter()
        model = self.store.get(request.path_params.get("name"))
        label = "" if model is None else model.name
        try:
            response = await self._admitted(request, model)
        except RequestError as error:
            response = _error_response(error)
        self.metrics.requests.labels(label, str(response.status_code)).inc()
        self.metrics.request_seconds.labels(label).observe(time.perf_counter() - start)
        return response

    async def _admitted(self, request: Request, model: ServedModel | None) -> Response:
        if model is None:
            raise self._unknown(request.path_params["name"])
        if self.in_progress >= self.limits.max_concurrent:
            raise RequestError(
                errors.BUSY, "busy", f"{self.in_progress} requests are in work already: try again"
            )
        self.in_progress += 1
        self.metrics.in_progress.inc()
        try:
            return await self._scored(request, model)
        finally:
            self.in_progress -= 1
            self.metrics.in_progress.dec()

    async def _scored(self, request: Request, model: ServedModel) -> Response:
        wish = answer.Wish.of(request.query_params)
        sent, wanted = _content_types(request)
        body = await self._body(request)
        loop = asyncio.get_running_loop()

        def decode() -> Documents:
            return self._documents(model, sent, body, wish)

        def finish(documents: Documents) -> bytes:
            return self._answer(model, documents, wanted, wish)

        if len(body) > SHORT_BODY:
            content = await loop.run_in_executor(self.threads, lambda: finish(decode()))
        else:
            documents = decode()
            if model.expected_seconds(documents) <= SHORT_SECONDS:
                content = finish(documents)
            else:
                content = await loop.run_in_executor(self.threads, finish, documents)
        return Response(content, media_type=wanted)

    async def _body(self, request: Request) -> bytes:
        """Read the body within its limits of size and time."""
        limits = self.limits
        too_large = RequestError(
            errors.TOO_LARGE, "body", f"the body has more than {limits.max_body} bytes"
        )
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and (len(length) > 18 or int(length) > limits.max_body):
            raise too_large
        parts, size = [], 0
        try:
            with anyio.fail_after(limits.read_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > limits.max_body:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise RequestError(
                errors.TIMEOUT, "timeout", f"no whole body within {limits.read_seconds:g} seconds"
            ) from None
        except ClientDisconnect:
            raise RequestError(errors.MALFORMED, "body", "the client went away") from None
        return b"".join(parts)

    def _documents(
        self, model: ServedModel, sent: str, body: bytes, wish: answer.Wish
    ) -> Documents:
        read: Callable[..., Documents] = arrow_body.read_arrow if sent == ARROW else read_json
        try:
            documents = read(body, model.model, self.limits.max_rows)
        except MemoryError:
            raise RequestError(
                errors.TOO_LARGE, "memory", "there is not enough memory for this body"
            ) from None
        check_documents(documents, model.model, self.limits.max_rows)
        answer.check_wish(wish, documents)
        return documents

    def _answer(
        self, model: ServedModel, documents: Documents, wanted: str, wish: answer.Wish
    ) -> bytes:
        start = time.perf_counter()
        try:
            scores = model.scores(documents, self.n_jobs)
        except DataError as error:
            raise RequestError(errors.WRONG, "documents", str(error)) from None
        self.metrics.scoring_seconds.labels(model.name).observe(time.perf_counter() - start)
        self.metrics.documents.labels(model.name).inc(len(scores))
        if not np.isfinite(scores).all():
            row = int(np.isfinite(scores).argmin())
            raise RequestError(
                errors.WRONG, "score", f"the score of row {row} is {scores[row]}", row=row
            )
        if wanted == ARROW:
            return answer.as_arrow(scores, documents, wish)
        return answer.as_json(model.name, scores, documents, wish)

    def _unknown(self, name: str) -> RequestError:
        return RequestError(
            errors.NOT_FOUND,
            "model",
            f"there is no model {errors.shown(name)}: there are {', '.join(self.store.names)}",
            value=name[:60],
        )

    async def list_models(self, request: Request) -> Response:
        """Describe all models, the default first."""
        return _json_response([self.store.describe(name) for name in self.store.names])

    async def describe_model(self, request: Request) -> Response:
        """Describe one model."""
        name = request.path_params["name"]
        if name not in self.store.names:
            return _error_response(self._unknown(name))
        return _json_response(self.store.describe(name))

    async def health(self, request: Request) -> Response:
        """Tell that the process lives."""
        return _json_response({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        """Tell whether a request would be taken now."""
        if self.in_progress >= self.limits.max_concurrent:
            return _json_response({"status": "busy"}, errors.BUSY)
        return _json_response({"status": "ready", "models": self.store.names})

    async def show_metrics(self, request: Request) -> Response:
        """Show the counters to Prometheus."""
        return Response(self.metrics.text(), headers={"content-type": metrics.CONTENT_TYPE})


def _content_types(request: Request) -> tuple[str, str]:
    """Return the type of the body, and of the answer: the same unless the client accepts other."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError(
            errors.WRONG_TYPE,
            "encoding",
            "compressed bodies are not taken",
            field="content-encoding",
        )
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent not in (JSON, ARROW):
        raise RequestError(
            errors.WRONG_TYPE,
            "content-type",
            f"the content type is {errors.shown(sent)}: send {JSON} or {ARROW}",
            field="content-type",
            value=sent[:60],
        )
    accepted = request.headers.get("accept", "").lower()
    asked = [kind for kind in (JSON, ARROW) if kind in accepted]
    return sent, asked[0] if len(asked) == 1 else sent


def _json_response(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def _error_response(error: RequestError) -> Response:
    headers = {"retry-after": "1"} if error.status == errors.BUSY else {}
    if error.status in (errors.TOO_LARGE, errors.TIMEOUT, errors.BUSY):
        headers["connection"] = "close"  # the rest of the body is not wanted
    return _json_response(error.body(), error.status, **headers)


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer an address or method that does not exist."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    refused = RequestError(error.status_code, "address", message)
    response = _error_response(refused)
    response.headers.update(error.headers or {})
    return response


async def _fail(request: Request, error: Exception) -> Response:
    """Answer when something went wrong here; the log has the traceback."""
    failure = RequestError(500, "failure", f"the server failed: {type(error).__name__}")
    return _error_response(failure)
