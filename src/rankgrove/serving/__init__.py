"""Serving of models over HTTP: ``rankgrove serve``, and an ASGI application.

``make_app({"web": "web.rg"})`` returns the application; it needs the extra ``serve``.
"""

from __future__ import annotations

from typing import Any

from rankgrove._optional import require
from rankgrove.serving.limits import Limits

__all__ = ["Limits", "make_app"]


def __getattr__(name: str) -> Any:
    if name != "make_app":
        raise AttributeError(f"module 'rankgrove.serving' has no attribute {name!r}")
    require_libraries("msgspec", "prometheus_client")
    from rankgrove.serving.asgi import make_app

    return make_app


def require_libraries(*names: str) -> None:
    """Raise MissingDependencyError unless the libraries are installed."""
    for name in names:
        require(name, "serve", "serving models")
