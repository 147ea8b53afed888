"""Numbers at the ends of what a float or a counter holds: refused by name, or harmless."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from rankgrove import MART
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.parameters import AnyOf, Integer, Real
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names
from support.rankers import quick

# How much is done, not how: as large as anybody has time for.
SIZES = {"n_estimators", "n_trees", "n_forest_trees", "max_passes", "n_restarts", "n_jobs"}


@pytest.fixture(scope="module")
def data():
    return make_ranking(6, docs_per_query=8, n_features=3, seed=3)


def extremes(constraint):
    """Numbers that a table of parameters lets through, or ought not to."""
    if isinstance(constraint, AnyOf):
        return [value for option in constraint.options for value in extremes(option)]
    if isinstance(constraint, Integer):
        return [constraint.high, 2**31 - 1, 2**63]
    if isinstance(constraint, Real):
        ends = [end for end in (constraint.low, constraint.high) if end is not None]
        return [*ends, 1e308, -1e308, 1e-320, 1e-30, 1e30]
    return []


def owner(cls, parameter):
    """Return the class that declares a parameter: the ranker itself or one of its bases."""
    return next(base for base in cls.__mro__ if parameter in vars(base).get("__annotations__", {}))


def cases():
    """Yield each parameter once per class that declares it, with the first ranker that has it."""
    seen = set()
    for name in ranker_names():
        for parameter in parameter_table(ranker_class(name)):
            key = owner(ranker_class(name), parameter.name), parameter.name
            numeric = extremes(parameter.constraint) and parameter.name not in SIZES
            if numeric and key not in seen:
                seen.add(key)
                yield pytest.param(name, parameter.name, id=f"{name}-{parameter.name}")


@pytest.mark.parametrize(("name", "parameter"), list(cases()))
def test_extreme_numbers_are_refused_by_name_or_give_finite_scores(data, name, parameter):
    (described,) = (p for p in parameter_table(ranker_class(name)) if p.name == parameter)
    for value in dict.fromkeys(extremes(described.constraint)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of overflow, say
            warnings.simplefilter("ignore", DataWarning)  # that little or nothing was learnt
            try:
                scores = quick(name, **{parameter: value}).fit(data).predict(data)
            except ValueError as error:
                assert re.search(rf"\b{parameter}\b", str(error)), error  # noqa: PT017
            else:
                assert np.isfinite(scores).all(), value


def test_scores_that_diverge_are_told_with_the_learning_rate(data):
    with pytest.raises(ValueError, match=r"in step \d+ scores grow beyond 1e\+36: learning_rate=9"):
        MART(n_estimators=200, learning_rate=9, min_samples_leaf=1).fit(data)


@pytest.mark.parametrize("name", ranker_names())
@pytest.mark.parametrize("weight", [1e-320, 1e-300, 1e-31])
def test_weights_so_small_that_sums_vanish_are_refused(name, weight, data):
    """RankSVM said "Singular matrix", boosted trees learnt nothing."""
    with pytest.raises(DataError, match=re.escape(f"sample_weight is at most {weight:g}: below")):
        quick(name).fit(data, sample_weight=np.full(data.n_rows, weight))


@pytest.mark.filterwarnings("ignore::rankgrove.errors.DataWarning")
@pytest.mark.parametrize("name", ranker_names())
@pytest.mark.parametrize("weight", [1e-30, 1e-9, 1e9])
def test_small_and_large_weights_give_finite_scores(name, weight, data):
    ranker = quick(name).fit(data, sample_weight=np.full(data.n_rows, weight))
    assert np.isfinite(ranker.predict(data)).all()


def test_ranksvm_refuses_weights_beyond_the_largest_c(data):
    """The scores were all 0, after many iterations."""
    weight = np.full(data.n_rows, 1e15)
    with pytest.raises(ValueError, match=r"C=0.01 times a sample_weight of 1e\+15 is above 1e\+12"):
        make_ranker("ranksvm").fit(data, sample_weight=weight)
