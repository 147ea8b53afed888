"""Trees grown by trying every split of every leaf, written for reading rather than speed.

A leaf is a boolean mask over the rows. Candidate thresholds are the cuts of the bins; a split
scores ``(G_l² H_r + G_r² H_l) / (H_l H_r)`` with ``H = sum of Hessians + l2``, the form in which
the native engine adds the two children's ``G² / H``, so that equal gains are equal to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

NOISE = 1e-12


@dataclass
class Rules:
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    l2: float = 0.0
    min_gain: float = 0.0


@dataclass(eq=False)
class Node:
    rows: np.ndarray
    depth: int
    number: int
    split: tuple | None = None  # gain, feature, bin, missing_left
    children: list = field(default_factory=list)


def goes_left(x, cuts, bin_, missing_left):
    threshold = cuts[bin_] if bin_ < len(cuts) else np.inf
    return np.where(np.isnan(x), missing_left, x <= threshold)


def node_score(g, h, rows, l2):
    weight = h[rows].sum() + l2
    return g[rows].sum() ** 2 / weight if weight > 0 else 0.0


def children_score(g, h, left, right, rules):
    weight_l, weight_r = h[left].sum(), h[right].sum()
    if min(left.sum(), right.sum()) < rules.min_samples_leaf:
        return -np.inf
    if min(weight_l, weight_r) < rules.min_child_weight or min(weight_l, weight_r) <= 0:
        return -np.inf
    gl, gr, hl, hr = g[left].sum(), g[right].sum(), weight_l + rules.l2, weight_r + rules.l2
    return (gl * gl * hr + gr * gr * hl) / (hl * hr)


def candidates(x, rows, cuts):
    """Bins and missing directions in the order in which ties are decided."""
    missing = np.isnan(x[rows]).any()
    last = len(cuts) + (1 if missing and not np.isposinf(x).any() else 0)
    for bin_ in range(last):
        yield bin_, False
    if missing:
        for bin_ in range(len(cuts)):
            yield bin_, True


def best_split(X, g, h, rows, cuts, rules):
    best = None
    own = node_score(g, h, rows, rules.l2)
    for feature in range(X.shape[1]):
        x = X[:, feature]
        for bin_, missing_left in candidates(x, rows, cuts[feature]):
            left = rows & goes_left(x, cuts[feature], bin_, missing_left)
            right = rows & ~left
            score = children_score(g, h, left, right, rules)
            gain = score - own
            if gain > rules.min_gain and gain > NOISE * score and (best is None or gain > best[0]):
                best = (gain, feature, bin_, missing_left)
    return best


def grow_node_by_node(X, g, h, cuts, rules, *, leaf_wise=True):
    """Return the root; ``number`` is the order in which nodes were made, as in the engine."""
    root = Node(np.ones(len(X), bool), 0, 0)
    made = 1
    open_nodes = [root]

    def prepare(node):
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        few = node.rows.sum() < max(2, 2 * rules.min_samples_leaf)
        node.split = None if deep or few else best_split(X, g, h, node.rows, cuts, rules)

    prepare(root)
    n_leaves = 1
    while n_leaves < rules.max_leaf_nodes:
        ready = [node for node in open_nodes if node.split]
        if not ready:
            break
        if leaf_wise:
            node = max(ready, key=lambda node: (node.split[0], -node.number))
        else:
            node = min(ready, key=lambda node: node.number)
        _, feature, bin_, missing_left = node.split
        left = node.rows & goes_left(X[:, feature], cuts[feature], bin_, missing_left)
        for rows in (left, node.rows & ~left):
            child = Node(rows, node.depth + 1, made)
            made += 1
            prepare(child)
            node.children.append(child)
        open_nodes.remove(node)
        open_nodes.extend(node.children)
        n_leaves += 1
    for node in open_nodes:
        node.split = None
    return root


def grow_oblivious(X, g, h, cuts, rules):
    """Return the rules (feature, bin, missing_left) of the levels and the leaf of each row."""
    level = [np.ones(len(X), bool)]
    chosen = []
    everything = Rules(l2=rules.l2, min_samples_leaf=0)
    for _ in range(rules.max_depth):
        best = None
        unsplit = sum(node_score(g, h, rows, rules.l2) for rows in level)
        for feature in range(X.shape[1]):
            x = X[:, feature]
            for bin_, missing_left in candidates(x, np.ones(len(X), bool), cuts[feature]):
                total = 0.0
                for rows in level:
                    left = rows & goes_left(x, cuts[feature], bin_, missing_left)
                    score = children_score(g, h, left, rows & ~left, everything)
                    total += node_score(g, h, rows, rules.l2) if score == -np.inf else score
                gain = total - unsplit
                real = gain > rules.min_gain and gain > NOISE * total
                if real and (best is None or gain > best[0]):
                    best = (gain, feature, bin_, missing_left)
        if best is None:
            break
        _, feature, bin_, missing_left = best
        left = goes_left(X[:, feature], cuts[feature], bin_, missing_left)
        chosen.append((feature, bin_, missing_left))
        level = [part for rows in level for part in (rows & left, rows & ~left)]
    leaf = np.zeros(len(X), int)
    for number, rows in enumerate(level):
        leaf[rows] = number
    return chosen, leaf
