"""Strength and correlation of the trees of forests, on the test and training parts of all folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.experiments.cells import CellOutcome
from rankgrove.experiments.curves import Curve
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.specs import Spec
from rankgrove.experiments.store import CellResult, Store
from rankgrove.experiments.study import Study
from rankgrove.forests.tree_correlation import TreeCorrelation
from rankgrove.rankers.base.registry import ranker_class

Floats = npt.NDArray[np.float64]


def strengths(study: Study, store: Store, run: Run, progress: Any) -> Iterator[Curve | str]:
    """Return the strength of each forest's trees, the mean over the parts of all folds."""
    forests = [spec for spec in study.specs if _is_forest(spec)]
    if forests:
        shown = replace(
            study,
            specs=[replace(spec, view=replace(spec.view, curve="strength")) for spec in forests],
            repeats=1,
            baseline=None,
        )
        run_study(shown, store, run, progress)
        for name, cells in _by_ranker(study, store).items():
            errors = [cell.outcome.error for cell in cells if cell.outcome.error]
            if errors:
                yield f"{name} has no strength of trees: {errors[0]}"
                continue
            outcomes = [cell.outcome for cell in cells]
            tested = [(o.curve_steps, o.curve_values) for o in outcomes]
            yield _mean_curve(name, tested, outcomes)
            trained = [(o.train_curve_steps, o.train_curve_values) for o in outcomes]
            if all(len(steps) for steps, _ in trained):  # older stores lack them
                yield _mean_curve(f"{name}, training part", trained, outcomes)
    for spec in study.specs:
        if spec not in forests:
            yield f"{spec.label} is no forest: it has no strength of trees"


def tree_rows(study: Study, store: Store) -> list[dict[str, Any]]:
    """Return strength and correlation of the trees of each forest that ``strengths`` measured.

    Rows of a table: the forest, the part of the data and the fields of ``TreeCorrelation``, means
    over the folds.
    """
    rows: list[dict[str, Any]] = []
    for name, cells in _by_ranker(study, store).items():
        found = [cell.outcome.tree_correlation for cell in cells]
        if not all(map(len, found)):
            continue
        for part, values in zip(("test", "training"), np.mean(found, axis=0), strict=True):
            titles = [field.name.replace("_", " ") for field in fields(TreeCorrelation)]
            measured = dict(zip(titles, map(float, values), strict=True))
            rows.append({"forest": name, "part": part, **measured})
    return rows


def named(study: Study, data: str, label: str) -> str:
    """Return the name of a ranker's curve: the data are named where there are several."""
    return label if len(study.sources) == 1 else f"{label}, {data}"


def _by_ranker(study: Study, store: Store) -> dict[str, list[CellResult]]:
    found: dict[str, list[CellResult]] = {}
    for cell in store.results():
        found.setdefault(named(study, cell.data, cell.ranker), []).append(cell)
    return found


def _mean_curve(
    name: str,
    folds: Sequence[tuple[npt.NDArray[np.int64], Floats]],
    outcomes: Sequence[CellOutcome],
) -> Curve:
    """Return the mean over folds; trees that have ended keep their last value."""
    steps = np.unique(np.concatenate([own for own, _ in folds]))
    values = [np.interp(steps, *fold) for fold in folds]
    costs = _costs(steps, outcomes)
    return Curve(name, np.mean(values, axis=0).tolist(), steps.tolist(), None, *costs)


def _costs(
    steps: npt.NDArray[np.int64], outcomes: Sequence[CellOutcome]
) -> tuple[list[float], list[float]] | tuple[None, None]:
    """Return the mean seconds of one tree's fit, and microseconds of its score, up to each split.

    Both are in proportion to the documents of the nodes that are split.
    """
    timed = [o for o in outcomes if len(o.curve_seconds) and o.fit_seconds]
    if len(timed) < len(outcomes):  # older stores lack them
        return None, None
    fit = [np.interp(steps, o.curve_steps, o.curve_seconds) for o in timed]
    score = [
        seconds * (o.score_microseconds or 0.0) / (o.fit_seconds or 1.0)
        for seconds, o in zip(fit, timed, strict=True)
    ]
    return np.mean(fit, axis=0).tolist(), np.mean(score, axis=0).tolist()


def _is_forest(spec: Spec) -> bool:
    return spec.library is None and hasattr(ranker_class(spec.use), "strength_curve")
