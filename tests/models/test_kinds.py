"""A kind of model is one file and one registration; sums melt; files keep every kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import rankgrove
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.models.linear import LinearModel
from rankgrove.models.model import Model, kind, pack_model, unpack_model
from rankgrove.models.sums import SumModel, add_up
from rankgrove.models.trees import TreesModel


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, docs_per_query=10, n_features=6, seed=4)


@pytest.fixture(scope="module")
def forest(data):
    return rankgrove.RFPoint(n_estimators=4, random_state=0).fit(data)


@pytest.fixture(scope="module")
def boosted(data):
    return rankgrove.MART(n_estimators=4, random_state=0, missing="mean").fit(data)


def linear(columns: Columns, **options) -> LinearModel:
    weights = np.linspace(-1, 1, columns.count)
    return LinearModel(
        columns=columns, weights=weights, fill=np.zeros(columns.count, np.float32), **options
    )


def packed_twice(model: Model) -> Model:
    return unpack_model(*pack_model(model))


def test_a_new_kind_is_one_class_and_one_registration(data, tmp_path):
    @kind("first-column")
    @dataclass(frozen=True, eq=False, kw_only=True)
    class FirstColumn(Model):
        def scores(self, X, groups=None, n_jobs=None):
            return X[:, 0].astype(np.float64)

        def with_columns(self, columns):
            raise self.refusal("change its columns", "it knows the first one only")

        def get_state(self):
            return {}, {}

        @classmethod
        def from_state(cls, values, arrays, columns):
            return cls(columns=columns)

    model = FirstColumn(columns=Columns(None, 6))
    np.testing.assert_array_equal(packed_twice(model).scores(data.X), data.X[:, 0])
    with pytest.raises(ModelError, match="kind 'first-column' cannot be compiled"):
        model.compile()
    with pytest.raises(ModelError, match="cannot be scored step by step"):
        list(model.stages(data.X))
    with pytest.raises(ValueError, match="another kind of model"):
        kind("trees")(FirstColumn)


def test_trees_with_different_fills_melt_into_one_ensemble(data, forest, boosted):
    X = data.X.copy()
    X[::3, 1] = np.nan
    whole = add_up([forest.model_, boosted.model_])
    assert isinstance(whole, TreesModel)
    expected = forest.predict(X) + boosted.predict(X)
    np.testing.assert_allclose(whole.compile().predict(X), expected, rtol=1e-12)
    assert whole.n_steps == 4
    np.testing.assert_allclose(
        np.array(list(whole.stages(X))),
        forest.predict(X) + np.array(list(boosted.staged_predict(X))),
        rtol=1e-12,
    )


def test_weights_scale_the_parts(data, forest, boosted):
    blend = add_up([forest.model_, boosted.model_], [0.25, 0.75])
    assert isinstance(blend, TreesModel)
    expected = 0.25 * forest.predict(data) + 0.75 * boosted.predict(data)
    np.testing.assert_allclose(blend.scores(data.X), expected, rtol=1e-12)


def test_a_sum_of_trees_and_weights_stays_a_sum(data, forest, boosted):
    whole = add_up([forest.model_, linear(forest.model_.columns), boosted.model_])
    assert isinstance(whole, SumModel)
    assert [part.kind for part in whole.parts] == ["trees", "linear", "trees"]
    expected = sum(part.scores(data.X) for part in whole.parts)
    np.testing.assert_allclose(packed_twice(whole).scores(data.X), expected, rtol=1e-12)
    with pytest.raises(ModelError, match="kind 'sum' cannot be compiled"):
        whole.compile()


def test_columns_in_another_order_are_moved_in_every_kind(data):
    names = tuple("abcdef")
    moved = Columns(("x", *names[::-1]), 7)
    X = np.column_stack([np.full(len(data.X), 9.0, np.float32), data.X[:, ::-1]])
    named = rankgrove.Dataset(data.X, data.y, data.qid, feature_names=names)
    pair = rankgrove.RFPair(n_estimators=2, random_state=0).fit(named).model_
    trees = rankgrove.MART(n_estimators=3, random_state=0, missing="mean").fit(named).model_
    for model in (trees, pair, linear(trees.columns), add_up([pair, trees])):
        expected = model.scores(data.X, data.groups)
        found = model.with_columns(moved).scores(X, data.groups)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        with pytest.raises(DataError, match="lacks"):
            model.with_columns(Columns(tuple("uvwxyz"), 6))


@pytest.mark.parametrize("normalisation", ["none", "query-minmax", "query-zscore"])
def test_linear_models_normalise_within_queries(data, normalisation):
    model = linear(Columns(None, 6), normalisation=normalisation)
    X = data.X.copy()
    X[0, 2] = np.nan
    X[1, 3] = np.inf
    scores = packed_twice(model).scores(X, data.groups)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = model.scores(X[order], QueryGroups.from_qid(data.qid[order]))
    np.testing.assert_allclose(shuffled, scores[order], rtol=1e-9, atol=1e-9)
    if normalisation == "none":
        clean = np.nan_to_num(X.astype(float), nan=0.0, posinf=float(np.finfo(np.float32).max))
        np.testing.assert_allclose(scores, clean @ model.weights)
    else:
        with pytest.raises(DataError, match="pass qid"):
            model.scores(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "magic"}, "unknown kind of model 'magic'"),
        ({"kind": 3}, "unknown kind"),
        ({"n_features": -1}, "n_features is -1"),
        ({"feature_names": ["a"]}, "does not name 6 features"),
        ({"absent": "maybe"}, "absent is 'maybe'"),
        ({"n_background_trees": 99}, "n_background_trees is 99 in a model of 4 trees"),
        ({"n_background_trees": 1.5}, "n_background_trees is 1.5"),
        ({"trees_per_step": 3}, "trees_per_step is 3"),
        ({"link": "cube"}, "link 'cube'"),
    ],
)
def test_states_that_make_no_sense_are_refused(forest, change, message):
    values, arrays = pack_model(forest.model_)
    with pytest.raises(ModelError, match=message):
        unpack_model({**values, **change}, arrays)


def test_arrays_that_make_no_sense_are_refused(forest):
    values, arrays = pack_model(forest.model_)
    offsets = arrays["trees/tree_offsets"]
    for name, array in (
        ("trees/tree_offsets", offsets.astype(np.float64)),
        ("fill", np.zeros(3, np.float32)),
        ("trees/value", np.full_like(arrays["trees/value"], np.nan)),
        ("trees/tree_weights", np.full_like(arrays["trees/tree_weights"], np.inf)),
    ):
        with pytest.raises(ModelError):
            unpack_model(values, {**arrays, name: array})
