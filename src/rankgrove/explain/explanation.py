"""Explanations of scores: the contribution of each feature to each document's score."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._svg import Drawing
from rankgrove.data.core.categories import CategoriesByColumn
from rankgrove.data.core.columns import refuse_other_reading
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.input_checks import groups_of
from rankgrove.errors import DataError, ModelError
from rankgrove.explain.comparison import Difference, DocumentComparison
from rankgrove.explain.contributions import contributions
from rankgrove.explain.effect import Effect
from rankgrove.explain.pictures import bars, value_text, waterfall
from rankgrove.explain.query import QueryExplanation, RankedDocument
from rankgrove.models.model import Model

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each feature adds to the score of each document.

    ``expected`` plus a row of ``values`` is the document's score (``scores``).

    Attributes
    ----------
    values : float64 array of shape (documents, features)
    expected : the score of a document of which nothing is known
    features : names of the features
    data : the documents' features, in the columns of the model; NaN is missing
    scale : what adds up: the score, or where a model of another library ends with a function of the
        sum, what stands before it (``"log-odds"``)
    groups : the queries, or None
    doc_ids : texts, one per document, or None
    categories : dictionaries of categorical features, of which ``data`` has the codes
    """

    values: Floats
    expected: float
    features: tuple[str, ...]
    data: npt.NDArray[Any]
    scale: str = "score"
    groups: QueryGroups | None = None
    doc_ids: npt.NDArray[np.object_] | None = None
    categories: CategoriesByColumn = field(default_factory=dict)

    @property
    def scores(self) -> Floats:
        """Scores of the documents: the sums of their contributions."""
        return np.asarray(self.expected + self.values.sum(axis=1))

    def importances(self) -> Floats:
        """Mean size of each feature's contributions, over all documents."""
        return np.asarray(np.abs(self.values).sum(axis=0) / max(len(self.values), 1))

    def document(self, row: int) -> list[Effect]:
        """Return the effects on a document's score, the largest first."""
        self._check_row(row)
        order = np.argsort(-np.abs(self.values[row]), kind="stable")
        return [
            Effect(self.features[j], self._value(row, j), float(self.values[row, j])) for j in order
        ]

    def plot(self, row: int | None = None, title: str | None = None) -> Drawing:
        """Draw the mean size of each feature's effect, or how the effects make one score.

        Parameters
        ----------
        row : a document, whose score is drawn as a waterfall of effects; None: bars of the
            ``importances`` over all documents
        title : of the picture; None: one that says what it shows
        """
        if row is None:
            sizes = self.importances()
            order = np.argsort(-sizes, kind="stable")
            if title is None:
                title = f"mean size of the effect on the {self.scale}, {len(self.values):,} rows"
            return bars(title, [(self.features[j], float(sizes[j])) for j in order])
        effects = [(f"{e.feature} = {value_text(e.value)}", e.effect) for e in self.document(row)]
        start, end = ("nothing is known", self.expected), (self.scale, float(self.scores[row]))
        if title is None:
            title = f"document {self.name_of(row)}: from the mean to its {self.scale}"
        return waterfall(title, start, effects, end)

    def _repr_html_(self) -> str:
        return str(self.plot())

    def compare(self, first: int, second: int) -> DocumentComparison:
        """Explain why one document (a row) ranks above or below another."""
        self._check_row(first)
        self._check_row(second)
        effects = self.values[first] - self.values[second]
        scores = self.scores
        return DocumentComparison(
            first=self.name_of(first),
            second=self.name_of(second),
            first_score=float(scores[first]),
            second_score=float(scores[second]),
            scale=self.scale,
            differences=tuple(
                Difference(
                    self.features[j],
                    self._value(first, j),
                    self._value(second, j),
                    float(effects[j]),
                )
                for j in np.argsort(-np.abs(effects), kind="stable")
            ),
        )

    def query(self, query: Any = None, top: int = 3) -> QueryExplanation:
        """Explain which features lift the top of a query's list; None: the only query."""
        rows = self.rows_of(query)
        if top < 1:
            raise ValueError(f"top must be at least 1, not {top}")
        if len(rows) == 0:
            raise DataError("there are no documents to explain")
        scores = self.scores
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        lifts = self.values[rows] - self.values[rows].mean(axis=0)
        first = lifts[:top].mean(axis=0)
        means = _means(self.data[rows[:top]])
        return QueryExplanation(
            top=min(top, len(rows)),
            documents=tuple(
                RankedDocument(self.name_of(row), float(scores[row]), int(row)) for row in rows
            ),
            effects=tuple(
                Effect(self.features[j], self._typical(j, rows[:top], means[j]), float(first[j]))
                for j in np.argsort(-np.abs(first), kind="stable")
            ),
            features=self.features,
            lifts=lifts,
            scale=self.scale,
        )

    def _value(self, row: int, feature: int) -> float | str | None:
        """Return a value of a document; that of a categorical feature by name."""
        value = float(self.data[row, feature])
        known = self.categories.get(int(feature))
        if known is None:
            return value
        return None if np.isnan(value) else known.name(int(value))

    def _typical(self, feature: int, rows: Any, mean: float) -> float | str | None:
        """Return the mean of some documents' values, or their most frequent category."""
        known = self.categories.get(int(feature))
        if known is None:
            return float(mean)
        codes = self.data[rows, feature]
        codes = codes[~np.isnan(codes)].astype(np.int64)
        return known.name(int(np.bincount(codes).argmax())) if len(codes) else None

    def rows_of(self, query: Any = None) -> npt.NDArray[np.int64]:
        """Return the rows of a query by its id (or its id as text)."""
        if self.groups is None:
            if query is not None:
                raise DataError(
                    f"the documents have no query ids, so there is no query {query!r}: explain(X, "
                    "qid=...) takes them, and a Dataset has them"
                )
            return np.arange(len(self.values))
        if query is None:
            if self.groups.n_queries != 1:
                raise DataError(
                    f"there are {self.groups.n_queries} queries: say which one is to be explained"
                )
            return np.arange(len(self.values))
        return rows_of_query(self.groups, query)

    def row_of(self, document: Any, query: Any = None) -> int:
        """Return the row of a document of a query.

        Parameters
        ----------
        document : its document id, if the data have them, or ``@3`` for rank 3 in the query. Data
            without ids: the number of the document within the query, from 1
        query : the query id; None: of the only query there is
        """
        rows = self.rows_of(query)
        text = str(document)
        where = "" if query is None else f" of query {query}"
        if text.startswith("@"):
            best_first = rows[np.argsort(-self.scores[rows], kind="stable")]
            return int(best_first[_number(text[1:], len(rows), f"rank{where}")])
        if self.doc_ids is None:
            return int(rows[_number(text, len(rows), f"document{where}")])
        ids = [str(name) for name in self.doc_ids[rows]]
        if ids.count(text) == 1:
            return int(rows[ids.index(text)])
        if text in ids:
            raise DataError(f"{ids.count(text)} documents{where} have the id {text!r}")
        near = difflib.get_close_matches(text, ids, n=3) or ids[:3]
        raise DataError(f"there is no document {text!r}{where}; it has {', '.join(near)}, ...")

    def name_of(self, row: int) -> str:
        """Return the name of a document: its id, or its number within its query."""
        if self.doc_ids is not None and self.doc_ids[row] is not None:
            return str(self.doc_ids[row])
        if self.groups is None:
            return str(row + 1)
        rows = self._rows_of_query(row)
        return str(int(np.flatnonzero(rows == row)[0]) + 1)

    def _rows_of_query(self, row: int) -> npt.NDArray[np.int64]:
        assert self.groups is not None
        query = self.groups.query_of_row()
        return np.flatnonzero(query == query[row])

    def __repr__(self) -> str:
        documents, features = self.values.shape
        return f"<Explanation of {documents} documents, {features} features, by {self.scale}>"

    def _check_row(self, row: int) -> None:
        if not isinstance(row, int | np.integer):
            raise DataError(f"a document is given by its row, not as {row!r}: row_of finds it")
        if not 0 <= row < len(self.values):
            raise DataError(f"there is no row {row}: the explanation has {len(self.values)}")


def explain(
    ranker: Any,
    X: Any,
    qid: Any = None,
    *,
    group_sizes: Any = None,
    n_jobs: int | None = None,
) -> Explanation:
    """Compute what each feature adds to the score of each document.

    For trees these are exact Shapley values (path-dependent TreeSHAP), for linear models
    ``weight * (value - mean over X)``; sums of models add theirs up.

    Parameters
    ----------
    ranker : a fitted ranker, or a model
    X : matrix, data frame or Dataset; columns are taken by name where names are known
    qid, group_sizes : the queries, where they matter (a Dataset brings its own)
    n_jobs : threads; None: those of the ranker; the values do not depend on it

    Raises
    ------
    ModelError : a model whose scores are no sums over features (pairs of documents, grades)
    """
    model, matrix, groups, threads = _prepared(ranker, X, qid, group_sizes, n_jobs)
    found = contributions(model, matrix, groups, threads, False)
    return Explanation(
        values=found.values,
        expected=found.expected,
        features=feature_names(model),
        data=matrix,
        scale=found.scale,
        groups=groups,
        doc_ids=X.doc_ids if isinstance(X, Dataset) else None,
        categories=model.columns.categories,
    )


def interactions(
    ranker: Any,
    X: Any,
    qid: Any = None,
    *,
    group_sizes: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Compute what each pair of features adds to the score of each document, as shap divides it.

    Parameters are those of ``explain``.

    Returns
    -------
    float64 array of shape (documents, features, features): half of what a pair adds beyond its
    members is off the diagonal, on either side; each line adds up to the feature's contribution
    """
    model, matrix, groups, threads = _prepared(ranker, X, qid, group_sizes, n_jobs)
    return contributions(model, matrix, groups, threads, True).values


def model_of(ranker: Any) -> Model:
    """Return the model of a fitted ranker, or the model itself."""
    if isinstance(ranker, Model):
        return ranker
    if not hasattr(ranker, "fitted_model"):
        raise ModelError(f"a {type(ranker).__name__} is neither a ranker nor a model of rankgrove")
    model: Model = ranker.fitted_model()
    return model


def feature_names(model: Model) -> tuple[str, ...]:
    """Return the names of the columns; f1, f2, ... if there are none."""
    names = model.columns.names
    return names if names is not None else tuple(f"f{j + 1}" for j in range(model.columns.count))


def rows_of_query(groups: QueryGroups, query: Any) -> npt.NDArray[np.int64]:
    """Return the rows of the query with this id, or with this text as its id."""
    ids = [str(name) for name in groups.ids]
    if str(query) not in ids:
        near = difflib.get_close_matches(str(query), ids, n=3) or ids[:3]
        raise DataError(
            f"there is no query {query!r} among {len(ids)}; there are {', '.join(near)}, ..."
        )
    place = ids.index(str(query))
    rows = np.arange(groups.n_rows) if groups.order is None else groups.order
    return rows[groups.offsets[place] : groups.offsets[place + 1]]


def _prepared(
    ranker: Any, X: Any, qid: Any, group_sizes: Any, n_jobs: int | None
) -> tuple[Model, npt.NDArray[Any], QueryGroups | None, int | None]:
    model = model_of(ranker)
    matrix = model.columns.match(X).to_array("explain")
    refuse_other_reading(X, model.absent, "explain")
    groups: QueryGroups | None = None
    if isinstance(X, Dataset) or qid is not None or group_sizes is not None or model.needs_queries:
        groups = groups_of(X, qid, group_sizes, len(matrix), "explain")
    threads = getattr(ranker, "n_jobs", None) if n_jobs is None else n_jobs
    return model, matrix, groups, threads


def _number(text: str, count: int, what: str) -> int:
    """Parse a number from 1 to ``count``; return it counted from 0."""
    if not text.isdecimal() or not 1 <= int(text) <= count:
        raise DataError(f"there is no {what} with number {text!r}: there are 1 to {count}")
    return int(text) - 1


def _means(data: npt.NDArray[Any]) -> Floats:
    """Return the mean of each column without missing values; NaN if all are missing."""
    known = ~np.isnan(data)
    total = np.where(known, data, 0).sum(axis=0, dtype=np.float64)
    count = known.sum(axis=0)
    means: Floats = np.divide(total, count, out=np.full(data.shape[1], np.nan), where=count > 0)
    return means
