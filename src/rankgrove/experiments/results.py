"""Results of rankers on the same folds, with significance tests of their differences.

Vocabulary: of a ranker's *settings* (the points of its grid), each fold has a *chosen* one: the
best by the first metric on the validation part, averaged over repeats. What is compared are the
chosen settings on the test parts. Each query's values are averaged over repeats first; *pooled*
values are those of all test queries of all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_number
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.significance import (
    TESTS,
    PairTable,
    compare_pairs,
    query_means,
    tier_letters,
    tiers,
)
from rankgrove.experiments.store import CellResult, Store
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parsing import metric as as_metric

Floats = npt.NDArray[np.float64]
Self = TypeVar("Self", bound="ComparisonResults")

# Differences that show in a table of four decimals.
_VISIBLE = 5e-5


@dataclass(frozen=True)
class Significance:
    """Settings of the significance tests.

    Attributes
    ----------
    test : ``"randomisation"``, ``"t"`` or ``"wilcoxon"``
    alpha : differences whose p-value, corrected by Holm, is at most this are significant
    """

    test: str = "randomisation"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(
                f"significance_test must be one of {', '.join(TESTS)}, not {self.test!r}"
            )
        between = "between 0 and 1, such as 0.05"
        require_number(self.alpha, "alpha", between, lambda x: 0 < x < 1)


@dataclass(frozen=True, eq=False)
class RankerResult:
    """The result of one ranker on one data set.

    Attributes
    ----------
    cells : the cells of its chosen settings
    failure : why it has no values, "" if it has
    values : per metric its pooled mean over queries
    fold_values : per metric its mean in each fold
    tiers : per metric the letters of its tiers; rankers without a common letter differ
        significantly
    leading : per metric whether it belongs to the first tier
    marks : per metric 1 if it is significantly better than the baseline, -1 if worse, else 0; a
        ranker that shares a letter with the baseline has 0
    tie_free_values : per metric the mean over all orders of equal scores, where it differs from the
        value: there the order of rows decides
    settings : the chosen parameters of each fold
    fit_seconds, score_microseconds, peak_memory, n_steps : means over its cells, None if unknown
    """

    ranker: str
    cells: Sequence[CellResult]
    failure: str
    values: dict[str, float]
    fold_values: dict[str, list[float]]
    tiers: dict[str, str]
    leading: dict[str, bool]
    marks: dict[str, int]
    tie_free_values: dict[str, float]
    settings: list[dict[str, Any]]
    fit_seconds: float | None
    score_microseconds: float | None
    peak_memory: float | None
    n_steps: float | None


class ComparisonResults:
    """The result of a study; ``str`` of it is a table, ``frame`` gives data frames."""

    def __init__(
        self,
        study: dict[str, Any],
        cells: Sequence[CellResult],
        queries: dict[str, TestQueries],
        significance: Significance | None = None,
    ) -> None:
        self.study = study
        self.cells = cells
        self.significance = significance or Significance()
        self._queries = queries
        self._metrics = [as_metric(name) for name in study["metrics"]]

    @classmethod
    def from_store(cls: type[Self], store: Store, significance: Significance | None = None) -> Self:
        """Read the study of a store, finished or not."""
        cells = store.results()
        prints = {cell.fingerprint for cell in cells}
        return cls(store.study, cells, {p: store.queries(p) for p in prints}, significance)

    @property
    def metrics(self) -> list[str]:
        """The metrics; the first one chose settings on validation data."""
        return [str(metric) for metric in self._metrics]

    @property
    def short_names(self) -> dict[str, str]:
        """The metrics without their parameters, for headings, where that is unambiguous."""
        plain = [name.partition("(")[0] for name in self.metrics]
        return {
            name: short if plain.count(short) == 1 else name
            for name, short in zip(self.metrics, plain, strict=True)
        }

    @property
    def rankers(self) -> list[str]:
        """The labels of the rankers."""
        return [ranker["label"] for ranker in self.study["rankers"]]

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return list(dict.fromkeys(cell.data for cell in self.cells))

    @property
    def baseline(self) -> str | None:
        """The ranker with which the others are compared."""
        found: str | None = self.study["baseline"]
        return found

    def sign(self, metric: str) -> int:
        """1 if more of a metric is better, -1 if less is."""
        return 1 if self._metrics[self.metrics.index(metric)].greater_is_better else -1

    def folds(self, data: str) -> list[int]:
        """The numbers of the folds of a data set."""
        return list(dict.fromkeys(cell.fold for cell in self.cells if cell.data == data))

    def queries(self, data: str, fold: int) -> TestQueries:
        """The test queries of a fold."""
        first = next(e for e in self.cells if e.data == data and e.fold == fold)
        return self._queries[first.fingerprint]

    def chosen(self, data: str, ranker: str, fold: int) -> list[CellResult]:
        """The cells of the setting that validation chose, one per repeat; failed ones if all are.

        A setting that is unfinished or failed in a repeat is not chosen while there is another.
        """
        settings = self._by_setting.get((data, ranker, fold), {})
        whole = {
            setting: cells
            for setting, cells in settings.items()
            if all(cell.status == "done" for cell in cells)
        }
        if not whole:
            return next(iter(settings.values()), [])
        sign = self.sign(self.metrics[0])

        def value(cells: list[CellResult]) -> float:
            mean = float(np.mean([cell.outcome.validation for cell in cells]))
            return sign * mean if np.isfinite(mean) else -np.inf

        return max(whole.values(), key=value)  # the first of equals

    def settings(self, data: str, ranker: str) -> list[tuple[dict[str, Any], list[CellResult]]]:
        """Return the points of a ranker's grid with the cells of all folds and repeats."""
        found: dict[int, list[CellResult]] = {}
        for fold in self.folds(data):
            for setting, cells in self._by_setting.get((data, ranker, fold), {}).items():
                found.setdefault(setting, []).extend(cells)
        return [(cells[0].params, cells) for _, cells in sorted(found.items())]

    def per_query(self, data: str, ranker: str, metric: str, fold: int | None = None) -> Floats:
        """Return the values of test queries averaged over repeats, of one fold or of all."""
        place = self.metrics.index(metric)
        parts = []
        for number in self.folds(data) if fold is None else [fold]:
            runs = [e.outcome.per_query[place] for e in self.chosen(data, ranker, number)]
            parts.append(query_means(np.stack(runs)[None])[0])
        return np.concatenate(parts)

    def means(self, cell: CellResult) -> Floats:
        """Return each metric's mean over the test queries of a cell, also of ``over_documents``."""
        found: Floats = cell.outcome.means.copy()
        if len(found):
            for name in self.over_documents:
                place = self.metrics.index(name)
                counting = cell.outcome.per_query[place]
                counting = counting[np.isfinite(counting)]
                found[place] = counting.mean() if len(counting) else np.nan
        return found

    @property
    def over_documents(self) -> list[str]:
        """The metrics that are no means over queries elsewhere, such as ``rmse``."""
        return [str(m) for m in self._metrics if type(m).mean is not Metric.mean]

    def values(self, data: str, metric: str, fold: int | None = None) -> tuple[list[str], Floats]:
        """Return the rankers without failures, and their values as (rankers, queries)."""
        names = [r for r in self.rankers if not self.failure(data, r)]
        rows = [self.per_query(data, ranker, metric, fold) for ranker in names]
        return names, np.stack(rows) if rows else np.empty((0, 0))

    def failure(self, data: str, ranker: str) -> str:
        """Return the reason why a ranker has no value on a data set, "" if it has one."""
        folds = self.folds(data)
        cells = [cell for fold in folds for cell in self.chosen(data, ranker, fold)]
        failed = [cell for cell in cells if cell.status == "failed"]
        if failed:
            number = len({cell.fold for cell in failed})
            where = "" if number == len(folds) else f" (in {number} of {len(folds)} folds)"
            return f"{failed[0].outcome.error}{where}"
        open_cells = sum(cell.status != "done" for cell in cells)
        return f"{open_cells} of {len(cells)} fits are not finished" if open_cells else ""

    def pairs(
        self,
        data: str,
        metric: str | None = None,
        *,
        baseline: str | None = None,
        fold: int | None = None,
    ) -> tuple[list[str], PairTable | None]:
        """Test the rankers against a baseline, or all pairs: pooled, or in one fold.

        Returns
        -------
        the rankers by their number in the table, and the table; None with fewer than two rankers,
        or where the metric counts no query
        """
        name = self.metrics[0] if metric is None else metric
        names, values = self.values(data, name, fold)
        lonely = len(names) < 2 or (baseline is not None and baseline not in names)
        if lonely or np.isnan(values).all():
            return names, None
        return names, compare_pairs(
            values,
            baseline=None if baseline is None else names.index(baseline),
            test=self.significance.test,
            greater_is_better=self.sign(name) > 0,
        )

    def results(self, data: str) -> list[RankerResult]:
        """The rankers of one data set, best mean of the first metric first, failed ones last."""
        found = self._results[data]
        sign = self.sign(self.metrics[0])
        first = self.metrics[0]
        return sorted(found, key=lambda r: (bool(r.failure), -sign * r.values.get(first, 0.0)))

    def best(self, data: str | None = None) -> tuple[str, dict[str, Any]]:
        """Return ranker and parameters with the best validation value on a data set (the first).

        Of each setting the mean over folds and repeats of the first metric on the validation part
        decides; test values play no part.
        """
        data = self.datasets[0] if data is None else data
        sign = self.sign(self.metrics[0])
        groups: dict[tuple[str, int], list[CellResult]] = {}
        for cell in self.cells:
            if cell.data == data:
                groups.setdefault((cell.ranker, cell.setting), []).append(cell)
        means = {
            key: sign * float(np.mean([cell.outcome.validation for cell in cells]))
            for key, cells in groups.items()
            if all(cell.status == "done" for cell in cells)
        }
        means = {key: mean for key, mean in means.items() if np.isfinite(mean)}
        if not means:
            raise ValueError(f"no ranker has a result on the validation part of {data}")
        winner = max(means, key=means.__getitem__)
        return winner[0], groups[winner][0].params

    @cached_property
    def _by_setting(self) -> dict[tuple[str, str, int], dict[int, list[CellResult]]]:
        found: dict[tuple[str, str, int], dict[int, list[CellResult]]] = {}
        for cell in self.cells:
            settings = found.setdefault((cell.data, cell.ranker, cell.fold), {})
            settings.setdefault(cell.setting, []).append(cell)
        return found

    @cached_property
    def _results(self) -> dict[str, list[RankerResult]]:
        return {data: self._results_on(data) for data in self.datasets}

    def _results_on(self, data: str) -> list[RankerResult]:
        letters, leading, marks = {}, {}, {}
        for metric in self.metrics:
            names, groups = self._tiers(data, metric)
            letters[metric] = dict(zip(names, tier_letters(groups), strict=True))
            leading[metric] = {names[place] for place in groups[0]} if groups else set()
            marks[metric] = self._marks(data, metric, names, groups)
        results = []
        for ranker in self.rankers:
            failure = self.failure(data, ranker)
            folds = self.folds(data)
            cells = [cell for fold in folds for cell in self.chosen(data, ranker, fold)]
            measured = {} if failure else self._measured(data, ranker)
            results.append(
                RankerResult(
                    ranker=ranker,
                    cells=cells,
                    failure=failure,
                    values={name: value for name, (value, _) in measured.items()},
                    fold_values={name: folds for name, (_, folds) in measured.items()},
                    tiers={name: letters[name].get(ranker, "") for name in self.metrics},
                    leading={name: ranker in leading[name] for name in self.metrics},
                    marks={name: marks[name].get(ranker, 0) for name in self.metrics},
                    tie_free_values={} if failure else self._tie_free(data, ranker),
                    settings=[c[0].params for f in folds if (c := self.chosen(data, ranker, f))],
                    fit_seconds=_mean(cells, "fit_seconds"),
                    score_microseconds=_mean(cells, "score_microseconds"),
                    peak_memory=_mean(cells, "peak_memory"),
                    n_steps=_mean(cells, "n_steps"),
                )
            )
        return results

    def _measured(self, data: str, ranker: str) -> dict[str, tuple[float, list[float]]]:
        """Return, per metric, the pooled mean and the means of the folds."""
        found = {}
        for place, metric in enumerate(self._metrics):
            folds = [
                float(np.mean([self.means(e)[place] for e in self.chosen(data, ranker, fold)]))
                for fold in self.folds(data)
            ]
            pooled = self.per_query(data, ranker, str(metric))
            if np.isnan(pooled).all():
                found[str(metric)] = (float(np.mean(folds)), folds)
            else:
                found[str(metric)] = (float(np.nanmean(pooled)), folds)
        return found

    def _tie_free(self, data: str, ranker: str) -> dict[str, float]:
        """Return the tie-free means of the metrics whose value depends on the order of rows."""
        chosen = [self.chosen(data, ranker, fold) for fold in self.folds(data)]
        outcomes = [cell.outcome for cells in chosen for cell in cells]
        if not all(len(outcome.tie_free_means) for outcome in outcomes):
            return {}
        counts = np.stack([np.isfinite(outcome.per_query).sum(axis=1) for outcome in outcomes])
        gaps = np.stack([outcome.tie_free_means - outcome.means for outcome in outcomes])
        gaps = (np.nan_to_num(gaps) * counts).sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
        measured = self._measured(data, ranker)
        return {
            name: measured[name][0] + float(gap)
            for name, gap in zip(self.metrics, gaps, strict=True)
            if abs(gap) >= _VISIBLE
        }

    def _tiers(self, data: str, metric: str) -> tuple[list[str], list[list[int]]]:
        """Return the rankers, and the tiers by their numbers."""
        names, values = self.values(data, metric)
        if not names or np.isnan(values).all():
            return [], []
        return names, tiers(
            values,
            alpha=self.significance.alpha,
            test=self.significance.test,
            greater_is_better=self.sign(metric) > 0,
        )

    def _marks(
        self, data: str, metric: str, names: list[str], groups: list[list[int]]
    ) -> dict[str, int]:
        """Return the mark of each ranker: 0 if it shares a tier with the baseline."""
        if self.baseline not in names:
            return {}
        base = names.index(self.baseline)
        _, values = self.values(data, metric)
        gaps = self.sign(metric) * (values - values[base])
        signs = np.sign(np.nanmean(gaps, axis=1)).astype(int)
        alike = {ranker for group in groups if base in group for ranker in group}
        return {
            name: 0 if place in alike else int(signs[place]) for place, name in enumerate(names)
        }


def _mean(cells: Sequence[CellResult], attribute: str) -> float | None:
    numbers = [getattr(cell.outcome, attribute) for cell in cells]
    known = [float(number) for number in numbers if number is not None]
    return float(np.mean(known)) if known else None
