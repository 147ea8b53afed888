"""CatBoost's column descriptions: lines ``NUMBER<tab>TYPE[<tab>NAME]`` for CSV without a header."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankgrove._addresses import FilePath, file_path
from rankgrove.data.reading.options import LoadOptions
from rankgrove.errors import DataError

# What the option of reading is that a type of column sets; None: a number, which is a feature.
_TYPES: dict[str, str | None] = {
    "label": "label",
    "target": "label",
    "groupid": "query",
    "queryid": "query",
    "weight": "weight",
    "docid": "doc_id",
    "sampleid": "doc_id",
    "num": None,
    "categ": "categorical",
    "auxiliary": "ignore",
}
_ONE_COLUMN = ("label", "query", "weight", "doc_id")


def apply_description(
    path: str, n_columns: int, options: LoadOptions
) -> tuple[list[str], LoadOptions]:
    """Return the names of the columns, and the options with the roles that a description gives.

    Columns that it does not mention are features. What the caller named himself wins.
    """
    names = [str(number) for number in range(n_columns)]
    roles: dict[str, list[str]] = {}
    for place, number, kind, name in _entries(file_path(path)):
        if not 0 <= number < n_columns:
            raise DataError(f"{place}: column {number}, but the data have {n_columns}")
        if kind.lower() not in _TYPES:
            known = "Label, GroupId, Weight, DocId, Num, Categ, Auxiliary"
            raise DataError(f"{place}: columns of type {kind!r} are not read: there are {known}")
        names[number] = name or names[number]
        role = _TYPES[kind.lower()]
        if role is not None:
            roles.setdefault(role, []).append(names[number])
    for role in _ONE_COLUMN:
        if len(roles.get(role, ())) > 1:
            raise DataError(f"{path}: two columns are the {role}: {', '.join(roles[role])}")
    given: dict[str, Any] = {
        role: columns[0] if role in _ONE_COLUMN else columns
        for role, columns in roles.items()
        if getattr(options, role) is None
    }
    return names, replace(options, **given)


def _entries(path: FilePath) -> list[tuple[str, int, str, str]]:
    try:
        with path.open("rb") as file:
            lines = file.read().decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        fields = line.split("\t")
        digits = fields[0].strip()
        if len(fields) not in (2, 3) or not (digits.isascii() and digits.isdigit()):
            raise DataError(f"{place}: {line[:60]!r} is not 'NUMBER<tab>TYPE[<tab>NAME]'")
        name = fields[2].strip() if len(fields) == 3 else ""
        entries.append((place, int(digits), fields[1].strip(), name))
    return entries
