"""One HTTP/1.1 connection: an asyncio protocol around the parser of httptools.

A connection answers one request at a time, in order. What a client may send before it gets an
answer is limited: the head, what stands between chunks, and trailers in bytes, the body by
``max_body``, and all of it in time.
"""

from __future__ import annotations

import asyncio
import email.utils
import functools
import http
import logging
import math
import re
import time
from collections import OrderedDict, deque
from typing import Any, Protocol
from urllib.parse import unquote

import httptools

from rankgrove.serving import errors
from rankgrove.serving.errors import RequestError
from rankgrove.serving.http_message import HttpResponse, RequestHead, error_response
from rankgrove.serving.limits import KEEP_ALIVE_SECONDS, MAX_HEAD, SHORT_BODY
from rankgrove.serving.service import (
    DeferredResponse,
    ScoreCall,
    Service,
    body_too_large,
    request_timeout,
)

access_logger = logging.getLogger("rankgrove.serving.access")

LINGER_SECONDS = 5.0
NEW_SECONDS = 2.0  # in which a new connection brings its first request while the server stops
_TICK_SECONDS = 30.0
_LARGE_READ = 64 << 10

# The headers that are used; others are only counted.
_USED = frozenset(
    b"accept content-encoding content-length content-type expect host transfer-encoding".split()
)

# Of a host and a port, only what no proxy reads in another way; two headers are joined by ", ".
_HOST = re.compile(r"[^\s/?#@\\]*")
_ENCODED_SLASH = re.compile("%(2f)", re.IGNORECASE)


class ConnectionOwner(Protocol):
    """What a connection needs of its server.

    Attributes
    ----------
    service : answers the requests
    connections : those that are open, the one that was used last at the end
    large_bytes : bytes of large bodies that are held now
    access_log : whether to log every request
    """

    service: Service
    connections: OrderedDict[HttpConnection, None]
    large_bytes: int
    access_log: bool

    def note_use(self, connection: HttpConnection) -> None:
        """Note that a response was written."""

    def hold(self, connection: HttpConnection, n_bytes: int) -> None:
        """Count bytes that a client does not take, 0 if it has taken them."""

    def forget(self, connection: HttpConnection) -> None:
        """Drop a connection that was lost."""


class _Exchange:
    """A request, as far as it has arrived, and its response, if there is one."""

    __slots__ = (
        *("began", "body", "call", "head_size", "headers", "is_head", "keep_alive"),
        *("expects", "line", "response", "size", "upgrade", "url"),
    )

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.url = b""
        self.line = ""
        self.headers: dict[str, str] = {}
        self.head_size = 0  # of the request target, headers and trailers
        self.keep_alive = False
        self.is_head = False
        self.expects = False  # the client waits for "100 Continue" before it sends the body
        self.upgrade = False
        self.call: ScoreCall | None = None
        self.response: HttpResponse | DeferredResponse | None = None
        self.body: bytes | bytearray = b""
        self.size = 0


class HttpConnection(asyncio.Protocol):
    """Reads requests, hands them to the service, and writes responses.

    Attributes
    ----------
    busy : whether a response is awaited from the service
    """

    def __init__(self, server: ConnectionOwner) -> None:
        self.server = server
        self.service = server.service
        self.limits = server.service.limits
        self.loop = asyncio.get_running_loop()
        self.busy = False
        self._transport: Any = None
        self._parser = httptools.HttpRequestParser(self)
        self._reading: _Exchange | None = None  # the request that is arriving
        self._answering: _Exchange | None = None
        self._waiting: deque[_Exchange] = deque()  # pipelined behind it
        self._unframed = 0  # bytes since the last ones of a body, or the end of a request
        self._new = True  # no request has begun
        self._deaf = False  # input is ignored
        self._closing = False  # the last response was written
        self._half_closed = False
        self._paused = False
        self._writable = True
        self._skipping_head = False
        self._deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether no request is arriving, waiting or being answered."""
        return self._reading is None and not self.busy and not self._waiting

    # Connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        self._transport = transport
        self.server.connections[self] = None
        self._expect_within(self.limits.read_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and what it waits for."""
        self._deaf = self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        for exchange in (self._reading, self._answering, *self._waiting):
            if exchange is not None:
                self._release(exchange)
                if exchange.call is not None:
                    exchange.call.abandon()
        self._reading = self._answering = None
        self._waiting.clear()
        self.busy = False
        self.server.forget(self)

    def eof_received(self) -> bool:
        """Answer what the client sent before it closed its sending side; refuse half a request."""
        self._half_closed = True
        if self._reading is not None and not self._deaf:
            self._refuse(RequestError(errors.MALFORMED, "http", "the request is incomplete"))
        return self.busy or bool(self._waiting)

    def pause_writing(self) -> None:
        """Start no further response while the client does not read."""
        self._writable = False
        self.server.hold(self, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Resume the waiting requests."""
        self._writable = True
        self.server.hold(self, 0)
        self._answer_next()

    def close_if_idle(self) -> None:
        """Close the connection unless a request is on its way; a new one has a while to send it."""
        if not self.idle or self._closing:
            return
        if self._new:
            self._expect_within(NEW_SECONDS)
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, without finishing requests or responses."""
        self._transport.abort()

    # Time limits. The timer is not moved at each request: it looks at the deadline when it fires.

    def _expect_within(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        when = min(self._deadline, self.loop.time() + _TICK_SECONDS)
        self._timer = self.loop.call_at(when, self._tick)

    def _tick(self) -> None:
        if self.loop.time() < self._deadline:
            self._start_timer()
        elif self._reading is not None and not self._deaf and self._writable:
            self._refuse(request_timeout(self.limits.read_seconds))
        else:
            self._transport.abort()

    # Parsing.

    def data_received(self, data: bytes) -> None:
        """Parse what arrived."""
        if self._deaf:
            return
        ahead = self.busy or bool(self._waiting)
        self._unframed += len(data)
        rest = self._parse(data)
        while rest:
            self._unframed += len(rest)
            rest = self._parse(rest)
        if self._unframed > MAX_HEAD and not self._deaf:
            self._refuse_head()
        if self._paused or self._closing:
            return
        if ahead and (self.busy or self._waiting):  # the client is ahead of the answers
            self._paused = True
            self._transport.pause_reading()
        elif len(data) >= _LARGE_READ:  # uvloop reads one socket up to 32 times before the next
            self._transport.pause_reading()
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self._paused and not self._transport.is_closing():
            self._transport.resume_reading()

    def _parse(self, data: bytes) -> bytes:
        """Parse data up to its end or a request to change the protocol; return what follows it."""
        try:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as stop:
                if not self._deaf:
                    self._ignore_upgrade()
                    return data[stop.args[0] :]
        except httptools.HttpParserError as error:
            if not self._deaf:
                message = f"this is not HTTP/1.1: {error}"
                self._refuse(RequestError(errors.MALFORMED, "http", message))
        return b""

    def on_message_begin(self) -> None:
        """Start a request."""
        if not self._deaf and not self._skipping_head:
            self._reading = _Exchange()
            self._new = False
            if not self.busy:
                self._expect_within(self.limits.read_seconds)

    def on_url(self, url: bytes) -> None:
        """Keep the request target, which comes in pieces."""
        if self._reading is not None and not self._skipping_head:
            self._reading.url += url
            self._count_head(self._reading, len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header that matters; trailers do not."""
        exchange = self._reading
        if exchange is None or self._skipping_head:
            return
        self._count_head(exchange, len(name) + len(value) + len(": \r\n"))
        name = name.lower()
        if not exchange.line and name in _USED:
            key, text = name.decode(), value.decode("latin-1")
            before = exchange.headers.get(key)
            exchange.headers[key] = text if before is None else f"{before}, {text}"

    def _count_head(self, exchange: _Exchange, size: int) -> None:
        """Refuse a head that is too large even if it arrives whole, in one piece."""
        exchange.head_size += size
        if exchange.head_size > MAX_HEAD:
            self._refuse_head()

    def _refuse_head(self) -> None:
        message = f"request line, headers or trailers have more than {MAX_HEAD} bytes"
        self._refuse(RequestError(errors.HEAD_TOO_LARGE, "head", message))

    def on_headers_complete(self) -> None:
        """Check the head of the request before the body arrives."""
        exchange = self._reading
        if exchange is None or self._skipping_head:
            return
        method = self._parser.get_method().decode()
        exchange.line = f"{method} {exchange.url.decode('latin-1')}"
        exchange.is_head = method == "HEAD"
        exchange.keep_alive = (
            self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"
        )
        exchange.upgrade = self._parser.should_upgrade()
        try:
            _check_host(exchange.headers.get("host"), self._parser.get_http_version())
            head = _head(method, exchange)
        except RequestError as error:
            self._refuse(error)
            return
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError):
            self._refuse(RequestError(errors.MALFORMED, "http", "this is no request target"))
            return
        begun = self.service.begin(head, exchange.began)
        if isinstance(begun, ScoreCall):
            exchange.call = begun
            exchange.expects = (
                exchange.headers.get("expect", "").lower() == "100-continue"
                and self._parser.get_http_version() == "1.1"
            )
            self._ask_for_body()
        else:
            exchange.response = begun
            close = isinstance(begun, HttpResponse) and begun.close
            if close or "expect" in exchange.headers or method == "CONNECT":
                self._refuse_rest(exchange)

    def _ask_for_body(self) -> None:
        """Tell a client that waits for it to send the body, once the answers before are written."""
        exchange = self._reading
        if exchange is not None and exchange.expects and not self.busy and not self._waiting:
            exchange.expects = False
            if not exchange.size:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        """Keep a part of the body within the limits."""
        self._unframed = 0
        exchange = self._reading
        if exchange is None:
            return
        before = exchange.size
        exchange.size += len(part)
        if exchange.size > self.limits.max_body:
            self._refuse(body_too_large(self.limits.max_body))
            return
        if exchange.call is None:  # it is refused already
            return
        if not exchange.body:
            exchange.body = part
        else:  # in one buffer: objects for many small chunks would be far larger than the body
            if isinstance(exchange.body, bytes):
                exchange.body = bytearray(exchange.body)
            exchange.body += part
        if exchange.size > SHORT_BODY:
            self.server.large_bytes += exchange.size - (before if before > SHORT_BODY else 0)
            if self.server.large_bytes > self.limits.max_large_bytes:
                error = RequestError(
                    errors.BUSY, "busy", "too many large bodies arrive at once: try again"
                )
                error.close = True
                self._refuse(error)

    def on_message_complete(self) -> None:
        """Answer the request when its turn comes."""
        self._unframed = 0
        exchange = self._reading
        if exchange is not None and not exchange.upgrade:
            self._reading = None
            self._waiting.append(exchange)
            self._answer_next()

    def _ignore_upgrade(self) -> None:
        """Read the body of a request that asks for another protocol, which a server may ignore.

        httptools stops after such a head, so another parser gets one that frames the same body.
        """
        exchange = self._reading
        if exchange is None:
            return
        exchange.upgrade = False
        framing = "".join(
            f"{name}: {exchange.headers[name]}\r\n"
            for name in ("content-length", "transfer-encoding")
            if name in exchange.headers
        )
        self._parser = httptools.HttpRequestParser(self)
        self._skipping_head = True
        try:
            self._parser.feed_data(f"POST / HTTP/1.1\r\n{framing}\r\n".encode())
        finally:
            self._skipping_head = False
        self._unframed = 0

    # Responses.

    def _refuse(self, error: RequestError) -> None:
        """Answer the request that is arriving with an error, as the last one."""
        exchange = self._reading or _Exchange()
        error.close = True
        if exchange.call is not None:
            exchange.response = self.service.refuse(exchange.call, error)
        else:
            exchange.response = error_response(error)
        self._refuse_rest(exchange)

    def _refuse_rest(self, exchange: _Exchange) -> None:
        """Answer before the request has arrived, and discard the rest."""
        self._deaf = True
        self._reading = None
        exchange.keep_alive = False
        self._release(exchange)
        exchange.call = None
        self._waiting.append(exchange)
        self._answer_next()

    def _answer_next(self) -> None:
        if self.busy or self._closing or not self._waiting or not self._writable:
            return
        self.busy = True
        self._deadline = math.inf
        exchange = self._answering = self._waiting.popleft()
        if exchange.call is None:
            response = exchange.response
            assert response is not None
            self._write(response if isinstance(response, HttpResponse) else response())
        else:
            body, exchange.body = bytes(exchange.body), b""
            self.service.submit(exchange.call, body, self._write)

    def _write(self, response: HttpResponse) -> None:
        """Write the response to the request that is being answered."""
        exchange = self._answering
        if exchange is None:  # the connection was lost
            return
        self._release(exchange)
        self._answering = None
        self.busy = False
        self.server.note_use(self)
        close = response.close or not exchange.keep_alive or self.service.draining
        head = _response_head(response, close)
        self._transport.write(head if exchange.is_head else head + response.body)
        if self.server.access_log:
            access_logger.info("%s %d", exchange.line or "?", response.status)
        if close or (self._half_closed and not self._waiting):
            self._close_after_answer()
            return
        if self._paused and not self._waiting:
            self._paused = False
            self._transport.resume_reading()
        self._expect_within(
            KEEP_ALIVE_SECONDS if self._reading is None else self.limits.read_seconds
        )
        if self._waiting:
            self.loop.call_soon(self._answer_next)
        else:
            self._ask_for_body()

    def _close_after_answer(self) -> None:
        """Close after the client stops sending, since an early close would reset the response."""
        self._deaf = self._closing = True
        self._reading = None
        self._waiting.clear()
        if self._half_closed:
            self._transport.close()
            return
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        self._transport.write_eof()
        unsent = self._transport.get_write_buffer_size() > 0
        self._expect_within(KEEP_ALIVE_SECONDS if unsent else LINGER_SECONDS)

    def _release(self, exchange: _Exchange) -> None:
        """Stop counting a large body."""
        if exchange.call is not None and exchange.size > SHORT_BODY:
            self.server.large_bytes -= exchange.size
            exchange.size = 0
        exchange.body = b""


def _check_host(host: str | None, version: str) -> None:
    """Refuse what RFC 9112 refuses: no host, two of them, or one that is none; and HTTP/0.9."""
    if version not in ("1.0", "1.1"):
        raise RequestError(
            errors.MALFORMED, "http", f"HTTP/{version} is not spoken here: send HTTP/1.1"
        )
    if host is None:
        if version == "1.1":
            raise RequestError(
                errors.MALFORMED,
                "http",
                "a request of HTTP/1.1 needs the header host",
                field="host",
            )
    elif _HOST.fullmatch(host) is None:
        raise RequestError(
            errors.MALFORMED,
            "http",
            f"the host is {errors.shown(host)}: send one header host with one host",
            field="host",
        )


def _head(method: str, exchange: _Exchange) -> RequestHead:
    url = httptools.parse_url(exchange.url)
    path = (url.path or b"").decode("ascii")
    if "%" in path:  # "%2F" does not separate parts: proxies that filter paths do not see it
        path = unquote(_ENCODED_SLASH.sub(lambda found: f"%25{found[1]}", path))
    return RequestHead(
        method,
        path,
        (url.query or b"").decode("latin-1"),
        exchange.headers,
    )


def _response_head(response: HttpResponse, close: bool) -> bytes:
    lines = [
        _status_line(response.status),
        f"date: {_date(int(time.time()))}",
        f"content-type: {response.content_type}",
        f"content-length: {len(response.body)}",
    ]
    lines += [f"{name}: {value}" for name, value in response.headers]
    lines += ["connection: close", "", ""] if close else ["", ""]
    return "\r\n".join(lines).encode("latin-1")


@functools.cache
def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}"


@functools.lru_cache(1)
def _date(seconds: int) -> str:
    return email.utils.formatdate(seconds, usegmt=True)
