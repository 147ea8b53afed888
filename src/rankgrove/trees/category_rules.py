"""The rules by which subsets of categories are found for splits."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rankgrove import _native


@dataclass(frozen=True)
class CategoryRules:
    """How a node finds the categories that go left.

    A node with at most ``max_onehot`` categories tries each alone against all others. Otherwise it
    orders the categories by ``G / (H + smoothing * h)`` and tries the first 1, 2, ...
    ``max_listed`` of them from either end against all others, with ``l2 * h`` more in the gain.
    With ``h``, the mean Hessian of the node's rows, both count rows, and splits do not depend on
    the scale of the loss.

    Attributes
    ----------
    smoothing : draws the ratio of categories with small sums of Hessians towards 0
    l2 : times ``h``: added to the regularisation in the gain of a set of categories
    max_listed : categories of a set at most
    max_onehot : categories of a node up to which each is tried alone
    min_samples : rows of a category in the node at least; rarer ones stay on the other side. Where
        Hessians do not count rows, rows are estimated by the share of the Hessians
    penalty : the gain of a set of m of n categories falls by ``penalty * m * (1 + 2 ln(n / m))``
        times sum of g² / sum of h, about what the best set of m categories without effect gains
    """

    smoothing: float = 3.0
    l2: float = 10.0
    max_listed: int = 1024
    max_onehot: int = 4
    min_samples: int = 30
    penalty: float = 1.0

    def native(self) -> _native.CategoryRules:
        """Return the rules as the native engine takes them, checked."""
        return _native.CategoryRules(**asdict(self))
