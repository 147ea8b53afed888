"""The registry of split criteria of forests: native ones, and Python functions.

A native criterion is a header in ``native/forests/criteria/`` and one line in its registry. One in
Python is a function of sums (see ``register_criterion``); installed packages bring theirs by entry
points of the group ``rankgrove.criteria``, each of which has the name of a criterion and points at
what registers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._plugins import load_plugin

Floats = npt.NDArray[np.float64]

ENTRY_POINTS = "rankgrove.criteria"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the documents on one side of some splits: an entry or a row per split.

    Attributes
    ----------
    weight : sum of the weights; without ``sample_weight``, the number of documents
    total : sum of weight x target; a target is the label, or what ``leaf_score`` makes of it
    squares : sum of weight x target^2
    classes : weight of each label, of shape (splits, labels), in ascending order of the labels;
        None if the data have more than 255 different labels
    """

    weight: Floats
    total: Floats
    squares: Floats
    classes: Floats | None

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over the documents of both: those of a node from its children."""
        classes = None
        if self.classes is not None and other.classes is not None:
            classes = self.classes + other.classes
        return Sums(
            self.weight + other.weight,
            self.total + other.total,
            self.squares + other.squares,
            classes,
        )

    @classmethod
    def of(cls, matrix: Floats) -> Sums:
        """Build the sums from the columns of the native grower."""
        weight, total, squares = np.ascontiguousarray(matrix[:, :3].T)
        return cls(weight, total, squares, matrix[:, 3:] if matrix.shape[1] > 3 else None)


SumsCriterion = Callable[[Sums, Sums], Any]
Function = TypeVar("Function", bound=SumsCriterion)


@dataclass(frozen=True)
class Criterion:
    """A registered split criterion.

    Attributes
    ----------
    name : as in the parameter ``criterion``
    needs_classes : whether it looks at labels as classes, of which there are 255 at most
    native : what the native grower knows it by
    function : the function, of one that is written in Python
    """

    name: str
    needs_classes: bool
    native: str | _native.ForestCriterion
    function: SumsCriterion | None = None


_NATIVE = {
    name: Criterion(name, needs_classes, name)
    for name, needs_classes in _native.forest_criteria().items()
}
_registered: dict[str, Criterion] = {}


def register_criterion(name: str, *, needs_classes: bool = False) -> Callable[[Function], Function]:
    """Register a function as a split criterion of forests.

    ::

        @rankgrove.register_criterion("variance")
        def variance(left, right):
            def error(s):
                return s.squares - s.total**2 / s.weight

            node = left + right
            return (error(node) - error(left) - error(right)) / node.weight

    The function takes the sums of the left and the right children of some splits of a node (see
    ``Sums``) and returns the gain of each: how much less impure the children are, per unit of
    weight of the node. A split must gain more than ``min_gain``; -inf rules one out. Neither child
    is empty. Python is called for every feature of every node, one call at a time: expect a forest
    to take a hundred times as long.

    Parameters
    ----------
    name : how the criterion is called: lower-case letters, digits, ``-`` and ``_``
    needs_classes : whether it looks at ``classes``
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot name a criterion: use lower-case letters, digits, - and _, a letter "
            "first"
        )

    def register(function: Function) -> Function:
        known = _NATIVE.get(name) or _registered.get(name)
        # Re-running a notebook cell replaces the criterion of the same definition.
        if known is not None and _origin(known.function) != _origin(function):
            raise ValueError(f"there is a criterion {name!r} already")
        native = _native.ForestCriterion(name, _gains_of(function), needs_classes=needs_classes)
        _registered[name] = Criterion(name, needs_classes, native, function)
        return function

    return register


def native_names() -> list[str]:
    """Return the names of the criteria that are written in C++."""
    return list(_NATIVE)


def criterion_names() -> list[str]:
    """Return the names of all criteria, those of installed packages included."""
    others = {*_registered, *(point.name for point in entry_points(group=ENTRY_POINTS))}
    return [*_NATIVE, *sorted(others)]


def registered_functions() -> list[SumsCriterion]:
    """Return the functions that were registered in this process."""
    return [known.function for known in _registered.values() if known.function is not None]


def is_criterion(name: Any) -> bool:
    """Return whether this is the name of a criterion."""
    return isinstance(name, str) and name in criterion_names()


def find_criterion(name: str) -> Criterion:
    """Return a criterion by its name."""
    if name not in _NATIVE and name not in _registered:
        for point in entry_points(group=ENTRY_POINTS, name=name):
            load_plugin(point)
    try:
        return _NATIVE.get(name) or _registered[name]
    except KeyError:
        raise ValueError(
            f"unknown criterion {name!r}: choose from {', '.join(criterion_names())}, or import "
            "the module that registers it"
        ) from None


def _gains_of(function: SumsCriterion) -> Callable[[Floats, Floats], Floats]:
    def gains(left: Floats, right: Floats) -> Floats:
        return np.ascontiguousarray(function(Sums.of(left), Sums.of(right)), np.float64)

    return gains


def _origin(function: Any) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
