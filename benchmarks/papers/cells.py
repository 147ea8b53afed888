"""One measured cell: a method, a collection, a fold, a seed. Cells are kept, so a run resumes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.collections import Collection
from rankgrove import Dataset, RandomForest, make_ranker
from rankgrove.data.reading.folds import Fold
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.registry import ranker_class

# Metrics whose values of single queries are kept, for tests of significance.
BY_QUERY = ("own ndcg@10", "own map")


@dataclass(frozen=True)
class Method:
    """What is trained.

    Attributes
    ----------
    ranker, params : what is trained
    validated : whether the number of steps is chosen on the validation set by NDCG@10, and training
        ends after some steps without a better one
    seeded : whether the model depends on the seed; if not, one run says all
    shift : added to all labels, in training and in RankLib's NDCG
    start : the forest that it starts from, fitted once for all methods that do
    train_share : part of the training queries, drawn by the fold's number
    n_features : the most used features of LambdaMART are kept; None: all
    """

    label: str
    ranker: str
    params: Mapping[str, Any] = field(default_factory=dict)
    validated: bool = False
    seeded: bool = True
    shift: int = 0
    start: Method | None = None
    train_share: float = 1.0
    n_features: int | None = None

    def describe(self) -> str:
        """Say exactly what is trained."""
        settings = [f"{name}={value!r}" for name, value in self.params.items()]
        extras = ["steps chosen on validation"] if self.validated else []
        extras += [f"labels + {self.shift}"] if self.shift else []
        extras += [f"starts from {self.start.label}"] if self.start else []
        return ", ".join([f"`{self.ranker}`", *settings, *extras])

    @property
    def key(self) -> list[Any]:
        """What the cell depends on besides data and seed: all parameters, also those by default."""
        return [
            self.ranker,
            {**effective_defaults(self.ranker), **self.params},
            f"validated={self.validated}",
            f"shift={self.shift}",
            f"share={self.train_share}",
            f"features={self.n_features}",
            *([self.start.key] if self.start else []),
        ]


class Cells:
    """Measures cells and keeps them in a file of JSON lines.

    Parameters
    ----------
    path : the file; cells found in it are not measured again
    n_runs : seeds 0 to n_runs - 1
    threads : of each fit; results do not depend on it, times do
    minutes : after so many, no further cell is measured
    stopping_rounds : steps without a better validation NDCG@10 that end a validated fit
    """

    def __init__(
        self,
        path: Path,
        *,
        n_runs: int,
        threads: int,
        minutes: float | None,
        stopping_rounds: int = 100,
    ) -> None:
        self.path = path
        self.n_runs = n_runs
        self.threads = threads
        self.stopping_rounds = stopping_rounds
        self.deadline = np.inf if minutes is None else time.monotonic() + 60 * minutes
        lines = path.read_text().splitlines() if path.is_file() else []
        self.known: dict[str, Any] = {}
        for line in lines:
            cell = json.loads(line)
            self.known[_key(_completed(cell["key"]))] = cell["value"]
        self.lacks_some = False  # a value was asked for when the time was over
        self._forest: tuple[str, Any, dict[str, float]] = ("", None, {})  # fitted last

    @property
    def time_is_over(self) -> bool:
        """Whether no further cell is measured."""
        return time.monotonic() > self.deadline

    def kept(self, key: list[Any], compute: Callable[[], Any]) -> Any:
        """Return a value from the file, or compute and keep it; None after the deadline."""
        text = _key(key)
        if text not in self.known:
            if self.time_is_over:
                self.lacks_some = True
                return None
            value = compute()
            self.known[text] = value
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "value": value}) + "\n")
            print(*(part for part in key if not isinstance(part, dict | list)), flush=True)
        return self.known[text]

    def measure(self, collection: Collection, methods: Iterable[Method]) -> None:
        """Measure what is missing, run by run, so that whole runs come first."""
        methods = list(methods)
        for seed in range(self.n_runs):
            for number in range(5):
                for method in methods:
                    if not seed or method.seeded:
                        self.cell(collection, method, number, seed)

    def cell(
        self, collection: Collection, method: Method, number: int, seed: int
    ) -> dict[str, Any] | None:
        """Return what was measured of a method on a fold, None if the time is over."""
        key = self._cell_key(collection, method, number, seed)
        value: dict[str, Any] | None = self.kept(
            key, lambda: self._cell(collection, method, number, seed)
        )
        return value

    def runs(
        self, collection: Collection, method: Method, measures: Iterable[str]
    ) -> npt.NDArray[np.float64]:
        """Return an array of runs, folds and measures; runs that lack a fold are left out."""
        measures = list(measures)
        whole = [
            [[cell[measure] for measure in measures] for cell in run]
            for run in self._whole_runs(collection, method)
        ]
        return np.array(whole)

    def by_query(
        self, collection: Collection, method: Method, measure: str
    ) -> list[npt.NDArray[np.float64]]:
        """Return the values of the test queries of each fold, averaged over the whole runs."""
        runs = self._whole_runs(collection, method)
        if not runs:
            return []
        return [
            np.mean([run[number]["queries"][measure] for run in runs], axis=0)
            for number in range(5)
        ]

    def _whole_runs(self, collection: Collection, method: Method) -> list[list[Any]]:
        runs = [
            [self.known.get(_key(self._cell_key(collection, method, n, seed))) for n in range(5)]
            for seed in range(self.n_runs if method.seeded else 1)
        ]
        return [run for run in runs if all(cell is not None for cell in run)]

    def _cell_key(
        self, collection: Collection, method: Method, number: int, seed: int
    ) -> list[Any]:
        stopping = [f"stopping={self.stopping_rounds}"] if method.validated else []
        return [collection.name, *method.key, *stopping, f"fold={number + 1}", f"seed={seed}"]

    def _cell(
        self, collection: Collection, method: Method, number: int, seed: int
    ) -> dict[str, Any]:
        fold = method_fold(collection, method, number)
        ranker, seconds = self.fitted(collection, method, number, seed, fold)
        scores = ranker.predict(fold.test)
        labels = collection.folds[number].test.y  # ERR knows no grade beyond the scale
        groups = fold.test.groups
        values = {
            name: float(
                measure(labels + method.shift * name.startswith("ranklib"), scores, groups=groups)
            )
            for name, measure in collection.metrics.items()
        }
        queries = {
            name: np.round(
                collection.metrics[name].per_query(labels, scores, groups=groups), 6
            ).tolist()
            for name in BY_QUERY
        }
        leaves = 0.0
        if isinstance(ranker, ForestRanker):
            leaves = float(ranker.tree_statistics().means()["n_leaves"])
        return {**values, **seconds, "leaves": leaves, "queries": queries}

    def fitted(
        self, collection: Collection, method: Method, number: int, seed: int, fold: Fold
    ) -> tuple[Any, dict[str, float]]:
        """Return a ranker and the seconds that it took, with those of the forest below it."""
        key = _key(self._cell_key(collection, method, number, seed))
        if key == self._forest[0]:
            return self._forest[1:]
        params, before = dict(method.params), {"wall": 0.0, "cpu": 0.0}
        if method.start:
            params["forest"], before = self.fitted(collection, method.start, number, seed, fold)
        ranker = make_ranker(method.ranker, random_state=seed, n_jobs=self.threads, **params)
        options = {"eval_set": fold.validation, "early_stopping_rounds": self.stopping_rounds}
        wall, cpu = time.perf_counter(), time.process_time()
        ranker.fit(fold.train, **(options if method.validated else {}))
        seconds = {
            "wall": before["wall"] + time.perf_counter() - wall,
            "cpu": before["cpu"] + time.process_time() - cpu,
        }
        if isinstance(ranker, RandomForest):
            self._forest = (key, ranker, seconds)
        return ranker, seconds


def method_fold(collection: Collection, method: Method, number: int) -> Fold:
    """Return a fold as the method sees it: labels shifted, fewer queries, fewer features."""
    train, validation, test = collection.folds[number]
    if method.train_share < 1:
        train = _some_queries(train, method.train_share, number)
    columns = None
    if method.n_features is not None:
        columns = most_used_features(train, method.n_features)
    parts = [_seen(part, method.shift, columns) for part in (train, validation, test)]
    return Fold(*parts)


def most_used_features(train: Dataset, n_features: int) -> npt.NDArray[np.int64]:
    """Return the features that a small LambdaMART model splits on most often."""
    trees = {"tree": "leafwise", "max_leaf_nodes": 31, "n_estimators": 50}
    ranker = make_ranker("lambdamart", random_state=0, n_jobs=1, **trees).fit(train)
    importance = ranker.importances("split")
    return np.sort(np.argsort(-np.asarray(importance), kind="stable")[:n_features])


def _some_queries(data: Dataset, share: float, seed: int) -> Dataset:
    ids = np.unique(data.qid)
    n_kept = max(2, round(share * len(ids)))
    kept = np.random.default_rng(seed).choice(ids, n_kept, replace=False)
    return data.select_rows(np.flatnonzero(np.isin(data.qid, kept)))


def _seen(data: Dataset, shift: int, columns: npt.NDArray[np.int64] | None) -> Dataset:
    if not shift and columns is None:
        return data
    names = data.feature_names
    X = np.asarray(data.X)
    if columns is not None:
        X = np.ascontiguousarray(X[:, columns])
        names = None if names is None else [names[j] for j in columns]
    return Dataset(X, data.y + shift, data.qid, feature_names=names)


@cache
def effective_defaults(ranker: str) -> Mapping[str, Any]:
    """Return the defaults that may change a model; no collection here has categorical features."""
    return {
        parameter.name: parameter.default
        for parameter in parameter_table(ranker_class(ranker))
        if parameter.name not in ("n_jobs", "random_state", "verbose")
        and not parameter.name.startswith("statistics_")
        and "categor" not in parameter.name
    }


def _completed(key: Any) -> Any:
    """Return a kept key with the parameters that its ranker has got since, by default.

    A new parameter does by default what was done before it.
    """
    if not isinstance(key, list):
        return key
    parts = [_completed(part) for part in key]
    for i in range(1, len(parts)):
        if isinstance(parts[i], dict):
            parts[i] = {**effective_defaults(parts[i - 1]), **parts[i]}
    return parts


def _key(parts: list[Any]) -> str:
    return json.dumps(parts, sort_keys=True)
