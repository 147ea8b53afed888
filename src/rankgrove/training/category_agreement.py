"""The dictionaries of a fit: the categories that training data have, agreed on by all workers.

A fit keeps the values that some document has, in canonical order, whatever dictionary the caller's
data came with. Of more than ``limit`` values, the rarest share one code. So the model does not
depend on the form of the data: on an ``Enum`` with unused values, a slice of a larger Dataset, or
how rows are divided over workers.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import MAX_CATEGORIES, MOST_CODES, Categories, Value, key, keys
from rankgrove.data.core.category_maps import recoding, refuse_other_kinds, typed
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.matrix.code_maps import table_map
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import DataError
from rankgrove.workers.row_shard import RowShard

Counts = dict[tuple[str, Value], int]


def agree_on_categories(
    data: RankingInput, shard: RowShard, limit: int, init: Columns | None = None
) -> RankingInput:
    """Return the data with the codes of the dictionaries of this fit; a collective call.

    Parameters
    ----------
    limit : most codes of a column
    init : the columns of a model that is continued: its categories keep codes of their own
    """
    if not data.X.categories:
        return data
    before = _dictionaries_before(data.columns, init)
    categories, maps = {}, {}
    for j in sorted(data.X.categories):
        where = f"column {data.columns.all_names[j]!r}"
        own = data.X.categories[j]
        counts = _shared_counts(own, _rows_of_codes(data.X, j, own.n_codes), shard, where)
        categories[j] = _dictionary(counts, before.get(j), limit, where)
        table = recoding(own, categories[j], where)
        if not np.array_equal(table, np.arange(len(table))):
            maps[j] = table_map(table)
    X = data.X.map_columns(maps, categories) if maps else data.X.with_categories(categories)
    return replace(data, X=X, columns=replace(data.columns, categories=categories))


def _dictionaries_before(columns: Columns, init: Columns | None) -> dict[int, Categories]:
    """Return the dictionaries of the model that is continued, by the columns of the data."""
    if init is None or not init.categories:
        return {}
    where = init.places_in(columns, "the data")
    return {int(where[j]): found for j, found in init.categories.items()}


def _rows_of_codes(X: FeatureMatrix, column: int, n_codes: int) -> npt.NDArray[np.int64]:
    ((_, codes),) = X.each_column([column])
    known = codes[~np.isnan(codes)].astype(np.int64)
    counts: npt.NDArray[np.int64] = np.bincount(known, minlength=n_codes).astype(np.int64)
    return counts


def _shared_counts(
    own: Categories, rows: npt.NDArray[np.int64], shard: RowShard, where: str
) -> Counts:
    """Return the number of rows of each value over all workers."""
    if own.pooled:
        raise DataError(
            f"{where}: rare values were pooled when the data were read like a model: load them "
            "again, without like="
        )
    used = np.flatnonzero(rows).tolist()
    said = [(own.untyped, [own.values[code] for code in used], rows[used].tolist())]
    if shard.communicator is not None:
        said = [
            json.loads(part) for part in shard.communicator.gather(json.dumps(said[0]).encode())
        ]
    counts: Counts = {}
    untyped: Counts = {}
    for is_untyped, values, numbers in said:
        total = untyped if is_untyped else counts
        if not total:
            total.update(zip(keys(values), numbers, strict=True))
            continue
        for one, number in zip(keys(values), numbers, strict=True):
            total[one] = total.get(one, 0) + number
    if untyped:
        _add_untyped(counts, untyped, where)
    return counts


def _add_untyped(counts: Counts, untyped: Counts, where: str) -> None:
    """Decide what untyped values are, and add them to the typed ones."""
    loose = Categories.of([value for _, value in untyped], limit=MOST_CODES, untyped=True)
    strict = typed(loose)
    if counts:
        others = Categories.of([value for _, value in counts], limit=MOST_CODES)
        refuse_other_kinds(strict, others, where)
    for value, code in zip(loose.values, recoding(loose, strict, where).tolist(), strict=True):
        meant = key(strict.values[int(code)])
        counts[meant] = counts.get(meant, 0) + untyped[key(value)]


def _dictionary(counts: Counts, before: Categories | None, limit: int, where: str) -> Categories:
    """Return the dictionary of these values, with those of a model that is continued."""
    if before is None:
        return Categories.of([value for _, value in counts], counts.values(), limit)
    new = {one: number for one, number in counts.items() if one not in before.codes}
    if not new:
        return before
    if counts:
        refuse_other_kinds(
            Categories.of([value for _, value in counts], limit=MOST_CODES),
            before,
            where,
            "the model that is continued",
        )
    room = min(max(limit, before.n_codes), MAX_CATEGORIES) - len(before.values) - 1
    if room >= len(new) + (not before.pooled):
        added, rare = [value for _, value in new], []
    else:
        found = Categories.of([value for _, value in new], new.values(), max(room, 1) + 1)
        added, rare = list(found.values) if room > 0 else [], list(found.pooled)
        if room <= 0:
            rare = [value for _, value in new]
    values = Categories.of([*before.values, *added], limit=MOST_CODES).values
    pooled = Categories.of([*before.pooled, *rare], limit=MOST_CODES).values
    return Categories(values, pooled)
