"""The Dataset: feature matrix, labels and queries of judged documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rankgrove._counts import counted
from rankgrove._html import html_table
from rankgrove.data.core.categories import Categories, CategoriesByColumn
from rankgrove.data.core.category_maps import looked_up, recoding, typed, united
from rankgrove.data.core.names import (
    NameMatch,
    default_feature_names,
    first_duplicate,
    match_names,
)
from rankgrove.data.core.pandas_index import warn_of_other_order
from rankgrove.data.core.queries import QueryGroups, query_groups, query_ids
from rankgrove.data.core.shown_positions import propensities, shown_positions
from rankgrove.data.matrix.arrow_tables import decoded
from rankgrove.data.matrix.coded_array import CodedArray, refuse_coded
from rankgrove.data.matrix.conversion import column_names, convert, refuse_absent_rows
from rankgrove.data.matrix.dense import DenseMatrix, as_matrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.numbers import as_numbers, row_labels, row_numbers
from rankgrove.data.matrix.sparse import SparseMatrix, is_sparse, stacked
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


Absent = Literal["zero", "missing"]
SharedQueries = Literal["error", "merge", "apart"]


class Dataset:
    """Judged documents of queries: one row per document.

    Rows stay in the caller's order; ``groups`` says which rows belong to which query.

    Parameters
    ----------
    X : (n_rows, n_features) matrix; float32 in C order is taken without a copy. A sparse matrix of
        scipy stays sparse (see ``data.matrix.sparse.SparseMatrix``). All columns of a pandas,
        polars or pyarrow table are features (``load`` finds labels and queries among them).
    y : labels, one per row: finite numbers, larger is better
    qid : query ids, one per row, integers or strings, in any order
    group_sizes : instead of ``qid``, the number of consecutive rows of each query
    feature_names : one name per column; by default those of the table, or f1, f2, ...
    sample_weight : non-negative weights, one per row
    position : where each row was shown in a result list, from 1, if labels are clicks
    propensity : probability that each row was examined, above 0 and at most 1
    doc_ids, comments : texts, one per row, or None where a row has none
    absent : what features that sparse text (or a sparse matrix) does not mention were read as:
        ``"zero"`` or ``"missing"`` (NaN); None for data in which every value is given
    source : where the data came from, for messages
    categories : the dictionaries of categorical columns, by the number of the column: X holds their
        codes. By default those of the table; ``load`` makes them, too (docs/how-to/categorical.md)
    """

    y: npt.NDArray[np.float64]
    groups: QueryGroups
    feature_names: tuple[str, ...]
    sample_weight: npt.NDArray[np.float64] | None
    position: npt.NDArray[np.int64] | None
    propensity: npt.NDArray[np.float64] | None
    absent: Absent | None
    source: str | None
    categories: CategoriesByColumn

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        *,
        group_sizes: npt.ArrayLike | None = None,
        feature_names: Iterable[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        doc_ids: Any = None,
        comments: Any = None,
        absent: Absent | None = None,
        source: str | None = None,
        categories: CategoriesByColumn | None = None,
        position: npt.ArrayLike | None = None,
        propensity: npt.ArrayLike | None = None,
    ) -> None:
        if absent not in (None, "zero", "missing"):
            raise ValueError(f"absent must be 'zero', 'missing' or None, not {absent!r}")
        self.source = source
        self.absent = absent
        refuse_absent_rows(X, "Dataset")
        beside = {"sample_weight": sample_weight, "position": position, "propensity": propensity}
        warn_of_other_order("Dataset", 2, X=X, y=y, qid=qid, doc_ids=doc_ids, **beside)
        if not isinstance(X, FeatureMatrix) and column_names(X) is not None:
            table = convert(X, categorical=None if categories is None else ())
            feature_names = table.names if feature_names is None else feature_names
            categories = table.categories if categories is None else categories
            X = table if table.entries is not None else table.take_rows(slice(None))
        if categories is None:
            refuse_coded(X)
        self._X = as_features(X, np.nan if absent == "missing" else 0.0)
        n_rows, n_features = self._X.shape
        self.y = row_labels(y, n_rows, "y")
        self._qid = None if qid is None else query_ids(qid)
        self.groups = query_groups(n_rows, qid=self._qid, group_sizes=group_sizes)
        self.feature_names = _as_names(feature_names, n_features)
        self.sample_weight = None
        if sample_weight is not None:
            self.sample_weight = row_numbers(sample_weight, n_rows, "sample_weight")
            if n_rows and self.sample_weight.min() < 0:
                row = int(self.sample_weight.argmin())
                raise DataError(f"sample_weight {self.sample_weight[row]} of row {row} is negative")
        self.position = None if position is None else shown_positions(position, n_rows)
        self.propensity = None if propensity is None else propensities(propensity, n_rows)
        self._doc_ids = _as_texts(doc_ids, "doc_ids", n_rows)
        self._comments = _as_texts(comments, "comments", n_rows)
        self.categories = dict(categories or {})
        self._check_codes()

    def _check_codes(self) -> None:
        """Refuse values of categorical columns that are no codes of their dictionary."""
        if self.categories and self.matrix.entries is not None:
            raise DataError("a sparse matrix has no categorical columns")
        for j, found in self.categories.items():
            if not 0 <= j < self.n_features:
                raise DataError(f"categories of column {j}, of {self.n_features} columns")
            codes = self._X[:, j]
            sound = (codes >= 0) & (codes < found.n_codes) & (np.trunc(codes) == codes)
            wrong = ~sound & ~np.isnan(codes)
            if wrong.any():
                row = int(wrong.argmax())
                raise DataError(
                    f"X[{row}, {j}] = {codes[row]:g} is no code of the {found.n_codes} categories "
                    f"of column {self.feature_names[j]!r}"
                )

    @property
    def X(self) -> npt.NDArray[np.float32] | SparseMatrix:  # noqa: N802
        """The features. With categorical columns, a ``CodedArray``, which rankers do not take."""
        if self.categories and isinstance(self._X, np.ndarray):
            return self._X.view(CodedArray)
        return self._X

    @property
    def n_rows(self) -> int:
        """Number of rows (judged documents)."""
        return len(self._X)

    @property
    def matrix(self) -> FeatureMatrix:
        """X with the names of its columns."""
        matrix = as_matrix(self._X).with_names(self.feature_names)
        return matrix.with_categories(self.categories)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self._X.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_queries

    @property
    def group_sizes(self) -> npt.NDArray[np.int64]:
        """Number of documents of each query, in order of the queries' first appearance."""
        return self.groups.sizes

    @cached_property
    def qid(self) -> npt.NDArray[Any]:
        """Query id of each row."""
        if self._qid is not None:
            return self._qid
        return np.repeat(self.groups.ids, self.groups.sizes)

    @cached_property
    def comments(self) -> npt.NDArray[np.object_] | None:
        """Comment of each row (str, or None where it has none); None if no row has one."""
        if self._comments is None:
            return None
        texts: npt.NDArray[np.object_] = self._comments.to_numpy(zero_copy_only=False)
        return texts

    @cached_property
    def doc_ids(self) -> npt.NDArray[np.object_] | None:
        """Document id of each row: given, or found in LETOR comments as ``docid = ID``."""
        texts = self.doc_id_texts()
        if texts is None:
            return None
        ids: npt.NDArray[np.object_] = texts.to_numpy(zero_copy_only=False)
        return ids

    def comment_texts(self) -> pa.LargeStringArray | None:
        """Comments as an Arrow array (compact, null where a row has none)."""
        return self._comments

    def doc_id_texts(self) -> pa.LargeStringArray | None:
        """Document ids as an Arrow array, taken from the comments if not given."""
        if self._doc_ids is None and self._comments is not None:
            return doc_ids_of_comments(self._comments)
        return self._doc_ids

    @property
    def has_own_doc_ids(self) -> bool:
        """Whether document ids were given, not only found in comments."""
        return self._doc_ids is not None

    def select_rows(self, rows: npt.ArrayLike) -> Dataset:
        """Copy the rows of a boolean mask or of row numbers, in that order."""
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (self.n_rows,):
                raise DataError(
                    f"the mask has shape {rows.shape}, but there are {self.n_rows} rows"
                )
            rows = np.flatnonzero(rows)
        elif rows.dtype.kind not in "iu" and len(rows):
            raise DataError(f"rows must be a mask or whole numbers, not {rows.dtype} values")
        elif len(rows) == 0:
            rows = rows.astype(np.int64)
        elif rows.max() >= self.n_rows or rows.min() < -self.n_rows:
            raise DataError(f"there is no row {rows[np.abs(rows).argmax()]} of {self.n_rows}")
        return Dataset(
            self._X[rows],
            self.y[rows],
            self.qid[rows],
            feature_names=self.feature_names,
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            doc_ids=None if self._doc_ids is None else self._doc_ids.take(rows),
            comments=None if self._comments is None else self._comments.take(rows),
            absent=self.absent,
            source=self.source,
            categories=self.categories,
            position=None if self.position is None else self.position[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
        )

    def select_queries(self, queries: npt.ArrayLike) -> Dataset:
        """Copy the rows of some queries, given as a boolean mask or as positions in ``groups``.

        Rows keep the order they have here, whatever the order of ``queries``.
        """
        queries = np.asarray(queries)
        chosen = np.zeros(self.n_queries, bool)
        if queries.dtype == bool and queries.shape != chosen.shape:
            raise DataError(
                f"the mask has shape {queries.shape}, but there are {self.n_queries} queries"
            )
        try:
            chosen[queries if len(queries) else queries.astype(np.int64)] = True
        except IndexError as error:
            raise DataError(f"queries must be positions below {self.n_queries}: {error}") from None
        return self.select_rows(chosen[self.groups.query_of_row()])

    def with_features(
        self, X: npt.NDArray[np.float32] | FeatureMatrix, feature_names: Iterable[str] | None
    ) -> Dataset:
        """Return the same rows with another feature matrix; nothing else is copied.

        Columns are categorical if the matrix says so; an array has no categorical columns.
        """
        other = Dataset.__new__(Dataset)
        vars(other).update(vars(self))
        other._X = as_features(X)
        if len(other.X) != self.n_rows:
            raise DataError(f"the matrix has {len(other.X)} rows instead of {self.n_rows}")
        other.feature_names = _as_names(feature_names, other.n_features)
        other.categories = dict(X.categories) if isinstance(X, FeatureMatrix) else {}
        return other

    def category_values(self, column: int) -> pa.Array:
        """Return the values of a categorical column, by its number, as an Arrow array."""
        import pyarrow as pa

        known = typed(self.categories[column])
        codes = looked_up(recoding(self.categories[column], known, "X"), self._X[:, column])
        if known.pooled:
            raise DataError(
                f"column {self.feature_names[column]!r}: rare values were pooled when the data "
                "were read like a model: load them again, without like="
            )
        kind = pa.null() if not known.values else None
        indices = pa.array(np.nan_to_num(codes).astype(np.int32), mask=np.isnan(codes))
        return pa.DictionaryArray.from_arrays(indices, pa.array(known.values, kind))

    def __repr__(self) -> str:
        name = "" if self.source is None else f"{self.source}: "
        return (
            f"<Dataset {name}{counted(self.n_rows, 'row', spec='')}, "
            f"{counted(self.n_queries, 'query', spec='')}, "
            f"{counted(self.n_features, 'feature', spec='')}>"
        )

    def _repr_html_(self) -> str:
        """Return sizes and the first features, as a notebook shows them."""
        names, labels = ", ".join(self.feature_names[:8]), np.unique(self.y)
        rows = [
            ("rows", f"{self.n_rows:,}"),
            ("queries", f"{self.n_queries:,}"),
            ("features", f"{self.n_features:,}"),
            ("names", names + (", ..." if self.n_features > 8 else "")),
            ("labels", ", ".join(map("{:g}".format, labels[:8])) + (", ..." * (len(labels) > 8))),
            ("weights", "none" if self.sample_weight is None else "one per row"),
        ]
        return html_table(self.source or "Dataset", ("", ""), rows)


def concatenate(datasets: Sequence[Dataset], shared_queries: SharedQueries = "error") -> Dataset:
    """Concatenate data sets of the same features; columns are in the order of the first.

    ``shared_queries``: what to do if a query id occurs in several of them: refuse, take its rows as
    one query (``"merge"``), or as different queries (``"apart"``: ids become texts like ``2/ID``).
    """
    first = datasets[0]
    if len(datasets) == 1:
        return first
    for other in datasets[1:]:
        if other.absent != first.absent:
            raise DataError(
                f"{first!r} was read with absent={first.absent!r}, {other!r} with {other.absent!r}"
            )
    weights = _joined(datasets, "sample_weight", "sample weights")
    matrices, categories = _united_codes([_features_like(first, d) for d in datasets], first)
    return Dataset(
        stacked(matrices),
        np.concatenate([d.y for d in datasets]),
        _joined_ids(datasets, shared_queries),
        feature_names=first.feature_names,
        sample_weight=weights,
        position=_joined(datasets, "position", "positions"),
        propensity=_joined(datasets, "propensity", "propensities"),
        doc_ids=_concatenate_texts([(d.n_rows, d.doc_id_texts()) for d in datasets])
        if any(d.has_own_doc_ids for d in datasets)
        else None,
        comments=_concatenate_texts([(d.n_rows, d.comment_texts()) for d in datasets]),
        absent=first.absent,
        source=" + ".join(d.source for d in datasets if d.source is not None) or None,
        categories=categories,
    )


def _joined(datasets: Sequence[Dataset], name: str, what: str) -> npt.NDArray[Any] | None:
    """Return the values of rows that all of the data sets have, or None if none has them."""
    values = [getattr(d, name) for d in datasets]
    if all(value is None for value in values):
        return None
    if any(value is None for value in values):
        raise DataError(f"some of the data sets have {what}, others have none")
    return np.concatenate(values)


def _features_like(first: Dataset, other: Dataset) -> FeatureMatrix:
    """Return the matrix of a data set with its columns in the order of another's."""
    if other.feature_names == first.feature_names:
        return other.matrix
    found = match_names(first.feature_names, other.feature_names)
    if how := name_difference(found):
        raise DataError(f"{other!r} has other features than {first!r} {how}: see align_features")
    return other.matrix.select_columns(found.found())


def _united_codes(
    matrices: list[FeatureMatrix], first: Dataset
) -> tuple[list[Any], dict[int, Categories]]:
    """Return matrices whose categorical columns have the codes of common dictionaries."""
    names = first.feature_names
    columns = sorted({j for matrix in matrices for j in matrix.categories})
    for j in columns:
        if not all(j in matrix.categories or len(matrix) == 0 for matrix in matrices):
            raise DataError(
                f"column {names[j]!r} is categorical in some of the data sets and holds numbers in "
                "others: name it in categorical= for all of them"
            )
    every = {
        j: united([m.categories[j] for m in matrices if j in m.categories], f"column {names[j]!r}")
        for j in columns
    }
    coded: list[Any] = []
    for matrix in matrices:
        if not columns:
            coded.append(matrix.to_array() if matrix.entries is None else matrix)
            continue
        values = np.array(matrix.to_array())
        for j, own in matrix.categories.items():
            values[:, j] = looked_up(recoding(own, every[j], repr(names[j])), values[:, j])
        coded.append(values)
    return coded, every


def name_difference(found: NameMatch) -> str:
    """Return how features differ from those wanted, for a message; "" if they do not."""
    parts = [("without", found.lacking), ("with", found.extra)]
    how = ", ".join(f"{word} {', '.join(map(repr, some[:3]))}" for word, some in parts if some)
    return f"({how}; features=, or --features, says which to take)" if how else ""


def require_dataset(dataset: Any, function: str) -> None:
    """Refuse what is no Dataset, such as a frame."""
    if not isinstance(dataset, Dataset):
        kind = type(dataset).__name__
        raise DataError(f"{function} takes a Dataset, not {kind}: rankgrove.load makes one")


def as_features(X: Any, absent: float = 0.0) -> npt.NDArray[np.float32] | SparseMatrix:
    """Convert a matrix to float32 in C order, without a copy if it is already.

    A sparse matrix becomes a SparseMatrix, whose entries that are not stored are ``absent``. The
    float32 array of a DenseMatrix is taken as it is, in any order: a stream reads columns.
    """
    if isinstance(X, DenseMatrix) and X.dtype == np.float32:
        return X.values
    if is_sparse(X):
        features = SparseMatrix.of(X, absent)
        return replace(features, values=as_features(features.values[:, None])[:, 0])
    X = as_numbers(X, "X")
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions (rows and features), not shape {X.shape}")
    try:
        with np.errstate(over="raise", under="ignore", invalid="ignore"):
            return np.ascontiguousarray(X, dtype=np.float32)
    except FloatingPointError:
        with np.errstate(over="ignore"):
            overflows = np.isinf(X.astype(np.float32)) & np.isfinite(X)
        row, column = np.argwhere(overflows)[0]
        raise DataError(
            f"X[{row}, {column}] = {X[row, column]} is too large for a 32-bit float"
        ) from None


def doc_ids_of_comments(comments: pa.LargeStringArray) -> pa.LargeStringArray | None:
    """Find the document ids that LETOR puts into comments (``docid = ID``)."""
    import pyarrow.compute as pc

    found = pc.extract_regex(comments, r"(?:^|\s)docid\s*=\s*(?P<id>\S+)")
    ids = pc.struct_field(found, "id")
    return None if ids.null_count == len(ids) else ids


def _as_names(names: Iterable[str] | None, n_features: int) -> tuple[str, ...]:
    if names is None:
        return default_feature_names(n_features)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DataError(f"feature_names must be a list of names, not {names!r:.60}")
    result = tuple(str(name) for name in names)
    if len(result) != n_features:
        raise DataError(f"{len(result)} feature names for {n_features} features")
    if (twice := first_duplicate(result)) is not None:
        raise DataError(f"the feature name {twice!r} is given twice")
    return result


def _as_texts(texts: Any, name: str, n_rows: int) -> pa.LargeStringArray | None:
    if texts is None:
        return None
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not isinstance(texts, Iterable) or hasattr(texts, "columns"):
        raise DataError(f"{name} must be a list of texts or numbers, not {type(texts).__name__}")
    try:
        if not isinstance(texts, pa.Array):
            texts = pa.array(texts, from_pandas=True)
        column = decoded(texts).cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"{name} must be texts or numbers: {error}") from None
    if len(column) != n_rows:
        raise DataError(f"{name} has {len(column)} entries, but X has {n_rows} rows")
    return None if column.null_count == n_rows else column


def _joined_ids(datasets: Sequence[Dataset], shared_queries: SharedQueries) -> npt.NDArray[Any]:
    if shared_queries == "apart":
        return np.concatenate(
            [np.char.add(f"{i}/", d.qid.astype(str)) for i, d in enumerate(datasets, 1)]
        )
    if shared_queries == "error":
        owner: dict[str, Dataset] = {}
        for data in datasets:
            ids = list(map(str, data.groups.ids.tolist()))
            for query, text in zip(data.groups.ids.tolist(), ids, strict=True):
                if text in owner:
                    one, other = (d.source or repr(d) for d in (owner[text], data))
                    raise DataError(
                        f"the query {query!r} occurs in {one} and in {other}: "
                        "shared_queries='merge' takes its documents as one query, "
                        "shared_queries='apart' as two"
                    )
            owner.update(dict.fromkeys(ids, data))
    return concatenate_ids([d.qid for d in datasets])


def concatenate_ids(ids: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate the query ids of several sources: all become texts if those of one are.

    In text and CSV, ids are texts if one of the file is no whole number, so that 7 of one file is
    the text "7" of another.
    """
    kinds = {array.dtype.kind for array in ids}
    if kinds <= {"i", "u", "U"} and "U" in kinds:
        return np.concatenate([array.astype(str) for array in ids])
    if len(kinds) > 1:
        ids = [array.astype(object) for array in ids]  # else numpy would make floats of integers
    return query_ids(np.concatenate(ids))


def _concatenate_texts(
    columns: list[tuple[int, pa.LargeStringArray | None]],
) -> pa.LargeStringArray | None:
    if all(texts is None for _, texts in columns):
        return None
    import pyarrow as pa

    return pa.concat_arrays(
        [pa.nulls(n, pa.large_string()) if texts is None else texts for n, texts in columns]
    )
