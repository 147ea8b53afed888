"""Categorical columns of the models of a study, for reading its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rankgrove.errors import DataError, ModelError
from rankgrove.experiments.specs import MODEL, Spec


def with_model_categories(
    reading: Mapping[str, Any], specs: Sequence[Spec]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the options of reading, in which the categorical columns of all models are named.

    The second value has the model of each column that ``categorical=`` did not name before.
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
    added = {
        name: model
        for name, model in categorical.items()
        if name not in (*named, *left_out) and (features is None or name in features)
    }
    if not added:
        return dict(reading), {}
    return {**reading, "categorical": [*named, *added]}, added


@contextmanager
def naming_models(model_of_column: Mapping[str, str]) -> Iterator[None]:
    """Name the model that needs a column that the data lack."""
    try:
        yield
    except DataError as error:
        for name, model in model_of_column.items():
            if f"there is no column {name!r}" in str(error):
                raise DataError(
                    f"{error}. The model {model} was trained with the categories of {name!r}"
                ) from None
        raise


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
