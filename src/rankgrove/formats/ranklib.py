"""Export to RankLib's XML of an ensemble, as its LambdaMART saves it.

RankLib compares ``x <= threshold`` and adds up in float32, numbers features from 1, and takes a
feature that is not there for 0. Its reader wants one element per line. A base score goes into the
leaves of the first tree, and the mean of a forest into the leaf values.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import PlainTree, PlainTrees, float32_values
from rankgrove.formats.target_arithmetic import TreeRows, at_most_missing_zero, sum_of_trees


def _write(plain: PlainTrees) -> bytes:
    plain = plain.with_base_in_leaves()
    float32_values(plain, "ranklib")
    lines = ["## LambdaMART", f"## No. of trees = {len(plain.trees)}", "", "<ensemble>"]
    for number, tree in enumerate(plain.trees, start=1):
        lines += [f'\t<tree id="{number}" weight="1.0">', *_lines(tree), "\t</tree>"]
    return "\n".join([*lines, "</ensemble>", ""]).encode()


def _lines(tree: PlainTree) -> Iterator[str]:
    """Yield the lines of a tree in pre-order, without recursion."""
    waiting: list[tuple[int, str, bool]] = [(0, "<split>", False)]
    while waiting:
        node, tag, done = waiting.pop()
        if done:
            yield "\t\t</split>"
            continue
        yield f"\t\t{tag}"
        waiting.append((node, "", True))
        if tree.left[node] < 0:
            yield f"\t\t<output> {_text(tree.value[node])} </output>"
            continue
        yield f"\t\t<feature> {tree.feature[node] + 1} </feature>"
        yield f"\t\t<threshold> {_text(tree.threshold[node])} </threshold>"
        waiting.append((int(tree.right[node]), '<split pos="right">', False))
        waiting.append((int(tree.left[node]), '<split pos="left">', False))


def _text(value: Any) -> str:
    return "Infinity" if np.isposinf(value) else repr(float(np.float32(value)))


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    body = re.sub(r"^##.*$", "", data.decode(), flags=re.MULTILINE)

    def describe(node: ET.Element) -> tuple[Any, ...] | float:
        output = node.find("output")
        if output is not None:
            return float(output.text or "")
        left, right = node.findall("split")
        feature = int(node.findtext("feature", "")) - 1
        return feature, float(node.findtext("threshold", "")), False, left, right

    trees = [
        TreeRows().read(tree.find("split"), describe)
        for tree in ET.fromstring(body).findall("tree")
    ]
    return sum_of_trees(trees, X, at_most_missing_zero, compare=np.float32, add=np.float32)


RANKLIB = Target(
    name="ranklib",
    about="RankLib's XML (LambdaMART)",
    write=_write,
    evaluate=_evaluate,
    carries_missing=False,
    absent_is_zero=True,
)
