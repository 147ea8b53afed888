"""The service: what each URL path answers, and the queue of score requests.

A score request is checked when its head has arrived (``begin``) and enters the queue with its whole
body (``submit``). The event loop takes one request from the queue at a time and looks at its
sockets in between, so the length of the queue is what waits: beyond ``max_concurrent`` the answer
is 503. Short requests are scored on the event loop, since handing one to a thread costs about 0.1
ms; large bodies and slow models go to a few threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from rankgrove._native import usable_cores
from rankgrove.errors import DataError
from rankgrove.serving import errors, metrics, score_response
from rankgrove.serving.arrow_body import CONTENT_TYPE as ARROW
from rankgrove.serving.arrow_body import read_arrow
from rankgrove.serving.documents import RequestDocuments, check_documents
from rankgrove.serving.errors import RequestError
from rankgrove.serving.http_message import (
    JSON,
    HttpResponse,
    RequestHead,
    error_response,
    json_response,
)
from rankgrove.serving.json_body import read_json
from rankgrove.serving.limits import SHORT_BODY, Limits
from rankgrove.serving.models import ModelStore, ServedModel
from rankgrove.serving.shared_metrics import counts_are_lost

logger = logging.getLogger("rankgrove.serving")

SHORT_SECONDS = 0.002

Reply = Callable[[HttpResponse], None]
DeferredResponse = Callable[[], HttpResponse]


class ScoreCall:
    """One score request between its head and its response.

    Attributes
    ----------
    model : the model that is asked
    options : what the URL asks for
    sent, wanted : content types of body and response
    began : when the request began to arrive
    queued : when its body was there
    body, documents : the whole body, and what was read from it
    reply : takes the response
    abandoned : whether the client went away
    """

    __slots__ = (
        *("abandoned", "began", "body", "documents", "model", "options"),
        *("queued", "reply", "sent", "wanted"),
    )

    def __init__(
        self,
        model: ServedModel,
        options: score_response.ScoreOptions,
        content_types: tuple[str, str],
        began: float,
    ) -> None:
        self.model = model
        self.options = options
        self.sent, self.wanted = content_types
        self.began = began
        self.queued = began
        self.body = b""
        self.reply: Reply | None = None
        self.documents: RequestDocuments | None = None
        self.abandoned = False

    def abandon(self) -> None:
        """Drop the work and the body of a client that has disconnected."""
        self.abandoned = True
        self.body = b""


class Service:
    """The models, limits, queue and counters behind the URL paths."""

    def __init__(
        self,
        models: Mapping[str, str | os.PathLike[str]],
        limits: Limits | None = None,
        n_jobs: int | None = None,
        reload_seconds: float = 1.0,
    ) -> None:
        if not 0 <= reload_seconds < float("inf"):
            raise ValueError(
                f"reload_seconds must be a finite number from 0 on, not {reload_seconds!r}"
            )
        self.metrics = metrics.Metrics()
        self.store = ModelStore(models, self.metrics.count_reload)
        for name in self.store.names:
            self.metrics.of(name)
        self.limits = limits or Limits()
        self.n_jobs = n_jobs
        self.reload_seconds = reload_seconds
        self.in_progress = 0
        self.draining = False
        self._queue: deque[ScoreCall] = deque()

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for long work: few, so that few large bodies are unpacked at once."""
        return ThreadPoolExecutor(usable_cores(), "rankgrove-score")

    def start(self) -> None:
        """Follow the model files; every process that answers requests calls it."""
        self.store.watch(self.reload_seconds)

    def close(self) -> None:
        """End the threads."""
        self.store.close()
        self.threads.shutdown(wait=False, cancel_futures=True)
        del self.threads  # made anew if the service is started again

    def begin(self, head: RequestHead, began: float) -> ScoreCall | HttpResponse | DeferredResponse:
        """Return the response to a head, a function that makes it later, or the score call."""
        try:
            match head.path.split("/"):
                case ["", "score"]:
                    return self._score_call(head, None, began)
                case ["", "models", name, "score"]:
                    return self._score_call(head, name, began)
                case ["", *parts]:
                    return self._inform(head, parts)
            raise _no_such_path(head)
        except RequestError as error:
            return error_response(error)
        except Exception as error:  # whatever it is, the client gets an answer
            return _failure(error)

    def _score_call(
        self, head: RequestHead, name: str | None, began: float
    ) -> ScoreCall | HttpResponse:
        model = self.store.get(name)
        try:
            if head.method != "POST":
                raise _wrong_method(head, "POST")
            if model is None:
                raise self._unknown(name or "")
            _check_framing(head, self.limits.max_body)
            options = score_response.ScoreOptions.from_query(head.query)
            return ScoreCall(model, options, _content_types(head), began)
        except RequestError as error:
            response = error_response(error)
            self._count("" if model is None else model.name, response, began)
            return response

    def _inform(self, head: RequestHead, parts: list[str]) -> DeferredResponse:
        """Return the response to a path about the service itself."""
        answer: DeferredResponse
        match parts:
            case ["models"]:
                answer = self._list_models
            case ["models", name]:
                if name not in self.store.names:
                    raise self._unknown(name)
                answer = functools.partial(self._describe, name)
            case ["health"]:
                answer = functools.partial(json_response, {"status": "alive"})
            case ["ready"]:
                answer = self._ready
            case ["metrics"]:
                answer = self._show_metrics
            case _:
                raise _no_such_path(head)
        if head.method not in ("GET", "HEAD"):
            raise _wrong_method(head, "GET")
        return functools.partial(_answer_or_failure, answer)

    def _list_models(self) -> HttpResponse:
        return json_response([self.store.describe(name) for name in self.store.names])

    def _show_metrics(self) -> HttpResponse:
        if counts_are_lost():
            message = (
                "the folder of the metrics was removed, and counts with it: restart the server"
            )
            raise RequestError(500, "failure", message)
        return HttpResponse(self.metrics.text(), content_type=metrics.CONTENT_TYPE)

    def _describe(self, name: str) -> HttpResponse:
        return json_response(self.store.describe(name))

    def _ready(self) -> HttpResponse:
        """Return whether a request would be accepted now."""
        if self.draining or self.in_progress >= self.limits.max_concurrent:
            status = "draining" if self.draining else "busy"
            return json_response({"status": status}, errors.BUSY)
        return json_response({"status": "ready", "models": self.store.names})

    def refuse(self, call: ScoreCall, error: RequestError) -> HttpResponse:
        """Return the response to a call that cannot be answered, and count it."""
        response = error_response(error)
        self._count(call.model.name, response, call.began)
        return response

    def submit(self, call: ScoreCall, body: bytes, reply: Reply) -> None:
        """Queue a call; ``reply`` gets the response, on the event loop that runs now."""
        if self.in_progress >= self.limits.max_concurrent:
            error = RequestError(
                errors.BUSY, "busy", f"{self.in_progress} requests wait already: try again"
            )
            reply(self.refuse(call, error))
            return
        self.in_progress += 1
        self.metrics.in_progress.inc()
        call.body, call.reply, call.queued = body, reply, time.perf_counter()
        self._queue.append(call)
        if len(self._queue) == 1:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._work_next, loop)

    def _work_next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer one queued call, then return to the event loop."""
        call = self._queue.popleft()
        if self._queue:
            loop.call_soon(self._work_next, loop)
        if call.abandoned:
            self._finish(call, None)
        elif len(call.body) > SHORT_BODY:
            self.threads.submit(self._work_on_thread, call, loop)
        else:
            response = self._respond(call, SHORT_SECONDS)
            if response is None:
                self.threads.submit(self._work_on_thread, call, loop)
            else:
                self._finish(call, response)

    def _work_on_thread(self, call: ScoreCall, loop: asyncio.AbstractEventLoop) -> None:
        response = None if call.abandoned else self._respond(call, math.inf)
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(self._finish, call, response)

    def _respond(self, call: ScoreCall, most_seconds: float) -> HttpResponse | None:
        """Return the response; None if scoring is expected to take longer than that."""
        try:
            if call.documents is None:
                waited = time.perf_counter() - call.queued
                self.metrics.of(call.model.name).queue_seconds.observe(waited)
                call.documents = self._documents(call)
            if call.model.expected_seconds(call.documents) > most_seconds:
                return None
            return self._answer(call, call.documents)
        except RequestError as error:
            return error_response(error)
        except Exception as error:  # whatever it is, the client gets an answer
            return _failure(error)

    def _documents(self, call: ScoreCall) -> RequestDocuments:
        read = read_arrow if call.sent == ARROW else read_json
        model = call.model.model
        try:
            documents = read(call.body, model, self.limits.max_rows)
        except MemoryError:
            raise RequestError(
                errors.TOO_LARGE, "memory", "there is not enough memory for this body"
            ) from None
        check_documents(documents, model, self.limits.max_rows)
        score_response.check_options(call.options, documents)
        if model.columns.categories:
            self._note_categories(call.model, documents)
        return documents

    def _note_categories(self, model: ServedModel, documents: RequestDocuments) -> None:
        """Count unknown categories; the log has a warning if there are many."""
        counters = self.metrics.of(model.name)
        for column, count in documents.unknown.items():
            counters.unknown_categories(column).inc(count)
        if many := model.category_watch.note(len(documents.X), documents.unknown):
            logger.warning(
                "model %s: %s since it was loaded are categories that it does not know, and count "
                "as missing",
                model.name,
                ", ".join(many),
            )

    def _answer(self, call: ScoreCall, documents: RequestDocuments) -> HttpResponse:
        name = call.model.name
        start = time.perf_counter()
        try:
            scores = call.model.scores(documents, self.n_jobs)
        except DataError as error:
            raise RequestError(errors.WRONG, "documents", str(error)) from None
        counters = self.metrics.of(name)
        counters.scoring_seconds.observe(time.perf_counter() - start)
        counters.documents.inc(len(scores))
        finite = np.isfinite(scores)
        if not finite.all():
            row = int(finite.argmin())
            raise RequestError(
                errors.WRONG, "score", f"the score of row {row} is {scores[row]}", row=row
            )
        if call.wanted == ARROW:
            body = score_response.as_arrow(scores, documents, call.options)
        else:
            body = score_response.as_json(name, scores, documents, call.options)
        return HttpResponse(body, content_type=call.wanted)

    def _finish(self, call: ScoreCall, response: HttpResponse | None) -> None:
        self.in_progress -= 1
        self.metrics.in_progress.dec()
        if response is not None and not call.abandoned and call.reply is not None:
            try:
                self._count(call.model.name, response, call.began)
            finally:  # a client must not wait for ever because counting failed
                call.reply(response)

    def _count(self, name: str, response: HttpResponse, began: float) -> None:
        counters = self.metrics.of(name)
        counters.requests(response.status).inc()
        counters.request_seconds.observe(time.perf_counter() - began)

    def _unknown(self, name: str) -> RequestError:
        return RequestError(
            errors.NOT_FOUND,
            "model",
            f"there is no model {errors.shown(name)}: there are {', '.join(self.store.names)}",
            value=name[:60],
        )


def _answer_or_failure(answer: DeferredResponse) -> HttpResponse:
    try:
        return answer()
    except RequestError as error:
        return error_response(error)
    except Exception as error:  # whatever it is, the client gets an answer
        return _failure(error)


def _failure(error: Exception) -> HttpResponse:
    """Log an error of the server itself, and return the response to it."""
    logger.error("a request failed", exc_info=error)
    return error_response(
        RequestError(500, "failure", f"the server failed: {type(error).__name__}")
    )


def _no_such_path(head: RequestHead) -> RequestError:
    return RequestError(
        errors.NOT_FOUND, "address", f"{head.method} {head.path[:200]}: there is no such path"
    )


def _wrong_method(head: RequestHead, allowed: str) -> RequestError:
    error = RequestError(
        errors.WRONG_METHOD, "address", f"{head.method} {head.path[:200]}: use {allowed}"
    )
    error.headers = (("allow", allowed),)
    return error


def _check_framing(head: RequestHead, max_body: int) -> None:
    """Refuse a body that is compressed on its way or too large."""
    coding = head.headers.get("transfer-encoding", "chunked").strip().lower()
    if coding != "chunked":
        raise RequestError(
            errors.NOT_IMPLEMENTED,
            "encoding",
            f"the transfer encoding is {errors.shown(coding)}: send the body as it is or chunked",
            field="transfer-encoding",
        )
    length = head.headers.get("content-length", "0")
    if length.isdecimal() and (len(length) > 18 or int(length) > max_body):
        raise body_too_large(max_body)


def body_too_large(max_body: int) -> RequestError:
    """Return the error of a body beyond the limit."""
    return RequestError(errors.TOO_LARGE, "body", f"the body has more than {max_body} bytes")


def request_timeout(seconds: float) -> RequestError:
    """Return the error of a request that takes too long to arrive."""
    return RequestError(errors.TIMEOUT, "timeout", f"no whole request within {seconds:g} seconds")


_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^\s";,]*)', re.IGNORECASE)


_QUALITY = re.compile(r"[01](\.[0-9]{0,3})?")


def _content_types(head: RequestHead) -> tuple[str, str]:
    """Return the types of the body and of the response, which are the same unless asked for."""
    if head.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RequestError(
            errors.WRONG_TYPE,
            "encoding",
            "compressed bodies are not accepted",
            field="content-encoding",
        )
    sent = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent not in (JSON, ARROW):
        raise RequestError(
            errors.WRONG_TYPE,
            "content-type",
            f"the content type is {errors.shown(sent)}: send {JSON} or {ARROW}",
            field="content-type",
            value=sent[:60],
        )
    charset = _CHARSET.search(head.headers.get("content-type", ""))
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise RequestError(
            errors.WRONG_TYPE,
            "content-type",
            f"the charset is {errors.shown(charset[1])}: JSON is sent as UTF-8",
            field="content-type",
            value=charset[1][:60],
        )
    return sent, _response_type(head.headers.get("accept", ""), sent)


def _response_type(accept: str, sent: str) -> str:
    """Return the type that an Accept header prefers, by its q; that of the body if it does not."""
    qualities = {}
    for one in accept.lower().split(","):
        kind, *parameters = [part.strip() for part in one.split(";")]
        if kind in (JSON, ARROW):
            given = [part[2:] for part in parameters if part.startswith("q=")]
            qualities[kind] = float(given[0]) if given and _QUALITY.fullmatch(given[0]) else 1.0
    other = ARROW if sent == JSON else JSON
    if qualities.get(other, 0) > qualities.get(sent, 0) or qualities.get(sent, 1) == 0:
        return other if qualities.get(other, 1) > 0 else sent
    return sent
