"""One cell of a study: fit, score the test part, measure. It does not depend on stores."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove._warning_relay import relaying_warnings
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.cache import CacheEntry
from rankgrove.data.reading.folds import Fold
from rankgrove.data.reading.score_files import read_scores
from rankgrove.errors import DataWarning, ModelError
from rankgrove.experiments.convergence import convergence, spread_steps
from rankgrove.experiments.memory import PeakMemory
from rankgrove.experiments.peers import FittedPeer, fit_peer
from rankgrove.experiments.specs import MODEL, PEER_LIBRARIES, SCORES
from rankgrove.experiments.study import Cell
from rankgrove.experiments.views import viewed
from rankgrove.metrics.ece import reliability
from rankgrove.metrics.evaluation import evaluate
from rankgrove.metrics.metric import Metric
from rankgrove.rankers.base.registry import make_ranker

Floats = npt.NDArray[np.float64]
Score = Callable[[Dataset, int | None], Floats]

# How the reason of a cell that lacked memory begins.
LACK_OF_MEMORY = "not enough memory"
# Ranks that are kept of each query, for reports.
DEPTH = 10
_CURVE_POINTS = 30
# A scoring run that is quicker than this is repeated, to time it well.
_QUICK_SECONDS = 0.1  # a shorter run may have been a pause of the machine in good part


@dataclass
class CellOutcome:
    """The result of one cell.

    Attributes
    ----------
    per_query : test values, (n_metrics, n_queries); NaN where a metric skips a query
    means : of each metric over the test queries
    tie_free_means : the same, by the mean over all orders of equal scores; equal to ``means`` for
        metrics that do not break ties by the order of rows
    validation : the first metric on the validation part
    fit_seconds : wall-clock time of training
    score_microseconds : time to score one document on one thread
    peak_memory : most bytes that the process held while it was at work
    n_steps : steps of the model (boosting iterations, trees of a forest), None for others
    curve_steps, curve_values : the first metric on the test part after part of the steps; if the
        cell's view asks for it, after every step, or of single trees after so many splits
    curve_per_query : the same query by query, (n_steps, n_queries); only after every step
    curve_seconds : of training up to every step; trees of a forest share its time alike. Of
        strength: of one tree up to every number of splits, by its documents (``work``)
    train_curve_steps, train_curve_values : of single trees on the training part, if the cell's view
        asks for the strength of trees
    tree_correlation : then also strength and correlation of the trees, mean squared error of a tree
        and of the forest (``TreeCorrelation``), on the test and on the training part, (2, 4)
    reliability : per bin of probabilities, the number of documents, their mean probability and
        relevance, (n_bins, 3); empty if the ranker tells no probabilities
    importances : share of each feature in the gain of the splits, empty if the model has none
    splits : number of the model's splits on each feature, empty if it has none
    scores : of the test documents in grouped order, if the cell's view asks for them
    top : positions of the leading documents of each query in grouped order, (n_queries, DEPTH);
        -1 where a query is shorter
    error : why there is no result, "" if there is one
    warnings : what the fit and its measurement warned of in the data
    """

    per_query: Floats = field(default_factory=lambda: np.empty((0, 0)))
    means: Floats = field(default_factory=lambda: np.empty(0))
    tie_free_means: Floats = field(default_factory=lambda: np.empty(0))
    validation: float = float("nan")
    fit_seconds: float | None = None
    score_microseconds: float | None = None
    peak_memory: int | None = None
    n_steps: int | None = None
    curve_steps: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    curve_values: Floats = field(default_factory=lambda: np.empty(0))
    curve_per_query: Floats = field(default_factory=lambda: np.empty((0, 0)))
    curve_seconds: Floats = field(default_factory=lambda: np.empty(0))
    train_curve_steps: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    train_curve_values: Floats = field(default_factory=lambda: np.empty(0))
    tree_correlation: Floats = field(default_factory=lambda: np.empty((0, 4)))
    reliability: Floats = field(default_factory=lambda: np.empty((0, 3)))
    importances: Floats = field(default_factory=lambda: np.empty(0))
    splits: Floats = field(default_factory=lambda: np.empty(0))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    top: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty((0, DEPTH), np.int32))
    error: str = ""
    warnings: tuple[str, ...] = ()

    _ARRAYS = (
        "per_query",
        "means",
        "tie_free_means",
        "curve_steps",
        "curve_values",
        "curve_per_query",
        "curve_seconds",
        "train_curve_steps",
        "train_curve_values",
        "tree_correlation",
        "reliability",
        "importances",
        "splits",
        "scores",
        "top",
    )

    def arrays(self) -> bytes:
        """The arrays that are not empty, and warnings, as bytes for a store."""
        stream = io.BytesIO()
        arrays = {name: array for name in self._ARRAYS if (array := getattr(self, name)).size}
        np.savez_compressed(stream, warnings=np.array(self.warnings, np.str_), **arrays)
        return stream.getvalue()

    def take_arrays(self, content: bytes) -> None:
        """Restore arrays and warnings from the bytes of ``arrays``."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            for name in set(self._ARRAYS) & set(found):
                setattr(self, name, found[name])
            if "warnings" in found:
                self.warnings = tuple(found["warnings"].tolist())


@dataclass(frozen=True)
class Fitted:
    """A trained ranker of a cell: its scoring function and its description."""

    score: Score
    seconds: float | None = None
    validation: float | None = None
    n_steps: int | None = None
    ranker: Any = None
    peer: FittedPeer | None = None
    step_seconds: Sequence[float] = ()


def run_cell(
    cell: Cell,
    fold: Fold,
    *,
    n_jobs: int | None = None,
    callbacks: list[Any] | None = None,
    kept: CacheEntry | None = None,
) -> CellOutcome:
    """Fit and measure; an exception becomes the error of the outcome.

    Parameters
    ----------
    callbacks : called after each step of rankers that learn in steps
    kept : where cells of the fold keep what they share, see ``views``
    """
    relayed: dict[str, str] = {}  # text -> category of each warning, in order of first appearance
    try:
        with (
            PeakMemory() as memory,
            relaying_warnings(lambda kind, text: relayed.update({text: kind})),
        ):
            seen = viewed(fold, cell.view, kept, n_jobs)
            outcome = _outcome(cell, seen, n_jobs, callbacks)
        outcome.peak_memory = memory.peak
    except Exception as error:
        outcome = CellOutcome(error=reason(error))
    outcome.warnings = tuple(text for text, kind in relayed.items() if kind == DataWarning.__name__)
    return outcome


def _outcome(
    cell: Cell, fold: Fold, n_jobs: int | None, callbacks: list[Any] | None
) -> CellOutcome:
    fitted = fit_cell(cell, fold, n_jobs, callbacks)
    outcome = CellOutcome(fit_seconds=fitted.seconds, n_steps=fitted.n_steps)
    if cell.spec.trained:
        outcome.validation = _validation(cell, fold, fitted, n_jobs)
    if not cell.tested:
        return outcome
    scores, seconds = _timed(fitted.score, fold.test)
    if cell.spec.library != SCORES:
        outcome.score_microseconds = 1e6 * seconds / fold.test.n_rows
    if not np.isfinite(scores).all():
        raise ValueError("a score is not a finite number")
    result = evaluate(
        fold.test.y,
        scores,
        groups=fold.test.groups,
        metrics=cell.metrics,
        doc_ids=fold.test.doc_ids if any(m.ranks_by_doc_id for m in cell.metrics) else None,
        n_jobs=n_jobs,
    )
    outcome.per_query, outcome.means = result.per_query, result.means
    outcome.tie_free_means = _tie_free_means(cell.metrics, outcome.means, fold.test, scores, n_jobs)
    outcome.top = _leading(fold.test, scores)
    if cell.view.sample is not None:
        outcome.scores = fold.test.groups.grouped(scores)
    if fitted.ranker is not None:
        _describe(outcome, fitted, fold, cell)
    if fitted.peer is not None:
        _draw_peer(outcome, fitted.peer, fold.test, cell.metrics[0], n_jobs)
    return outcome


def fit_cell(
    cell: Cell,
    fold: Fold,
    n_jobs: int | None = None,
    callbacks: list[Any] | None = None,
) -> Fitted:
    """Train the ranker of a cell."""
    library = cell.spec.library
    if library == SCORES:
        return _scores_of(cell, fold.test)
    if library == MODEL:
        return _model_of(cell)
    if library in PEER_LIBRARIES:
        peer = fit_peer(
            str(library),
            cell.spec.target,
            cell.params,
            fold,
            metric=cell.metrics[0],
            seed=cell.seed,
            rounds=cell.rounds,
            n_jobs=n_jobs,
        )
        return Fitted(
            lambda data, threads: peer.score(data, threads or 1),
            seconds=peer.seconds,
            n_steps=peer.n_steps,
            peer=peer,
        )
    return _fit_own(cell, fold, n_jobs, callbacks)


def _fit_own(cell: Cell, fold: Fold, n_jobs: int | None, callbacks: list[Any] | None) -> Fitted:
    if cell.spec.estimator is None:
        ranker = make_ranker(cell.spec.use, **cell.params)
    else:
        from sklearn.base import clone

        ranker = clone(cell.spec.estimator).set_params(**cell.params)
    ranker.set_params(random_state=cell.seed, n_jobs=n_jobs, verbose=0)
    options: dict[str, Any] = {}
    if ranker.stops_early:
        options["early_stopping_rounds"] = cell.rounds
    if ranker.learns_in_steps:
        options["callbacks"] = callbacks or None
    metric = cell.metrics[0]
    if not _shows_all_steps(cell):  # validation would cut the model
        options |= {"eval_set": fold.validation, "eval_metric": metric}
    step_times: list[float] = []
    if ranker.learns_in_steps and _shows_all_steps(cell):
        options["callbacks"] = [
            *(callbacks or []),
            lambda _: step_times.append(time.perf_counter()),
        ]
    start = time.perf_counter()
    ranker.fit(fold.train, **options)
    seconds = time.perf_counter() - start
    history = ranker.evals_result_.get("valid", {}).get(str(metric))
    best = ranker.best_iteration_ or 0  # the last of the history, if nothing was cut
    return Fitted(
        lambda data, threads: ranker.predict(data, n_jobs=threads),
        seconds=seconds,
        validation=history[best - 1] if history else None,
        n_steps=ranker.model_.n_steps or None,
        ranker=ranker,
        step_seconds=[step - start for step in step_times],
    )


def _model_of(cell: Cell) -> Fitted:
    """Load a model that was trained before."""
    from rankgrove.formats.container import load_model

    ranker = load_model(cell.given_path())
    return Fitted(
        lambda data, threads: ranker.predict(data, n_jobs=threads),
        n_steps=ranker.model_.n_steps or None,
        ranker=ranker,
    )


def _scores_of(cell: Cell, test: Dataset) -> Fitted:
    if cell.scores is not None:
        given = cell.scores
        return Fitted(lambda data, threads: given)
    path, rows = cell.given_path(), cell.test_rows
    if rows is None or (rows.divided and "{fold}" in cell.spec.target):
        scores = read_scores(path, test.n_rows)
    else:
        scores = read_scores(path, rows.n_rows)[rows.rows]
    return Fitted(lambda data, threads: scores)


def _validation(cell: Cell, fold: Fold, fitted: Fitted, n_jobs: int | None) -> float:
    if fitted.validation is not None:
        return fitted.validation
    scores = fitted.score(fold.validation, n_jobs)
    part = fold.validation
    return cell.metrics[0](part.y, scores, groups=part.groups, doc_ids=part.doc_ids, n_jobs=n_jobs)


def _tie_free_means(
    metrics: Sequence[Metric], means: Floats, test: Dataset, scores: Floats, n_jobs: int | None
) -> Floats:
    """Return the means, with ties averaged in metrics that break them by row order."""
    places = [i for i, m in enumerate(metrics) if m.params.get("ties") == "input"]
    free: Floats = means.copy()
    if places:
        averaged = [metrics[i].replace(ties="average") for i in places]
        found = evaluate(test.y, scores, groups=test.groups, metrics=averaged, n_jobs=n_jobs)
        free[places] = found.means
    return free


def _timed(score: Score, data: Dataset) -> tuple[Floats, float]:
    """Return scores, and the seconds of the quickest run on one thread."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        scores = score(data, 1)
        best = min(best, time.perf_counter() - start)
        if best > _QUICK_SECONDS:
            break
    return scores, best


def _leading(test: Dataset, scores: Floats) -> npt.NDArray[np.int32]:
    grouped = test.groups.grouped(scores)
    sizes, offsets = test.groups.sizes, test.groups.offsets
    query = np.repeat(np.arange(test.n_queries), sizes)
    order = np.lexsort((-grouped, query))
    top = np.full((test.n_queries, DEPTH), -1, np.int32)
    for rank in range(min(DEPTH, int(sizes.max(initial=0)))):
        longer = np.flatnonzero(sizes > rank)
        top[longer, rank] = order[offsets[longer] + rank] - offsets[longer]
    return top


def _describe(outcome: CellOutcome, fitted: Fitted, fold: Fold, cell: Cell) -> None:
    """Return the description of a model for the report, if its kind supports it."""
    ranker, test = fitted.ranker, fold.test
    with contextlib.suppress(ModelError):  # a kind of model without splits
        outcome.importances = np.asarray(ranker.importances("gain"))
        outcome.splits = np.asarray(ranker.importances("split"))
    if hasattr(ranker, "predict_proba"):
        relevance = (
            test.y / ranker.max_grade
            if ranker.scores_are_log_odds
            else test.y >= getattr(ranker, "relevant_from", 1.0)
        )
        outcome.reliability = reliability(ranker.predict_proba(test)[:, 1], relevance)
    every = _shows_all_steps(cell)
    if cell.view.curve == "strength":
        _measure_trees(outcome, fitted, fold, str(cell.metrics[0]))
    elif ranker.model_.n_steps and (every or not ranker.model_.needs_queries):
        n_points = None if every else _CURVE_POINTS
        curve = convergence(ranker, test, cell.metrics[0], n_points=n_points)
        outcome.curve_steps = np.asarray(curve.steps, np.int64)
        outcome.curve_values = np.asarray(curve.values, np.float64)
        if every:
            outcome.curve_per_query = curve.per_query
            outcome.curve_seconds = _seconds_by_step(fitted, len(curve.steps))


def _draw_peer(
    outcome: CellOutcome, peer: FittedPeer, test: Dataset, metric: Metric, n_jobs: int | None
) -> None:
    """Measure the first metric on the test part after some trees of another library."""
    if peer.stages is None or not peer.n_steps:
        return
    steps = spread_steps(peer.n_steps, _CURVE_POINTS)
    threads = resolve_n_jobs(n_jobs)
    doc_ids = test.doc_ids if metric.ranks_by_doc_id else None
    prepared = metric.prepare(test.y, test.groups, doc_ids=doc_ids, n_jobs=threads)
    stages = enumerate(peer.stages(test, threads), 1)
    outcome.curve_values = np.array([prepared(scores) for step, scores in stages if step in steps])
    outcome.curve_steps = np.array(steps)


def _measure_trees(outcome: CellOutcome, fitted: Fitted, fold: Fold, metric: str) -> None:
    """Measure the single trees of a forest on the test and on the training part."""
    ranker = fitted.ranker
    test, train = (
        ranker.strength_curve(part, metric=metric).thinned() for part in (fold.test, fold.train)
    )
    outcome.curve_steps, outcome.curve_values = test.n_splits, test.mean
    outcome.train_curve_steps, outcome.train_curve_values = train.n_splits, train.mean
    outcome.curve_seconds = test.work * (fitted.seconds or 0.0) / ranker.model_.n_steps
    if ranker.model_.n_steps < 2:
        return
    with contextlib.suppress(ModelError):  # trees that do not answer with labels
        both = [ranker.tree_correlation(part, metric=metric) for part in (fold.test, fold.train)]
        outcome.tree_correlation = np.array([list(asdict(found).values()) for found in both])


def _seconds_by_step(fitted: Fitted, n_steps: int) -> Floats:
    """Return the time of training up to each step: of a forest, in proportion to its trees."""
    if len(fitted.step_seconds) == n_steps:
        return np.array(fitted.step_seconds)
    shares: Floats = np.arange(1, n_steps + 1) / n_steps
    return shares * (fitted.seconds or 0.0)


def _shows_all_steps(cell: Cell) -> bool:
    """Return whether the cell belongs to a convergence curve, whose models keep all steps."""
    return cell.view.curve == "convergence"


# Under a limit of memory, the stack of a new thread is often what finds none, and code of Python
# may lose a MemoryError on its way (a SystemError).
_LOST_MEMORY_ERRORS = ("can't start new thread", "error return without exception set")


def reason(error: Exception) -> str:
    """Return the reason why a cell has no result."""
    if isinstance(error, MemoryError) or str(error) in _LOST_MEMORY_ERRORS:
        return f"{LACK_OF_MEMORY}{f' ({error})' if str(error) else ''}"
    text = str(error).strip() or traceback.format_exception_only(error)[-1].strip()
    return f"{type(error).__name__}: {text}"
