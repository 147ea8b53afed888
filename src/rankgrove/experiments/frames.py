"""The rows of a comparison's data frames, as plain dicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from rankgrove.experiments.paper_tests import paper_tests
from rankgrove.experiments.results import ComparisonResults

Rows = list[dict[str, Any]]


def by_ranker(comparison: ComparisonResults) -> Rows:
    """One row per data set and ranker."""
    rows = []
    for data in comparison.datasets:
        against = _against_baseline(comparison, data)
        for result in comparison.results(data):
            row: dict[str, Any] = {"data": data, "ranker": result.ranker}
            for metric in comparison.metrics:
                row[metric] = result.values.get(metric, float("nan"))
                row[f"{metric} tier"] = result.tiers[metric]
                if comparison.baseline is not None:
                    row[f"{metric} mark"] = result.marks[metric]
            row |= against.get(result.ranker, {})
            row |= {
                "fit_seconds": result.fit_seconds,
                "score_microseconds": result.score_microseconds,
                "peak_memory": result.peak_memory,
                "steps": result.n_steps,
                "failure": result.failure,
            }
            rows.append(row)
    return rows


def by_fold(comparison: ComparisonResults) -> Rows:
    """One row per data set, ranker and fold."""
    return [
        {
            "data": data,
            "ranker": result.ranker,
            "fold": fold,
            **{name: values[place] for name, values in result.fold_values.items()},
            "setting": json.dumps(result.settings[place]),
        }
        for data in comparison.datasets
        for result in comparison.results(data)
        if not result.failure
        for place, fold in enumerate(comparison.folds(data))
    ]


def by_cell(comparison: ComparisonResults) -> Rows:
    """One row per fit: setting, seed, validation value, test means, costs, error."""
    rows = []
    for cell in comparison.cells:
        chosen = cell in comparison.chosen(cell.data, cell.ranker, cell.fold)
        outcome = cell.outcome
        means = dict(zip(comparison.metrics, comparison.means(cell).tolist(), strict=False))
        rows.append(
            {
                "data": cell.data,
                "ranker": cell.ranker,
                "fold": cell.fold,
                "repeat": cell.repeat,
                "seed": cell.seed,
                "setting": json.dumps(cell.params),
                "chosen": chosen and cell.status == "done",
                "status": cell.status,
                f"validation {comparison.metrics[0]}": outcome.validation,
                **{name: means.get(name, float("nan")) for name in comparison.metrics},
                "fit_seconds": outcome.fit_seconds,
                "score_microseconds": outcome.score_microseconds,
                "peak_memory": outcome.peak_memory,
                "steps": outcome.n_steps,
                "error": outcome.error,
            }
        )
    return rows


def by_query(comparison: ComparisonResults) -> Rows:
    """One row per data set, fold, query and ranker; values are means over repeats."""
    rows = []
    for data in comparison.datasets:
        rankers = [r for r in comparison.rankers if not comparison.failure(data, r)]
        for fold in comparison.folds(data):
            queries = comparison.queries(data, fold)
            for ranker in rankers:
                columns = [
                    comparison.per_query(data, ranker, name, fold).tolist()
                    for name in comparison.metrics
                ]
                rows += [
                    {
                        "data": data,
                        "fold": fold,
                        "query": query,
                        "ranker": ranker,
                        **dict(zip(comparison.metrics, values, strict=True)),
                    }
                    for query, *values in zip(queries.ids.tolist(), *columns, strict=True)
                ]
    return rows


def by_pair(comparison: ComparisonResults) -> Rows:
    """One row per data set and pair of rankers: tests of the first metric, pooled and per fold."""
    rows = []
    for data in comparison.datasets:
        for fold in [None, *comparison.folds(data)]:
            names, table = comparison.pairs(data, fold=fold)
            if table is None:
                continue
            for i in range(len(table.first)):
                row = {
                    "data": data,
                    "fold": "all" if fold is None else str(fold),
                    "first": names[table.first[i]],
                    "second": names[table.second[i]],
                }
                rows.append({**row, **_pair(table, i)})
    return rows


def by_test(comparison: ComparisonResults) -> Rows:
    """One row per data set, metric, fold (and all) and ranker: both tests against the baseline."""
    return [
        {
            "data": data,
            "metric": metric,
            "fold": "all" if fold is None else str(fold),
            **vars(test),
        }
        for data in comparison.datasets
        for metric in comparison.metrics
        for fold in [None, *comparison.folds(data)]
        for test in paper_tests(comparison, data, metric, fold)
    ]


def by_setting(comparison: ComparisonResults) -> Rows:
    """One row per data set, ranker and setting: test means of all settings."""
    rows = []
    for data in comparison.datasets:
        for ranker in comparison.rankers:
            for params, cells in comparison.settings(data, ranker):
                done = cells and all(cell.status == "done" for cell in cells)
                means = np.mean([comparison.means(c) for c in cells], axis=0) if done else ()
                rows.append(
                    {
                        "data": data,
                        "ranker": ranker,
                        "params": params,
                        **dict(zip(comparison.metrics, map(float, means), strict=False)),
                        "fits": len(cells),
                    }
                )
    return rows


def _against_baseline(comparison: ComparisonResults, data: str) -> dict[str, dict[str, Any]]:
    if comparison.baseline is None:
        return {}
    names, table = comparison.pairs(data, baseline=comparison.baseline)
    if table is None:
        return {}
    return {names[first]: _pair(table, i) for i, first in enumerate(table.first.tolist())}


def _pair(table: Any, i: int) -> dict[str, Any]:
    whole = {name: int(getattr(table, name)[i]) for name in ("wins", "ties", "losses")}
    names = ("difference", "low", "high", "effect", "p", "p_holm")
    return {**{name: float(getattr(table, name)[i]) for name in names}, **whole}


FRAMES: dict[str, Callable[[ComparisonResults], Rows]] = {
    "ranker": by_ranker,
    "fold": by_fold,
    "cell": by_cell,
    "query": by_query,
    "pair": by_pair,
    "test": by_test,
    "setting": by_setting,
}
