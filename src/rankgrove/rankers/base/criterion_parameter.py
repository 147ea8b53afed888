"""The parameter that names a split criterion of forests."""

from __future__ import annotations

from rankgrove.forests.criteria import is_criterion, native_names
from rankgrove.rankers.base.parameters import Choice, Satisfies

CRITERION = Satisfies(
    is_criterion,
    f"{Choice(*native_names()).describe()}, or a name given to register_criterion",
    str,
)
