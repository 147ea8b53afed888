"""RCRank: LambdaMART on oblivious trees."""

from __future__ import annotations

from rankgrove.rankers.declaration import ranker, with_default
from rankgrove.rankers.lambdamart import LambdaMART


@ranker
class RCRank(LambdaMART):
    """LambdaMART whose trees have one rule (feature, threshold) for all nodes of a level.

    Such a tree of depth d is a decision table of 2^d cells, which is scored very fast and overfits
    less. Each level takes the rule with the highest gain summed over all of its nodes; the values
    of the cells are Newton steps on the lambda gradients of LambdaMART.

    Modry and Ferov, "Enhancing LambdaMART Using Oblivious Trees", 2016.
    """

    tree: str = with_default(LambdaMART, "tree", "oblivious")
    max_depth: int | None = with_default(LambdaMART, "max_depth", 6)
    max_leaf_nodes: int | None = with_default(LambdaMART, "max_leaf_nodes", None)
