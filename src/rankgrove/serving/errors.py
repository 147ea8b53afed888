"""What a client is told when its request cannot be answered."""

from __future__ import annotations

from typing import Any

MALFORMED, NOT_FOUND, TIMEOUT, TOO_LARGE, WRONG_TYPE, WRONG, BUSY = (
    400,
    404,
    408,
    413,
    415,
    422,
    503,
)


class RequestError(Exception):
    """A request that is refused.

    Attributes
    ----------
    status : of HTTP
    code : a word for programs
    message : a sentence for people
    where : what is wrong, as far as it applies: ``field``, ``row``, ``column``, ``value``
    """

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
