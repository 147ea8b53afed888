"""The options of reading, each declared once.

A field of ``ReadingArguments``, ``LoadArguments`` or ``ScanArguments`` is an option: its type, its
default, what it means, and which sources accept it. The signatures and docstrings of ``load`` and
``scan`` (``takes_options``), what readers accept (``accepted_by``), the options of the command line
(``cli/options.py``) and those of a fit on a cluster (``distributed/partitions.py``) follow.
"""

# ruff: noqa: RUF009 - an option is a field of a dataclass

from __future__ import annotations

import functools
import inspect
import operator
import os
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast

import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Absent, Dataset, SharedQueries

Progress = Callable[[int, int], None]
# Kinds of sources: LETOR text, tables (files and frames), CSV alone, matrices, Datasets.
Kind = Literal["text", "table", "csv", "matrix", "dataset"]
_MATRICES: tuple[Kind, ...] = ("text", "table", "matrix")
_MAX_FEATURES = 10_000_000


def _option(
    default: Any,
    meaning: str,
    *kinds: Kind,
    note: str = "",
    group: Literal["judgments", "features", "labels", "files"] | None = None,
    cluster: bool = False,
    affects_values: bool = True,
) -> Any:
    """Declare an option.

    Parameters
    ----------
    meaning : for docstrings and ``--help``
    kinds : sources that accept it; none: it is not for readers but for ``load`` itself
    note : what docstrings say in addition
    group : options of the command line that it is listed with; None: it is not one
    cluster : whether a fit on a cluster accepts it
    affects_values : whether another value may change what is read
    """
    return field(
        default=default,
        metadata={
            "meaning": meaning,
            "kinds": frozenset(kinds),
            "note": note,
            "group": group,
            "cluster": cluster,
            "affects_values": affects_values,
        },
    )


@dataclass(frozen=True)
class ReadingArguments:
    """The options that ``load`` and ``scan`` have in common."""

    _: KW_ONLY
    feature_names: Sequence[str] | None = _option(
        None, "names of the columns of X; for text also their number", *_MATRICES
    )
    format: str | None = _option(
        None,
        "format of the files (default: by their suffix)",
        note="One of letor, parquet, arrow, csv, npz, or given to ``register_reader``",
        group="judgments",
        cluster=True,
    )
    header: bool = _option(
        True,
        "whether the first line of CSV holds the names of the columns; without it they are "
        "numbered from 0",
        "csv",
        group="judgments",
        cluster=True,
    )
    columns: Sequence[str] | None = _option(
        None,
        "names of the columns of CSV without a header line",
        "csv",
        group="judgments",
        cluster=True,
    )
    column_description: str | None = _option(
        None,
        "CatBoost's column description for CSV without a header line",
        "csv",
        note="Lines of number, type (Label, GroupId, Num, Categ, Auxiliary, ...) and perhaps name",
        group="judgments",
        cluster=True,
    )
    label: str | int | None = _option(
        None,
        "column of a table with the labels (default: found by its name)",
        "table",
        group="judgments",
        cluster=True,
    )
    query: str | int | None = _option(
        None,
        "column of a table with the query ids (default: found by its name); 'comment': the "
        "comments of text that has no qid",
        *("text", "table"),
        group="judgments",
        cluster=True,
    )
    doc_id: str | int | None = _option(
        None,
        "column of a table with document ids (default: found by its name)",
        "table",
        group="judgments",
        affects_values=False,
    )
    weight: str | int | None = _option(
        None,
        "column of a table with row weights (default: found by its name)",
        "table",
        group="features",
        cluster=True,
    )
    position: str | int | None = _option(
        None,
        "column of a table with the position (from 1) at which each document was shown, if labels "
        "are clicks",
        "table",
        note="It is no feature; rankers with a ``position_bias`` correct for it",
        group="features",
        cluster=True,
    )
    propensity: str | int | None = _option(
        None,
        "column of a table with the probability that each document was examined, if labels are "
        "clicks",
        "table",
        group="features",
        cluster=True,
    )
    features: Sequence[str] | None = _option(
        None,
        "feature columns of a table (default: those of the model, or all that are left)",
        *_MATRICES,
        note="They are read in this order. By default, columns that look like a label, an id or an "
        "index are left out. ``[]`` reads only labels and queries, also from text",
        group="features",
        cluster=True,
    )
    ignore: Sequence[str] | Literal["texts"] | None = _option(
        None,
        "columns of a table that are not features; texts: all columns without numbers",
        "table",
        group="features",
        cluster=True,
    )
    categorical: Sequence[str] | None = _option(
        None,
        "feature columns whose values are categories: texts, whole numbers or booleans (default: "
        "those of a categorical type, and those of the model); LETOR text: feature numbers",
        *_MATRICES,
        note="Categorical types are ``category`` of pandas, ``Categorical`` and ``Enum`` of polars "
        "and dictionaries of Arrow. Columns of arrays may be given by their numbers from 0, "
        "features of LETOR text by their numbers in the text: ``'3'`` is ``'f3'``",
        group="features",
        cluster=True,
    )
    absent: Absent | None = _option(
        None,
        "value of features that text or a sparse matrix leaves out: 0 or missing (default: as in "
        "the training data of the model, else zero)",
        *("text", "matrix"),
        note="``NaN`` and ``NULL`` in the data are always missing values",
        group="features",
        cluster=True,
    )
    n_features: int | None = _option(
        None,
        "number of features, for data in which the last ones may not occur",
        *("text", "matrix"),
        group="features",
        cluster=True,
    )
    first_feature: Literal[0, 1] | None = _option(
        None,
        "number of the first feature of text (default: 0 if number 0 occurs, else 1)",
        "text",
        group="features",
        cluster=True,
    )
    negative_labels: Literal["error", "keep", "drop"] = _option(
        "error",
        "rows with a negative label (unjudged documents): an error (the default), kept, or left "
        "out",
        *(*_MATRICES, "dataset"),
        group="labels",
        cluster=True,
    )
    shared_queries: SharedQueries = _option(
        "error",
        "a query id in two files: an error (the default), one query, or two",
        group="files",
    )
    like: Any = _option(
        None,
        "a Dataset or fitted ranker whose columns these data must have",
        note="Columns are matched by name if both have names, and text is read with the options of "
        "that data (``absent``, first feature)",
    )
    progress: bool | Progress | None = _option(
        None,
        "show the progress of reading",
        "text",
        note="None (large files on a terminal), True, False, or a function of the bytes read and "
        "the total bytes",
        affects_values=False,
    )
    n_jobs: int | None = _option(
        None, "number of threads; None or -1 for all", "text", "table", affects_values=False
    )


@dataclass(frozen=True)
class ScanArguments(ReadingArguments):
    """The options of ``scan``."""

    _: KW_ONLY
    cache: str | os.PathLike[str] | None = _option(
        None,
        "cache folder of bins and codes, which later fits of the same files with the same options "
        "use again (default: the variable RANKGROVE_CACHE, else no cache)",
        note="See ``clear_cache``",
    )


@dataclass(frozen=True)
class LoadArguments(ReadingArguments):
    """The options of ``load``."""

    y: npt.ArrayLike | None = _option(None, "labels, for a matrix without them", "table", "matrix")
    _: KW_ONLY
    qid: npt.ArrayLike | None = _option(
        None,
        "query id of each row, if the source has none",
        *_MATRICES,
        note="A file ``FILE.query`` or ``FILE.group`` beside text is found",
    )
    group_sizes: npt.ArrayLike | None = _option(
        None, "number of consecutive rows of each query, instead of qid", *_MATRICES
    )
    sample_weight: npt.ArrayLike | None = _option(
        None, "weight of each row, if the source has none", *_MATRICES
    )
    doc_ids: npt.ArrayLike | None = _option(
        None, "document id of each row, if the source has none", *_MATRICES
    )
    sparse: bool | None = _option(
        None,
        "whether the X of text or of a sparse matrix stays sparse (``data.sparse``) or becomes an "
        "array",
        *("text", "matrix"),
        note="The values are the same. None: it stays sparse if it has at least 1000 columns and "
        "at most 5 % of the entries are stored (for text, the first lines decide)",
    )
    comments: bool = _option(
        True,
        "whether to keep the comments of text (and the document ids in them)",
        "text",
        affects_values=False,
    )


@dataclass(frozen=True)
class LoadOptions(LoadArguments):
    """The checked options of one reading, as readers get them.

    Attributes
    ----------
    like : the columns that the data are to have
    absent_like : how absent features were read in the data that these are to be like
    unread : what need not be there and is not read: "label", "query"
    own_categories : whether categorical columns keep values that those of ``like`` do not have
    by_columns : whether batches of tables are wanted column by column, as a stream keeps them
    """

    _: KW_ONLY
    like: Columns | None = None
    absent_like: Absent | None = None
    unread: frozenset[str] = frozenset()
    own_categories: bool = False
    by_columns: bool = False

    def __post_init__(self) -> None:
        """Check values; a single column name becomes a list."""
        for name, choices in _choices().items():
            _check_choice(name, getattr(self, name), choices)
        for name in ("n_features", "first_feature"):
            object.__setattr__(self, name, _whole_number(name, getattr(self, name)))
        if self.n_features is not None and not 0 <= self.n_features <= _MAX_FEATURES:
            raise ValueError(
                f"n_features must be between 0 and {_MAX_FEATURES}, not {self.n_features}"
            )
        for name in ("features", "categorical"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, [value])
            elif value is not None and not isinstance(value, Iterable):
                raise ValueError(f"{name} must be names of columns, not {value!r:.60}")
        if isinstance(self.ignore, str) and self.ignore != "texts":
            object.__setattr__(self, "ignore", [self.ignore])

    @property
    def absent_value(self) -> Absent:
        """The reading of absent features: the caller's, or that of ``like``."""
        return self.absent or self.absent_like or "zero"

    def given(self) -> set[str]:
        """Return the names of the options that the caller gave: those that are not the default."""
        return {
            option.name
            for option in fields(LoadArguments)
            if (value := getattr(self, option.name)) is not option.default
            and not _equal(value, option.default)
        }

    def cache_key(self) -> str:
        """Return a text that is equal for options that read equal values."""
        values = {
            option.name: getattr(self, option.name)
            for option in fields(LoadArguments)
            if option.metadata["affects_values"]
        }
        values |= {"absent": self.absent_value, "unread": sorted(self.unread)}
        return repr(sorted(values.items()))


def load_options(arguments: Mapping[str, Any], **others: Any) -> LoadOptions:
    """Return the options of a caller of ``load`` or ``scan``, checked."""
    like = arguments.get("like")
    columns = None if like is None else Columns.of(like)
    changes: dict[str, Any] = {"like": columns}
    if columns is not None and isinstance(like, Dataset) and columns.categories:
        # The same columns are categorical, but values that only these data have are kept.
        named = arguments.get("categorical") or ()
        own = [columns.all_names[j] for j in columns.categories]
        changes["categorical"] = list(dict.fromkeys([*named, *own]))
        changes["like"] = replace(columns, categories={})
        others = {**others, "own_categories": True}
    return LoadOptions(**{**arguments, **changes}, absent_like=absent_like(like), **others)


def absent_like(like: Any) -> Absent | None:
    """Return how absent features were read in the data of a Dataset or fitted ranker."""
    absent: Absent | None = getattr(getattr(like, "model_", like), "absent", None)
    return absent


# The options that a reader accepts or refuses; the others are for ``load`` itself.
FOR_READERS = frozenset(option.name for option in fields(LoadArguments) if option.metadata["kinds"])


def accepted_by(*kinds: Kind) -> frozenset[str]:
    """Return the names of the options that sources of these kinds accept."""
    return frozenset(
        option.name
        for option in fields(LoadArguments)
        if option.metadata["kinds"].intersection(kinds)
    )


def accepted_by_clusters() -> tuple[str, ...]:
    """Return the names of the options that a fit on a cluster accepts."""
    return tuple(option.name for option in fields(LoadArguments) if option.metadata["cluster"])


_P = ParamSpec("_P")
_T = TypeVar("_T")


def takes_options(
    declaration: Callable[_P, ReadingArguments],
) -> Callable[[Callable[..., _T]], Callable[Concatenate[Any, _P], _T]]:
    """Decorator that sets signature and docs of a function from the declared options.

    The docstring has a line ``OPTIONS`` where they are listed. Type checkers see the parameters of
    the declaration's constructor after the source.
    """

    def decorate(function: Callable[..., _T]) -> Callable[Concatenate[Any, _P], _T]:
        own = inspect.signature(function)
        source = own.parameters["source"]
        declared = inspect.signature(declaration).parameters
        signature = own.replace(parameters=[source, *declared.values()])

        @functools.wraps(function)
        def checked(*arguments: Any, **options: Any) -> _T:
            try:
                bound = signature.bind(*arguments, **options)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            return function(**bound.arguments)

        described = _described(declaration, declared)
        checked.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("OPTIONS", described)
        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(Callable[Concatenate[Any, _P], _T], checked)

    return decorate


def _described(declaration: Any, names: Iterable[str]) -> str:
    """Return the lines of a docstring about the options, in the order of the names."""
    options = {option.name: option for option in fields(declaration)}
    lines = []
    for name in names:
        choices = ", ".join(repr(choice) for choice in _choices().get(name, ()))
        words = (options[name].metadata["meaning"], options[name].metadata["note"])
        text = ". ".join(part for part in words if part)
        values = f"{{{choices}}}, " if choices else ""
        lines += textwrap.wrap(f"{name} : {values}{text}", 95, subsequent_indent="    ")
    return "\n".join(lines)


@functools.cache
def _choices() -> dict[str, tuple[Any, ...]]:
    """Return the choices of the options that have a fixed set of values."""
    return {
        name: choices
        for name, type in option_types().items()
        if (choices := choices_of(type)) is not None
    }


def option_types() -> dict[str, Any]:
    """Return the types of all options of ``load`` by their names."""
    # (Not of the class: Python 3.10 takes the marker KW_ONLY for an annotation that is no type.)
    annotations = {option.name: option.type for option in fields(LoadArguments)}
    return typing.get_type_hints(types.SimpleNamespace(__annotations__=annotations), globals())


def choices_of(type: Any) -> tuple[Any, ...] | None:
    """Return the values of a Literal type; None for other types."""
    members = typing.get_args(type) if typing.get_origin(type) in _UNIONS else (type,)
    values: list[Any] = []
    for member in members:
        if member is types.NoneType:
            values.append(None)
        elif member is bool:
            values += [True, False]
        elif typing.get_origin(member) is Literal:
            values += typing.get_args(member)
        else:
            return None
    return tuple(values)


_UNIONS = (typing.Union, types.UnionType)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise ValueError(f"{name} must be one of {known}, not {value!r}")


def _whole_number(name: str, value: Any) -> int | None:
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None


def _equal(value: Any, default: Any) -> bool:
    return isinstance(value, (str, bool, int)) and bool(value == default)
