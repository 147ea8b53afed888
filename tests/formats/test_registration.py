"""A format of one's own is one file and one registration, and then works everywhere."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.formats import exporting

MODULE = '''
"""Trees as JSON lists of nodes."""

import json

import numpy as np

import rankgrove
from rankgrove.extending import Target


def write(plain):
    trees = [
        [tree.feature.tolist(), tree.precise.tolist(), tree.left.tolist(), tree.right.tolist(),
         tree.missing_left.tolist(), tree.value.tolist()]
        for tree in plain.trees
    ]
    return json.dumps({"base": plain.base_score, "trees": trees}).encode()


def evaluate(data, X, names):
    model = json.loads(data)
    return np.array([model["base"] + sum(_leaf(tree, row) for tree in model["trees"]) for row in X])


def _leaf(tree, row):
    feature, threshold, left, right, missing_left, value = tree
    node = 0
    while left[node] >= 0:
        x = row[feature[node]]
        goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
        node = left[node] if goes_left else right[node]
    return value[node]


rankgrove.register_target(Target("plain-json", "trees as JSON", write, evaluate))
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "plain_json.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exporting, "TARGETS", dict(exporting.TARGETS))
    yield "plain_json"
    sys.modules.pop("plain_json", None)


@pytest.mark.process
def test_one_module_exports_in_python_and_is_checked_on_the_command_line(module, capsys):
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    rankgrove.write_parquet(data, "train.parquet")
    ranker = rankgrove.LambdaMART(n_estimators=5).fit(data)
    ranker.save("own.rg")
    argv = "export own.rg --to plain-json --out own.json --check train.parquet --import plain_json"
    assert main(argv.split()) == 0
    assert "plain-json" in capsys.readouterr().out
    ranker.export("again.json", "plain-json")
    scores = sys.modules["plain_json"].evaluate(Path("again.json").read_bytes(), data.X, None)
    np.testing.assert_allclose(scores, ranker.predict(data), rtol=1e-12)


def test_a_taken_name_is_refused(module):
    target = importlib.import_module(module).Target
    with pytest.raises(ValueError, match="already a target 'onnx'"):
        rankgrove.register_target(target("onnx", "", lambda trees: b"", lambda *given: None))
