"""Rankers declared as tables: each parameter is one line with its default, range and meaning.

::

    @register_ranker("lambdamart")
    class LambdaMART(BoostedRanker):
        '''The paper, the formula.'''

        sigma: float = param(1.0, Real(1e-6, 1e6), "steepness of the pair probability")

``declared`` (which ``register_ranker`` calls) writes ``__init__`` (keywords only), adds the
parameters to the docstring and collects their ranges in ``_constraints``; the command line and the
docs read ``parameter_table``.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from typing import TYPE_CHECKING, Any, TypeVar

from rankgrove.rankers.base.parameters import Constraint, Search

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Stand-in for ``typing.dataclass_transform``, which only type checkers use."""
        return lambda decorator: decorator


Class = TypeVar("Class", bound=type)


@dataclasses.dataclass(frozen=True)
class RankerParameter:
    """One parameter of a ranker, from which checks, command line and docs are derived."""

    name: str
    default: Any
    constraint: Constraint
    meaning: str
    search: Search = None


def param(default: Any, constraint: Constraint, meaning: str, search: Search = None) -> Any:
    """Declare a parameter in the body of a class decorated with ``declared``.

    ``search`` says which values ``rankgrove tune`` tries: a Span, a tuple of choices, True for all
    that the constraint allows, or None for the default only.
    """
    return dataclasses.field(
        default=default,
        metadata={"constraint": constraint, "meaning": meaning, "search": search},
    )


_AS_BEFORE: Any = object()


def with_default(base: type, name: str, default: Any, search: Search = _AS_BEFORE) -> Any:
    """Redeclare an inherited parameter with another default, and maybe another search range."""
    field = base.__dataclass_fields__[name]  # type: ignore[attr-defined]
    changes = {} if search is _AS_BEFORE else {"search": search}
    return dataclasses.field(default=default, metadata={**field.metadata, **changes})


@dataclass_transform(kw_only_default=True, eq_default=False)
def declared(cls: Class) -> Class:
    """Turn the declared parameters of a class into its ``__init__``, ranges and documentation."""
    own = [name for name in inspect.get_annotations(cls) if name in cls.__dict__]
    cls = dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)  # type: ignore[assignment]
    table = parameter_table(cls)
    cls._constraints = {parameter.name: parameter.constraint for parameter in table}  # type: ignore[attr-defined]
    own_first = sorted(table, key=lambda parameter: parameter.name not in own)
    cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n{_parameter_section(own_first)}"
    return cls


def parameter_table(cls: type) -> list[RankerParameter]:
    """Return the parameters of a declared ranker, inherited ones first."""
    return [
        RankerParameter(field.name, field.default, **field.metadata)
        for field in dataclasses.fields(cls)
        if field.init
    ]


def _parameter_section(table: list[RankerParameter]) -> str:
    lines = ["Parameters", "----------"]
    for parameter in table:
        lines.append(
            f"{parameter.name} : {parameter.constraint.describe()}, default={parameter.default!r}"
        )
        lines.extend(
            textwrap.wrap(parameter.meaning, 95, initial_indent="    ", subsequent_indent="    ")
        )
    return "\n".join(lines)
