"""Comparison of runs (TREC) against judgments: nothing is trained, documents are matched by ids."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankgrove.errors import DataWarning
from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.results import Significance
from rankgrove.experiments.store import CellResult
from rankgrove.experiments.study_options import DEFAULT_METRICS
from rankgrove.logs.reading import read_judgments
from rankgrove.metrics.evaluation import Evaluation, metric_list
from rankgrove.metrics.runs import QUERIES_OF_ONE_SIDE, MatchedRun, evaluate_run, match_run

PREFIX = "run:"


def compare_runs(
    judgments: str | os.PathLike[str],
    runs: Mapping[str, str | os.PathLike[str]],
    *,
    metrics: Any = DEFAULT_METRICS,
    preset: str | None = None,
    baseline: str | None = None,
    significance_test: str = "randomisation",
    alpha: float = 0.05,
    judgment_options: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Measure runs against judgments and test their differences query by query.

    A judged query that a run lacks counts 0 for it, so that all runs have the same queries; a
    warning says how many there are.

    Parameters
    ----------
    judgments : what ``logs.read_judgments`` reads, such as qrels
    runs : what ``logs.read_run`` reads, by label
    metrics, preset : as in ``evaluate``
    baseline : label of the run that the others are marked against
    significance_test, alpha : as in ``compare``
    judgment_options : options of reading judgments, such as ``{"document": "sku"}``
    n_jobs : number of threads
    """
    if baseline is not None and baseline not in runs:
        raise ValueError(f"the baseline {baseline!r} is none of {', '.join(runs)}")
    chosen = metric_list(metrics, preset)
    significance = Significance(significance_test, alpha)
    judged = read_judgments(judgments, **judgment_options or {})
    matched = {label: match_run(judged, run) for label, run in runs.items()}
    _warn_of_queries_of_one_side(matched)
    found = {
        label: evaluate_run(both, metrics=chosen, n_jobs=n_jobs) for label, both in matched.items()
    }
    name = Path(judgments).name.split(".")[0]
    study = {
        "title": "Comparison of runs",
        "data": [{"name": name, "origin": str(judgments)}],
        "rankers": [
            {"label": label, "use": f"{PREFIX}{run}", "settings": [{}], "view": {}}
            for label, run in runs.items()
        ],
        "metrics": [str(metric) for metric in chosen],
        "repeats": 1,
        "seed": 0,
        "early_stopping_rounds": None,
        "baseline": baseline,
    }
    cells = [_cell(name, label, measured) for label, measured in found.items()]
    queries = {name: _queries(next(iter(found.values())))}
    return Comparison(study, cells, queries, significance)


def _warn_of_queries_of_one_side(matched: Mapping[str, MatchedRun]) -> None:
    """Warn of queries that only a run or only the judgments have, perhaps by other ids."""
    for label, both in matched.items():
        counts = [f"{why}: {both.counts[why]:,}" for why in QUERIES_OF_ONE_SIDE if both.counts[why]]
        if counts:
            warnings.warn(f"{label}: {'; '.join(counts)}", DataWarning, stacklevel=3)


def runs_among(rankers: Sequence[str]) -> dict[str, str]:
    """Return the runs of ``run:FILE`` and ``label=run:FILE``; refuse them beside rankers."""
    runs: dict[str, str] = {}
    for text in rankers:
        label, is_labelled, rest = text.partition("=")
        use = rest if is_labelled and rest.startswith(PREFIX) else text
        if not use.startswith(PREFIX):
            if runs:
                break
            continue
        file = use.removeprefix(PREFIX)
        label = label if use is rest else Path(file).stem
        if not file or label in runs:
            raise ValueError(
                f"{text!r}: a run needs a file and a label of its own, as new=run:FILE"
            )
        runs[label] = file
    if runs and len(runs) != len(rankers):
        raise ValueError(
            "runs are compared with runs alone, for no ranker can learn from judgments without "
            "features: make a run of a model with `rankgrove predict MODEL DATA --out model.run`"
        )
    return runs


def _cell(data: str, label: str, measured: Evaluation) -> CellResult:
    outcome = CellOutcome(per_query=measured.per_query, means=measured.means)
    return CellResult(data, 1, label, 0, 0, {}, data, "done", outcome)


def _queries(measured: Evaluation) -> TestQueries:
    n_queries, n_documents = len(measured.query_ids), int(measured.query_sizes.sum())
    return TestQueries(
        ids=measured.query_ids,
        offsets=np.r_[0, np.cumsum(measured.query_sizes)],
        labels=np.zeros(n_documents),
        doc_ids=np.empty(0, object),
        feature_names=np.empty(0, object),
        sizes=np.array([[0, 0], [0, 0], [n_queries, n_documents]]),
    )
