"""Trees grown by trying every split of every leaf, written for reading rather than speed.

A leaf is a boolean mask over the rows. Candidate thresholds are the cuts of the bins; a split
scores ``(G_l² H_r + G_r² H_l) / (H_l H_r)`` with ``H = sum of Hessians + l2``, the form in which
the native engine adds the two children's ``G² / H``, so that equal gains are equal to the last bit.
With l1, each sum of gradients is first drawn towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from oracles.random_numbers import MASK, Random, mix64

NOISE = 1e-12


@dataclass
class Rules:
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    min_gain: float = 0.0
    interactions: list | None = None
    random_strength: float = 0.0
    seed: int = 0

    def noise(self, g, h, node):
        return Noise(self.random_strength, g, h, self.seed, node) if self.random_strength else None

    def too_small(self, rows, h):
        least = self.min_samples_leaf if self.min_samples_leaf > 1 or self.min_child_weight else 0
        return rows.sum() < least or h[rows].sum() < self.min_child_weight


@dataclass(eq=False)
class Node:
    rows: np.ndarray
    depth: int
    number: int
    split: tuple | None = None  # gain, feature, bin, missing_left
    children: list = field(default_factory=list)
    above: tuple = ()  # features that split the nodes above


def goes_left(x, cuts, bin_, missing_left):
    threshold = cuts[bin_] if bin_ < len(cuts) else np.inf
    return np.where(np.isnan(x), missing_left, x <= threshold)


def shrunken(gradient, l1):
    return np.sign(gradient) * max(abs(gradient) - l1, 0.0)


def node_score(g, h, rows, rules):
    weight = h[rows].sum() + rules.l2
    return shrunken(g[rows].sum(), rules.l1) ** 2 / weight if weight > 0 else 0.0


def node_value(g, h, rows, rules):
    weight = h[rows].sum() + rules.l2
    return -shrunken(g[rows].sum(), rules.l1) / weight if weight > 0 else 0.0


def children_score(g, h, left, right, rules):
    weight_l, weight_r = h[left].sum(), h[right].sum()
    if min(left.sum(), right.sum()) < rules.min_samples_leaf:
        return -np.inf
    if min(weight_l, weight_r) < rules.min_child_weight or min(weight_l, weight_r) <= 0:
        return -np.inf
    gl, gr = shrunken(g[left].sum(), rules.l1), shrunken(g[right].sum(), rules.l1)
    hl, hr = weight_l + rules.l2, weight_r + rules.l2
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


def allowed(feature, above, rules):
    """Whether one group holds the feature and all features above it."""
    if rules.interactions is None:
        return True
    listed = set().union(*rules.interactions)
    groups = [*map(set, rules.interactions), {feature} - listed]
    return any({feature, *above} <= group for group in groups)


class Noise:
    """Random strength: the root of a score plus a normal number, by node, feature and candidate."""

    def __init__(self, strength, g, h, seed, node):
        self.scale = strength * np.sqrt((g**2).sum() / h.sum())
        stream = mix64(seed ^ 0x6E6F697365)
        self.stream = mix64(stream ^ mix64(~node & MASK))

    def preference(self, score, feature, candidate):
        random = Random(self.stream ^ mix64(feature), candidate & MASK)
        radius = np.sqrt(-2 * np.log(1 - random.uniform()))
        normal = radius * np.cos(2 * np.pi * random.uniform())
        return np.sqrt(max(score, 0.0)) + self.scale * normal


def preferred(by_feature, own, noise):
    """Of (gain, feature, bin, missing_left) per feature, the one that is made."""
    best = None
    for options in by_feature:
        if noise is None:
            chosen = max(options, key=lambda split: split[0], default=None)  # the first of equals
            worth = chosen[0] if chosen else None
        else:
            chosen = max(
                options,
                key=lambda split: noise.preference(
                    split[0] + own, split[1], 2 * split[2] + split[3]
                ),
                default=None,
            )
            worth = noise.preference(chosen[0] + own, chosen[1], -1) if chosen else None
        if chosen is not None and (best is None or worth > best[0]):
            best = (worth, chosen)
    return best and best[1]


def best_split(X, g, h, rows, cuts, rules, above=(), number=0):
    own = node_score(g, h, rows, rules)
    by_feature = []
    for feature in range(X.shape[1]):
        x = X[:, feature]
        options = []
        for bin_, missing_left in candidates(x, rows, cuts[feature]):
            left = rows & goes_left(x, cuts[feature], bin_, missing_left)
            right = rows & ~left
            score = children_score(g, h, left, right, rules)
            gain = score - own
            if gain > rules.min_gain and gain > NOISE * score and allowed(feature, above, rules):
                options.append((gain, feature, bin_, missing_left))
        by_feature.append(options)
    return preferred(by_feature, own, rules.noise(g, h, number))


def grow_node_by_node(X, g, h, cuts, rules, *, leaf_wise=True):
    """Return the root; ``number`` is the order in which nodes were made, as in the engine."""
    root = Node(np.ones(len(X), bool), 0, 0)
    made = 1
    open_nodes = [root]

    def prepare(node):
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        few = node.rows.sum() < max(2, 2 * rules.min_samples_leaf)
        node.split = None
        if not deep and not few:
            node.split = best_split(X, g, h, node.rows, cuts, rules, node.above, node.number)

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
            child = Node(rows, node.depth + 1, made, above=(*node.above, feature))
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
    """Return the rules (feature, bin, missing_left) of the levels, leaf and value of each row."""
    level = [np.ones(len(X), bool)]
    chosen = []
    values = [node_value(g, h, level[0], rules)]
    for depth in range(rules.max_depth):
        unsplit = sum(node_score(g, h, rows, rules) for rows in level)
        by_feature = []
        for feature in range(X.shape[1]):
            x = X[:, feature]
            options = []
            for bin_, missing_left in candidates(x, np.ones(len(X), bool), cuts[feature]):
                total = 0.0
                for rows in level:
                    left = rows & goes_left(x, cuts[feature], bin_, missing_left)
                    score = children_score(g, h, left, rows & ~left, rules)
                    total += node_score(g, h, rows, rules) if score == -np.inf else score
                gain = total - unsplit
                real = gain > rules.min_gain and gain > NOISE * total
                if real and allowed(feature, [rule[0] for rule in chosen], rules):
                    options.append((gain, feature, bin_, missing_left))
            by_feature.append(options)
        best = preferred(by_feature, unsplit, rules.noise(g, h, depth))
        if best is None:
            break
        _, feature, bin_, missing_left = best
        left = goes_left(X[:, feature], cuts[feature], bin_, missing_left)
        chosen.append((feature, bin_, missing_left))
        level = [part for rows in level for part in (rows & left, rows & ~left)]
        values = [
            above if rules.too_small(rows, h) else node_value(g, h, rows, rules)
            for rows, above in zip(level, np.repeat(values, 2), strict=True)
        ]
    leaf = np.zeros(len(X), int)
    for number, rows in enumerate(level):
        leaf[rows] = number
    return chosen, leaf, values
