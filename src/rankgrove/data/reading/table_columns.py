"""Roles of a table's columns: label, query, weight, document id, comment and features."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.names import first_duplicate
from rankgrove.data.reading.options import LoadOptions
from rankgrove.errors import DataError

LABEL, QUERY, WEIGHT, DOC_ID, COMMENT = "label", "qid", "weight", "doc_id", "comment"
POSITION, PROPENSITY = "position", "propensity"
# In the metadata of Arrow tables: ``Dataset.absent``, the names of categorical columns as JSON, and
# whether the columns ``position`` and ``propensity`` say where documents were shown.
ABSENT, CATEGORICAL = "rankgrove.absent", "rankgrove.categorical"
SHOWN = "rankgrove.shown"
_LIKE = " (like=)"  # the model, in Python's words

# Names taken by convention, compared without case; the first is the one that is written.
_CONVENTIONS = {
    LABEL: (LABEL, "relevance", "grade", "rel", "target", "y"),
    QUERY: (QUERY, "query_id", "queryid", "query", "q_id", "group_id", "group"),
    WEIGHT: (WEIGHT, "sample_weight"),
    DOC_ID: (DOC_ID, "docid", "document_id", "docno", "did", "document", "doc"),
    COMMENT: (COMMENT,),
}
# Columns of these names give the answer away or number the rows: features only if named so.
_NEVER_FEATURES = re.compile(
    "|".join(name for names in _CONVENTIONS.values() for name in names)
    + r"|labels|grades|judg(e?)ment|relevance_(label|grade|score)|id|index|row_?(id|number)"
    r"|unnamed: ?\d+(_level_\d+)?|__index_level_\d+__|level_\d+|",
    re.IGNORECASE,
)
# Labels of these names are clicks, and columns of those names say where a document was shown: the
# ranking that users saw would be learnt from them, so that they are features only if named so.
_CLICKS = re.compile(r"(is_?|was_?|n_?|num_?)?click(s|ed)?(_.*)?", re.IGNORECASE)
_POSITIONS = re.compile(
    r"(((display|click|result|serp|list|item|shown|original)_?)?(position|rank|pos)|slot|ranking)"
    r"|(examination_?)?propensity",
    re.IGNORECASE,
)
# Columns of these names may hold what another model, or the ranking that was judged, made of a
# document: features, as a first stage's score is one, but with a warning.
_OUTCOMES = re.compile(
    r"rank(ing)?|((display|click|result|serp)_?)?position"
    r"|scores?|predict(ed|ions?)|preds?|y_(pred|hat|score)"
    r"|(model|final|ranker|lambdamart|lightgbm|lgbm?|xgboost|xgb|catboost)_(score|rank|pred(iction)?)",
    re.IGNORECASE,
)


# The roles of columns besides features.
SIDES = ("label", "query", "weight", "position", "propensity", "doc_id", "comment")


@dataclass(frozen=True)
class TableColumns:
    """Names of the columns of a table by role; None where there is no such column.

    ``left_out`` are those that look like a label, an id or an index without being used as one,
    ``positions`` those that look like a position and are left out because the labels are clicks,
    ``outcomes`` the features that nobody named and that look like a rank or a model's score,
    ``categorical`` the features that were named as categorical, or are so in the model.
    """

    label: str | None
    query: str | None
    weight: str | None
    doc_id: str | None
    comment: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    position: str | None = None
    propensity: str | None = None
    positions: tuple[str, ...] = ()

    def numbers(self) -> tuple[str | None, ...]:
        """Names of the columns besides features that hold numbers."""
        return self.label, self.weight, self.position, self.propensity

    def wanted(self) -> list[str]:
        """Names of all columns to read, without repetition."""
        sides = [getattr(self, kind) for kind in SIDES]
        return list(dict.fromkeys([*(name for name in sides if name is not None), *self.features]))


def find_columns(names: Sequence[str], options: LoadOptions) -> TableColumns:
    """Find the column of each role by the given name, else by convention."""
    if (twice := first_duplicate(names)) is not None:
        raise DataError(f"the column {twice!r} occurs twice")
    features = None if options.features is None else tuple(map(str, options.features))
    if features is None and options.like is not None:
        features = _like(names, options.like)
    if options.ignore == "texts":  # and a column that is called so
        ignored = {"texts"}.intersection(names)
    else:
        ignored = {_given(name, names) for name in options.ignore or ()}
        for name in sorted(ignored.intersection(features or ())):
            raise DataError(f"column {name!r} cannot be ignored: {_wanted_by(options)} it")
    categorical = _categorical(names, features, ignored, options)
    found = _Finder(names, {*(features or ()), *ignored, *categorical}, options)
    label = found.column(LABEL, options.label, options.y is not None)
    grouped = options.qid is not None or options.group_sizes is not None
    query = found.column(QUERY, options.query, grouped)
    weight = found.column(WEIGHT, options.weight, options.sample_weight is not None)
    doc_id = found.column(DOC_ID, options.doc_id, options.doc_ids is not None)
    comment = found.column(COMMENT, None, False)
    if label is None and options.y is None and "label" not in options.unread:
        raise found.missing_column_error("labels", LABEL, "label")
    if query is None and not grouped and "query" not in options.unread:
        raise found.missing_column_error("query ids", QUERY, "query")
    position = None if options.position is None else _given(options.position, names)
    propensity = None if options.propensity is None else _given(options.propensity, names)
    left_out: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    if features is None:
        taken = {label, query, weight, doc_id, comment, position, propensity} | ignored
        positions = _positions(label, [n for n in names if n not in taken and n not in categorical])
        taken |= set(positions)
        rest = [name for name in names if name not in taken]
        features = tuple(
            name
            for name in rest
            if name in categorical or not _NEVER_FEATURES.fullmatch(name.strip())
        )
        left_out = tuple(name for name in rest if name not in set(features))
        outcomes = outcomes_among(features)
    else:
        features = tuple(_given(name, names) for name in features)
    return TableColumns(
        None if "label" in options.unread else label,
        None if "query" in options.unread else query,
        weight,
        doc_id,
        comment,
        features,
        left_out,
        tuple(name for name in outcomes if name not in categorical),
        categorical,
        position,
        propensity,
        positions,
    )


def _named_sides(options: LoadOptions) -> set[str]:
    """Return the columns that the caller named for a role other than a feature."""
    named = (options.label, options.query, options.weight, options.doc_id)
    shown = (options.position, options.propensity)
    return {str(name) for name in (*named, *shown) if name is not None}


def _categorical(
    names: Sequence[str],
    features: tuple[str, ...] | None,
    ignored: set[str],
    options: LoadOptions,
) -> tuple[str, ...]:
    """Return the columns that are categorical by the caller's options or by the model."""
    named = [_given(name, names) for name in options.categorical or ()]
    like = options.like
    sides = _named_sides(options)
    for name in named:
        if name in ignored:
            raise DataError(f"column {name!r} cannot be both in categorical= and in ignore=")
        if name in sides:
            raise DataError(f"column {name!r} cannot be categorical: it is no feature")
        if features is not None and name not in features:
            lacks = f"the model{_LIKE} has no such feature"
            wanted = lacks if options.features is None else "not in features="
            raise DataError(f"column {name!r} is in categorical=, but {wanted}")
        of_model = like is not None and like.names is not None and not options.own_categories
        if of_model and features is not None and name not in _categorical_names(like):
            raise DataError(
                f"column {name!r} is in categorical=, but the model{_LIKE} was trained with "
                "numbers in it"
            )
    if like is not None and features is not None:
        named += _categorical_like(features, like, options)
    return tuple(dict.fromkeys(named))


def _categorical_like(
    features: tuple[str, ...], like: Columns, options: LoadOptions
) -> Sequence[str]:
    """Return the features that are categorical in the model.

    The features that the caller named may be some of the model's, in any order.
    """
    if options.features is not None and like.names is not None:
        return [name for name in features if name in _categorical_names(like)]
    return [features[j] for j in like.categories if j < len(features)]


def _categorical_names(columns: Columns | None) -> set[str]:
    return set() if columns is None else {columns.all_names[j] for j in columns.categories}


def _positions(label: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that look like a position if the labels are clicks."""
    if label is None or not _CLICKS.fullmatch(label.strip()):
        return ()
    return tuple(name for name in names if _POSITIONS.fullmatch(name.strip()))


def outcomes_among(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that look like a rank or the output of a model."""
    return tuple(name for name in names if _OUTCOMES.fullmatch(name.strip()))


def answers_among(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that look like a label, an id or an index."""
    return tuple(name for name in names if _NEVER_FEATURES.fullmatch(name.strip()))


def _wanted_by(options: LoadOptions) -> str:
    return f"the model{_LIKE} uses" if options.features is None else "features= names"


def _like(names: Sequence[str], like: Columns) -> tuple[str, ...] | None:
    """Return the columns of a model's features if they are matched by name, else None."""
    if like.names is not None and set(like.names) <= set(names):
        return like.names
    places = like.places(names, "the table")
    return None if places is None else tuple(names[place] for place in places)


class _Finder:
    """Looks for the columns of a table."""

    def __init__(self, names: Sequence[str], taken: set[str], options: LoadOptions) -> None:
        self.names = names
        self.taken = taken | _named_sides(options)

    def column(self, kind: str, given: str | int | None, replaced: bool) -> str | None:
        """Return the column given by name or found by convention, or None."""
        if given is not None:
            return _given(given, self.names)
        names = [name for name in self.names if name not in self.taken]
        found = [name for name in names if name.lower() in _CONVENTIONS[kind]]
        if replaced or not found:
            return None
        best = min(found, key=lambda name: _CONVENTIONS[kind].index(name.lower()))
        if [name.lower() for name in found].count(best.lower()) > 1:
            raise DataError(f"columns {_shown(found)} could all be the {kind}: name the right one")
        return best

    def missing_column_error(self, what: str, kind: str, option: str) -> DataError:
        """Return the error of a table that lacks a column."""
        usual = {_letters(name) for name in _CONVENTIONS[kind]}
        alike = [name for name in self.names if _letters(name) in usual]
        hint = f"; is it {alike[0]!r}?" if alike else ""
        if alike and alike[0] in self.taken:
            hint = f"; {alike[0]!r} is named as something else, such as a feature"
        return DataError(
            f"no column of {what} (such as {', '.join(map(repr, _CONVENTIONS[kind][:3]))}) among "
            f"{_shown(self.names)}: name it with {option}= "
            f"(--{option} on the command line){hint}"
        )


def _letters(name: str) -> str:
    """Return a name without case, blanks and signs: ``Query ID`` is like ``query_id``."""
    return re.sub(r"[\W_]+", "", name.lower())


def _given(name: str | int, names: Sequence[str]) -> str:
    """Return the name of a column that the caller named, also by an integer name."""
    if str(name) in names:
        return str(name)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise DataError(f"there is no column {str(name)!r}{hint}; there are {_shown(names)}")


def _shown(names: Sequence[str], limit: int = 12) -> str:
    """List names, those that look like labels, queries and ids first."""
    ordered = sorted(names, key=lambda name: not _NEVER_FEATURES.fullmatch(name.strip()))
    shown = ", ".join(repr(name) for name in ordered[:limit])
    return shown + (f", ... ({len(names)} in all)" if len(names) > limit else "")
