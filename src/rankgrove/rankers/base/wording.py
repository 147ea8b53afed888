"""Help with names of parameters and options that are misspelt or belong to other libraries."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# What users of other libraries call our parameters and options.
PARAMETERS_ELSEWHERE = {
    "num_leaves": "max_leaf_nodes",
    "max_leaves": "max_leaf_nodes",
    "depth": "max_depth",
    "eta": "learning_rate",
    "shrinkage": "learning_rate",
    "num_iterations": "n_estimators",
    "num_boost_round": "n_estimators",
    "iterations": "n_estimators",
    "n_trees": "n_estimators",
    "min_data_in_leaf": "min_samples_leaf",
    "min_child_samples": "min_samples_leaf",
    "lambda_l2": "l2",
    "reg_lambda": "l2",
    "l2_leaf_reg": "l2",
    "bagging_fraction": "subsample",
    "feature_fraction": "max_features_tree",
    "colsample_bytree": "max_features_tree",
    "colsample_bynode": "max_features",
    "max_bin": "max_bins",
    "seed": "random_state",
    "num_threads": "n_jobs",
    "nthread": "n_jobs",
    "monotone_constraints": "monotone",
    "min_split_gain": "min_gain",
    "gamma": "min_gain",
}
_FIT_OPTIONS = {
    "group": "group_sizes",
    "groups": "qid (one id per row) or group_sizes",
    "group_id": "qid",
    "query": "qid",
    "weight": "sample_weight",
    "weights": "sample_weight",
    "eval_group": "eval_set (whose entries bring their queries: a Dataset or (X, y, qid))",
    "eval_qid": "eval_set (whose entries bring their queries: a Dataset or (X, y, qid))",
    "validation_data": "eval_set",
    "valid_sets": "eval_set",
    "early_stopping": "early_stopping_rounds",
    "xgb_model": "init_model",
    "metric": "eval_metric",
    "eval_at": "eval_metric (such as 'ndcg@5')",
    "label": "y, or rankgrove.load(X, label=..., query=...)",
    "labels": "y",
}
_FIT_NAMES = (
    "qid",
    "group_sizes",
    "sample_weight",
    "eval_set",
    "eval_metric",
    "early_stopping_rounds",
    "init_model",
    "callbacks",
)


# Names that are known, but not as parameters of a ranker.
_OTHER_PLACES = {
    "warm_start": "fit(..., init_model=ranker) goes on from a model",
    "objective": "the class tells it, and rankgrove.CustomMART takes a function",
    "eval_at": "fit(..., eval_metric='ndcg@5') says what is watched",
    **{name: f"it is an option of fit: fit(..., {name}=...)" for name in _FIT_NAMES},
}


def refuse_parameters(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first name that is no parameter, with a suggestion."""
    names = set(known)
    for name in given:
        if name in names:
            continue
        meant = PARAMETERS_ELSEWHERE.get(name)
        if meant not in names:
            near = difflib.get_close_matches(name, names, n=1)
            meant = near[0] if near else None
        hint = f": did you mean {meant!r}?" if meant else ""
        if name in _OTHER_PLACES:
            hint = f": {_OTHER_PLACES[name]}"
        raise TypeError(f"{owner} has no parameter {name!r}{hint}")


def refuse_fit_options(owner: str, given: Iterable[str]) -> None:
    """Raise TypeError for the first option of fit that is unknown, with a suggestion."""
    for name in given:
        meant = _FIT_OPTIONS.get(name)
        if meant is None:
            near = difflib.get_close_matches(name, _FIT_NAMES, n=1)
            meant = near[0] if near else None
        if meant is None and name in PARAMETERS_ELSEWHERE:
            meant = f"{PARAMETERS_ELSEWHERE[name]}, a parameter of {owner}(...)"
        hint = f": did you mean {meant}?" if meant else f"; it knows {', '.join(_FIT_NAMES)}"
        raise TypeError(f"{owner}.fit has no option {name!r}{hint}")
