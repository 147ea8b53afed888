"""Split criteria by name: native ones, and functions of Python that anybody registers."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import rankgrove
from rankgrove import _native
from rankgrove.forests import criteria

OWN_MODULE = """
import numpy as np
import rankgrove


def gains_of(score):
    # Scores are -weight x impurity, up to terms that the parts of a node add up to.

    def gains(left, right):
        node = left + right
        return (score(left) + score(right) - score(node)) / node.weight

    return gains


def x_log2_x(x):
    return x * np.log2(np.where(x > 0, x, 1))


def entropy(sums):
    return x_log2_x(sums.classes).sum(axis=1) - x_log2_x(sums.weight)


def gini(sums):
    return (sums.classes**2).sum(axis=1) / sums.weight


def squared_error(sums):
    return sums.total**2 / sums.weight


rankgrove.register_criterion("own-entropy", needs_classes=True)(gains_of(entropy))
rankgrove.register_criterion("own-gini", needs_classes=True)(gains_of(gini))
rankgrove.register_criterion("own-squared-error")(gains_of(squared_error))
"""
NODE_ARRAYS = ("feature", "threshold", "left", "missing_left", "value", "count")


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module of a user that registers three criteria; they are forgotten afterwards."""
    (tmp_path / "own_criteria.py").write_text(OWN_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(criteria, "_registered", {})
    monkeypatch.delitem(sys.modules, "own_criteria", raising=False)
    __import__("own_criteria")
    return tmp_path


def fit(name, data, criterion, **params):
    common = {"n_estimators": 2, "random_state": 1, "n_jobs": 1, "max_depth": 5}
    ranker = rankgrove.make_ranker(name, criterion=criterion, **{**common, **params})
    weight = params.pop("sample_weight", None)
    return ranker.fit(data, sample_weight=weight).model_.ensemble


def assert_same(one, other):
    for name in NODE_ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.gain, other.gain, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ["rf-point", "extra-trees", "rf-hybrid"])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "squared_error"])
def test_a_criterion_in_python_grows_the_trees_of_the_native_one(
    own_module, small_data, name, criterion
):
    params = {"min_samples_leaf": 10, "n_jobs": 2}
    native = fit(name, small_data, criterion, **params)
    own = fit(name, small_data, f"own-{criterion.replace('_', '-')}", **params)
    assert_same(native, own)
    assert native.n_leaves.min() > 4


@pytest.mark.parametrize("criterion", ["entropy", "squared_error"])
def test_a_criterion_in_python_sees_weights_and_missing_values(own_module, small_data, criterion):
    rng = np.random.default_rng(0)
    X = small_data.X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.integers(1, 5, len(X)) / 2.0
    forests = [
        rankgrove.RFPoint(n_estimators=2, criterion=name, random_state=0, max_depth=5)
        .fit(X, small_data.y, qid=small_data.qid, sample_weight=weight)
        .model_.ensemble
        for name in (criterion, f"own-{criterion.replace('_', '-')}")
    ]
    assert_same(*forests)


@pytest.mark.process
def test_a_criterion_of_a_module_works_on_the_command_line(own_module, small_data):
    rankgrove.write_letor(small_data, own_module / "train.txt")
    for criterion in ("entropy", "own-entropy"):
        command = [sys.executable, "-m", "rankgrove", "train", "rf-point", "train.txt"]
        command += ["--import", "own_criteria", "--criterion", criterion, "--n-estimators", "2"]
        command += ["--max-depth", "5", "--seed", "3", "--out", f"{criterion}.rg"]
        subprocess.run(command, cwd=own_module, check=True, capture_output=True)
    native, own = (
        rankgrove.load_model(own_module / f"{criterion}.rg")
        for criterion in ("entropy", "own-entropy")
    )
    assert_same(native.model_.ensemble, own.model_.ensemble)
    assert own.criterion == "own-entropy"


def test_native_criteria_are_named_once_and_say_what_they_need():
    assert _native.forest_criteria() == {"entropy": True, "gini": True, "squared_error": False}
    assert criteria.criterion_names()[:3] == ["entropy", "gini", "squared_error"]


def test_an_unknown_criterion_is_refused_with_the_known_ones(small_data):
    with pytest.raises(ValueError, match=r"'entropy', 'gini' or 'squared_error'.*not 'enttropy'"):
        rankgrove.RFPoint(criterion="enttropy").fit(small_data)
    with pytest.raises(ValueError, match="unknown criterion 'mine': choose from entropy, gini"):
        criteria.find_criterion("mine")


@pytest.mark.parametrize("name", ["entropy", "Mine", "my criterion", "", 3])
def test_names_that_are_taken_or_no_names_are_refused(own_module, name):
    with pytest.raises(ValueError, match=r"already|cannot name a criterion"):
        rankgrove.register_criterion(name)(lambda left, right: left.weight)


def test_what_a_criterion_returns_or_raises_wrong_names_it(own_module, small_data):
    register = rankgrove.register_criterion
    register("nan")(lambda left, right: np.full(len(left.weight), np.nan))
    register("endless")(lambda left, right: np.full(len(left.weight), np.inf))
    register("short")(lambda left, right: left.weight[:-1])

    @register("broken")
    def broken(left, right):
        raise RuntimeError("my own mistake")

    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="criterion 'nan' returned nan for a split of feature"):
            fit("rf-point", small_data, "nan", n_jobs=n_jobs)
        with pytest.raises(ValueError, match="criterion 'endless' returned inf"):
            fit("rf-point", small_data, "endless", n_jobs=n_jobs)
        with pytest.raises(ValueError, match="criterion 'short' must return one float64 gain per"):
            fit("rf-point", small_data, "short", n_jobs=n_jobs)
        with pytest.raises(RuntimeError, match="my own mistake"):
            fit("rf-point", small_data, "broken", n_jobs=n_jobs)


@pytest.mark.filterwarnings("ignore:every document gets the same score")
def test_a_criterion_may_rule_splits_out(own_module, small_data):
    rankgrove.register_criterion("never")(lambda left, right: np.full(len(left.weight), -np.inf))
    assert (fit("rf-point", small_data, "never").n_leaves == 1).all()


def test_a_criterion_on_classes_refuses_labels_that_are_none(own_module, small_data):
    y = np.random.default_rng(0).random(len(small_data.y))
    with pytest.raises(rankgrove.DataError, match="'own-entropy' takes at most 255 different"):
        rankgrove.RFPoint(criterion="own-entropy", n_estimators=1).fit(
            small_data.X, y, qid=small_data.qid
        )
    forest = rankgrove.RFPoint(criterion="own-squared-error", n_estimators=1, max_depth=3)
    assert forest.fit(small_data.X, y, qid=small_data.qid).model_.ensemble.n_leaves[0] > 2


def test_references_to_a_criterion_are_counted_beside_other_threads(own_module, small_data):
    """Options with the criterion are made and dropped here while another thread refers to it."""

    def gains(left, right):
        return left[:, 0]

    stop = threading.Event()

    def refer():
        while not stop.is_set():
            _ = [gains] * 64

    before = sys.getrefcount(gains)
    other = threading.Thread(target=refer)
    other.start()
    try:
        for _ in range(2000):
            mine = _native.ForestCriterion("mine", gains, needs_classes=False)
            _native.ForestOptions(criterion=mine, max_features=1)
    finally:
        stop.set()
        other.join()
    del mine
    assert sys.getrefcount(gains) == before
