"""HTTP requests and responses of the service, independent of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rankgrove.serving.errors import BUSY, TIMEOUT, TOO_LARGE, RequestError

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Everything of a request but its body.

    Attributes
    ----------
    method : in upper case
    path : percent-decoded
    query : the part of the URL after ``?``, as it was sent
    headers : by name in lower case; repeated ones are joined by commas
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response.

    Attributes
    ----------
    close : the connection ends after it, and what is left of the request is discarded
    """

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    close: bool = False


def json_response(content: Any, status: int = 200) -> HttpResponse:
    """Return a response in JSON."""
    return HttpResponse(msgspec.json.encode(content), status)


def error_response(error: RequestError) -> HttpResponse:
    """Return what the client of a refused request gets."""
    return HttpResponse(
        msgspec.json.encode(error.body()),
        error.status,
        headers=(("retry-after", "1"),) if error.status == BUSY else error.headers,
        close=error.status in (TOO_LARGE, TIMEOUT) or error.close,
    )
