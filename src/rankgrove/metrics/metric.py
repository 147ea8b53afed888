"""The base class of metrics: an immutable value with a name and declared parameters.

>>> from rankgrove import metric
>>> str(metric("NDCG@10", gain="linear"))
'ndcg@10(gain=linear)'

Life of a metric:

1. ``metric("ndcg@10(empty=skip)")`` reads a text; ``str`` of the result reads back as an equal one.
2. ``prepare`` computes what only labels decide (gains, ideal values) and returns a PreparedMetric.
3. The prepared metric turns scores into the mean, or into one value per query, many times.

Calling the metric itself does 2 and 3 at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.queries import QueryGroups, query_groups
from rankgrove.errors import DataError, DataWarning, LabelError
from rankgrove.metrics.arithmetic import relevance_threshold
from rankgrove.metrics.judgments import (
    Listing,
    as_labels,
    as_query_weights,
    as_scores,
    judged_queries,
    judgments,
)
from rankgrove.metrics.parameters import PARAMETERS, Parameter, format_value

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset

    Kernel: TypeAlias = _native.QueryMetric | "PythonKernel"

_Self = TypeVar("_Self", bound="Metric")


class PythonKernel(Protocol):
    """Protocol of a metric kernel in Python, prepared for fixed labels."""

    def values(self, scores: npt.NDArray[Any], groups: QueryGroups) -> npt.NDArray[np.float64]:
        """Return the value of each query; NaN for those that are left out."""
        ...


@dataclass(frozen=True)
class Metric:
    """Base class of metrics; a subclass declares its parameters as fields.

    Two metrics are equal if their family and parameters are. ``greater_is_better`` says in which
    direction it improves.
    """

    name: ClassVar[str]  # set by register_metric
    greater_is_better: ClassVar[bool] = True
    partial_rankings: ClassVar[bool] = False  # defined where documents are judged but not ranked
    needs_k: ClassVar[bool] = False  # without a cut-off, every order has the same value
    of_probabilities: ClassVar[bool] = False  # it measures predict_proba, not predict
    of_values: ClassVar[bool] = False  # scores of the same order can have other values of it
    of_scale: ClassVar[bool] = False  # so can scores that are multiplied by a number
    parameters: ClassVar[Mapping[str, Parameter]] = PARAMETERS

    def __post_init__(self) -> None:
        for name, value in self.params.items():
            object.__setattr__(self, name, self.parameters[name].check(name, value))

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the parameters that this metric declares, with their defaults."""
        return {field.name: field.default for field in fields(cls)}

    @property
    def params(self) -> dict[str, Any]:
        """The parameters with their values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def replace(self: _Self, **params: Any) -> _Self:
        """Return the same metric with some parameters changed."""
        return self.from_params({**self.params, **params})

    @classmethod
    def from_params(cls: type[_Self], params: Mapping[str, Any]) -> _Self:
        """Build a metric of this class; unknown parameters raise an error that names them."""
        valid = cls.defaults()
        for key in params:
            if key not in valid:
                names = ", ".join(valid) or "none"
                raise ValueError(f"{cls.name} has no parameter {key!r}: its parameters are {names}")
        return cls(**params)

    def __str__(self) -> str:
        defaults = self.defaults()
        params = self.params
        at_k = f"@{params.pop('k')}" if params.get("k") is not None else ""
        options = ",".join(
            f"{key}={'none' if value is None else format_value(value)}"
            for key, value in params.items()
            if value != defaults[key]
        )
        return f"{self.name}{at_k}" + (f"({options})" if options else "")

    def __repr__(self) -> str:
        return f"metric({str(self)!r})"

    def prepare(
        self,
        y_true: npt.ArrayLike,
        groups: QueryGroups | npt.NDArray[np.int64],
        query_weight: npt.ArrayLike | None = None,
        *,
        doc_ids: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
        part: bool = False,
    ) -> PreparedMetric:
        """Precompute all that does not depend on scores, for repeated evaluation.

        Parameters
        ----------
        y_true : labels, one per row in the caller's order
        groups : the queries of the rows, or the offsets of queries whose rows stand together
        query_weight : weight of each query in the mean, in the order of ``groups.ids``
        doc_ids : document ids of the rows, read only by the tie rule 'doc_id'
        n_jobs : number of threads, as in scikit-learn
        part : whether these are a part of the data, whose labels alone deserve no warning
        """
        labels = as_labels(y_true)
        if not isinstance(groups, QueryGroups):
            groups = QueryGroups.from_sizes(np.diff(groups))
        query_groups(len(labels), groups=groups)
        queries = judged_queries(labels, groups, self.listing, doc_ids)
        weights = as_query_weights(query_weight, groups.n_queries)
        kernel = self.judged_by(queries, part)
        return PreparedMetric(self, kernel, groups, weights, resolve_n_jobs(n_jobs))

    def __call__(
        self,
        y_true: npt.ArrayLike | Dataset,
        y_score: npt.ArrayLike,
        qid: npt.ArrayLike | None = None,
        *,
        group_sizes: npt.ArrayLike | None = None,
        groups: QueryGroups | None = None,
        query_weight: npt.ArrayLike | None = None,
        doc_ids: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Return the mean over queries (NaN if every query is skipped).

        ``y_true`` are labels, or a Dataset, which brings labels, queries and document ids.
        """
        labels, groups, doc_ids = judgments(y_true, qid, group_sizes, groups, doc_ids)
        return self.prepare(labels, groups, query_weight, doc_ids=doc_ids, n_jobs=n_jobs)(y_score)

    def per_query(
        self,
        y_true: npt.ArrayLike | Dataset,
        y_score: npt.ArrayLike,
        *,
        qid: npt.ArrayLike | None = None,
        group_sizes: npt.ArrayLike | None = None,
        groups: QueryGroups | None = None,
        doc_ids: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the value of each query, in order of first appearance; NaN for skipped ones."""
        labels, groups, doc_ids = judgments(y_true, qid, group_sizes, groups, doc_ids)
        return self.prepare(labels, groups, doc_ids=doc_ids, n_jobs=n_jobs).per_query(y_score)

    @property
    def ranks_by_doc_id(self) -> bool:
        """Whether documents of equal score are ordered by their ids."""
        return self.params.get("ties") == "doc_id"

    @property
    def listing(self) -> Listing:
        """The order of the documents of each query in the kernel's input."""
        return "doc_id" if self.ranks_by_doc_id else "input"

    @property
    def kernel_ties(self) -> str:
        """The tie rule of the kernel: input order if documents are sorted by id beforehand."""
        return "input" if self.ranks_by_doc_id else str(self.params["ties"])

    def kernel(self, queries: _native.JudgedQueries) -> Kernel:
        """Return the kernel that evaluates scores against the judgments."""
        raise NotImplementedError

    def judged_by(self, queries: _native.JudgedQueries, part: bool = False) -> Kernel:
        """Return the kernel; warn of degenerate labels, unless they are only a part of the data."""
        try:
            kernel = self.kernel(queries)
        except LabelError as error:
            raise LabelError(error.place, error.label, error.reason, str(self)) from None
        except ValueError as error:
            raise DataError(f"{self}: {error}") from None
        if not part:
            self.warn_of(queries)
        return kernel

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Warn of labels that make every ranking equally good."""
        lowest, highest = queries.lowest_label, queries.highest_label
        threshold = self.params.get("relevant_from", highest)
        if lowest == highest:
            reason = f"every label is {highest:g}"
            advice = "check that y holds the judgments"
        elif highest < relevance_threshold(threshold):
            reason = f"no label is relevant: the highest is {highest:g}, relevant_from={threshold}"
            advice = f"say from which label on documents are relevant, as in '{self.name}(relevant"
            advice += f"_from={highest:g})'"
        else:
            return
        message = f"{self}: {reason}, so all rankings have the same value; {advice}"
        warnings.warn(message, DataWarning, stacklevel=4)

    def mean(
        self,
        values: npt.NDArray[np.float64],
        groups: QueryGroups,
        weights: npt.NDArray[np.float64] | None,
    ) -> float:
        """Return the mean of the values of queries; NaN marks queries that are skipped."""
        return _native.mean_over_queries(values, weights)


class PreparedMetric:
    """A metric prepared for fixed labels: call it with scores in the caller's order."""

    def __init__(
        self,
        metric: Metric,
        kernel: Kernel,
        groups: QueryGroups,
        weights: npt.NDArray[np.float64] | None,
        n_threads: int,
    ) -> None:
        self.metric = metric
        self._kernels = [kernel]
        self._groups = groups
        self._weights = weights
        self._n_threads = n_threads

    def __call__(self, scores: npt.ArrayLike) -> float:
        """Return the mean over queries."""
        return self.mean(self.per_query(scores))

    def mean(self, values: npt.NDArray[np.float64]) -> float:
        """Return the mean of values per query."""
        return self.metric.mean(values, self._groups, self._weights)

    def per_query(self, scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the value of each query; NaN for skipped ones."""
        values: npt.NDArray[np.float64] = query_values(
            self._kernels, as_scores(scores), self._groups, self._n_threads
        )[0]
        return values


def leading_ranks(queries: _native.JudgedQueries, k: int | None) -> int:
    """Return the number of ranks of the longest query, at most k."""
    return queries.longest if k is None else min(queries.longest, k)


def query_values(
    kernels: Sequence[Kernel], scores: npt.NDArray[Any], groups: QueryGroups, n_threads: int
) -> npt.NDArray[np.float64]:
    """Return the values of kernels over the same judgments: one row per kernel, a column per query.

    The native ones rank each query only once.
    """
    native = [kernel for kernel in kernels if isinstance(kernel, _native.QueryMetric)]
    values = _native.evaluate_metrics(native, scores, n_threads) if native else np.empty(0)
    by_query = values.reshape(len(native), groups.n_queries)
    if len(native) == len(kernels):
        return by_query
    rows = iter(by_query)
    return np.array(
        [
            next(rows) if isinstance(kernel, _native.QueryMetric) else kernel.values(scores, groups)
            for kernel in kernels
        ]
    )
