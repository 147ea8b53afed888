"""What a study trains, written as text: rankers with parameters and grids.

The grammar, with ``[...]`` for what may be left out::

    spec      = [label "="] use [":" parameters]
    use       = name of a ranker | library ":" objective | "scores:" (file | "column=" column)
    parameters = name "=" values ("," name "=" values)*
    values    = value ("|" value)*           several values make a grid
    value     = text | low ".." high          whole numbers from low to high

``lambdamart:n_estimators=300``, ``rcrank:max_depth=3..6,learning_rate=0.11|0.15``,
``lightgbm:lambdarank:num_leaves=63``, ``mine=scores:run.txt``, ``scores:column=bm25``. A value that
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
from rankgrove.experiments.views import WHOLE, View
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.parameter_encoding import MACHINE_PARAMETERS
from rankgrove.rankers.base.registry import ranker_class

PEER_LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn")
SCORES = "scores"
_COLUMN = "column="
# What the study sets itself, for every ranker alike.
OF_THE_STUDY = (*MACHINE_PARAMETERS, "random_state")

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
    use : the ranker: a registered name, ``library:objective``, ``scores:file`` or
        ``scores:column=name``
    settings : the parameters of each point of the grid
    estimator : a ranker given as an object, whose other parameters are kept; None: by name
    view : what part of the training data it sees, and what is kept of its models
    """

    label: str
    use: str
    settings: tuple[Mapping[str, Any], ...] = ({},)
    estimator: Any = field(default=None, compare=False)
    view: View = WHOLE

    @property
    def library(self) -> str | None:
        """The other library that trains it, ``scores`` if nothing does, None for rankgrove."""
        head = self.use.partition(":")[0]
        return head if head in (*PEER_LIBRARIES, SCORES) else None

    def parameters(self) -> dict[str, Any] | None:
        """What values its parameters may take; None where another library knows."""
        return None if self.library else _known(self.use)

    @property
    def target(self) -> str:
        """What follows the library: the objective, or the file of scores."""
        return self.use.partition(":")[2]

    @property
    def column(self) -> str | None:
        """The column of the data that holds the scores; None: they are elsewhere, or trained."""
        is_column = self.library == SCORES and self.target.startswith(_COLUMN)
        return self.target.removeprefix(_COLUMN) if is_column else None


def read_specs(texts: Iterable[Any]) -> list[Spec]:
    """Read several specs; those that would share a label are called by their whole text."""
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


def as_spec(given: Any) -> Spec:
    """Read a spec from text, from a table of a study file, or from a ranker."""
    from rankgrove.rankers.base.estimator import BaseRanker

    if isinstance(given, Spec):
        return given
    if isinstance(given, BaseRanker):
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
    if use.startswith(f"{SCORES}:"):
        return Spec(label or use, use)
    known = _known(use)
    grid = {}
    for part in _split(parameters, ","):
        name, equals, values = (piece.strip() for piece in part.partition("="))
        if not equals or not values:
            raise ValueError(f"cannot read {part.strip()!r} in {text!r}: write name=value")
        if name in grid:
            raise ValueError(f"{name} is given twice in {text!r}")
        grid[name] = [
            _read(value, name, use, known)
            for alternative in _split(values, "|")
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
    known = None if use.startswith(f"{SCORES}:") else _known(use)
    grid = {}
    for name, value in table.items():
        if name in ("use", "label"):
            continue
        whole = known is not None and name in known and known[name].accepts(value)
        grid[name] = list(value) if isinstance(value, list) and not whole else [value]
    return Spec(str(table.get("label", use)), use, _settings(grid, use, known))


def _divide(body: str) -> tuple[str, str]:
    """Part what is used from its parameters."""
    head, colon, rest = body.partition(":")
    if head == SCORES:
        if not rest.removeprefix(_COLUMN):
            raise ValueError(
                "scores: needs the name of a file, as in 'scores:run.txt', or of a column, as in "
                "'scores:column=bm25'"
            )
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
    """Constraints of a ranker's parameters; None for other libraries, which check their own."""
    if use.partition(":")[0] in PEER_LIBRARIES:
        return None
    return {entry.name: entry.constraint for entry in parameter_table(ranker_class(use))}


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
    n_points = math.prod(map(len, grid.values()))
    if n_points > _MOST_SETTINGS:
        raise ValueError(f"the grid of {use} has {n_points:,} settings: it {_LIMIT}")
    points = itertools.product(*grid.values())
    return tuple(dict(zip(grid, point, strict=True)) for point in points)


def _refuse_fitted(name: str, use: str, value: Any) -> None:
    from rankgrove.rankers.base.estimator import BaseRanker

    if isinstance(value, BaseRanker) and value.__sklearn_is_fitted__():
        raise ValueError(
            f"parameter {name} of {use} is a fitted {type(value).__name__}, which may have seen "
            "the documents that others are tested on: give one that is not fitted"
        )


def _refuse(name: str, use: str) -> None:
    """Raise an error that suggests the right name of a parameter."""
    try:
        ranker_class(use)(**{name: None})
    except TypeError as error:
        raise ValueError(str(error)) from None


def _split(text: str, separator: str) -> list[str]:
    """Split at separators outside brackets and parentheses."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == separator and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    parts.append(text[begin:])
    return [part for part in parts if part.strip()]


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
    plain = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return known[name].parse(plain)
    except ModelError:
        raise
    except ValueError:
        words = known[name].describe()
        raise ValueError(f"parameter {name} of {use} must be {words}, not {text!r}") from None


def _literal(text: str) -> Any:
    """A value of another library's parameter: number, truth value, list, or else a text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
