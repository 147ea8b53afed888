"""Parameters that name features by number, which are refused if each fold selects features."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankgrove.rankers.base.ranker_text import read_ranker

# Parameters of other libraries that count columns (LightGBM's with their aliases).
FEATURE_NUMBERS_OF_PEERS = frozenset(
    {
        *("monotone_constraints", "monotone_constraint", "monotonic_cst", "mc"),
        *("interaction_constraints", "interaction_cst"),
        *("feature_contri", "feature_contrib", "feature_penalty", "fc", "fp"),
        *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled", "max_bin_by_feature"),
        *("categorical_feature", "cat_feature", "categorical_column", "cat_column"),
        *("categorical_features", "cat_features", "ignore_column", "ignored_features"),
        *("feature_weights", "feature_types", "per_float_feature_quantization"),
    }
)


def refuse_feature_numbers(
    label: str, settings: Iterable[Mapping[str, Any]], estimator: Any, *, of_peer: bool
) -> None:
    """Raise a ValueError if a ranker of a study names features by number.

    Parameters
    ----------
    settings : the parameters of each point of its grid
    estimator : a ranker given as an object, or None
    of_peer : whether another library trains it
    """
    own = {} if estimator is None else estimator.get_params(deep=False)
    for setting in settings:
        for name, value in {**own, **setting}.items():
            text = _counted(name, value, of_peer)
            if text:
                raise ValueError(
                    f"{label}: {text} counts features, and each fold keeps its own (by "
                    "best_features, or in a curve of features)"
                    + ("" if of_peer else ": name the features instead")
                )


def _counted(name: str, value: Any, of_peer: bool) -> str:
    """Return the parameter that counts features, of the ranker or of one within it, or ""."""
    if of_peer:
        return f"{name}={value}" if name in FEATURE_NUMBERS_OF_PEERS and value is not None else ""
    key = name.rpartition("__")[2]
    if key == "feature" and isinstance(value, numbers.Integral):
        return f"{name}={value}"
    if key == "monotone" and value is not None and not isinstance(value, Mapping):
        return f"{name}={list(value)}"
    if key == "interactions" and value is not None:
        features = [feature for group in value for feature in group]
        return "" if all(isinstance(one, str) for one in features) else f"{name}={value}"
    if key in ("ranker", "rankers"):
        return _within(value)
    return ""


def _within(value: Any) -> str:
    """Return the same of a ranker that is a parameter, or of several."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return next(filter(None, map(_within, value)), "")
    ranker = read_ranker(value) if isinstance(value, str) else value
    if not hasattr(ranker, "get_params"):
        return ""
    params = ranker.get_params(deep=False)
    return next(filter(None, (_counted(name, params[name], False) for name in params)), "")
