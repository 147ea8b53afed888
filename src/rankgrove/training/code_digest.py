"""Digests of user functions and classes, as part of the keys of cached and resumable work."""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.util
import re
import sys
from pathlib import Path
from types import CodeType, MemberDescriptorType, ModuleType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LOOKS_UP = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def code_digest(code: Any) -> str:
    """Return the digest of a function or class.

    Equal digests mean equal code, defaults and enclosed values, also of the functions, classes and
    constants that the code looks up by their names, and equal files of the modules that it uses
    (``module.name``), as far as they are the user's: not rankgrove, Python or an installed package.
    Of code of an installed module, only what the same module defines counts.
    """
    facts = _Reader(code).facts(code)
    return hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()


def is_users(definition: Any) -> bool:
    """Return whether a class or function is user code, not part of rankgrove."""
    return _module(definition).partition(".")[0] != "rankgrove"


class _Reader:
    """Describes code by plain values whose ``repr`` is the same in every process.

    It goes where names lead, inside the module of the code that it is made for and the modules of
    the user. What it meets again is its number among all that it met: functions may call each
    other.
    """

    def __init__(self, code: Any) -> None:
        self._home = _home(code)
        self._met: list[Any] = []

    def facts(self, value: Any) -> Any:
        if isinstance(value, functools.partial):
            return self.facts(value.func), self._held(value.args), self._held(value.keywords)
        if hasattr(value, "py_func"):  # compiled by numba
            return self.facts(value.py_func)
        for number, met in enumerate(self._met):
            if met is value:
                return number
        self._met.append(value)
        owner = getattr(value, "__self__", None)
        function = getattr(value, "__func__", value)
        if not hasattr(function, "__code__"):
            return self._object_facts(value)
        enclosed = [self._held(cell.cell_contents) for cell in function.__closure__ or ()]
        defaults = self._held(function.__defaults__), self._held(function.__kwdefaults__)
        facts = _code_facts(function.__code__), defaults, enclosed, self._held(owner)
        looked_up = self._looked_up(function)
        return (*facts, looked_up) if looked_up else facts

    def _object_facts(self, value: Any) -> Any:
        """Describe a callable that is no function: a class, an object, a builtin."""
        is_class = isinstance(value, type)
        code = getattr(type(value).__call__, "__code__", None)
        state = None if is_class else _state(value)
        text = _ADDRESS.sub("", repr(value))
        facts = text, self._held(state), None if code is None else _code_facts(code)
        members = self._members(value if is_class else type(value))
        return (*facts, members) if members else facts

    def _members(self, cls: type) -> list[Any]:
        """Describe methods and values of a class and of those of its bases that count."""
        return [
            (base.__qualname__, name, self._found(_unwrapped(member)))
            for base in cls.__mro__
            if self._is_inside(base)
            for name, member in sorted(vars(base).items())
            if callable(_unwrapped(member)) or not name.startswith("__")
        ]

    def _looked_up(self, function: Any) -> list[Any]:
        """Return the globals that a function uses, and the user's modules that it imports."""
        if not self._is_inside(function):
            return []
        known = function.__globals__
        used = {name: known[name] for name in _global_names(function.__code__) if name in known}
        for name in _imported_names(function.__code__):
            module = sys.modules.get(f"{known.get('__package__')}.{name}") or _module_named(name)
            if module is not None:
                used[f"import {name}"] = module
        return [
            (name, self._found(value))
            for name, value in sorted(used.items())
            if not isinstance(value, ModuleType) or _is_own(value.__name__)
        ]

    def _module_facts(self, module: ModuleType) -> Any:
        """Describe a module of the user by its file, and by those of the modules it uses."""
        if any(met is module for met in self._met):
            return module.__name__
        self._met.append(module)
        try:
            source = hashlib.sha256(Path(module.__file__ or "").read_bytes()).hexdigest()
        except (AttributeError, OSError):  # it has no file of its own
            source = None
        used = {value.__name__ for value in vars(module).values() if isinstance(value, ModuleType)}
        used |= {
            _module(value) for value in vars(module).values() if hasattr(value, "__qualname__")
        }
        inner = [
            sys.modules[name] for name in sorted(used) if _is_own(name) and name in sys.modules
        ]
        return module.__name__, source, [self._module_facts(one) for one in inner]

    def _found(self, value: Any) -> Any:
        """Describe a named object; objects of other packages only by their qualified name."""
        if isinstance(value, ModuleType):
            return self._module_facts(value)
        if hasattr(value, "__qualname__") and not self._is_inside(value):
            return f"{_module(value)}.{value.__qualname__}"
        facts = self._held(value)
        return _ADDRESS.sub("", facts) if isinstance(facts, str) else facts

    def _held(self, value: Any) -> Any:
        """Describe a value by its content and the code in it."""
        if callable(value):
            return self.facts(value)
        parts = _parts(value)
        if any(callable(part) for part in parts):
            return [self._held(part) for part in parts]
        content = _content(value)
        return (content, self.facts(type(value))) if self._is_inside(type(value)) else content

    def _is_inside(self, definition: Any) -> bool:
        module = _module(definition)
        return module == self._home or _is_own(module)


def _home(code: Any) -> str:
    """Return the module that defines the code, except of rankgrove."""
    if isinstance(code, functools.partial):
        return _home(code.func)
    module = _module(code)
    return "nowhere" if module.partition(".")[0] in ("rankgrove", "builtins") else module


def _is_own(module: str) -> bool:
    """Return whether a module is user code: not rankgrove, Python or an installed package."""
    package = module.partition(".")[0]
    if package in ("rankgrove", "builtins", "None") or package in sys.stdlib_module_names:
        return False
    loaded = sys.modules.get(package)
    if loaded is None:
        found = importlib.util.find_spec(package)
        file = None if found is None else found.origin
    else:
        file = getattr(loaded, "__file__", None)
    return not {"site-packages", "dist-packages"}.intersection(Path(file or "").parts)


def _module_named(name: str) -> ModuleType | None:
    """Return a module of the user that a function imports when it runs."""
    try:
        return importlib.import_module(name) if _is_own(name) else None
    except Exception:  # the function itself may know what to do then
        return None


def _module(definition: Any) -> str:
    return str(getattr(definition, "__module__", None))


def _unwrapped(member: Any) -> Any:
    """Unwrap properties and other method wrappers; return anything else unchanged."""
    if isinstance(member, property):
        return member.fget or member.fset
    if isinstance(member, functools.cached_property):
        return member.func
    return getattr(member, "__func__", member)


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, also those in slots."""
    slots = {
        name: getattr(value, name)
        for base in type(value).__mro__
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType) and hasattr(value, name)
    }
    return {**slots, **getattr(value, "__dict__", {})}


def _content(value: Any) -> str:
    """Digest a value, arrays in full (``repr`` shortens them); objects without content by name."""
    try:
        import joblib  # slow to import, and rarely needed

        return str(joblib.hash(value))
    except Exception:  # objects that cannot be pickled may raise anything
        return repr(value)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for item in value.items() for part in item]
    return list(value) if isinstance(value, list | tuple) else []


def _global_names(code: CodeType) -> set[str]:
    """Return the names that code, and the functions inside it, look up in the module."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_UP}
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*map(_global_names, inner))


def _imported_names(code: CodeType) -> set[str]:
    """Return the modules that code, and the functions inside it, import."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"}
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return names.union(*map(_imported_names, inner))


def _code_facts(code: CodeType) -> tuple[Any, ...]:
    constants = [_constant_facts(constant) for constant in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _constant_facts(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _code_facts(constant)
    # The iteration order of a set differs between processes.
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
