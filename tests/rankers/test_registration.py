"""A ranker of one's own is one file and one registration, and then works everywhere."""

from __future__ import annotations

import importlib
import sys
import textwrap

import numpy as np
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.extending import BoostedRanker
from rankgrove.rankers.base import registry

MODULE = '''
"""Pulls scores towards labels by their absolute difference."""

import numpy as np

import rankgrove
from rankgrove.extending import BoostedRanker, Objective, Real, param


class Smoothed(Objective):
    def __init__(self, data, width):
        self.data, self.width = data, width

    def gradients(self, scores, gradients, hessians, iteration):
        gradients[0] = np.tanh((scores[0] - self.data.y) / self.width)
        hessians[0] = 1.0


@rankgrove.register_ranker("smooth-mart", optimises="smoothed absolute error")
class SmoothMART(BoostedRanker):
    """Boosts the smoothed absolute error."""

    width: float = param(1.0, Real(0, above=True), "distance at which the pull is full")

    def _objective(self, data):
        return Smoothed(data, self.width)
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "smooth_mart.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry.registered()))
    yield "smooth_mart"
    sys.modules.pop("smooth_mart", None)


def test_one_module_works_in_python_files_and_on_the_command_line(module, tmp_path, capsys):
    data = make_ranking(30, docs_per_query=10, n_features=5, seed=1)
    rankgrove.write_letor(data, tmp_path / "train.txt")
    importlib.import_module(module)
    ranker = rankgrove.make_ranker("smooth-mart", n_estimators=20, width=0.5).fit(data)
    assert ranker.score(data) > 0.7
    ranker.save("own.rg")
    np.testing.assert_array_equal(
        rankgrove.load_model("own.rg").predict(data), ranker.predict(data)
    )
    assert "smooth-mart" in rankgrove.ranker_names()
    assert rankgrove.SmoothMART is type(ranker)


def test_the_command_line_imports_it(module, tmp_path, capsys):
    data = make_ranking(30, docs_per_query=10, n_features=5, seed=1)
    rankgrove.write_letor(data, tmp_path / "train.txt")
    train = "train smooth-mart train.txt --width 0.5 --n-estimators 5 --quiet --out own.rg"
    assert main([*train.split(), "--import", module]) == 0
    predict = f"predict own.rg train.txt --import {module} --out scores.txt"
    assert main(predict.split()) == 0
    assert len((tmp_path / "scores.txt").read_text().split()) == data.n_rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*every document gets the same score")
@pytest.mark.filterwarnings("ignore:every document gets the same score")
def test_workers_of_a_comparison_import_it(tmp_path, request, capsys):
    """Also those that were started before there was such a module, elsewhere."""
    data = make_ranking(15, docs_per_query=8, n_features=5, seed=1)
    rankgrove.compare(data, ["mart:n_estimators=2"], folds=3, workers=2)
    module = request.getfixturevalue("module")
    rankgrove.write_letor(data, tmp_path / "train.txt")
    command = "compare train.txt --ranker smooth-mart:n_estimators=2 --folds 3 --workers 2 --quiet"
    assert main([*command.split(), "--import", module]) == 0
    assert "smooth-mart" in capsys.readouterr().out


def test_an_unregistered_class_is_not_saved_under_a_name_that_nobody_knows(tmp_path):
    class Nameless(rankgrove.MART):
        pass

    ranker = Nameless(n_estimators=2).fit(make_ranking(5, seed=1))
    with pytest.raises(ModelError, match="Nameless is not registered"):
        ranker.save(tmp_path / "m.rg")
    assert not list(tmp_path.iterdir())


def test_bad_and_taken_names_are_refused():
    with pytest.raises(ValueError, match="lower case"):
        rankgrove.register_ranker("My Ranker")
    with pytest.raises(ValueError, match=r"'mart' belongs to rankgrove\.rankers\.mart"):
        rankgrove.register_ranker("mart")(type("Other", (BoostedRanker,), {"__doc__": "x"}))


def test_unknown_names_get_a_hint():
    with pytest.raises(ValueError, match="did you mean 'lambdamart'"):
        rankgrove.make_ranker("lamdamart")
