"""Small rankers for tests that run for every registered ranker."""

from __future__ import annotations

from rankgrove.rankers.base.registry import make_ranker, ranker_class

# One ranker of each family, for the quick tier of tests (``--one-per-family``).
FAMILIES = (
    *("lambdamart", "rcrank", "rf-point", "rf-list", "rf-pair"),
    *("broof", "igbrt", "coordinate-ascent", "random"),
)

# What makes rankers of many trees quick, and the scale of labels that a ranker must know.
SMALL = {
    "auto": {"n_bags": 2},
    "calibrated": {"ranker": "lambdamart:n_estimators=4", "n_folds": 2, "min_queries": 2},
    "listce": {"max_grade": 4, "l2": 0.1},
    "blend": {"rankers": ["lambdamart:n_estimators=4", "rf-point:n_estimators=3"], "n_folds": 2},
    "bagged": {"ranker": "lambdamart:n_estimators=4,min_samples_leaf=5", "n_bags": 3},
    "igbrt": {"n_forest_trees": 4},
    "broof": {"n_trees": 4},
    "querycrossentropy": {"max_grade": 4},
}


def quick(name, **params):
    """Return a ranker that learns little, with those size parameters that it has."""
    small = {"n_estimators": 4, "max_iter": 4, "max_passes": 1, "n_restarts": 1, "C": 1.0}
    small |= {key: params.pop(key) for key in small if key in params}
    known = ranker_class(name)._get_param_names()
    sizes = {key: value for key, value in small.items() if key in known}
    common = {**sizes, "random_state": 0, "n_jobs": 1, **SMALL.get(name, {})}
    return make_ranker(name, **{**common, **params})
