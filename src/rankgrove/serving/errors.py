"""Errors that a client gets as a response."""

from __future__ import annotations

from typing import Any

MALFORMED = 400
NOT_FOUND = 404
WRONG_METHOD = 405
TIMEOUT = 408
TOO_LARGE = 413
WRONG_TYPE = 415
WRONG = 422
HEAD_TOO_LARGE = 431
NOT_IMPLEMENTED = 501
BUSY = 503


class RequestError(Exception):
    """A request that is refused.

    Attributes
    ----------
    status : of HTTP
    code : a word for programs
    message : a sentence for people
    where : what is wrong, as far as it applies: ``field``, ``row``, ``column``, ``value``
    headers : further headers of the response
    close : the connection ends with the response
    """

    headers: tuple[tuple[str, str], ...] = ()
    close = False

    def __init__(self, status: int, code: str, message: str, **where: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.where = where

    def body(self) -> dict[str, Any]:
        """Return what the client gets as JSON."""
        return {"error": {"code": self.code, "message": self.message, **self.where}}


def shown(value: Any) -> str:
    """Return a value as an error quotes it, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
