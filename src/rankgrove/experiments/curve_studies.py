"""Curves of a metric over one varied parameter, on the folds of a study, as in the papers.

Every point of a curve is a study of its own kind of cell in the same store, so curves resume, share
processes and are tested like comparisons.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataWarning
from rankgrove.experiments.bias_variance import PARTS, bias_variance, pooled
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.curves import Curve
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.significance import bootstrap_interval
from rankgrove.experiments.specs import Spec
from rankgrove.experiments.store import CellResult, Store
from rankgrove.experiments.study import Study
from rankgrove.experiments.tree_strength import named, strengths
from rankgrove.experiments.views import check_share
from rankgrove.metrics.metric import Metric

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """A kind of curve.

    Attributes
    ----------
    title : of the x axis
    points : where it is measured unless said otherwise
    parameter : of the ranker that is varied, None if it is the data
    view : field of the view of the data that is varied, None if it is the ranker
    summary : for help texts
    """

    title: str
    points: tuple[float, ...]
    parameter: str | None = None
    view: str | None = None
    summary: str = ""


KINDS = {
    "learning": Kind(
        "share of the training queries",
        (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        view="train_share",
        summary="less training data",
    ),
    "convergence": Kind("steps", (), summary="after each step of a fit"),
    "size": Kind(
        "trees", (10, 20, 50, 100, 200, 500), parameter="n_estimators", summary="ensemble size"
    ),
    "subsample": Kind(
        "share sampled per tree",
        (0.05, 0.1, 0.2, 0.4, 0.63, 1.0),
        parameter="subsample",
        summary="sub-sample size",
    ),
    "n-min": Kind(
        "documents of a node that may be split",
        (2, 5, 10, 20, 50, 100),
        parameter="min_samples_split",
        summary="smallest node that is split",
    ),
    "levels": Kind(
        "listwise levels",
        (0, 1, 2, 4, 6, 8),
        parameter="listwise_levels",
        summary="levels of listwise splits (rf-hybrid)",
    ),
    "strength": Kind("splits of a tree", (), summary="strength of single trees (forests)"),
    "features": Kind(
        "features",
        (5, 10, 20, 40),
        view="n_features",
        summary="number of features, best first",
    ),
    "variance": Kind(
        "share of the training queries in a sample",
        (0.5,),
        view="train_share",
        summary="bias and variance over training samples",
    ),
}

_BLOCK_ROWS = 256
_NO_STEPS = "rankgrove knows no steps of its model"
_OPTIONS = {
    "train_share": "train_share (--train-share)",
    "n_features": "best_features (--best-features)",
}


def run_curve(
    kind: str,
    study: Study,
    store: Store,
    run: Run,
    points: Sequence[float] | None = None,
    progress: Any = None,
) -> tuple[list[Curve], list[str]]:
    """Measure every ranker of a study at every point of a curve.

    A DataWarning names points that a curve lacks.

    Returns
    -------
    the curves, and for each ranker without one the reason. There is
    a Curve of the first metric per data set and ranker: pooled means over the test queries, with
    their 95 % bootstrap intervals (not of strength, whose means are over trees), and the seconds
    that a fit and a document's score took. One of convergence has all steps of models that are
    neither stopped early nor cut by validation, up to the last of the longest fold; a fold that
    ended before counts with its last value, and scoring takes its time in proportion to the steps.
    Of strength there are two curves per forest, of the test and of the training parts
    (``tree_rows`` has the correlation of the trees); their seconds are those of one tree, which
    grow with the documents of the nodes split so far.
    Of variance there are three curves per ranker, its loss, bias and variance over ``repeats``
    training samples of each size (see ``bias_variance``); its seed is the same for all

    Raises
    ------
    ValueError : no ranker has such a curve
    """
    chosen = KINDS[kind]
    for spec in study.specs:
        if len(spec.settings) > 1:
            raise ValueError(f"a curve varies one thing: give {spec.label} without a grid")
        if chosen.view is not None and getattr(spec.view, chosen.view) is not None:
            raise ValueError(
                f"a curve of {kind} varies the {chosen.title}: leave {_OPTIONS[chosen.view]} out"
            )
    if points is not None and not chosen.points:
        raise ValueError(f"a curve of {kind} has no points to choose: it has all there are")
    if kind == "strength":
        return _drawn(strengths(study, store, run, progress))
    if kind == "convergence":
        return _drawn(_convergence(study, store, run, progress))
    values = chosen.points if points is None else tuple(points)
    if kind == "variance":
        return _drawn(_variance(values, study, store, run, progress))
    return _drawn(_varying(chosen, values, study, store, run, progress))


def _drawn(found: Iterable[Curve | str]) -> tuple[list[Curve], list[str]]:
    """Return the curves and the reasons why others are missing; raise if all are."""
    curves, reasons = [], []
    for curve in found:
        if isinstance(curve, str):
            reasons.append(curve)
        elif np.isfinite(curve.values).any():
            curves.append(curve)
        else:
            reasons.append(f"{curve.name} has no value: no test query counts")
    if not curves:
        raise ValueError("; ".join(reasons))
    return curves, reasons


def _whole(value: float) -> float | int:
    """Return a number as int or float, as the parameter takes it; 1 may be a share or a count."""
    return int(value) if float(value).is_integer() and value > 1 else value


def _varied(spec: Spec, kind: Kind, value: Any) -> Spec | str:
    """Return the ranker at one point under its own label, or the reason why there is none."""
    label = f"{spec.label} @ {value:g}"
    if kind.view is not None:
        varied: dict[str, Any] = {kind.view: float(value)}
        try:
            seen = replace(spec, view=replace(spec.view, **varied))
        except ValueError as error:  # it counts features
            return str(error)
        return replace(seen, label=label)
    (setting,) = spec.settings
    name = str(kind.parameter)
    known = spec.parameters()
    if known is not None and name not in known:
        return f"{spec.label} has no parameter {name}: this curve is not for it"
    if known is not None and not known[name].accepts(value):
        if not float(value).is_integer() or not known[name].accepts(int(value)):
            words = known[name].describe()
            return f"parameter {name} of {spec.use} must be {words}, not {value!r}"
        value = int(value)
    return replace(spec, label=label, settings=({**setting, name: value},))


def _varying(
    kind: Kind, values: Sequence[float], study: Study, store: Store, run: Run, progress: Any
) -> Iterator[Curve | str]:
    """Return the curves over values of a ranker's parameter, or of the data."""
    varied: list[tuple[Spec, float, Spec]] = []
    for spec in study.specs:
        found = [(value, _varied(spec, kind, _whole(value))) for value in values]
        own = [(spec, value, point) for value, point in found if isinstance(point, Spec)]
        refused = [(value, reason) for value, reason in found if isinstance(reason, str)]
        if not own:
            yield refused[0][1]
            continue
        for value, reason in refused:
            _warn_of_missing_point(spec, value, reason)
        varied += own
    if varied:
        whole = replace(study, specs=[point for _, _, point in varied], baseline=None)
        run_study(whole, store, run, progress)
        yield from _points(Comparison.from_store(store), study, varied)


def _warn_of_missing_point(spec: Spec, value: float, reason: str) -> None:
    message = f"{spec.label} has no point at {value:g}: {reason}"
    warnings.warn(message, DataWarning, stacklevel=3)


def _points(
    comparison: Comparison, study: Study, varied: Sequence[tuple[Spec, float, Spec]]
) -> Iterator[Curve | str]:
    metric = comparison.metrics[0]
    for data in comparison.datasets:
        results = {result.ranker: result for result in comparison.results(data)}
        for spec in study.specs:
            mine = [(value, results[p.label]) for owner, value, p in varied if owner is spec]
            if not mine:
                continue
            good = [(value, result) for value, result in mine if not result.failure]
            if not good:
                yield f"{named(study, data, spec.label)} has no point: {mine[0][1].failure}"
                continue
            for value, result in mine:
                if result.failure:
                    _warn_of_missing_point(spec, value, result.failure)
            yield Curve(
                named(study, data, spec.label),
                [result.values[metric] for _, result in good],
                [value for value, _ in good],
                _intervals(comparison, study.metrics[0], data, [r.ranker for _, r in good]),
                [result.fit_seconds for _, result in good],
                [result.score_microseconds for _, result in good],
            )


def _intervals(
    comparison: Comparison, metric: Metric, data: str, rankers: Sequence[str]
) -> tuple[list[float], list[float]] | None:
    """Return bootstrap intervals of means over queries; None for metrics over documents."""
    rows = np.stack([comparison.per_query(data, ranker, str(metric)) for ranker in rankers])
    return _row_intervals(rows, metric)


def _row_intervals(rows: Floats, metric: Metric) -> tuple[list[float], list[float]] | None:
    """Return the bootstrap interval of each row's mean over queries."""
    counting = rows[:, np.isfinite(rows).all(axis=0)]
    if type(metric).mean is not Metric.mean or counting.size == 0:
        return None
    # Resampled means of all rows at once could be larger than memory; draws are the same for each.
    blocks = np.split(counting, range(_BLOCK_ROWS, len(counting), _BLOCK_ROWS))
    ends = np.concatenate([bootstrap_interval(block) for block in blocks], axis=1)
    return ends[0].tolist(), ends[1].tolist()


def _convergence(study: Study, store: Store, run: Run, progress: Any) -> Iterator[Curve | str]:
    """Return the metric after every step of fits without early stopping."""
    own = [spec for spec in study.specs if spec.library is None]
    if own:
        whole = replace(
            study,
            specs=[replace(spec, view=replace(spec.view, curve="convergence")) for spec in own],
            early_stopping_rounds=None,
            baseline=None,
        )
        run_study(whole, store, run, progress)
        comparison = Comparison.from_store(store)
    for data in comparison.datasets if own else ():
        results = {result.ranker: result for result in comparison.results(data)}
        for spec in own:
            name, result = named(study, data, spec.label), results[spec.label]
            values = [] if result.failure else _mean_by_step(result.cells, study.metrics[0])
            if values:
                yield Curve(
                    name,
                    values,
                    None,
                    _step_intervals(result.cells, study.metrics[0]),
                    *_costs_by_step(result.cells, len(values)),
                )
            else:
                yield f"{name} has no convergence: {result.failure or _NO_STEPS}"
    for spec in study.specs:
        if spec.library is not None:
            yield f"{spec.label} has no convergence: {_NO_STEPS}"


def _mean_by_step(cells: Sequence[CellResult], metric: Metric) -> list[float]:
    """Return the mean over the test queries of all fits after each step; empty if none has steps.

    A fit that ended before others, by itself, counts with its last value from there on.
    """
    outcomes = [cell.outcome for cell in cells]
    longest = max(len(outcome.curve_values) for outcome in outcomes)
    if not longest:
        return []
    total, n_queries = np.zeros(longest), 0
    for outcome in outcomes:
        # A fit that ended before its first step has the scores that it started from.
        values = outcome.curve_values if len(outcome.curve_values) else outcome.means[:1]
        counts = np.isfinite(outcome.per_query[0])
        counting = int(counts.sum())
        if counting:
            if type(metric).mean is not Metric.mean:  # its values run over documents
                by_query = (
                    outcome.curve_per_query if len(outcome.curve_values) else outcome.per_query[:1]
                )
                values = by_query[:, counts].mean(axis=1)
            total += counting * np.pad(values, (0, longest - len(values)), mode="edge")
            n_queries += counting
    mean = total / n_queries if n_queries else np.full(longest, np.nan)
    return [float(value) for value in mean]


def _costs_by_step(
    cells: Sequence[CellResult], n_steps: int
) -> tuple[list[float], list[float]] | tuple[None, None]:
    """Return the mean seconds of a fit, and microseconds of a score, up to each step."""
    stepped = [cell.outcome for cell in cells if len(cell.outcome.curve_seconds)]
    if not stepped:
        return None, None
    fit = [np.pad(o.curve_seconds, (0, n_steps - len(o.curve_seconds)), "edge") for o in stepped]
    score = [
        (o.score_microseconds or 0.0)
        * np.minimum(np.arange(1, n_steps + 1) / len(o.curve_seconds), 1)
        for o in stepped
    ]
    return np.mean(fit, axis=0).tolist(), np.mean(score, axis=0).tolist()


def _step_intervals(
    cells: Sequence[CellResult], metric: Metric
) -> tuple[list[float], list[float]] | None:
    """Return the interval after each step; a query counts once, with its mean over repeats."""
    longest = max(len(cell.outcome.curve_values) for cell in cells)
    by_fold: dict[int, list[Floats]] = {}
    for cell in cells:
        rows = cell.outcome.curve_per_query
        if not len(rows):  # it ended before its first step
            rows = cell.outcome.per_query[:1]
        padded = np.pad(rows, ((0, longest - len(rows)), (0, 0)), mode="edge")
        by_fold.setdefault(cell.fold, []).append(padded)
    folds = [np.mean(repeats, axis=0) for repeats in by_fold.values()]
    return _row_intervals(np.concatenate(folds, axis=1), metric)


def _variance(
    shares: Sequence[float], study: Study, store: Store, run: Run, progress: Any
) -> Iterator[Curve | str]:
    """Return loss, bias and variance over training samples of each size."""
    metric, n_samples = study.metrics[0], study.repeats
    if n_samples < 2:
        raise ValueError(
            f"variance needs at least 2 training samples of each size, not {n_samples}: repeats "
            "(--repeats) is their number"
        )
    if metric.of_probabilities:
        raise ValueError(f"{metric} measures probabilities: variance needs a metric of scores")
    for share in shares:
        check_share(share)
    trained = [spec for spec in study.specs if spec.trained]
    samples = {
        (spec.label, share): [
            replace(
                spec,
                label=f"{spec.label} @ {share:g}, sample {number}",
                view=replace(spec.view, train_share=share, sample=number),
            )
            for number in range(n_samples)
        ]
        for spec in trained
        for share in shares
    }
    if trained:
        points = [point for points in samples.values() for point in points]
        run_study(replace(study, specs=points, repeats=1, baseline=None), store, run, progress)
        comparison = Comparison.from_store(store)
        for data in comparison.datasets:
            for spec in trained:
                own = {share: [p.label for p in samples[spec.label, share]] for share in shares}
                yield from _divided(comparison, metric, data, own, named(study, data, spec.label))
    for spec in study.specs:
        if not spec.trained:
            yield f"{spec.label} is not trained: it has no variance over training samples"


def _divided(
    comparison: Comparison, metric: Metric, data: str, own: Mapping[float, list[str]], name: str
) -> Iterator[Curve | str]:
    """Return the three curves of one ranker on one data set."""
    results = {result.ranker: result for result in comparison.results(data)}
    failures = [f for labels in own.values() for label in labels if (f := results[label].failure)]
    if failures:
        yield f"{name} has no variance: {failures[0]}"
        return
    found = []
    for labels in own.values():
        folds = [
            bias_variance(
                metric,
                comparison.queries(data, fold),
                np.stack([comparison.chosen(data, r, fold)[0].outcome.scores for r in labels]),
            )
            for fold in comparison.folds(data)
        ]
        found.append(pooled(metric, folds))
    costs = [
        [float(np.mean([getattr(results[r], cost) for r in labels])) for labels in own.values()]
        for cost in ("fit_seconds", "score_microseconds")
    ]
    for place, part in enumerate(PARTS):
        rows = np.stack([divided.per_query[place] for divided in found])
        yield Curve(
            f"{name}: {part}",
            [float(divided.values[place]) for divided in found],
            list(own),
            _row_intervals(rows, metric),
            *costs,
        )


def curve_rows(curves: Sequence[Curve], kind: str, metric: str) -> list[dict[str, Any]]:
    """Return the points of curves as rows, for CSV and JSON."""
    rows: list[dict[str, Any]] = []
    for curve in curves:
        for place, (x, y) in enumerate(zip(curve.x, curve.values, strict=True)):
            row: dict[str, Any] = {
                "curve": curve.name,
                KINDS[kind].title: float(x),
                metric: float(y),
            }
            if curve.interval is not None:
                row |= {"low": curve.interval[0][place], "high": curve.interval[1][place]}
            if curve.fit_seconds is not None and curve.score_microseconds is not None:
                row["fit seconds"] = curve.fit_seconds[place]
                row["score microseconds"] = curve.score_microseconds[place]
            if np.isfinite(y):
                rows.append(row)
    return rows
