"""Export to ONNX: a ``TreeEnsembleRegressor`` of ai.onnx.ml 3, supported by every runtime.

``onnx`` takes float32 input and has float32 leaves. ``onnx-double`` takes float64 input and keeps
thresholds and leaves in float64; the operator's output is float32 all the same. Missing values go
the way of ``nodes_missing_value_tracks_true``.

A categorical column is given as the code of its value, its index in the list of the column in the
metadata ``categories`` (JSON). NaN, and what is no code, is missing. Before the trees, tables of 0
and 1 tell for every set of categories which codes go right; trees compare these numbers with 0.5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove._optional import require
from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import PlainTrees, float32_values
from rankgrove.formats.target_arithmetic import TargetTree, at_most_else_default, sum_of_trees

_OPERATORS = {"sigmoid": "Sigmoid", "exp": "Exp"}  # onnxruntime ignores the trees' post_transform
_IR_VERSION, _OPSET, _ML_OPSET = 8, 15, 3


def _write(double: bool, plain: PlainTrees) -> bytes:
    onnx = require("onnx", "onnx", "exporting to ONNX")
    helper = onnx.helper
    float32_values(plain, "onnx")
    if not plain.trees:
        plain = plain.with_base_in_leaves()
    kind = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
    linked = plain.link in _OPERATORS
    n_columns = plain.n_features
    plain, tables = _set_tables(plain)
    nodes, constants = _lookups(tables, onnx, kind)
    nodes += [
        helper.make_node(
            "TreeEnsembleRegressor",
            ["numbers" if tables else "X"],
            ["sum" if linked else "score"],
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function="SUM",
            post_transform="NONE",
            **_attributes(plain, double, helper, kind),
        )
    ]
    if linked:
        nodes.append(helper.make_node(_OPERATORS[plain.link], ["sum"], ["score"]))
    graph = helper.make_graph(
        nodes,
        "rankgrove",
        [helper.make_tensor_value_info("X", kind, [None, n_columns])],
        [helper.make_tensor_value_info("score", onnx.TensorProto.FLOAT, [None, 1])],
        constants,
    )
    model = helper.make_model(
        graph,
        producer_name="rankgrove",
        ir_version=_IR_VERSION,
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
    )
    facts = {}
    if plain.names is not None:
        facts["feature_names"] = "\n".join(plain.names)
    if plain.categories:
        names = plain.names or tuple(str(j) for j in range(n_columns))
        values = {names[j]: list(plain.categories[j]) for j in sorted(plain.categories)}
        facts["categories"] = json.dumps(values)
    if facts:
        helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


def _set_tables(plain: PlainTrees) -> tuple[PlainTrees, dict[int, npt.NDArray[np.uint8]]]:
    """Return trees that compare numbers of sets, and by column the sets that make these numbers.

    A table has a row per code, and a last one for missing values; its columns, those of one table
    after the other, are new features after those of the model: 0 goes left and 1 right.
    """
    sets: dict[int, dict[tuple[bytes, bool], int]] = {}
    tables: dict[int, list[npt.NDArray[np.uint8]]] = {}
    for tree in plain.trees:
        for node, codes in tree.left_codes.items():
            column = int(tree.feature[node])
            known = sets.setdefault(column, {})
            key = (codes.tobytes(), bool(tree.missing_left[node]))
            if key not in known:
                known[key] = len(known)
                goes_right = np.ones(len(plain.categories[column]) + 1, np.uint8)
                goes_right[codes] = 0
                goes_right[-1] = not key[1]
                tables.setdefault(column, []).append(goes_right)
    first, start = {}, plain.n_features
    for column in sorted(sets):
        first[column] = start
        start += len(sets[column])
    trees = []
    for tree in plain.trees:
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        precise = tree.precise.copy()
        for node, codes in tree.left_codes.items():
            column = int(tree.feature[node])
            key = (codes.tobytes(), bool(tree.missing_left[node]))
            feature[node] = first[column] + sets[column][key]
            threshold[node] = precise[node] = 0.5
        trees.append(replace(tree, feature=feature, threshold=threshold, precise=precise))
    stacked = {column: np.stack(tables[column], axis=1) for column in sorted(tables)}
    return replace(plain, trees=tuple(trees)), stacked


def _lookups(
    tables: Mapping[int, npt.NDArray[np.uint8]], onnx: Any, kind: int
) -> tuple[list[Any], list[Any]]:
    """Return operators that append the rows of tables to X, and their constants."""
    if not tables:
        return [], []
    node, tensor = onnx.helper.make_node, onnx.numpy_helper.from_array
    number = onnx.helper.tensor_dtype_to_np_dtype(kind)
    nodes, constants = [], [tensor(np.array(0, number), "zero")]
    for j, table in tables.items():
        size = f"size_{j}"
        constants += [
            tensor(np.array(j, np.int64), f"column_{j}"),
            tensor(np.array(len(table) - 1, number), size),
            tensor(table, f"table_{j}"),
        ]
        nodes += [
            node("Gather", ["X", f"column_{j}"], [f"code_{j}"], axis=1),
            node("GreaterOrEqual", [f"code_{j}", "zero"], [f"above_{j}"]),
            node("Less", [f"code_{j}", size], [f"below_{j}"]),
            node("And", [f"above_{j}", f"below_{j}"], [f"known_{j}"]),
            node("Where", [f"known_{j}", f"code_{j}", size], [f"place_{j}"]),
            node("Cast", [f"place_{j}"], [f"row_{j}"], to=onnx.TensorProto.INT64),
            node("Gather", [f"table_{j}", f"row_{j}"], [f"bits_{j}"], axis=0),
            node("Cast", [f"bits_{j}"], [f"sets_{j}"], to=kind),
        ]
    nodes.append(node("Concat", ["X", *(f"sets_{j}" for j in tables)], ["numbers"], axis=1))
    return nodes, constants


def _attributes(plain: PlainTrees, double: bool, helper: Any, kind: int) -> dict[str, Any]:
    def joined(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in plain.trees])

    leaf = joined("left") < 0
    sizes = [len(tree.left) for tree in plain.trees]
    tree_ids = np.repeat(np.arange(len(sizes)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    numbers = {
        "nodes_values": np.where(leaf, 0, joined("precise" if double else "threshold")),
        "target_weights": joined("value")[leaf],
        "base_values": np.array([plain.base_score]),
    }
    found: dict[str, Any] = {
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_featureids": np.where(leaf, 0, joined("feature")).tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(leaf, 0, joined("left")).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, joined("right")).tolist(),
        "nodes_missing_value_tracks_true": joined("missing_left").astype(int).tolist(),
        "target_treeids": tree_ids[leaf].tolist(),
        "target_nodeids": node_ids[leaf].tolist(),
        "target_ids": [0] * int(leaf.sum()),
    }
    for name, values in numbers.items():
        if double:
            tensor = helper.make_tensor(name, kind, [len(values)], values.tolist())
            found[f"{name}_as_tensor"] = tensor
        else:
            found[name] = values.astype(np.float32).tolist()
    return found


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    onnx = require("onnx", "onnx", "reading ONNX")
    model = onnx.load_model_from_string(data)
    place = [node.op_type for node in model.graph.node].index("TreeEnsembleRegressor")
    node, *link = model.graph.node[place:]
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    X = np.column_stack([X, *(_looked_up(name, constants, X) for name in constants)])
    double = model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    read: dict[str, Any] = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def numbers(name: str) -> npt.NDArray[Any]:
        if double:
            return np.asarray(onnx.numpy_helper.to_array(read[f"{name}_as_tensor"]))
        return np.asarray(read[name], np.float32)

    tree_ids = np.asarray(read["nodes_treeids"])
    leaf = np.asarray(read["nodes_modes"]) == b"LEAF"
    value = np.zeros(len(leaf))
    value[leaf] = numbers("target_weights")
    trees = [
        TargetTree(
            feature=np.asarray(read["nodes_featureids"])[nodes],
            threshold=numbers("nodes_values")[nodes],
            left=np.where(leaf, -1, read["nodes_truenodeids"])[nodes],
            right=np.where(leaf, -1, read["nodes_falsenodeids"])[nodes],
            missing_left=np.asarray(read["nodes_missing_value_tracks_true"], bool)[nodes],
            value=value[nodes],
        )
        for nodes in (tree_ids == t for t in range(int(tree_ids.max()) + 1))
    ]
    kind = np.float64 if double else np.float32
    start = float(numbers("base_values")[0])
    total = sum_of_trees(trees, X, at_most_else_default, compare=kind, add=kind, start=start)
    total = total.astype(np.float32).astype(np.float64)
    if not link:
        return total
    return np.asarray(expit(total)) if link[0].op_type == "Sigmoid" else np.exp(total)


def _looked_up(
    name: str, constants: Mapping[str, npt.NDArray[Any]], X: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Return the rows of a table of sets for documents; nothing for other constants."""
    if not name.startswith("table_"):
        return np.empty((len(X), 0))
    table = constants[name]
    code = X[:, int(constants[name.replace("table", "column")])]
    known = (code >= 0) & (code < len(table) - 1)
    return np.asarray(table[np.where(known, code, len(table) - 1).astype(np.int64)])


def _library(double: bool, path: Path, X: npt.NDArray[Any]) -> tuple[str, Floats] | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(X, np.float64 if double else np.float32)
    (scores,) = session.run(None, {"X": rows})
    return f"onnxruntime {onnxruntime.__version__}", np.asarray(scores, np.float64)[:, 0]


def _target(name: str, about: str, double: bool) -> Target:
    return Target(
        name=name,
        about=about,
        write=partial(_write, double),
        evaluate=_evaluate,
        links=frozenset({"identity", *_OPERATORS}),
        carries_categories=True,
        library=partial(_library, double),
    )


ONNX = _target("onnx", "ONNX with float32 input", double=False)
ONNX_DOUBLE = _target("onnx-double", "ONNX with float64 input", double=True)
