"""The same trees in the form of other libraries, ready to predict with a number of threads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[np.ndarray], np.ndarray]

LIBRARIES = [
    "lightgbm",
    "xgboost-cpu",
    "catboost",
    "scikit-learn",
    "onnxruntime",
    "lleaves",
    "treelite",
    "tl2cgen",
]


def maker(name: str, model: Any, own: Any, folder: Path) -> Callable[[int], Predict]:
    """Return a function from a number of threads to a predict function.

    ``model`` is rankgrove's, ``own`` the one of the library that trained it.
    """
    ensemble = model.model_.ensemble
    makers: dict[str, Callable[[int], Predict]] = {
        "lightgbm": lambda n: lambda X: own.predict(X, num_threads=n),
        "catboost": lambda n: lambda X: own.predict(X, thread_count=n),
        "scikit-learn": lambda n: sklearn_predict(own, n),
        "xgboost": lambda n: xgboost_predict(ensemble, n),
        "onnxruntime": lambda n: onnx_predict(ensemble, n),
        "lleaves": lambda n: lleaves_predict(own, folder, n),
        "tl2cgen": lambda n: tl2cgen_predict(own, folder, n),
        "rankgrove.h": lambda n: header_predict(model, folder),
    }
    return makers[name]


def header_predict(model: Any, folder: Path) -> Predict:
    """Return rankgrove's own C header, which scores a model file in one thread."""
    import ctypes
    import subprocess

    import rankgrove

    library, path = folder / "librankgrove.so", folder / "model.rg"
    header = rankgrove.get_include() + "/rankgrove.h"
    flags = ["-O2", "-shared", "-fPIC", "-DRANKGROVE_IMPLEMENTATION", "-x", "c"]
    subprocess.run(["cc", *flags, header, "-o", str(library), "-lm"], check=True)
    model.save(path)
    loaded = ctypes.CDLL(str(library))
    loaded.rankgrove_open.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(loaded.rankgrove_open(str(path).encode(), None, 0))

    def predict(X: np.ndarray) -> np.ndarray:
        scores = np.empty(len(X))
        place, n, stride = ctypes.c_void_p(X.ctypes.data), *map(ctypes.c_size_t, X.shape)
        loaded.rankgrove_score(handle, place, n, stride, ctypes.c_void_p(scores.ctypes.data))
        return scores

    return predict


def sklearn_predict(forest: Any, n_threads: int) -> Predict:
    forest.set_params(n_jobs=n_threads)
    return forest.predict


def right_children(ensemble: Any) -> np.ndarray:
    return np.where(ensemble.left >= 0, ensemble.left + 1, -1)


def xgboost_predict(ensemble: Any, n_threads: int) -> Predict:
    import xgboost

    trees = []
    right = right_children(ensemble)
    for number in range(ensemble.n_trees):
        nodes = slice(*ensemble.tree_offsets[number : number + 2])
        leaf = ensemble.left[nodes] < 0
        size = int(leaf.size)
        value = (ensemble.value[nodes] * ensemble.tree_weights[number]).astype(np.float32)
        # x <= t is x < the next float32.
        above = np.nextafter(ensemble.threshold[nodes], np.float32(np.inf))
        parents = np.full(size, 2147483647)
        parents[ensemble.left[nodes][~leaf]] = np.flatnonzero(~leaf)
        parents[right[nodes][~leaf]] = np.flatnonzero(~leaf)
        trees.append(
            {
                "left_children": ensemble.left[nodes].tolist(),
                "right_children": right[nodes].tolist(),
                "parents": parents.tolist(),
                "split_indices": np.where(leaf, 0, ensemble.feature[nodes]).tolist(),
                "split_conditions": np.where(leaf, value, above).tolist(),
                "default_left": ensemble.missing_left[nodes].tolist(),
                "split_type": [0] * size,
                "base_weights": np.where(leaf, value, 0).tolist(),
                "loss_changes": [0.0] * size,
                "sum_hessian": [1.0] * size,
                "categories": [],
                "categories_nodes": [],
                "categories_segments": [],
                "categories_sizes": [],
                "id": number,
                "tree_param": {
                    "num_nodes": str(size),
                    "num_feature": str(ensemble.n_features),
                    "size_leaf_vector": "1",
                    "num_deleted": "0",
                },
            }
        )
    learner = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "learner_model_param": {
            "base_score": repr(float(ensemble.base_score[0])),
            "num_class": "0",
            "num_feature": str(ensemble.n_features),
            "num_target": "1",
            "boost_from_average": "1",
        },
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "gbtree_model_param": {
                    "num_trees": str(ensemble.n_trees),
                    "num_parallel_tree": "1",
                },
                "iteration_indptr": list(range(ensemble.n_trees + 1)),
                "tree_info": [0] * ensemble.n_trees,
                "trees": trees,
            },
        },
    }
    text = json.dumps({"learner": learner, "version": [3, 0, 0]})
    booster = xgboost.Booster(model_file=bytearray(text, "utf-8"))
    booster.set_param({"nthread": n_threads})
    return booster.inplace_predict


def onnx_predict(ensemble: Any, n_threads: int) -> Predict:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    sizes = np.diff(ensemble.tree_offsets)
    tree_ids = np.repeat(np.arange(ensemble.n_trees), sizes)
    node_ids = np.arange(len(tree_ids)) - np.repeat(ensemble.tree_offsets[:-1], sizes)
    leaf = ensemble.left < 0
    weights = (ensemble.value * ensemble.tree_weights[tree_ids])[leaf]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        base_values=ensemble.base_score.tolist(),
        nodes_treeids=tree_ids.tolist(),
        nodes_nodeids=node_ids.tolist(),
        nodes_featureids=np.where(leaf, 0, ensemble.feature).tolist(),
        nodes_values=ensemble.threshold.astype(float).tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_truenodeids=np.where(leaf, 0, ensemble.left).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, ensemble.left + 1).tolist(),
        nodes_missing_value_tracks_true=ensemble.missing_left.tolist(),
        target_treeids=tree_ids[leaf].tolist(),
        target_nodeids=node_ids[leaf].tolist(),
        target_ids=[0] * int(leaf.sum()),
        target_weights=weights.tolist(),
    )
    matrix = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, ensemble.n_features])
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    graph = helper.make_graph([node], "trees", [matrix], [score])
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = min(model.ir_version, onnx.IR_VERSION, 10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda X: session.run(None, {"X": X})[0]


def lightgbm_file(booster: Any, folder: Path) -> str:
    path = folder / "model.txt"
    if not path.exists():
        booster.save_model(path)
    return str(path)


def use_new_llvm(*modules: Any) -> None:
    """Let lleaves run the same -O3 passes through today's llvmlite, whose interface has changed."""
    import llvmlite.binding as llvm

    if hasattr(llvm, "PassManagerBuilder"):
        return

    class Passes:
        opt_level = 3

        def populate(self, passes: Any) -> None:
            pass

        def run(self, module: Any) -> None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
            options = llvm.create_pipeline_tuning_options(speed_level=3)
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)

    class OldInterface:
        PassManagerBuilder = ModulePassManager = Passes

        def initialize(self) -> None:
            """Today's llvmlite does this by itself."""

        def __getattr__(self, name: str) -> Any:
            return getattr(llvm, name)

    for module in modules:
        module.llvm = OldInterface()


def lleaves_predict(booster: Any, folder: Path, n_threads: int) -> Predict:
    import lleaves
    from lleaves import llvm_binding
    from lleaves.compiler import tree_compiler

    use_new_llvm(tree_compiler, llvm_binding)
    model = lleaves.Model(model_file=lightgbm_file(booster, folder))
    model.compile(cache=str(folder / "lleaves.o"))
    return lambda X: model.predict(X, n_jobs=n_threads)


def tl2cgen_predict(booster: Any, folder: Path, n_threads: int) -> Predict:
    import tl2cgen
    import treelite

    library = folder / "trees.so"
    if not library.exists():
        model = treelite.frontend.load_lightgbm_model(lightgbm_file(booster, folder))
        tl2cgen.export_lib(
            model,
            toolchain="gcc",
            libpath=str(library),
            params={"parallel_comp": max(1, booster.num_trees() // 32)},
            nthread=2,
        )
    predictor = tl2cgen.Predictor(str(library), nthread=n_threads)
    return lambda X: predictor.predict(tl2cgen.DMatrix(X, dtype="float32"))
