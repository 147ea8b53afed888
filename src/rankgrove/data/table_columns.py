"""Which columns of a table are label, query, weight, document id, comment and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankgrove.data.options import LoadOptions
from rankgrove.errors import DataError

LABEL, QUERY, WEIGHT, DOC_ID, COMMENT = "label", "qid", "weight", "doc_id", "comment"

# Names taken by convention, compared without case; the first is the one that is written.
_CONVENTIONS = {
    LABEL: (LABEL, "relevance", "grade", "rel", "target", "y"),
    QUERY: (QUERY, "query_id", "queryid", "query", "q_id", "group_id", "group"),
    WEIGHT: (WEIGHT, "sample_weight"),
    DOC_ID: (DOC_ID, "docid", "document_id", "docno", "did"),
    COMMENT: (COMMENT,),
}


@dataclass(frozen=True)
class TableColumns:
    """Names of the columns of a table by what they hold; None where there is no such column."""

    label: str | None
    query: str | None
    weight: str | None
    doc_id: str | None
    comment: str | None
    features: tuple[str, ...]


def find_columns(names: Sequence[str], options: LoadOptions) -> TableColumns:
    """Find each kind of column by the name given, else by convention."""
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the column {twice!r} occurs twice")
    wanted = set() if options.features is None else set(options.features)

    def find(kind: str, given: str | None, replaced: bool) -> str | None:
        if given is not None:
            if given not in names:
                raise DataError(f"there is no column {given!r}; there are {_shown(names)}")
            return given
        found = [name for name in names if name.lower() in _CONVENTIONS[kind]]
        found = [name for name in found if name not in wanted]
        if replaced or not found:
            return None
        best = min(found, key=lambda name: _CONVENTIONS[kind].index(name.lower()))
        if [name.lower() for name in found].count(best.lower()) > 1:
            raise DataError(f"columns {_shown(found)} could all be the {kind}: name the right one")
        return best

    unread = options.unread
    grouped = options.qid is not None or options.group_sizes is not None
    label = find(LABEL, options.label, options.y is not None)
    query = find(QUERY, options.query, grouped)
    weight = find(WEIGHT, options.weight, options.sample_weight is not None)
    doc_id = find(DOC_ID, options.doc_id, options.doc_ids is not None)
    comment = find(COMMENT, None, False)
    if label is None and options.y is None and "label" not in unread:
        raise DataError(
            f"no column of labels (such as {', '.join(_CONVENTIONS[LABEL][:3])}) among "
            f"{_shown(names)}: name it with label= (--label on the command line)"
        )
    if query is None and not grouped and "query" not in unread:
        raise DataError(
            f"no column of query ids (such as {', '.join(_CONVENTIONS[QUERY][:3])}) among "
            f"{_shown(names)}: name it with query= (--query on the command line)"
        )
    taken = {label, query, weight, doc_id, comment}
    if options.features is None:
        features = tuple(name for name in names if name not in taken)
    else:
        features = tuple(options.features)
        for name in features:
            if name not in names:
                raise DataError(f"there is no column {name!r}; there are {_shown(names)}")
    return TableColumns(
        None if "label" in unread else label,
        None if "query" in unread else query,
        weight,
        doc_id,
        comment,
        features,
    )


def _shown(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown + (f", ... ({len(names)} in all)" if len(names) > limit else "")
