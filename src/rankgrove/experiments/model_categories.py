"""Categorical columns of models that a study measures: they say how its data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgrove.errors import DataError, ModelError
from rankgrove.experiments.specs import MODEL, Spec


def with_model_categories(reading: Mapping[str, Any], specs: Sequence[Spec]) -> dict[str, Any]:
    """Return the options of reading, in which the categorical columns of all models are named.

    Models that disagree on a column, or with ``categorical=``, are an error. A file that cannot be
    read says so where it is measured.
    """
    given = reading.get("categorical") or ()
    named = [given] if isinstance(given, str) else list(given)
    categorical: dict[str, str] = {}  # the model that says so, by column
    numeric: dict[str, str] = {}
    for spec in specs:
        if spec.library == MODEL and "{" not in spec.target:
            _add_columns(spec.target, categorical, numeric)
    for name in named:
        if name in numeric:
            raise DataError(
                f"column {name!r} is in categorical=, but the model {numeric[name]} was trained "
                "with numbers there"
            )
    for name, model in categorical.items():
        if name in numeric:
            raise DataError(
                f"column {name!r} is categorical for the model {model}, but the model "
                f"{numeric[name]} was trained with numbers there: compare them apart"
            )
    left_out = reading.get("ignore") or ()
    features = reading.get("features")
    names = [
        name
        for name in categorical
        if name not in left_out and (features is None or name in features)
    ]
    if not names:
        return dict(reading)
    return {**reading, "categorical": list(dict.fromkeys([*named, *names]))}


def _add_columns(path: str, categorical: dict[str, str], numeric: dict[str, str]) -> None:
    from rankgrove.formats.container import load_model

    try:
        columns = load_model(path).model_.columns
    except ModelError:
        return
    if columns.names is None:
        return
    for j, name in enumerate(columns.all_names):
        (categorical if j in columns.categories else numeric).setdefault(name, path)
