"""A metric of one's own: registered in a module of its own, used wherever metrics are."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rankgrove
from metrics.ranking_cases import random_case
from rankgrove import metric, register_metric
from rankgrove.metrics import metric_names, registry

MODULE = '''
import numpy as np
import rankgrove


@rankgrove.register_metric("first-grade", "fg", of="ranked")
def first_grade(labels, k=None, relevant_from=1.0, scale=1.0):
    """Mean label of the relevant among the first k."""
    top = labels[:k]
    return scale * float(np.mean(np.where(top >= relevant_from, top, 0)))


@rankgrove.register_metric("pair-loss", of="scores", greater_is_better=False)
def pair_loss(labels, scores):
    wrong = (labels[:, None] > labels) & (scores[:, None] <= scores)
    pairs = (labels[:, None] > labels).sum()
    return wrong.sum() / pairs if pairs else None
'''


@pytest.fixture
def unregistered():
    """Forget afterwards what a test registers."""
    names, others = dict(registry._families), dict(registry._other_names)
    yield
    registry._families.clear()
    registry._families.update(names)
    registry._other_names.clear()
    registry._other_names.update(others)


@pytest.fixture
def module(tmp_path, monkeypatch, unregistered):
    metric_names()  # the built-in ones first
    (tmp_path / "my_metrics.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_metrics", raising=False)
    import my_metrics

    yield my_metrics
    del sys.modules["my_metrics"]


def by_hand(function, case, ranked):
    values = []
    for q in range(len(case.sizes)):
        y, s = case.y[case.qid == q], case.scores[case.qid == q]
        values.append(function(y[np.argsort(-s, kind="stable")]) if ranked else function(y, s))
    return np.array(values, float)


def test_text_parameters_and_direction(module):
    assert {"first-grade", "pair-loss"} <= set(metric_names())
    measured = metric("First-Grade@3(relevant_from=>2,scale=0.5)")
    assert str(measured) == "first-grade@3(relevant_from=>2,scale=0.5)"
    assert measured == metric(str(measured)) == eval(repr(measured))
    assert metric("fg@3") == metric("first-grade", k=3)
    assert not metric("pair-loss").greater_is_better
    assert metric("fg").greater_is_better
    with pytest.raises(ValueError, match="pair-loss has no parameter 'k'"):
        metric("pair-loss@3")
    with pytest.raises(ValueError, match="scale must be a finite number, not 'much'"):
        metric("fg(scale=much)")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_the_function(module, dtype):
    case = random_case(3, ties=False)
    scores = case.scores.astype(dtype)
    expected = by_hand(lambda labels: module.first_grade(labels, k=3), case, ranked=True)
    values = metric("fg@3").per_query(case.y, scores, qid=case.qid)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    expected = by_hand(module.pair_loss, case, ranked=False)
    values = metric("pair-loss").per_query(case.y, scores, qid=case.qid)
    np.testing.assert_allclose(values, expected, rtol=1e-12)  # NaN: left out
    assert np.isnan(expected).any()


def test_evaluate_mixes_it_with_others_in_any_order_of_rows(module):
    case = random_case(4)
    rows = np.random.default_rng(0).permutation(len(case.y))
    names = ["fg@2", "ndcg@3", "pair-loss", "map(ties=doc_id)"]
    result = rankgrove.evaluate(case.y[rows], case.scores[rows], qid=case.qid[rows], metrics=names)
    for name in names:
        alone = metric(name)(case.y[rows], case.scores[rows], qid=case.qid[rows])
        assert result[name if name != "fg@2" else "first-grade@2"] == alone
    assert "pair-loss" in str(result)


def test_a_preset_sets_the_parameters_it_knows(module):
    assert metric("fg@2", preset="mslr").relevant_from == 2
    assert metric("pair-loss", preset="letor4") == metric("pair-loss")


def test_training_evaluates_it_and_stops_by_it(module):
    data = rankgrove.datasets.make_ranking(n_queries=40, seed=0)
    train, valid = data.select_queries(range(30)), data.select_queries(range(30, 40))
    ranker = rankgrove.LambdaMART(n_estimators=30, learning_rate=0.5)
    ranker.fit(train, eval_set=valid, eval_metric=["pair-loss", "fg@3"], early_stopping_rounds=3)
    history = ranker.evals_result_["valid"]
    assert set(history) == {"pair-loss", "first-grade@3"}
    best = int(np.argmin(history["pair-loss"])) + 1
    assert ranker.best_iteration_ == best
    assert ranker.score(valid, metric="pair-loss") == pytest.approx(min(history["pair-loss"]))


@pytest.mark.process
def test_it_can_be_pickled_also_to_a_process_that_has_not_imported_it(module, tmp_path):
    measured = metric("fg@7")
    blob = pickle.dumps(measured)
    assert pickle.loads(blob) == measured
    code = f"import pickle; print(pickle.loads({blob!r}))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "first-grade@7"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "my_metrics.py").write_text(MODULE)
    data = rankgrove.datasets.make_ranking(n_queries=30, seed=0)
    rankgrove.write_letor(data, tmp_path / "data.txt")
    np.save(tmp_path / "scores.npy", data.X[:, 0])
    return tmp_path


def command(files, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "rankgrove", *arguments],
        cwd=files,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
def test_command_line_imports_the_module(files):
    run = command(files, "evaluate", "scores.npy", "data.txt", "--metric", "fg@3")
    assert run.returncode == 2
    assert "unknown metric 'fg'" in run.stderr
    run = command(
        files, "evaluate", "scores.npy", "data.txt", "--metric", "fg@3", "--import", "my_metrics"
    )
    assert run.returncode == 0, run.stderr
    assert "first-grade@3" in run.stdout
    options = ["--n-estimators", "3", "--valid", "data.txt", "--out", "m.rg"]
    options += ["--metric", "pair-loss", "--import=my_metrics"]
    run = command(files, "train", "lambdamart", "data.txt", *options)
    assert run.returncode == 0, run.stderr
    assert "pair-loss" in run.stdout
    run = command(files, "info", "data.txt", "--import", "no_such_module")
    assert run.returncode == 2
    assert "--import no_such_module: ModuleNotFoundError" in run.stderr


@pytest.mark.process
def test_an_installed_package_names_its_metrics_by_entry_points(files):
    package = files / "my_metrics-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: my-metrics\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[rankgrove.metrics]\nfirst-grade = my_metrics\nabsent = my_metrics\n"
    )
    run = command(files, "evaluate", "scores.npy", "data.txt", "--metric", "first-grade@3")
    assert run.returncode == 0, run.stderr
    run = command(files, "evaluate", "scores.npy", "data.txt", "--metric", "absent")
    assert "entry point absent = my_metrics registers no such metric" in run.stderr


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (float("nan"), "returned nan; it must return a finite number"),
        (float("inf"), "returned inf"),
        ("good", "returned 'good'"),
        (np.ones(2), "returned array"),
        (1j, "returned 1j"),
    ],
)
def test_a_wrong_result_names_metric_and_query(unregistered, returned, message):
    register_metric("wrong", of="ranked")(lambda labels: returned if labels[0] else 1)
    arguments = {"qid": ["a", "a", "bad"]}
    assert metric("wrong")([1, 0, 0], [1, 2, 3], **arguments) == 1
    with pytest.raises(ValueError, match=f"the metric wrong, query bad: the function {message}"):
        metric("wrong")([1, 0, 1], [1, 2, 3], **arguments)


def test_a_function_that_fails_names_metric_and_query(unregistered):
    register_metric("division", of="scores")(lambda labels, scores: 1 / len(labels[labels > 5]))
    with pytest.raises(ValueError, match="the metric division, query q: ZeroDivisionError"):
        metric("division")([1, 0], [1, 2], qid=["q", "q"])
    with pytest.raises(ValueError, match="score of row 1 is NaN"):
        metric("division")([1, 0], [1, np.nan], qid=["q", "q"])


def test_a_function_cannot_change_the_data(unregistered):
    def sort(labels, scores):
        scores.sort()

    register_metric("sorting", of="scores")(sort)
    with pytest.raises(ValueError, match=r"the metric sorting, query 0: ValueError: .*read-only"):
        metric("sorting")([1, 0], np.array([1.0, 2.0]), group_sizes=[2])


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_results_of_one_number_in_any_form_and_empty_queries(unregistered):
    forms = iter([np.float32(1), np.array(2), 3, None, True])
    register_metric("forms", of="ranked")(lambda labels: next(forms))
    values = metric("forms").per_query(np.zeros(5), np.zeros(5), group_sizes=[1, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(values, [1, np.nan, 2, 3, np.nan, 1])


def test_bad_definitions_are_refused(unregistered):
    def ranked(labels):
        return 0

    cases = [
        ({"name": "a b", "of": "ranked"}, ranked, "'a b' cannot name a metric"),
        ({"name": "x"}, ranked, "say what its function takes, of='ranked'"),
        ({"name": "x", "of": "labels"}, ranked, "not of='labels'"),
        ({"name": "x", "of": "scores"}, ranked, r"must take \(labels, scores\), not \(labels\)"),
        ({"name": "x", "of": "ranked"}, lambda y, s: 0, "'s' needs a default"),
        ({"name": "x", "of": "ranked"}, lambda y, **o: 0, "write out the parameters"),
        ({"name": "x", "of": "ranked"}, lambda y, t=[]: 0, "default of 't' must be a number"),
        ({"name": "x", "of": "ranked"}, lambda y, ties="input": 0, "ties are broken before"),
        ({"name": "x", "of": "ranked"}, lambda y, k=0: 0, "k must be a whole number"),
        ({"name": "ndcg", "of": "ranked"}, ranked, "there is a metric 'ndcg' already"),
        ({"name": "precision", "of": "ranked"}, ranked, "there is a metric 'precision' already"),
    ]
    for arguments, function, message in cases:
        with pytest.raises(ValueError, match=message):
            register_metric(arguments["name"], of=arguments.get("of"))(function)


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_the_same_function_may_be_defined_again(unregistered):
    def define(value):
        @register_metric("again", of="ranked")
        def again(labels):
            return value

    define(1)
    define(2)
    assert metric("again")([1], [1], qid=[1]) == 2


def test_a_class_over_native_parts_registers_alike(unregistered):
    from dataclasses import dataclass

    from rankgrove.metrics.ndcg import NDCG

    @register_metric("halved-ndcg")
    @dataclass(frozen=True, repr=False)
    class Halved(NDCG):
        def mean(self, values, groups, weights):
            return super().mean(values, groups, weights) / 2

    arguments = ([0, 1], [1, 2]), {"qid": [1, 1]}
    assert metric("halved-ndcg@1")(*arguments[0], **arguments[1]) == 0.5
    assert str(metric("halved-ndcg@1")) == "halved-ndcg@1"
