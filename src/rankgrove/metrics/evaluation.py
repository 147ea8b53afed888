"""Evaluation of a ranking by several metrics: means and per-query values."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rankgrove._counts import counted
from rankgrove._files import replacing
from rankgrove._html import html_table
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.pandas_index import warn_of_other_order
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.judgments import (
    as_query_weights,
    as_scores,
    judged_queries,
    judgments,
)
from rankgrove.metrics.metric import Metric, query_values
from rankgrove.metrics.parameters import format_value
from rankgrove.metrics.parsing import distinct, metric

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset

AnyMetric: TypeAlias = str | Metric | Callable[..., Any]

DEFAULT_METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "mrr")


@dataclass(frozen=True)
class Evaluation:
    """Values of several metrics; ``str`` of it is an aligned table.

    Attributes
    ----------
    metrics : what was measured
    means : one value per metric
    per_query : array of metrics x queries; NaN where a query is skipped
    query_ids, query_sizes : id and number of documents of each query
    query_weight : weights of the queries in the means, or None
    """

    metrics: tuple[Metric, ...]
    means: npt.NDArray[np.float64]
    per_query: npt.NDArray[np.float64]
    query_ids: npt.NDArray[Any]
    query_sizes: npt.NDArray[np.int64]
    query_weight: npt.NDArray[np.float64] | None

    def __getitem__(self, name: AnyMetric) -> float:
        return float(self.means[self._index(name)])

    def __contains__(self, name: AnyMetric) -> bool:
        try:
            self._index(name)
        except KeyError:
            return False
        return True

    def values(self, name: AnyMetric) -> npt.NDArray[np.float64]:
        """Return the values of one metric, query by query."""
        values: npt.NDArray[np.float64] = self.per_query[self._index(name)]
        return values

    def to_dict(self) -> dict[str, float]:
        """Return the means by the full name of their metric."""
        return {str(m): float(mean) for m, mean in zip(self.metrics, self.means, strict=True)}

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write one line per query (id, documents, values) to a file, or return the text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["qid", "documents", *map(str, self.metrics)])
        columns = [self.query_ids.tolist(), self.query_sizes.tolist(), *self.per_query.tolist()]
        writer.writerows(zip(*columns, strict=True))
        if path is None:
            return text.getvalue()
        with replacing(path) as file:
            file.write(text.getvalue().encode())
        return None

    @property
    def n_counting(self) -> dict[str, int]:
        """Number of queries that count in each mean: those that the metric does not skip."""
        counts = (~np.isnan(self.per_query)).sum(axis=1).tolist()
        return dict(zip(map(str, self.metrics), counts, strict=True))

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of means, its header first."""
        n_queries = len(self.query_ids)
        rows = [
            (str(m), f"{mean:.6f}", _empty_rule(m), f"{self.n_counting[str(m)]} of {n_queries}")
            for m, mean in zip(self.metrics, self.means, strict=True)
        ]
        return [("metric", "mean", "empty query", "queries"), *rows]

    def __str__(self) -> str:
        return _aligned(self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *rows = self.rows()
        return html_table(counted(len(self.query_ids), "query"), header, rows)

    def _index(self, name: AnyMetric) -> int:
        if callable(name):
            name = metric(name)
        full_names = [str(m) for m in self.metrics]
        short_names = [text.partition("(")[0] for text in full_names]
        for names in (full_names, short_names):
            for asked in (str(name), str(name).lower()):
                same = {m for m, text in zip(self.metrics, names, strict=True) if text == asked}
                if len(same) == 1:  # a metric may be listed twice
                    return names.index(asked)
        raise KeyError(f"{name} was not evaluated: there are {', '.join(full_names)}")


def evaluate(
    y_true: npt.ArrayLike | Dataset,
    y_score: npt.ArrayLike,
    qid: npt.ArrayLike | None = None,
    *,
    group_sizes: npt.ArrayLike | None = None,
    groups: QueryGroups | None = None,
    metrics: AnyMetric | Iterable[AnyMetric] = DEFAULT_METRICS,
    preset: str | None = None,
    query_weight: npt.ArrayLike | None = None,
    doc_ids: npt.ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate a ranking by several metrics; each query is sorted only once.

    Parameters
    ----------
    y_true : labels of the rows, or a Dataset, which brings labels, queries and document ids, or a
        path or scan, of which labels and queries alone are read
    y_score : scores of the rows
    qid, group_sizes, groups : one of them says which rows belong to which query
    metrics : names such as ``ndcg@10``, Metric objects, or functions of one query (see
        ``rankgrove.metric``)
    preset : conventions of another tool for the metrics given by name
    query_weight : weight of each query in the means
    doc_ids : document ids of the rows, read only by the tie rule 'doc_id'
    n_jobs : number of threads, as in scikit-learn
    """
    chosen = metric_list(metrics, preset)
    warn_of_other_order("evaluate", 2, y_true=y_true, y_score=y_score, qid=qid)
    labels, groups, doc_ids = judgments(y_true, qid, group_sizes, groups, doc_ids)
    return evaluate_metrics(
        chosen,
        labels,
        groups,
        as_scores(y_score),
        doc_ids=doc_ids,
        weights=as_query_weights(query_weight, groups.n_queries),
        n_threads=resolve_n_jobs(n_jobs),
    )


def evaluate_metrics(
    chosen: tuple[Metric, ...],
    labels: npt.NDArray[np.float64],
    groups: QueryGroups,
    scores: npt.NDArray[Any],
    *,
    doc_ids: npt.ArrayLike | None,
    weights: npt.NDArray[np.float64] | None = None,
    n_threads: int,
    partial_rankings: bool = False,
) -> Evaluation:
    """Evaluate checked scores; see ``judged_queries`` for ``partial_rankings``."""
    per_query = np.empty((len(chosen), groups.n_queries))
    for listing in dict.fromkeys(m.listing for m in chosen):
        places = [i for i, m in enumerate(chosen) if m.listing == listing]
        queries = judged_queries(labels, groups, listing, doc_ids, partial_rankings)
        kernels = [chosen[i].judged_by(queries, part=partial_rankings) for i in places]
        per_query[places] = query_values(kernels, scores, groups, n_threads)
    means = np.array(
        [m.mean(values, groups, weights) for m, values in zip(chosen, per_query, strict=True)]
    )
    return Evaluation(chosen, means, per_query, groups.ids, groups.sizes, weights)


def metric_list(metrics: AnyMetric | Iterable[AnyMetric], preset: str | None) -> tuple[Metric, ...]:
    """Return the distinct metrics that a caller asked for."""
    one = isinstance(metrics, str | Metric) or callable(metrics)
    if not one and not isinstance(metrics, Iterable):
        raise ValueError(f"metrics must be a name or several, not {metrics!r:.60}")
    names: list[Any] = [metrics] if one else list(metrics)  # type: ignore[arg-type]
    if not names:
        raise ValueError("metrics is empty: give at least one metric")
    if preset is not None and not any(isinstance(m, str) for m in names):
        raise ValueError(
            f"preset {preset!r} has no effect on metrics that are given as objects: give names, or "
            "make them with rankgrove.metric(name, preset=...)"
        )
    chosen = [metric(m, preset=preset if isinstance(m, str) else None) for m in names]
    return tuple(distinct(chosen))


def _empty_rule(measured: Metric) -> str:
    return format_value(measured.params["empty"]) if "empty" in measured.params else "-"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)
