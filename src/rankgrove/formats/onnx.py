"""Export to ONNX: a ``TreeEnsembleRegressor`` of ai.onnx.ml 3, supported by every runtime.

``onnx`` takes float32 input and has float32 leaves. ``onnx-double`` takes float64 input and keeps
thresholds and leaves in float64; the operator's output is float32 all the same. Missing values go
the way of ``nodes_missing_value_tracks_true``.
"""

from __future__ import annotations

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
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor",
            ["X"],
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
        [helper.make_tensor_value_info("X", kind, [None, plain.n_features])],
        [helper.make_tensor_value_info("score", onnx.TensorProto.FLOAT, [None, 1])],
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
    if plain.names is not None:
        helper.set_model_props(model, {"feature_names": "\n".join(plain.names)})
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


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
    node, *link = model.graph.node
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
        library=partial(_library, double),
    )


ONNX = _target("onnx", "ONNX with float32 input", double=False)
ONNX_DOUBLE = _target("onnx-double", "ONNX with float64 input", double=True)
