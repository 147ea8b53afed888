"""Drawing of trees as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankgrove._svg import INK, PALE, UP, Drawing, shortened
from rankgrove.data.core.columns import Columns
from rankgrove.errors import ModelError
from rankgrove.explain.explanation import model_of
from rankgrove.models.model import Model
from rankgrove.models.trees import TreesModel
from rankgrove.trees.ensemble import TreeEnsemble


@dataclass
class Node:
    """A node of a tree that is drawn.

    Attributes
    ----------
    text : its condition or its value
    count : training documents that reached it
    missing : whether missing values meet its condition, ``"yes"`` or ``"no"``; empty for a leaf,
        and where the condition itself is about them
    children : those to whom the condition applies first; none of a leaf
    n_hidden : leaves below it that are not drawn
    """

    text: str
    count: int
    missing: str = ""
    children: list[Node] = field(default_factory=list)
    n_hidden: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        result: dict[str, Any] = {"text": self.text, "count": self.count}
        if self.missing:
            result["missing"] = self.missing
        if self.n_hidden:
            result["n_hidden_leaves"] = self.n_hidden
        if self.children:
            result["children"] = [child.to_dict() for child in self.children]
        return result


def read_tree(ranker: Any, tree: int, depth: int = 5) -> Node:
    """Return a tree of a model, from its root down to a depth.

    Parameters
    ----------
    ranker : a fitted ranker, or a model, of trees on documents
    tree : its number, from 1
    depth : levels of splits that are drawn
    """
    model = model_of(ranker)
    trees = _trees(model)
    if not 1 <= tree <= trees.n_trees:
        raise ModelError(f"there is no tree {tree}: the model has trees 1 to {trees.n_trees}")
    if not 0 <= depth <= 100:
        raise ValueError(f"depth must be between 0 and 100, not {depth}")
    first, end = trees.tree_offsets[tree - 1], trees.tree_offsets[tree]
    leaves = np.ones(end - first, np.int64)
    left = trees.left[first:end]
    for node in np.flatnonzero(left >= 0)[::-1]:
        leaves[node] = leaves[left[node]] + leaves[left[node] + 1]
    weight = float(trees.tree_weights[tree - 1])
    reading = _Reading(trees, int(first), weight, model.columns, leaves)
    return reading.node(0, depth)


def _trees(model: Model) -> TreeEnsemble:
    if not isinstance(model, TreesModel):
        raise model.refusal("show a tree", "it is not one ensemble of trees on documents")
    return model.without_fill().ensemble  # the direction of missing values accounts for the fill


_SHOWN_CATEGORIES = 6  # that a condition lists


@dataclass(frozen=True)
class _Reading:
    """A tree of an ensemble that is read; ``first`` is its first node."""

    trees: TreeEnsemble
    first: int
    weight: float
    columns: Columns
    leaves: Any

    def node(self, node: int, depth: int) -> Node:
        """Return a node and what is below it, down to a depth."""
        trees, at = self.trees, self.first + node
        left, count = int(trees.left[at]), round(float(trees.count[at]))
        if left < 0:
            value = self.weight * float(trees.value[at])
            return Node(f"{value:+.6g}" if value else "0", count)
        missing = "yes" if trees.missing_left[at] else "no"
        name = self.columns.all_names[int(trees.feature[at])]
        text = f"{name} <= {trees.threshold[at]!s}"
        codes = None if trees.category_sets is None else trees.category_sets.codes(at)
        if codes is not None:
            text = f"{name} {self._listed(int(trees.feature[at]), codes)}"
        elif missing == "no" and np.isposinf(trees.threshold[at]):  # any value is left of it
            text, missing = f"{name} is not missing", ""
        if depth == 0:
            return Node(text, count, missing, n_hidden=int(self.leaves[node]))
        children = [self.node(left + k, depth - 1) for k in (0, 1)]
        return Node(text, count, missing, children)

    def _listed(self, feature: int, codes: Any) -> str:
        """Return the condition on categories: those that it lists, or the fewer others."""
        known = self.columns.categories[feature]
        others = np.setdiff1d(np.arange(known.n_codes), codes)
        word, listed = ("in", codes) if len(codes) <= len(others) else ("not in", others)
        names = [known.name(int(code)) for code in listed[:_SHOWN_CATEGORIES]]
        more = len(listed) - len(names)
        return f"{word} {{{', '.join(names)}{f', and {more} more' if more else ''}}}"


def tree_text(root: Node) -> str:
    """Draw a tree with lines of text: under a condition, first where it holds, then where not."""
    return "\n".join(_lines(root, "", "", ""))


def _lines(node: Node, before: str, below: str, answer: str) -> Iterator[str]:
    missing = f" (missing: {node.missing})" if node.missing else ""
    hidden = f" ... {node.n_hidden} leaves" if node.n_hidden else ""
    yield f"{before}{answer}{node.text}{missing}  [{node.count:,}]{hidden}"
    for place, (child, label) in enumerate(zip(node.children, ("yes: ", "no:  "), strict=False)):
        last = place == len(node.children) - 1
        yield from _lines(
            child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), label
        )


_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 190.0, 40.0, 12.0, 34.0


def tree_picture(root: Node, title: str) -> Drawing:
    """Draw a tree: left where a condition holds, right where not; ends side by side."""
    ends = sum(1 for node in _all(root) if not node.children)
    levels = _depth(root) + 1
    drawing = Drawing(
        max(ends * (_WIDTH + _GAP_X) + _GAP_X, 400.0), 44 + levels * (_HEIGHT + _GAP_Y), title
    )
    drawing.text(12, 24, title)
    _draw(drawing, root, 0, 0)
    return drawing


def _draw(drawing: Drawing, node: Node, level: int, n_before: int) -> tuple[float, int]:
    """Draw a node below its place; return its middle and how many ends are drawn so far."""
    y = 44 + level * (_HEIGHT + _GAP_Y)
    middles = []
    for child in node.children:
        middle, n_before = _draw(drawing, child, level + 1, n_before)
        middles.append(middle)
    if node.children:
        x = sum(middles) / len(middles)
        for middle, label in zip(middles, ("yes", "no"), strict=True):
            drawing.line(x, y + _HEIGHT, middle, y + _HEIGHT + _GAP_Y, PALE)
            drawing.text(
                (x + middle) / 2,
                y + _HEIGHT + _GAP_Y / 2,
                label,
                anchor="middle",
                colour=PALE,
                halo=True,
            )
    else:
        x = _GAP_X + n_before * (_WIDTH + _GAP_X) + _WIDTH / 2
        n_before += 1
    is_leaf = not node.children and not node.n_hidden
    colour = "#eff6ff" if is_leaf else "#f3f4f6"
    drawing.bar(x - _WIDTH / 2, y, _WIDTH, _HEIGHT, colour, node.text)
    text = shortened(node.text, 28)
    drawing.text(x, y + 16, text, anchor="middle", colour=UP if is_leaf else INK)
    count = f"{node.count:,}" + (f" in {node.n_hidden} leaves" if node.n_hidden else "")
    missing = f", missing: {node.missing}" if node.missing else ""
    drawing.text(x, y + 32, count + missing, anchor="middle", colour=PALE)
    return x, n_before


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _all(child)


def _depth(node: Node) -> int:
    return max((1 + _depth(child) for child in node.children), default=0)
