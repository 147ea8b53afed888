"""Export of models to other libraries and search engines, and the registry of export targets.

A target is one module of this folder that ends with ``Target(...)``, and one line in ``TARGETS``;
or a ``Target`` of anybody's own, given to ``register_target``.
It says what it can carry; what it cannot is refused here, before anything is written.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath, file_path
from rankgrove._files import replacing, require_place
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.category_indicators import Indicator, IndicatorFeatures, with_indicators
from rankgrove.formats.plain_trees import (
    PlainTrees,
    distinguishes_missing_from_zero,
    missing_as_zero,
    names_or_refusal,
    plain_trees,
    refuse_numbers,
)
from rankgrove.models.linear import LinearModel
from rankgrove.models.model import Model
from rankgrove.models.sums import as_one_linear
from rankgrove.models.trees import TreesModel

Floats = npt.NDArray[np.float64]
Evaluate = Callable[[bytes, npt.NDArray[Any], Sequence[str] | None], Floats]

# Name of the target -> (module, attribute) to import lazily, or the registered target.
TARGETS: dict[str, tuple[str, str] | Target] = {
    "lightgbm": ("lightgbm_export", "LIGHTGBM"),
    "vespa": ("vespa", "VESPA"),
    "xgboost": ("xgboost_export", "XGBOOST"),
    "elasticsearch": ("ltr_plugins", "ELASTICSEARCH"),
    "opensearch": ("ltr_plugins", "OPENSEARCH"),
    "onnx": ("onnx", "ONNX"),
    "onnx-double": ("onnx", "ONNX_DOUBLE"),
    "solr": ("solr", "SOLR"),
    "ranklib": ("ranklib", "RANKLIB"),
    "pmml": ("pmml", "PMML"),
    "c": ("c_source", "C_SOURCE"),
}

MISSING = ("keep", "zero")


@dataclass(frozen=True)
class LinearWeights:
    """A weighted sum of features, for targets that support linear models."""

    names: tuple[str, ...] | None
    weights: Floats

    def used_names(self) -> list[str]:
        """Names of the features with a weight other than 0."""
        assert self.names is not None
        return [self.names[feature] for feature in np.flatnonzero(self.weights)]


@dataclass(frozen=True)
class Target:
    """An export target: the capabilities of its format, its writer and its evaluator.

    Attributes
    ----------
    name : as the caller asks for it
    about : one line for people
    write : trees -> the file
    evaluate : (file, matrix, names of its columns) -> scores, in the target's own arithmetic
    carries_missing : whether a missing value can go another way than 0
    missing_since : the program and its first version that does so, if older ones read the file, too
    absent_is_zero : whether it gives 0 to features that a document lacks, or did in some version
    other_endings : endings of file names by which the target takes a file for another format
    at_least_zero : whether scores must not be negative, as in Lucene
    needs_names : whether features are known by name only
    links : functions of the sum that it can apply
    zero_is_missing : whether values near 0 can count as missing
    carries_categories : whether splits can ask for categories
    category_indicators : whether ``requests`` can define features of 0 and 1 that stand for sets of
        categories, where splits cannot ask for categories
    write_linear : weights -> the file, if it has linear models
    evaluate_linear : the same for linear models
    library : (file, matrix) -> name of the library that was asked and its scores; None if it is not
        installed
    requests : (model name, features that are used, file, which of them are sets of categories) ->
        bodies to upload, by the end of their names
    """

    name: str
    about: str
    write: Callable[[PlainTrees], bytes]
    evaluate: Evaluate
    carries_missing: bool = True
    missing_since: str = ""
    absent_is_zero: bool = False
    other_endings: frozenset[str] = frozenset()
    at_least_zero: bool = False
    needs_names: bool = False
    links: frozenset[str] = frozenset({"identity"})
    zero_is_missing: bool = False
    carries_categories: bool = False
    category_indicators: bool = False
    write_linear: Callable[[LinearWeights], bytes] | None = None
    evaluate_linear: Evaluate | None = None
    library: Callable[[Path, npt.NDArray[Any]], tuple[str, Floats] | None] | None = None
    requests: (
        Callable[[str, tuple[str, ...], bytes, Sequence[Indicator]], Mapping[str, str]] | None
    ) = None


@dataclass(frozen=True)
class Export:
    """The result of an export: the files that were written, and the options that were used.

    Attributes
    ----------
    target : the format
    path : the file
    missing : how missing values are treated: ``keep`` (as in the model) or ``zero``
    missing_since : the program and the version that the file needs because the model sends missing
        values elsewhere than 0; empty: every one
    reason : why missing values are 0, as a sentence; empty if the caller asked for it
    shift : what the file adds to the scores of the model, so that none is negative
    linear : whether it is a linear model
    names : of the features, as the target knows them
    used : names of the features that the model uses; empty if features have no names
    requests : files written beside it for uploading
    indicators : the features, if some of them are sets of categories; None: the model's columns
    """

    target: Target
    path: FilePath
    missing: str
    reason: str = ""
    shift: float = 0.0
    linear: bool = False
    names: tuple[str, ...] | None = None
    used: tuple[str, ...] = ()
    requests: Sequence[FilePath] = field(default_factory=tuple)
    indicators: IndicatorFeatures | None = None
    missing_since: str = ""

    def __repr__(self) -> str:
        missing = "" if self.missing == "keep" else ", missing values are 0"
        return f"<Export to {self.target.name}: {self.path}{missing}>"


def target_of(name: str) -> Target:
    """Return a target by name."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}: there are {', '.join(TARGETS)}")
    known = TARGETS[name]
    if isinstance(known, Target):
        return known
    module, attribute = known
    target: Target = getattr(importlib.import_module(f"rankgrove.formats.{module}"), attribute)
    return target


def register_target(target: Target) -> Target:
    """Register an export target by name, for Python and the command line."""
    if not isinstance(target, Target):
        raise TypeError(f"register_target takes a Target, not {target!r:.60}")
    known = TARGETS.get(target.name, target)
    if not isinstance(known, Target) or known.write.__module__ != target.write.__module__:
        raise ValueError(f"there is already a target {target.name!r}: choose another name")
    TARGETS[target.name] = target
    return target


def export_model(
    model: Model,
    path: str | os.PathLike[str],
    to: str,
    *,
    missing: str | None = None,
    feature_names: Sequence[str] | None = None,
    known_features: Sequence[str] | None = None,
    with_request: bool = False,
    ranges: Mapping[str, Sequence[float]] | None = None,
) -> Export:
    """Write a model for another program.

    Parameters
    ----------
    model : what a fitted ranker holds
    path : the file
    to : name of the target
    missing : ``"keep"``: missing values go where the model sends them; ``"zero"``: where 0 goes, as
        in programs that know no missing values. None: as in the model if the target can, else
        ``"zero"`` if training saw no missing value (absent features of text that were read as 0
        are none).
    feature_names : names for the columns, instead of the model's own
    known_features : all features that the target has; a model that asks for others is refused
    with_request : also write the bodies to upload beside the file
    ranges : lowest and highest value of features in the training data, by the model's own names,
        for targets that have a place for them
    """
    target = target_of(to)
    _refuse_ending(path, target)
    model = as_one_linear(model.without_head())  # targets rank by the score
    if missing not in (None, *MISSING):
        raise ValueError(f"missing must be one of {', '.join(MISSING)}, not {missing!r}")
    if with_request and target.requests is None:
        raise ValueError(f"there is nothing to upload for {to!r}: leave out with_request")
    require_place(path)
    reason, shift, since = "", 0.0, ""
    if isinstance(model, LinearModel):
        weights = _linear(model, target, missing, feature_names)
        assert target.write_linear is not None
        data, names, missing = target.write_linear(weights), weights.names, "zero"
        used, indicators = weights.used_names, None
    else:
        reason = _reason_for_zero(model, target) if missing is None else ""
        plain, indicators = _trees(model, target, "zero" if reason else missing, feature_names)
        plain = replace(plain, says_missing_is_zero=missing == "zero")
        if indicators is None:
            own = {name: j for j, name in enumerate(model.columns.all_names)}
            known = {own[name]: pair for name, pair in (ranges or {}).items() if name in own}
            plain = replace(plain, ranges=known)
        if target.at_least_zero:
            plain, shift = plain.at_least_zero()
        data, names = target.write(plain), plain.names
        missing = "zero" if plain.missing_is_zero else "keep"
        since = target.missing_since if distinguishes_missing_from_zero(plain) else ""
        used = plain.used_names
    used_names = () if names is None else tuple(used())
    if known_features is not None:
        names_or_refusal(names, to)
        defined = [one.name for one in indicators.indicators] if with_request and indicators else []
        _check_known(used_names, [*known_features, *defined])
    bodies: Mapping[str, str] = {}
    if with_request and target.requests is not None:
        names_or_refusal(names, to)
        sets = () if indicators is None else indicators.indicators
        bodies = target.requests(_model_name(path), used_names, data, sets)
    file = file_path(path)
    with replacing(file) as stream:
        stream.write(data)
    beside = []
    for name, text in bodies.items():
        beside.append(file.with_name(f"{file.stem}.{name}"))
        with replacing(beside[-1]) as stream:
            stream.write(text.encode())
    linear = isinstance(model, LinearModel)
    result = Export(target, file, missing, reason, shift, linear, names, used_names, tuple(beside))
    return replace(result, indicators=indicators, missing_since=since)


def _refuse_ending(path: str | os.PathLike[str], target: Target) -> None:
    """Refuse a file name by which the target takes the file for another format."""
    ending = file_path(path).suffix.lower()
    if ending in target.other_endings:
        raise ValueError(
            f"{target.name} reads a file that ends in {ending} as another format than this, "
            f"{target.about}: give another name than {file_path(path).name!r}"
        )


def _reason_for_zero(model: Model, target: Target) -> str:
    """Return why absent features are 0 for the model, too; empty if they are not."""
    if not target.absent_is_zero or not isinstance(model, TreesModel) or model.saw_missing:
        return ""
    # Fill values hide whether the training data spelt out missing values (NULL, NaN).
    unknown = model.saw_missing is None and model.fill is not None
    if model.absent == "zero" and not unknown:
        return f"training read absent features as 0, and so does {target.name}"
    if model.saw_missing is False:
        return f"training saw no missing value: {target.name} gives 0 to a feature without a value"
    return ""


def _trees(
    model: Model, target: Target, missing: str | None, names: Sequence[str] | None
) -> tuple[PlainTrees, IndicatorFeatures | None]:
    plain, indicators = plain_trees(model), None
    if names is not None:
        plain = replace(plain, names=_checked_names(names, plain.n_features))
    if target.needs_names:
        own = names_or_refusal(plain.names, target.name)
        if names is None:
            refuse_numbers(own, target.name)
    if plain.categories and target.category_indicators:
        plain, indicators = with_indicators(plain)
    if any(tree.left_codes for tree in plain.trees) and not target.carries_categories:
        used = sorted({int(t.feature[node]) for t in plain.trees for node in t.left_codes})
        shown = ", ".join(repr(model.columns.all_names[j]) for j in used)
        able = ", ".join(
            other.name
            for other in map(target_of, TARGETS)
            if other.carries_categories or other.category_indicators
        )
        raise ModelError(
            f"{target.name} knows numbers alone, and this model splits on the categories of "
            f"{shown}: train with one column of 0 and 1 for each category (pandas.get_dummies), or "
            f"export to one of {able}"
        )
    if plain.link not in target.links:
        raise ModelError(
            f"{target.name} has no place for the {plain.link} that this model's score goes through"
        )
    if plain.missing_up_to is not None and not target.zero_is_missing:
        raise ModelError(f"this model takes 0 for missing, and {target.name} cannot")
    if missing == "zero":
        return missing_as_zero(plain), indicators
    if not target.carries_missing:
        if distinguishes_missing_from_zero(plain):
            raise ModelError(
                f"this model sends missing values elsewhere than 0, and to {target.name} they are "
                "0: train with missing='zero', or export with missing='zero' if the features of "
                "the target never lack a value"
            )
        return missing_as_zero(plain), indicators
    return plain, indicators


def _linear(
    model: LinearModel, target: Target, missing: str | None, names: Sequence[str] | None
) -> LinearWeights:
    if target.write_linear is None:
        raise model.refusal(f"be exported to {target.name}", "it has weights, not trees")
    if model.needs_queries:
        raise model.refusal("be exported", "its features are normalised within each query")
    if (model.fill[model.weights != 0] != 0).any() and missing != "zero":
        raise ModelError(
            f"this model fills missing values with other numbers than 0, and to {target.name} they "
            "are 0: export with missing='zero' if the features of the target never lack a value"
        )
    known = model.columns.names if names is None else _checked_names(names, model.columns.count)
    if target.needs_names:
        own = names_or_refusal(known, target.name)
        if names is None:
            refuse_numbers(own, target.name)
    return LinearWeights(known, model.weights)


def _checked_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    if len(names) != count or len(set(names)) != count:
        raise DataError(f"feature_names must be {count} different names, not {len(set(names))}")
    return tuple(str(name) for name in names)


def _model_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the model in a search engine: the file name as an identifier."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", file_path(path).stem)
    return word if word[:1].isalpha() else f"model_{word}"


def _check_known(used: Sequence[str], known: Sequence[str]) -> None:
    there = frozenset(known)
    unknown = [name for name in used if name not in there]
    if unknown:
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise ModelError(
            f"the {len(known)} known features lack {len(unknown)} of the {len(used)} features that "
            f"the model uses: {shown}"
        )
