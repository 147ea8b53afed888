"""Maps of categorical columns of a matrix to the codes of other dictionaries."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence

import numpy as np

from rankgrove.data.core.categories import MISSING_WORDS, Categories, CategoriesByColumn
from rankgrove.data.core.category_maps import Table, as_numbers_table, looked_up, recoding
from rankgrove.data.matrix.coded_columns import coded_values
from rankgrove.data.matrix.feature_matrix import Array, ColumnMap, FeatureMatrix
from rankgrove.errors import DataWarning

# Share of the values of a column from which unknown categories are a warning.
UNSEEN_SHARE = 0.1


def code_maps(
    matrix: FeatureMatrix,
    wanted: CategoriesByColumn,
    names: Sequence[str],
    what: str,
    owner: str,
) -> dict[int, ColumnMap]:
    """Return the maps of the columns whose codes, or numbers, differ from those that are wanted.

    Numbers of a column that is to be categorical are categories by value; categories of one that is
    to hold numbers must be numbers. Errors and warnings call the matrix ``what``, and who has the
    dictionaries ``owner``.
    """
    maps = {}
    unseen: dict[str, tuple[int, int]] = {}
    for j in sorted({*wanted, *matrix.categories}):
        where = f"{what}: column {names[j]!r}"
        own = matrix.categories.get(j)
        if j not in wanted:
            assert own is not None
            maps[j] = table_map(as_numbers_table(own, where))
            continue
        codes: Array | None = None
        if own is None:
            column = matrix.take_columns(j, j + 1)[:, 0]
            codes, own = coded_values(column, names[j], untyped=True)
            table = recoding(own, wanted[j], where, owner)
            maps[j] = number_map(own, table)
        else:
            table = recoding(own, wanted[j], where, owner)
            if not np.array_equal(table, np.arange(len(table))):
                maps[j] = table_map(table)
            _warn_of_words(matrix, j, own, wanted[j], where, owner)
        if np.isnan(table).any():
            codes = matrix.take_columns(j, j + 1)[:, 0] if codes is None else codes
            known = codes[~np.isnan(codes)].astype(np.int64)
            unseen[names[j]] = (int(np.isnan(table)[known].sum()), len(known))
    _warn_of_unseen(unseen, what, owner)
    return maps


def table_map(table: Table) -> ColumnMap:
    """Return the map of codes by a table."""
    return ColumnMap(lambda codes: looked_up(table, codes), _digest(table))


def number_map(own: Categories, table: Table) -> ColumnMap:
    """Return the map of numbers, which are the values of a dictionary, by a table of its codes."""
    values = np.array([float(value) for value in own.values])

    def apply(numbers: Array) -> Array:
        places = np.searchsorted(values, numbers)
        return np.where(np.isnan(numbers), np.float32(np.nan), np.append(table, np.nan)[places])

    return ColumnMap(apply, _digest(values, table))


def _digest(*arrays: Array) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def _warn_of_words(
    matrix: FeatureMatrix, j: int, own: Categories, known: Categories, where: str, owner: str
) -> None:
    """Tell that fields of CSV are missing that may be meant for a category, such as NA."""
    words = [word for word in MISSING_WORDS if word in known.values and word not in own.values]
    if not own.untyped or not words:
        return
    n_missing = int(np.isnan(matrix.take_columns(j, j + 1)).sum())
    if n_missing:
        warnings.warn(
            f"{where}: {n_missing:,} values are missing, and {owner} knows the category "
            f"{words[0]!r}, which CSV has to have in quotes: without them it is a missing value",
            DataWarning,
            stacklevel=5,
        )


def _warn_of_unseen(unseen: dict[str, tuple[int, int]], what: str, owner: str) -> None:
    shown = [
        f"{count:,} of {total:,} values of {name!r}"
        for name, (count, total) in unseen.items()
        if count >= UNSEEN_SHARE * total and count
    ]
    if shown:
        warnings.warn(
            f"{what}: {', '.join(shown)} are categories that {owner} does not know, and count as "
            "missing",
            DataWarning,
            stacklevel=4,
        )
