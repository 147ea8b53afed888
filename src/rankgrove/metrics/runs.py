"""Evaluation of runs: rankings that list some documents of a query, judged or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError
from rankgrove.metrics.evaluation import (
    DEFAULT_METRICS,
    AnyMetric,
    Evaluation,
    evaluate_metrics,
    metric_list,
)

if TYPE_CHECKING:
    from rankgrove.logs.reading import LogTable

AbsentQueries = Literal["zero", "skip", "error"]
QUERIES_OF_ONE_SIDE = ("judged queries that the run lacks", "queries of the run without judgments")
_KEYS = ["query", "document"]


@dataclass(frozen=True)
class MatchedRun:
    """A run beside the judgments, one row per document of either.

    Attributes
    ----------
    labels : grades; 0 where a retrieved document is not judged, or its grade is negative
    scores : scores of the run; -inf where a judged document was not retrieved
    doc_ids : the documents
    groups : their queries
    counts : what only one of the two has, and what could not be read of either
    """

    labels: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    doc_ids: npt.NDArray[np.object_]
    groups: QueryGroups
    counts: Counter[str]


def evaluate_run(
    judgments: Any,
    run: Any = None,
    *,
    metrics: AnyMetric | Iterable[AnyMetric] = DEFAULT_METRICS,
    preset: str | None = None,
    absent_queries: AbsentQueries = "zero",
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate a run against judgments, as trec_eval does (``preset="trec"``).

    A judged document that the run does not list counts in the ideal ranking only; a document
    without a judgment, or with a negative grade (spam, not judged), counts as not relevant.

    Parameters
    ----------
    judgments : a LogTable of ``logs.read_judgments``, or what it reads, such as qrels; or both
        sides as ``match_run`` returned them
    run : a LogTable of ``logs.read_run``, or what it reads: a TREC run, or a table of query,
        document and score
    metrics, preset : as in ``evaluate``
    absent_queries : a judged query that the run lacks counts 0 (trec_eval -c), is left out (as
        trec_eval does by default), or is an error
    n_jobs : number of threads
    """
    chosen = metric_list(metrics, preset)
    for one in chosen:
        if not one.partial_rankings:
            raise ValueError(f"{one} needs a score of every judged document: a run may lack some")
    if isinstance(judgments, MatchedRun):
        matched = judgments
    else:
        matched = match_run(judgments, run, absent_queries)
    return evaluate_metrics(
        chosen,
        matched.labels,
        matched.groups,
        matched.scores,
        doc_ids=matched.doc_ids,
        n_threads=resolve_n_jobs(n_jobs),
        partial_rankings=True,
    )


def match_run(judgments: Any, run: Any, absent_queries: AbsentQueries = "zero") -> MatchedRun:
    """Match a run with judgments by query and document; queries in the order of the judgments."""
    import pyarrow.compute as pc

    from rankgrove.logs.reading import LogTable, read_judgments, read_run

    if absent_queries not in get_args(AbsentQueries):
        names = ", ".join(map(repr, get_args(AbsentQueries)))
        raise ValueError(f"absent_queries must be one of {names}, not {absent_queries!r}")
    judged = judgments if isinstance(judgments, LogTable) else read_judgments(judgments)
    ranked = run if isinstance(run, LogTable) else read_run(run)
    for log, kind in ((judged, "judgments"), (ranked, "runs")):
        if log.kind != kind:
            raise DataError(f"{log.source} holds {log.kind}, not {kind}")
        _refuse_repetition(log)
    counts = judged.counts + ranked.counts
    shared = _queries_of(judged, ranked, absent_queries, counts)
    both = judged.table.select([*_KEYS, "grade"]).join(
        ranked.table.select([*_KEYS, "score"]), keys=_KEYS, join_type="full outer"
    )
    number = pc.index_in(both["query"], shared)
    both = both.append_column("number", number).filter(pc.is_valid(number))
    both = both.sort_by([("number", "ascending"), ("document", "ascending")])
    labels, scores = both["grade"].to_numpy(), both["score"].to_numpy()
    counts["retrieved documents without a judgment"] = int(np.isnan(labels).sum())
    counts["judged documents that the run lacks"] = int(np.isnan(scores).sum())
    counts["negative grades, which count as not relevant"] = int((labels < 0).sum())
    return MatchedRun(
        np.fmax(labels, 0.0),
        np.where(np.isnan(scores), -np.inf, scores),
        both["document"].to_numpy(),
        QueryGroups.from_qid(both["query"].to_numpy().astype(str)),
        counts,
    )


def _refuse_repetition(log: LogTable) -> None:
    groups = log.table.group_by(_KEYS).aggregate([([], "count_all")])
    if groups.num_rows == log.table.num_rows:
        return
    import pyarrow.compute as pc

    row = groups.filter(pc.greater(groups["count_all"], 1)).slice(0, 1).to_pylist()[0]
    raise DataError(
        f"{log.source}: the document {row['document']!r} of the query {row['query']!r} occurs "
        f"{row['count_all']} times"
    )


def _queries_of(
    judged: LogTable, ranked: LogTable, absent_queries: AbsentQueries, counts: Counter[str]
) -> Any:
    """Return the queries to evaluate, in the order of the judgments."""
    import pyarrow.compute as pc

    queries = judged.table["query"].combine_chunks().unique()
    listed = ranked.table["query"].combine_chunks().unique()
    present = pc.is_in(queries, listed)
    n_absent = len(queries) - (pc.sum(present).as_py() or 0)
    if n_absent == len(queries):
        raise DataError(
            f"no query of {ranked.source} (such as {listed[0].as_py()!r}) is judged in "
            f"{judged.source} (such as {queries[0].as_py()!r})"
        )
    if n_absent and absent_queries == "error":
        first = queries.filter(pc.invert(present))[0].as_py()
        raise DataError(
            f"{ranked.source} lacks {n_absent} of {len(queries)} judged queries, such as "
            f"{first!r}: absent_queries='zero' counts them 0, 'skip' leaves them out"
        )
    absent, unjudged = QUERIES_OF_ONE_SIDE
    counts[absent], counts[unjudged] = n_absent, len(listed) - (len(queries) - n_absent)
    return queries.filter(present) if absent_queries == "skip" else queries
