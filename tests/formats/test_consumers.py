"""Exported models in programs that are installed apart, by ``make consumers``.

onnxruntime-node is found through NODE_PATH as well. eland has an environment of its own, for it
asks for older libraries than other tests do.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from formats.export_cases import MODELS, N_FEATURES, assert_close, edge_rows, exported, model_of
from oracles import export_targets
from rankgrove.data.core.columns import Columns

pytestmark = pytest.mark.filterwarnings("ignore:every document gets the same score")

HERE = Path(__file__).parent
CONSUMERS = HERE.parents[1] / "build" / "consumers"


def output(command, **options) -> str:
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert run.returncode == 0, run.stderr
    return run.stdout


@functools.cache
def node() -> tuple[str, dict[str, str]]:
    """The program and the environment in which it finds onnxruntime-node."""
    program = shutil.which("node")
    paths = [str(CONSUMERS / "node_modules"), os.environ.get("NODE_PATH", "")]
    env = {**os.environ, "NODE_PATH": os.pathsep.join(filter(None, paths))}
    probe = [program, "-e", "require('onnxruntime-node')"]
    if program is None or subprocess.run(probe, capture_output=True, env=env).returncode:
        pytest.skip("onnxruntime-node is not installed: make consumers")
    return program, env


@pytest.mark.process
@pytest.mark.parametrize(("to", "suffix"), [("lightgbm", "txt"), ("pmml", "pmml")])
@pytest.mark.parametrize(
    ("name", "ranges"),
    [("boosted", False), ("boosted", True), ("infinite fill", False), ("base score", False)],
)
def test_jpmml_gives_the_same_scores(name, ranges, to, suffix, tmp_path):
    for package in ("jpmml_evaluator", "sklearn2pmml"):
        pytest.importorskip(package)
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    ranker = copy(model_of(name))
    if ranges:
        own = Columns.of(ranker).all_names
        ranker.provenance_ = {"ranges": {column: [-0.5, 0.5] for column in own}}
    names = [f"feature{j}" for j in range(N_FEATURES)]
    path = tmp_path / f"model.{suffix}"
    ranker.export(path, to, feature_names=names)
    X = edge_rows(ranker, wide=True)
    np.save(tmp_path / "rows.npy", X)
    found = tmp_path / "scores.npy"
    script = str(HERE / "with_jpmml.py")
    output([sys.executable, script, path, tmp_path / "rows.npy", ",".join(names), found])
    np.testing.assert_array_equal(np.load(found), ranker.predict(X))


@pytest.mark.process
@pytest.mark.parametrize("to", ["onnx", "onnx-double"])
@pytest.mark.parametrize("name", MODELS)
def test_node_gives_the_same_scores(name, to, tmp_path):
    program, env = node()
    ranker = model_of(name)
    path = exported(ranker, to, tmp_path / "model.onnx").path
    kind = "float64" if to == "onnx-double" else "float32"
    X = edge_rows(ranker, wide=to == "onnx-double")
    X.astype(kind).tofile(tmp_path / "rows")
    script = str(HERE / "score_onnx.js")
    text = output([program, script, path, tmp_path / "rows", str(len(X)), kind], env=env)
    assert_close(np.array(json.loads(text)), ranker.predict(X), to)


def eland_definition(path: Path) -> str:
    """What eland makes of a file for Elasticsearch, as JSON."""
    python = CONSUMERS / "eland" / "bin" / "python"
    if not python.exists():
        pytest.skip("eland is not installed: make consumers")
    return output([python, HERE / "with_eland.py", path])


def off_rounded_thresholds(ranker, X):
    """Move values that are a threshold of the file: eland rounds those to nine digits."""
    ensemble = ranker.model_.ensemble
    X = X.copy()
    for feature in range(X.shape[1]):
        above = np.nextafter(ensemble.threshold[ensemble.feature == feature], np.float32(np.inf))
        on = np.isin(X[:, feature], above)
        X[on, feature] = np.nextafter(X[on, feature], np.float32(np.inf))
    return X


@pytest.mark.process
@pytest.mark.parametrize(
    "name", ["boosted", "single leaf", "forest", "fill", "base score", "xgboost"]
)
def test_elastic_gets_the_same_scores_through_eland(name, tmp_path):
    ranker = model_of(name)
    definition = eland_definition(exported(ranker, "xgboost", tmp_path / "model.json").path)
    X = off_rounded_thresholds(ranker, edge_rows(ranker))
    found = [export_targets.elastic_inference(definition, row) for row in X]
    assert_close(np.array(found), ranker.predict(X), "xgboost")


def test_an_estimator_of_xgboost_loads_the_file(tmp_path):
    """Elastic's own learning to rank takes those."""
    xgboost = pytest.importorskip("xgboost")
    ranker = model_of("boosted")
    path = exported(ranker, "xgboost", tmp_path / "m.json").path
    estimator = xgboost.XGBRanker(n_jobs=1)
    estimator.load_model(path)
    X = edge_rows(ranker)
    assert_close(estimator.predict(X), ranker.predict(X), "xgboost")
