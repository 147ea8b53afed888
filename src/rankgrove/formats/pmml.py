"""Export to PMML 4.4: a sum of regression trees, for JPMML and other engines of that standard.

Values are compared by ``lessOrEqual`` and added up in float64. A missing value goes to the
``defaultChild`` of a split. Unused features are not declared; a base score goes into the leaves of
the first tree.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import ModelError
from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import PlainTree, PlainTrees, names_or_refusal, nested
from rankgrove.formats.target_arithmetic import TreeRows, at_most_else_default, sum_of_trees

_SPACE = "http://www.dmg.org/PMML-4_4"
_SCORE = "score"


def _write(plain: PlainTrees) -> bytes:
    names = names_or_refusal(plain.names, "pmml")
    fields = plain.used_names()
    for name in fields:
        if name == _SCORE or not re.fullmatch(r"[^\x00-\x1f\ud800-\udfff]+", name):
            raise ModelError(f"pmml does not take {name!r} as the name of a feature")
    root = ET.Element("PMML", xmlns=_SPACE, version="4.4")
    header = ET.SubElement(root, "Header")
    ET.SubElement(header, "Application", name="rankgrove")
    dictionary = ET.SubElement(root, "DataDictionary")
    for name in fields:
        ET.SubElement(dictionary, "DataField", name=name, optype="continuous", dataType="double")
    model = ET.SubElement(root, "MiningModel", functionName="regression")
    schema = ET.SubElement(model, "MiningSchema")
    for name in fields:
        ET.SubElement(schema, "MiningField", name=name, invalidValueTreatment="asIs")
    output = ET.SubElement(model, "Output")
    ET.SubElement(
        output,
        "OutputField",
        name=_SCORE,
        optype="continuous",
        dataType="double",
        feature="predictedValue",
    )
    segments = ET.SubElement(model, "Segmentation", multipleModelMethod="sum")
    for number, tree in enumerate(plain.with_base_in_leaves().trees, start=1):
        segment = ET.SubElement(segments, "Segment", id=str(number))
        ET.SubElement(segment, "True")
        segment.append(_tree(tree, names))
    return (
        b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode").encode()
    )


def _tree(tree: PlainTree, names: tuple[str, ...]) -> ET.Element:
    model = ET.Element(
        "TreeModel",
        functionName="regression",
        missingValueStrategy="defaultChild",
        splitCharacteristic="binarySplit",
    )
    schema = ET.SubElement(model, "MiningSchema")
    for feature in np.unique(tree.feature[~tree.is_leaf]).tolist():
        ET.SubElement(schema, "MiningField", name=names[feature])

    def leaf(node: int) -> ET.Element:
        return ET.Element("Node", id=str(node), score=repr(float(tree.value[node])))

    def split(node: int, left: ET.Element, right: ET.Element) -> ET.Element:
        name, threshold = names[tree.feature[node]], repr(float(tree.precise[node]))
        for child, operator in ((left, "lessOrEqual"), (right, "greaterThan")):
            test = ET.Element("SimplePredicate", field=name, operator=operator, value=threshold)
            child.insert(0, test)
        default = left if tree.missing_left[node] else right
        found = ET.Element("Node", id=str(node), defaultChild=default.get("id", ""))
        found.extend((left, right))
        return found

    root = nested(tree, leaf, split, "pmml")
    root.insert(0, ET.Element("True"))
    model.append(root)
    return model


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    place = {name: j for j, name in enumerate(names)}
    tag = f"{{{_SPACE}}}"

    def describe(node: ET.Element) -> tuple[Any, ...] | float:
        children = node.findall(f"{tag}Node")
        if not children:
            return float(node.get("score", ""))
        left, right = children
        test = left.find(f"{tag}SimplePredicate")
        assert test is not None
        threshold = float(test.get("value", ""))
        to_left = node.get("defaultChild") == left.get("id")
        return place[test.get("field", "")], threshold, to_left, left, right

    models = ET.fromstring(data).iter(f"{tag}TreeModel")
    trees = [TreeRows().read(model.find(f"{tag}Node"), describe) for model in models]
    return sum_of_trees(trees, X, at_most_else_default, compare=np.float64, add=np.float64)


PMML = Target(
    name="pmml",
    about="PMML 4.4, a sum of regression trees",
    write=_write,
    evaluate=_evaluate,
    needs_names=True,
)
