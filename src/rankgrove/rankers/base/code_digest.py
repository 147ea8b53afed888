"""Digests of functions: what is kept of a fit with a user's function serves that function alone."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Mapping
from types import CodeType
from typing import Any

import joblib


def code_digests(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each parameter that is a function.

    Equal digests mean equal code, defaults and enclosed values. What the function looks up
    elsewhere (globals, other modules) is no part of it.
    """
    return {
        name: hashlib.blake2b(repr(_facts(value)).encode(), digest_size=16).hexdigest()
        for name, value in sorted(params.items())
        if callable(value)
    }


def _facts(value: Any) -> Any:
    if isinstance(value, functools.partial):
        return _facts(value.func), _held(value.args), _held(value.keywords)
    owner = getattr(value, "__self__", None)
    function = getattr(value, "__func__", value)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(value).__call__, "__code__", None)
        state = vars(value) if hasattr(value, "__dict__") and not isinstance(value, type) else None
        return repr(value), _held(state), None if code is None else _code_facts(code)
    enclosed = [_held(cell.cell_contents) for cell in function.__closure__ or ()]
    defaults = _held(function.__defaults__), _held(function.__kwdefaults__)
    return _code_facts(code), defaults, enclosed, _held(owner)


def _held(value: Any) -> str:
    """Digest a value, arrays in full (which ``repr`` shortens); what has no content has a place."""
    if callable(value):
        return repr(value)
    try:
        return str(joblib.hash(value))
    except (pickle.PicklingError, TypeError, AttributeError):
        return repr(value)


def _code_facts(code: CodeType) -> tuple[Any, ...]:
    constants = [
        _code_facts(constant) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, constants
