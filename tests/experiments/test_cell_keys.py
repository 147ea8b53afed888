"""Cells are known by the user's code that they run."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import rankgrove
from rankgrove.experiments import running, study
from rankgrove.experiments.study import make_study
from rankgrove.forests import criteria
from rankgrove.metrics import registry as metrics
from rankgrove.rankers.base import registry as rankers
from rankgrove.rankers.base.fit_key import code_digests

MODULE = """
import rankgrove
from rankgrove.boosting.objectives.base import Objective
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.parameters import Real

def scaled(value):
    return VALUE * value

@rankgrove.register_metric("first-label", of="ranked")
def first_label(labels, k=1):
    return scaled(float(labels[:k].max()))

@rankgrove.register_criterion("even")
def even(left, right):
    return scaled(1.0 - abs(left.weight - right.weight) / (left + right).weight)

class Squared(Objective):
    def __init__(self, data):
        self.data = data

    def gradients(self, scores, gradients, hessians, iteration):
        gradients[0] = scaled(scores[0] - self.data.y)
        hessians[0] = 1.0

@rankgrove.register_ranker("own-mart")
class OwnMART(BoostedRanker):
    "Boosts the squared error."

    def _objective(self, data):
        return Squared(data)

@rankgrove.register_ranker("own-default")
class OwnDefault(BoostedRanker):
    "Is never fitted."

    width: float = param(VALUE, Real(0), "decides something")

@rankgrove.register_ranker("own-forest")
class OwnForest(rankgrove.RFPoint):
    "A forest with the criterion."

    criterion: str = with_default(rankgrove.RFPoint, "criterion", "even")

def weights(doc):
    return scaled(1.0 + doc.y)
"""


@pytest.fixture
def define(monkeypatch):
    """Return a function that makes a user's module, as a new process would after a change."""
    monkeypatch.setattr(rankers, "_REGISTERED", dict(rankers.registered()))
    metrics.metric_names()  # those of rankgrove are there before the copy is made
    monkeypatch.setattr(metrics, "_families", dict(metrics._families))
    monkeypatch.setattr(criteria, "_registered", dict(criteria._registered))

    def made(value):
        module = types.ModuleType("my_ranking")
        monkeypatch.setitem(sys.modules, "my_ranking", module)
        exec(MODULE.replace("VALUE", value), vars(module))
        return module

    return made


def key_of(data, ranker, metric):
    study = make_study(data, [ranker], folds=3, metrics=[metric])
    return next(study.cells(next(iter(study.sources[0].folds())))).key


OWN = {
    "measured": lambda own: ("mart", "first-label@3"),
    "measured by a ready metric": lambda own: ("mart", rankgrove.metric("first-label")),
    "raised": lambda own: (rankgrove.CoordinateAscent(metric="first-label@2"), "map"),
    "raised, by text": lambda own: ("coordinate-ascent:metric=first-label", "map"),
    "criterion": lambda own: ("rf-point:criterion=even", "map"),
    "criterion of an object": lambda own: (rankgrove.RFPoint(criterion="even"), "map"),
    "ranker": lambda own: ("own-mart:n_estimators=3", "map"),
    "ranker object": lambda own: (own.OwnMART(n_estimators=3), "map"),
    "default": lambda own: ("own-default", "map"),
    "criterion by default": lambda own: ("own-forest", "map"),
    "function": lambda own: (rankgrove.BROOF(initial_weights=own.weights), "map"),
    "member by name": lambda own: ("bagged:ranker=own-mart", "map"),
    "members by name": lambda own: ("blend:rankers=[mart;[own-mart:n_estimators=3]]", "map"),
    "member": lambda own: (rankgrove.Bagged(ranker=own.OwnMART()), "map"),
    "members": lambda own: (rankgrove.Blend(rankers=["mart", own.OwnMART()]), "map"),
    "member of a member": lambda own: ("bagged:ranker=[bagged:ranker=own-mart]", "map"),
    "function of a member": lambda own: (
        rankgrove.Blend(rankers=["mart", rankgrove.BROOF(initial_weights=own.weights)]),
        "map",
    ),
    "metric of a member": lambda own: (
        "bagged:ranker=[coordinate-ascent:metric=first-label]",
        "map",
    ),
}


@pytest.mark.parametrize("chosen", OWN.values(), ids=OWN)
def test_changed_code_makes_other_cells(define, tiny_data, chosen):
    one, same, other = (key_of(tiny_data, *chosen(define(value))) for value in "223")
    assert one == same != other


def test_nothing_old_is_passed_off_as_new(define, tiny_data, tmp_path):
    def values(value):
        define(value)
        found = rankgrove.compare(
            tiny_data, ["single-feature"], folds=3, metrics="first-label@1", out=tmp_path
        )
        return found.frame("fold")["first-label@1"].to_numpy()

    first = values("2")
    assert (values("4") == 2 * first).all()
    assert (values("2") == first).all()


def test_scores_follow_the_rows_of_their_file(tmp_path):
    """The rows that are kept are the same, but one that is dropped stands elsewhere."""
    kept = [f"{row % 2} qid:{row // 4} 1:{row}" for row in range(24)]
    (tmp_path / "scores.txt").write_text("\n".join(map(str, np.random.default_rng(0).random(25))))

    def values(rows, out):
        (tmp_path / "data.txt").write_text("\n".join(rows) + "\n")
        spec = f"scores:{tmp_path / 'scores.txt'}"
        options = {"folds": 3, "metrics": "ndcg@1", "negative_labels": "drop"}
        with pytest.warns(rankgrove.DataWarning, match="the order of rows predicts labels"):
            found = rankgrove.compare(tmp_path / "data.txt", [spec], out=out, **options)
        return found.frame("query")["ndcg@1"].tolist()

    first = values(["-1 qid:0 1:0", *kept], tmp_path / "out")
    again = values([*kept, "-1 qid:5 1:0"], tmp_path / "out")
    assert again == values([*kept, "-1 qid:5 1:0"], None) != first


def test_a_fit_is_described_alike_whichever_repeat_it_was_first(tiny_data, tmp_path):
    """Fits of a repeat are those of another study with that seed, which reads their splits."""
    folds = list(rankgrove.kfold(tiny_data, 3, seed=0))
    chosen = {"best_features": 1, "feature_order": "study", "seed": 1, "metrics": "ndcg@3"}
    rankgrove.compare(folds, ["mart:n_estimators=2"], metrics="ndcg@3", repeats=2, out=tmp_path)
    rankers = ["mart:n_estimators=2", "rf-point:n_estimators=2"]
    used = rankgrove.compare(folds, rankers, out=tmp_path, **chosen)
    fresh = rankgrove.compare(folds, rankers, **chosen)
    assert [len(cell.outcome.splits) for cell in used.cells] == [1] * 6
    assert used.frame("query").equals(fresh.frame("query"))


def test_the_order_of_features_of_another_build_is_not_used(tiny_data, tmp_path, monkeypatch):
    folds = list(rankgrove.kfold(tiny_data, 3, seed=0))[:1]

    def compare():
        options = {"best_features": 1, "metrics": "ndcg@3", "out": tmp_path}
        rankgrove.compare(folds, ["mart:n_estimators=2"], **options)
        return len(list((tmp_path / ".views").iterdir()))

    assert compare() == 1
    for module in (running, study):
        monkeypatch.setattr(module, "build_digest", lambda: "another", raising=False)
    assert compare() == 2


def test_code_of_rankgrove_is_no_part_of_a_key(tiny_study):
    """Its version is."""
    (fold, *_) = tiny_study.sources[0].folds()
    assert [code_digests(cell._code()) for cell in tiny_study.cells(fold)] == [{}, {}, {}]
