"""Ranker specs of a study, as text: rankers with parameters and grids.

The grammar, with ``[...]`` for what may be left out::

    spec      = [label "="] use [":" parameters]
    use       = name of a ranker | library ":" objective | "scores:" (file | "column=" column)
              | "model:" file
    parameters = name "=" values ("," name "=" values)*
    values    = value ("|" value)*           several values make a grid
    value     = text | low ".." high          whole numbers from low to high

The parameter ``as_in_paper`` takes the settings of a paper (``own``, or a name in the ranker's
``papers``); others that are given take the place of the paper's.

``lambdamart:n_estimators=300``, ``lambdamart:as_in_paper=own``,
``rcrank:max_depth=3..6,learning_rate=0.11|0.15``,
``lightgbm:lambdarank:num_leaves=63``, ``mine=scores:run.txt``, ``scores:column=bm25``,
``last-week=model:old.rg``. A value that
holds commas stands in brackets: ``lambdamart:monotone=[1,0,-1]``; commas in parentheses (of
metrics) need none.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankgrove.errors import ModelError
from rankgrove.experiments.feature_numbers import refuse_feature_numbers
from rankgrove.experiments.views import WHOLE, View
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.paper_settings import OWN, find_settings
from rankgrove.rankers.base.parameter_encoding import MACHINE_PARAMETERS
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.ranker_text import (
    members_of,
    split_outside_brackets,
    without_brackets,
)
from rankgrove.rankers.base.registry import make_ranker, ranker_class

PEER_LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn")
SCORES, MODEL = "scores", "model"
# What is made elsewhere: the study measures it, and trains nothing.
GIVEN = (SCORES, MODEL)
_COLUMN = "column="
# What the study sets itself, for every ranker alike.
OF_THE_STUDY = (*MACHINE_PARAMETERS, "random_state")

# Takes the settings of a paper for all parameters that are not given.
AS_IN_PAPER = "as_in_paper"

_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_MOST_SETTINGS = 10_000
_LIMIT = f"has at most {_MOST_SETTINGS:,}"
_LABEL = re.compile(r"([^:=]+)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Spec:
    """One line of a comparison: a ranker with one setting, or with a grid of them.

    Attributes
    ----------
    label : how tables call it
    use : the ranker: a registered name, ``library:objective``, ``scores:file``,
        ``scores:column=name`` or ``model:file``
    settings : the parameters of each point of the grid
    estimator : a ranker given as an object, whose other parameters are kept; None: by name
    view : what part of the training data it sees, and what is kept of its models
    """

    label: str
    use: str
    settings: tuple[Mapping[str, Any], ...] = ({},)
    estimator: Any = field(default=None, compare=False)
    view: View = WHOLE

    def __post_init__(self) -> None:
        if self.view.n_features is not None:
            refuse_feature_numbers(
                self.label, self.settings, self.estimator, of_peer=self.library is not None
            )

    @property
    def library(self) -> str | None:
        """The library that trains the ranker, None for rankgrove; or what is given."""
        head = self.use.partition(":")[0]
        return head if head in (*PEER_LIBRARIES, *GIVEN) else None

    @property
    def trained(self) -> bool:
        """Whether the study trains the ranker."""
        return self.library not in GIVEN

    def parameters(self) -> dict[str, Any] | None:
        """The constraints of the parameters; None for another library."""
        return None if self.library else _known(self.use)

    @property
    def target(self) -> str:
        """The text after the library: the objective, or the file of scores."""
        return self.use.partition(":")[2]

    @property
    def column(self) -> str | None:
        """The column of the data that holds the scores; None: they are elsewhere, or trained."""
        is_column = self.library == SCORES and self.target.startswith(_COLUMN)
        return self.target.removeprefix(_COLUMN) if is_column else None


def read_specs(texts: Iterable[Any]) -> list[Spec]:
    """Read several specs; those with the same label are labelled by their whole text."""
    given = [(text, as_spec(text)) for text in texts]
    labels = [spec.label for _, spec in given]
    specs = [
        replace(spec, label=text)
        if isinstance(text, str) and labels.count(spec.label) > 1
        else spec
        for text, spec in given
    ]
    seen: set[str] = set()
    for spec in specs:
        if spec.label in seen:
            raise ValueError(
                f"two rankers are called {spec.label!r}: give one another label, as in "
                f"'other={spec.label}'"
            )
        seen.add(spec.label)
    return specs


# Parameters that say how clicks are corrected for position bias.
_CORRECTION = ("position_bias", "max_click_weight", "position_bias_reg", "trust_bias")


def with_naive_twins(specs: Sequence[Spec]) -> list[Spec]:
    """Add, for each ranker that corrects clicks, the same one that does not."""
    found: list[Spec] = []
    for spec in specs:
        found.append(spec)
        own = {} if spec.estimator is None else spec.estimator.get_params(deep=False)
        biases = {{**own, **setting}.get("position_bias", "none") for setting in spec.settings}
        if spec.library or biases == {"none"}:
            continue
        plain = [
            {name: value for name, value in setting.items() if name not in _CORRECTION}
            for setting in spec.settings
        ]
        estimator = spec.estimator
        if estimator is not None:
            kept = {name: value for name, value in own.items() if name not in _CORRECTION}
            estimator = type(estimator)(**kept)
        distinct = tuple(s for i, s in enumerate(plain) if s not in plain[:i])
        label = naive_label(spec.label)
        found.append(replace(spec, label=label, settings=distinct, estimator=estimator))
    if len(found) == len(specs):
        raise ValueError("naive_twin has no effect: no ranker has a position_bias")
    return found


def naive_label(label: str) -> str:
    """Return the label of the ranker that does not correct clicks."""
    return f"{label} (naive)"


def blend_spec(specs: Sequence[Spec], metric: str) -> Spec:
    """Return the blend of rankers, with weights that make the metric best on validation data."""
    for spec in specs:
        if spec.library:
            raise ValueError(f"{spec.label!r} cannot be blended: it is no ranker of rankgrove")
        if len(spec.settings) > 1:
            raise ValueError(
                f"{spec.label!r} has several settings, and a blend takes one: leave one of them"
            )
    if len(specs) < 2:
        raise ValueError("a blend needs at least two rankers")
    rankers = [
        make_ranker(spec.use, **spec.settings[0])
        if spec.estimator is None
        else type(spec.estimator)(**spec.estimator.get_params(deep=False))
        for spec in specs
    ]
    return Spec("blend", "blend", ({"rankers": rankers, "metric": metric},))


def as_spec(given: Any) -> Spec:
    """Read a spec from text, from a table of a study file, or from a ranker."""
    from rankgrove.rankers.base.estimator import BaseRanker

    if isinstance(given, Spec):
        return given
    if isinstance(given, BaseRanker):
        for name, value in given.get_params(deep=False).items():
            _refuse_fitted(name, given.ranker_name, value)
        return Spec(given.ranker_name, given.ranker_name, estimator=given)
    if isinstance(given, Mapping):
        return _from_table(given)
    if isinstance(given, str):
        return _from_text(given)
    kind = given.__name__ if isinstance(given, type) else type(given).__name__
    raise ValueError(
        f"a ranker is a text, a table or a ranker object of rankgrove, not {kind}: those of other "
        "libraries are written 'lightgbm:lambdarank:num_leaves=7' or "
        "'sklearn:RandomForestRegressor', and a class is called, as in rankgrove.MART()"
    )


def _from_text(text: str) -> Spec:
    match = _LABEL.fullmatch(text)
    label, body = (match[1].strip(), match[2]) if match else ("", text)
    use, parameters = _divide(body.strip())
    if use.partition(":")[0] in GIVEN:
        return Spec(label or use, use)
    known = _known(use)
    grid = {}
    for part in split_outside_brackets(parameters, ","):
        name, equals, values = (piece.strip() for piece in part.partition("="))
        if not equals or not values:
            raise ValueError(f"cannot read {part.strip()!r} in {text!r}: write name=value")
        if name in grid:
            raise ValueError(f"{name} is given twice in {text!r}")
        grid[name] = [
            _read(value, name, use, known)
            for alternative in split_outside_brackets(values, "|")
            for value in _ranged(alternative.strip())
        ]
    return Spec(label or use, use, _settings(grid, use, known))


def _from_table(table: Mapping[str, Any]) -> Spec:
    """A table of a study file: ``use``, perhaps ``label``, and parameters; a list is a grid."""
    if not isinstance(table.get("use"), str):
        raise ValueError(f'a ranker of a study file needs use = "name": {dict(table)!r}')
    use, parameters = _divide(table["use"])
    if parameters:
        raise ValueError(f"write the parameters of {use!r} as lines of its table, not in use")
    known = None if use.partition(":")[0] in GIVEN else _known(use)
    grid = {}
    for name, value in table.items():
        if name in ("use", "label"):
            continue
        whole = known is not None and name in known and known[name].accepts(value)
        grid[name] = list(value) if isinstance(value, list) and not whole else [value]
    return Spec(str(table.get("label", use)), use, _settings(grid, use, known))


def _divide(body: str) -> tuple[str, str]:
    """Divide a spec into the ranker and its parameters."""
    head, colon, rest = body.partition(":")
    if head == SCORES:
        if not rest.removeprefix(_COLUMN):
            raise ValueError(
                "scores: needs the name of a file, as in 'scores:run.txt', or of a column, as in "
                "'scores:column=bm25'"
            )
        return body, ""
    if head == MODEL:
        if not rest:
            raise ValueError("model: needs the name of a model file, as in 'model:old.rg'")
        return body, ""
    if head not in PEER_LIBRARIES:
        return head, rest
    if not rest:
        raise ValueError(f"{head}: needs what to train, as in '{_EXAMPLES[head]}'")
    before, equals, _ = rest.partition("=")
    if not equals:
        return body, ""
    target, colon, _ = before.rpartition(":")
    if not colon:
        raise ValueError(f"{body!r} needs what to train, as in '{_EXAMPLES[head]}:{rest}'")
    return f"{head}:{target}", rest[len(target) + 1 :]


_EXAMPLES = {
    "lightgbm": "lightgbm:lambdarank",
    "xgboost": "xgboost:rank:ndcg",
    "catboost": "catboost:YetiRank",
    "sklearn": "sklearn:RandomForestRegressor",
}


def _known(use: str) -> dict[str, Any] | None:
    """Return the constraints of a ranker's parameters; None for other libraries."""
    if use.partition(":")[0] in PEER_LIBRARIES:
        return None
    cls = ranker_class(use)
    known: dict[str, Any] = {entry.name: entry.constraint for entry in parameter_table(cls)}
    return {**known, AS_IN_PAPER: Choice(OWN, *cls.papers)}


def _settings(
    grid: Mapping[str, Sequence[Any]], use: str, known: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any], ...]:
    for name, values in grid.items():
        if name in OF_THE_STUDY:
            raise ValueError(f"{name} is set by the study for all rankers, not for {use} alone")
        if known is None:
            continue
        if name not in known:
            _refuse(name, use)
        for value in values:
            if not known[name].accepts(value):
                raise ValueError(
                    f"parameter {name} of {use} must be {known[name].describe()}, not {value!r}"
                )
            _refuse_fitted(name, use, value)
    if AS_IN_PAPER in grid:
        find_settings(ranker_class(use).papers, use)
    n_points = math.prod(map(len, grid.values()))
    if n_points > _MOST_SETTINGS:
        raise ValueError(f"the grid of {use} has {n_points:,} settings: it {_LIMIT}")
    points = itertools.product(*grid.values())
    return tuple(_with_paper(use, dict(zip(grid, point, strict=True))) for point in points)


def _with_paper(use: str, params: dict[str, Any]) -> dict[str, Any]:
    """Fill in the settings of the paper, if one is named."""
    if AS_IN_PAPER not in params:
        return params
    paper = params.pop(AS_IN_PAPER)
    return {**find_settings(ranker_class(use).papers, use, paper).params, **params}


def _refuse_fitted(name: str, use: str, value: Any) -> None:
    for one in members_of({name: value}).values():
        if one.__sklearn_is_fitted__():
            raise ValueError(
                f"parameter {name} of {use} is a fitted {type(one).__name__}, which may have seen "
                "the documents that others are tested on: give one that is not fitted"
            )


def _refuse(name: str, use: str) -> None:
    """Raise an error that suggests the right name of a parameter."""
    try:
        ranker_class(use)(**{name: None})
    except TypeError as error:
        raise ValueError(str(error)) from None


def _ranged(text: str) -> list[str]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return [text]
    low, high = int(match[1]), int(match[2])
    if low > high:
        raise ValueError(f"the range {text!r} is empty")
    if high - low >= _MOST_SETTINGS:
        raise ValueError(f"the range {text!r} has {high - low + 1:,} values: a grid {_LIMIT}")
    return [str(number) for number in range(low, high + 1)]


def _read(text: str, name: str, use: str, known: Mapping[str, Any] | None) -> Any:
    if known is None:
        return _literal(text)
    if name not in known:
        return text
    try:
        return known[name].parse(without_brackets(text))
    except ModelError:
        raise
    except ValueError:
        words = known[name].describe()
        raise ValueError(f"parameter {name} of {use} must be {words}, not {text!r}") from None


def _literal(text: str) -> Any:
    """Return the value of another library's parameter: number, boolean, list, or else text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
