"""Rankers of other libraries, trained and scored like ours: same rows, same seed, same cut.

Rows go to them query by query, and categories as what they call categories (``peer_features``).
With early stopping, the library stops by its own metric; the trees that it has grown are cut where
the study's metric is best on the validation part, as our own models are, and everything in tables
is measured by rankgrove.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import inspect
import itertools
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.folds import Fold
from rankgrove.errors import DataError
from rankgrove.experiments.peer_features import Matrix, PeerFeatures
from rankgrove.metrics.metric import Metric

Floats = npt.NDArray[np.float64]

_PACKAGES = {
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "catboost": ("catboost",),
    "sklearn": ("scikit-learn",),
}
_SKLEARN_MODULES = ("ensemble", "linear_model", "tree", "neighbors", "svm", "neural_network")


def peer_version(library: str) -> str:
    """Return the installed version of the library, or raise MissingDependencyError."""
    require(library, "peers", f"{library} in a comparison")
    for package in _PACKAGES[library]:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # noqa: PERF203 - two names at most
            continue
    return "unknown"


@dataclass(frozen=True)
class Peer:
    """A trained ranker of another library.

    Attributes
    ----------
    score : scores of a matrix by a number of first trees, with a number of threads
    stages : scores of a matrix after each tree, with a number of threads; None without trees
    n_steps : its trees, None without ``stages``
    """

    score: Callable[[Matrix, int | None, int], Floats]
    stages: Callable[[Matrix, int], Iterator[Floats]] | None = None
    n_steps: int | None = None


@dataclass(frozen=True)
class _Task:
    """One fit of a library, with the arguments of ``fit_peer``."""

    target: str
    params: dict[str, Any]
    fold: Fold
    features: PeerFeatures
    seed: int
    rounds: int | None
    n_jobs: int
    one_tree: bool = False


class FittedPeer(NamedTuple):
    """A fitted peer: its scoring functions, its number of trees and its training time.

    ``stages`` gives the scores after each tree up to that number; None without trees to cut.
    """

    score: Callable[[Dataset, int], Floats]
    stages: Callable[[Dataset, int], Iterator[Floats]] | None
    n_steps: int | None
    seconds: float


def fit_peer(
    library: str,
    target: str,
    params: Mapping[str, Any],
    fold: Fold,
    *,
    metric: Metric,
    seed: int,
    rounds: int | None,
    n_jobs: int | None,
) -> FittedPeer:
    """Train, and keep the trees up to the best metric on the validation part.

    Parameters
    ----------
    target : objective of the library's ranker, or class of a scikit-learn regressor
    rounds : stop after this many trees without a better value on the validation part; None: never
    """
    threads = resolve_n_jobs(n_jobs)
    start = time.perf_counter()
    features = PeerFeatures(library, Columns.of(fold.train))
    task = _Task(target, dict(params), fold, features, seed, rounds, threads)
    peer = _FITS[library](task)
    seconds = time.perf_counter() - start
    n_steps = _best_step(peer, features, fold.validation, metric, threads)

    def score(data: Dataset, threads: int) -> Floats:
        return peer.score(features.of(data), n_steps, threads)

    def stages(data: Dataset, threads: int) -> Iterator[Floats]:
        assert peer.stages is not None
        return itertools.islice(peer.stages(features.of(data), threads), n_steps)

    return FittedPeer(score, None if peer.stages is None else stages, n_steps, seconds)


def fit_one_tree(
    library: str, target: str, params: Mapping[str, Any], data: Dataset, rounds: int | None
) -> None:
    """Train on few documents until the first tree is grown, to raise what parameters cause.

    Rankers of scikit-learn are not trained: they check their parameters without data.
    """
    features = PeerFeatures(library, Columns.of(data))
    fold = Fold(data, data, data)
    _FITS[library](_Task(target, dict(params), fold, features, 0, rounds, 1, one_tree=True))


def _best_step(
    peer: Peer, features: PeerFeatures, part: Dataset, metric: Metric, threads: int
) -> int | None:
    """Return the smallest number of trees with the best value."""
    if peer.stages is None:
        return peer.n_steps
    doc_ids = part.doc_ids if metric.ranks_by_doc_id else None
    prepared = metric.prepare(part.y, part.groups, doc_ids=doc_ids, n_jobs=threads)
    sign = 1.0 if metric.greater_is_better else -1.0
    values = [sign * prepared(scores) for scores in peer.stages(features.of(part), threads)]
    if np.isnan(values).all():
        return peer.n_steps
    return int(np.nanargmax(values)) + 1


def _grouped(features: PeerFeatures, data: Dataset) -> tuple[Any, Any, Any]:
    order = slice(None) if data.groups.order is None else data.groups.order
    X = features.of(data)
    rows = X.iloc[order] if hasattr(X, "iloc") else X[order]
    return rows, data.y[order], data.group_sizes


def _weights(data: Dataset) -> Any:
    """Return the weights of documents in grouped order, None if all are equal."""
    return None if data.sample_weight is None else data.groups.grouped(data.sample_weight)


def _query_weights(data: Dataset, library: str) -> Any:
    """Return the weights of queries for a library that has none of documents, None for none."""
    weights = _weights(data)
    if weights is None:
        return None
    first = weights[data.groups.offsets[:-1]]
    if (np.repeat(first, data.groups.sizes) != weights).any():
        raise ValueError(
            f"sample_weight differs within a query, and {library} weighs whole queries when it "
            "ranks: leave it out of the comparison"
        )
    return first


def _lightgbm(task: _Task) -> Peer:
    lightgbm = require("lightgbm", "peers", "lightgbm in a comparison")
    _refuse_unknown_to_lightgbm(lightgbm, task.params)
    model = lightgbm.LGBMRanker(
        objective=task.target,
        random_state=task.seed,
        n_jobs=task.n_jobs,
        **{"verbose": -1, "deterministic": True, "force_row_wise": True, **task.params},
    )
    X, y, sizes = _grouped(task.features, task.fold.train)
    validation: dict[str, Any] = {"callbacks": []}
    if task.rounds is not None:
        valid = _grouped(task.features, task.fold.validation)
        validation = {
            "eval_set": [valid[:2]],
            "eval_group": [valid[2]],
            "eval_at": [10],
            "callbacks": [lightgbm.early_stopping(task.rounds, verbose=False)],
        }
    if task.one_tree:

        def stop(_: Any) -> None:
            raise lightgbm.callback.EarlyStopException(0, [])

        validation["callbacks"].append(stop)
    if task.features.categorical:
        validation["categorical_feature"] = task.features.categorical
    model.fit(X, y, group=sizes, sample_weight=_weights(task.fold.train), **validation)
    booster = model.booster_
    n_steps = int(booster.current_iteration())

    def score(matrix: Matrix, steps: int | None, threads: int) -> Floats:
        scores: Floats = booster.predict(matrix, num_iteration=steps, num_threads=threads)
        return scores

    def stages(matrix: Matrix, threads: int) -> Iterator[Floats]:
        scores = np.zeros(matrix.shape[0])
        for step in range(n_steps):
            scores = scores + booster.predict(
                matrix,
                start_iteration=step,
                num_iteration=1,
                raw_score=True,
                num_threads=threads,
            )
            yield scores

    return Peer(score, stages, n_steps)


def _refuse_unknown_to_lightgbm(lightgbm: Any, params: Mapping[str, Any]) -> None:
    """Refuse parameters that LightGBM would only mention in a log that is switched off."""
    table = getattr(lightgbm.basic, "_ConfigAliases", None)
    aliases: dict[str, list[str]] = getattr(table, "_get_all_param_aliases", dict)()
    if not aliases:  # another version, which keeps them elsewhere
        return
    known = {name for names in aliases.values() for name in names}
    known |= {*aliases, *lightgbm.LGBMRanker().get_params()}
    for name in params:
        if name not in known:
            hint = _did_you_mean(name, aliases) or _did_you_mean(name, known)
            raise ValueError(f"LightGBM has no parameter {name!r}{hint}")


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {near[0]!r}?" if near else ""


def _xgboost(task: _Task) -> Peer:
    xgboost = require("xgboost", "peers", "xgboost in a comparison")
    kinds: dict[str, Any] = {}
    if task.features.categorical:
        names = [
            "c" if j in task.features.columns.categories else "q"
            for j in range(task.features.columns.count)
        ]
        kinds = {"enable_categorical": True, "feature_types": names}
    if task.one_tree:
        stop = {"after_iteration": lambda *_: True}
        kinds["callbacks"] = [type("StopAtOnce", (xgboost.callback.TrainingCallback,), stop)()]
    model = xgboost.XGBRanker(
        objective=task.target,
        random_state=task.seed,
        n_jobs=task.n_jobs,
        early_stopping_rounds=task.rounds,
        **{"tree_method": "hist", **kinds, **task.params},
    )
    X, y, sizes = _grouped(task.features, task.fold.train)
    validation: dict[str, Any] = {}
    if task.rounds is not None:
        valid = _grouped(task.features, task.fold.validation)
        validation = {"eval_set": [valid[:2]], "eval_group": [valid[2]], "verbose": False}
    weights = _query_weights(task.fold.train, "xgboost")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, group=sizes, sample_weight=weights, **validation)
    for warning in caught:
        unused = re.search(r"Parameters: \{ *(.*?) *\} are not used", str(warning.message))
        if unused is not None:
            name = unused[1].partition(",")[0].strip('"')
            known = set(re.findall(r'"(\w+)":', model.get_booster().save_config()))
            hint = _did_you_mean(name, (known | model.get_params().keys()) - task.params.keys())
            raise ValueError(f"XGBoost has no use for {unused[1]}{hint}")

    booster = model.get_booster()
    n_steps = int(booster.num_boosted_rounds())

    def score(matrix: Matrix, steps: int | None, threads: int) -> Floats:
        model.set_params(n_jobs=threads)
        scores = model.predict(matrix, iteration_range=(0, steps))
        return np.asarray(scores, np.float64)

    def stages(matrix: Matrix, threads: int) -> Iterator[Floats]:
        booster.set_param({"nthread": threads})
        rows = xgboost.DMatrix(matrix, nthread=threads, **kinds)
        for step in range(n_steps):
            scores = booster.predict(rows, iteration_range=(step, step + 1), output_margin=True)
            yield np.asarray(scores, np.float64)
            rows.set_base_margin(scores)  # so that the next tree is added to those before

    return Peer(score, stages, n_steps)


def _catboost(task: _Task) -> Peer:
    catboost = require("catboost", "peers", "catboost in a comparison")
    model = catboost.CatBoost(
        {
            "loss_function": task.target,
            "random_seed": task.seed,
            "thread_count": task.n_jobs,
            "logging_level": "Silent",
            "allow_writing_files": False,
            **task.params,
        }
    )

    def pool(data: Dataset) -> Any:
        X, y, sizes = _grouped(task.features, data)
        weights = _query_weights(data, "catboost")
        return catboost.Pool(
            X,
            y,
            group_id=np.repeat(np.arange(len(sizes)), sizes),
            group_weight=None if weights is None else np.repeat(weights, sizes),
            cat_features=task.features.categorical or None,
        )

    validation: dict[str, Any] = {}
    if task.rounds is not None:
        validation = {
            "eval_set": pool(task.fold.validation),
            "early_stopping_rounds": task.rounds,
            "use_best_model": False,
        }
    if task.one_tree:
        validation["callbacks"] = [SimpleNamespace(after_iteration=lambda _: False)]
    try:
        model.fit(pool(task.fold.train), **validation)
    except catboost.CatBoostError as error:
        unknown = re.search(r"Unknown option \{(\w+)\}", str(error))
        if unknown is None:
            raise
        known = inspect.signature(catboost.CatBoostClassifier.__init__).parameters
        hint = _did_you_mean(unknown[1], known)
        raise ValueError(f"CatBoost has no parameter {unknown[1]!r}{hint}") from None

    def score(matrix: Matrix, steps: int | None, threads: int) -> Floats:
        scores = model.predict(matrix, ntree_end=steps, thread_count=threads)
        return np.asarray(scores, np.float64)

    def stages(matrix: Matrix, threads: int) -> Iterator[Floats]:
        for scores in model.staged_predict(matrix, thread_count=threads):
            yield np.asarray(scores, np.float64)

    return Peer(score, stages, int(model.tree_count_))


def _sklearn(task: _Task) -> Peer:
    cls = _regressor(task.target)
    own = cls().get_params()
    study: dict[str, Any] = {"random_state": task.seed, "n_jobs": task.n_jobs}
    if task.features.categorical:
        if "categorical_features" not in own:
            names = [task.features.columns.all_names[j] for j in task.features.categorical]
            raise DataError(
                f"{task.target} of scikit-learn takes numbers alone, and columns are categorical: "
                f"{', '.join(map(repr, names))}; leave them out with ignore={names}, or compare "
                "HistGradientBoostingRegressor"
            )
        study["categorical_features"] = task.features.categorical
    for name in task.params:
        if name not in own:
            hint = _did_you_mean(name, own)
            raise ValueError(f"{task.target} of scikit-learn has no parameter {name!r}{hint}")
    model = cls(**{**{k: v for k, v in study.items() if k in own}, **task.params})
    if task.one_tree:
        model._validate_params()
        return Peer(model.predict)
    weight = task.fold.train.sample_weight
    X = task.features.of(task.fold.train)
    model.fit(X, task.fold.train.y, **({} if weight is None else {"sample_weight": weight}))

    def score(matrix: Matrix, steps: int | None, threads: int) -> Floats:
        if "n_jobs" in own:
            model.set_params(n_jobs=threads)
        return np.asarray(model.predict(matrix), np.float64)

    return Peer(score)


def _regressor(name: str) -> Any:
    from sklearn.base import is_regressor

    for module in _SKLEARN_MODULES:
        cls = getattr(importlib.import_module(f"sklearn.{module}"), name, None)
        if cls is not None and is_regressor(cls()):
            return cls
    raise ValueError(f"scikit-learn has no regressor {name!r} that can be compared")


_FITS = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost, "sklearn": _sklearn}
