"""One measured cell: a method, a collection, a fold, a seed. Cells are kept, so a run resumes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.collections import Collection
from rankgrove import Dataset, RandomForest, make_ranker
from rankgrove.data.reading.folds import Fold
from rankgrove.rankers.base.forest import ForestRanker

STOPPING_ROUNDS = 100


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes
    ----------
    ranker, params : what is trained
    validated : whether the number of steps is chosen on the validation set by NDCG@10, and training
        ends after 100 steps without a better one
    seeded : whether the model depends on the seed; if not, one run says all
    shift : added to all labels, in training and in RankLib's NDCG
    start : the forest that it starts from, fitted once for all methods that do
    """

    label: str
    ranker: str
    params: dict[str, Any] = field(default_factory=dict)
    validated: bool = False
    seeded: bool = True
    shift: int = 0
    start: Method | None = None

    def describe(self) -> str:
        """Say exactly what is trained."""
        settings = [f"{name}={value!r}" for name, value in self.params.items()]
        extras = ["steps chosen on validation"] if self.validated else []
        extras += [f"labels + {self.shift}"] if self.shift else []
        extras += [f"starts from {self.start.label}"] if self.start else []
        return ", ".join([f"`{self.ranker}`", *settings, *extras])


class Cells:
    """Measures cells and keeps them in a file of JSON lines.

    Parameters
    ----------
    path : the file; cells found in it are not measured again
    n_runs : seeds 0 to n_runs - 1
    threads : of each fit; results do not depend on it, times do
    minutes : after so many, no further cell is measured
    """

    def __init__(self, path: Path, *, n_runs: int, threads: int, minutes: float | None) -> None:
        self.path = path
        self.n_runs = n_runs
        self.threads = threads
        self.deadline = np.inf if minutes is None else time.monotonic() + 60 * minutes
        lines = path.read_text().splitlines() if path.is_file() else []
        stored = [json.loads(line) for line in lines]
        self.known: dict[str, dict[str, float]] = {_key(cell["key"]): cell for cell in stored}
        self._forest: tuple[str, Any, dict[str, float]] = ("", None, {})  # fitted last

    def measure(self, collection: Collection, methods: Iterable[Method]) -> None:
        """Measure what is missing, run by run, so that whole runs come first."""
        methods = list(methods)
        for seed in range(self.n_runs):
            for number in range(len(collection.folds)):
                for method in methods:
                    if seed and not method.seeded:
                        continue
                    key = _cell_key(collection, method, number, seed)
                    if _key(key) in self.known:
                        continue
                    if time.monotonic() > self.deadline:
                        return
                    self._keep(key, self._cell(collection, method, number, seed))

    def runs(
        self, collection: Collection, method: Method, measures: Iterable[str]
    ) -> npt.NDArray[np.float64]:
        """Return an array of runs, folds and measures; runs that lack a fold are left out."""
        whole = [
            [[cell[measure] for measure in measures] for cell in run]
            for run in self._runs(collection, method)
            if all(cell is not None for cell in run)
        ]
        return np.array(whole)

    def _runs(self, collection: Collection, method: Method) -> Iterator[list[Any]]:
        for seed in range(self.n_runs if method.seeded else 1):
            keys = [_cell_key(collection, method, n, seed) for n in range(len(collection.folds))]
            yield [self.known.get(_key(key)) for key in keys]

    def _cell(
        self, collection: Collection, method: Method, number: int, seed: int
    ) -> dict[str, float]:
        fold = Fold(*(_shifted(part, method.shift) for part in collection.folds[number]))
        ranker, seconds = self._fitted(collection, method, number, seed, fold)
        scores = ranker.predict(fold.test)
        labels = collection.folds[number].test.y  # ERR knows no grade beyond the scale
        values = {
            name: float(
                measure(
                    labels + method.shift * name.startswith("ranklib"),
                    scores,
                    groups=fold.test.groups,
                )
            )
            for name, measure in collection.metrics.items()
        }
        return {**values, **seconds, "leaves": _leaves_per_tree(ranker)}

    def _fitted(
        self, collection: Collection, method: Method, number: int, seed: int, fold: Fold
    ) -> tuple[Any, dict[str, float]]:
        """Return a ranker and the seconds that it took, with those of the forest below it."""
        key = _key(_cell_key(collection, method, number, seed))
        if key == self._forest[0]:
            return self._forest[1:]
        params, before = dict(method.params), {"wall": 0.0, "cpu": 0.0}
        if method.start:
            params["forest"], before = self._fitted(collection, method.start, number, seed, fold)
        ranker = make_ranker(method.ranker, random_state=seed, n_jobs=self.threads, **params)
        options = {"eval_set": fold.validation, "early_stopping_rounds": STOPPING_ROUNDS}
        wall, cpu = time.perf_counter(), time.process_time()
        ranker.fit(fold.train, **(options if method.validated else {}))
        seconds = {
            "wall": before["wall"] + time.perf_counter() - wall,
            "cpu": before["cpu"] + time.process_time() - cpu,
        }
        if isinstance(ranker, RandomForest):
            self._forest = (key, ranker, seconds)
        return ranker, seconds

    def _keep(self, key: list[Any], cell: dict[str, float]) -> None:
        self.known[_key(key)] = cell
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, **cell}) + "\n")
        print(*key[:2], f"{cell['own ndcg@10']:.4f} {cell['cpu']:.1f} s", *key[2:], flush=True)


def _leaves_per_tree(ranker: Any) -> float:
    """Mean over the trees of a forest; 0 for other rankers."""
    if not isinstance(ranker, ForestRanker):
        return 0.0
    return float(ranker.tree_statistics().means()["n_leaves"])


def _cell_key(collection: Collection, method: Method, number: int, seed: int) -> list[Any]:
    return [
        collection.name,
        method.ranker,
        method.params,
        f"validated={method.validated}",
        f"shift={method.shift}",
        f"fold={number + 1}",
        f"seed={seed}",
        *([method.start.params] if method.start else []),
    ]


def _key(parts: list[Any]) -> str:
    return json.dumps(parts, sort_keys=True)


def _shifted(data: Dataset, shift: int) -> Dataset:
    """The same documents with all labels raised."""
    if not shift:
        return data
    return Dataset(data.X, data.y + shift, data.qid, feature_names=data.feature_names)
