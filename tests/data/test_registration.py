"""A data format of one's own is one file and one registration, and then works everywhere."""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.data.reading import readers
from rankgrove.datasets import make_ranking

MODULE = '''
"""One JSON list per document: label, query, features."""

import json

import numpy as np

import rankgrove
from rankgrove.extending import Reader

ACCEPTS = frozenset({"feature_names"})


def read_lines(path, options):
    label, query, features = zip(*map(json.loads, path.read_text().splitlines()))
    names = options.feature_names or [f"f{j + 1}" for j in range(len(features[0]))]
    return rankgrove.Dataset(np.array(features, np.float32), label, query, feature_names=names)


rankgrove.register_reader(Reader("jsonl", __name__, "read_lines", None, (".jsonl",)))
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "json_lines.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(readers, "READERS", list(readers.READERS))
    data = make_ranking(20, docs_per_query=10, n_features=5, seed=1)
    rows = zip(data.y.tolist(), data.qid.tolist(), data.X.tolist(), strict=True)
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield data
    sys.modules.pop("json_lines", None)


def test_one_module_is_loaded_in_python_and_on_the_command_line(module, capsys):
    command = "train mart train.jsonl --n-estimators 3 --out m.rg --quiet --import json_lines"
    assert main(command.split()) == 0
    loaded = rankgrove.load("train.jsonl")
    np.testing.assert_array_equal(loaded.X, module.X)
    assert loaded.qid.tolist() == module.qid.tolist()
    with pytest.raises(ValueError, match="does not apply to jsonl files"):
        rankgrove.load("train.jsonl", n_features=7)


def test_a_taken_name_is_refused(module):
    reader = importlib.import_module("json_lines").Reader
    with pytest.raises(ValueError, match="already a format 'csv'"):
        rankgrove.register_reader(reader("csv", "elsewhere", "read", None, (".csv",)))
