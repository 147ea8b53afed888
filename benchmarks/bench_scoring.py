"""Scoring beside the appliers and compilers of other libraries, on the same models and documents.

Models: LightGBM of 500 x 31 and 1000 x 64 leaves, CatBoost of 500 oblivious trees of depth 6, and
a scikit-learn forest of 100 full trees. rankgrove scores each of them as imported, the others in
their own form, made from the same trees. Every answer is compared with rankgrove's.

Batch: microseconds per document, best of several runs. Query: wall-clock latency of one call with
100 documents on one thread.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import _scoring_peers as peers
import rankgrove
from _report import Report, benchmark_arguments, best_time, ratio
from rankgrove.datasets import make_ranking

Predict = Callable[[np.ndarray], np.ndarray]

# lleaves compiles the larger model for more than ten minutes, and is left out there.
BOOSTED_PEERS = ["xgboost", "onnxruntime", "tl2cgen"]


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--skip", nargs="+", default=[], help="libraries to leave out")
    arguments = parser.parse_args()
    report = Report("scoring", arguments, libraries=peers.LIBRARIES)
    n_queries = 40 if arguments.quick else 400
    train = make_ranking(n_queries, preset="mslr", seed=1)
    documents = np.ascontiguousarray(make_ranking(n_queries, preset="mslr", seed=2).X)
    for name in arguments.models:
        caption, train_model = MODELS[name]
        model, own, contestants = train_model(train, arguments.quick)
        with tempfile.TemporaryDirectory() as folder:
            measure(report, caption, model, own, contestants, documents, Path(folder), arguments)
    report.write()


def boosted(n_trees: int, n_leaves: int, others: list[str]) -> Callable[[Any, bool], Any]:
    def train_model(data: Any, quick: bool) -> Any:
        import lightgbm

        params = {"objective": "lambdarank", "num_leaves": n_leaves, "learning_rate": 0.05}
        booster = lightgbm.train(
            params | {"min_data_in_leaf": 20, "verbose": -1, "seed": 1},
            lightgbm.Dataset(data.X, data.y, group=data.group_sizes),
            n_trees // 10 if quick else n_trees,
        )
        return rankgrove.from_lightgbm(booster), ("lightgbm", booster), others

    return train_model


def oblivious(data: Any, quick: bool) -> Any:
    from catboost import CatBoost, Pool

    params = {"loss_function": "QueryRMSE", "depth": 6, "iterations": 50 if quick else 500}
    model = CatBoost(params | {"verbose": 0, "allow_writing_files": False, "random_seed": 1})
    model.fit(Pool(data.X, data.y, group_id=data.groups.query_of_row()))
    others = ["xgboost", "onnxruntime", "rankgrove.h"]
    return rankgrove.from_catboost(model), ("catboost", model), others


def forest(data: Any, quick: bool) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        10 if quick else 100, max_features=0.1, random_state=1, n_jobs=-1
    ).fit(data.X, data.y)
    return rankgrove.from_sklearn(model), ("scikit-learn", model), ["onnxruntime"]


MODELS: dict[str, tuple[str, Callable[[Any, bool], Any]]] = {
    "500x31": ("trees of 31 leaves", boosted(500, 31, [*BOOSTED_PEERS, "lleaves", "rankgrove.h"])),
    "1000x64": ("trees of 64 leaves", boosted(1000, 64, [*BOOSTED_PEERS, "rankgrove.h"])),
    "oblivious": ("oblivious trees of depth 6", oblivious),
    "forest": ("full trees of a forest", forest),
}


def measure(
    report: Report,
    caption: str,
    model: Any,
    own: tuple[str, Any],
    others: list[str],
    documents: np.ndarray,
    folder: Path,
    arguments: Any,
) -> None:
    """Time rankgrove, the library that trained the model, and the others."""
    start = time.perf_counter()
    scorer = model.compile()
    compiled = time.perf_counter() - start

    def rankgrove_predict(threads: int) -> Predict:
        return lambda X: scorer.predict(X, n_jobs=threads)

    makers: dict[str, Callable[[int], Predict]] = {"rankgrove": rankgrove_predict}
    for name in [own[0], *others]:
        if name not in arguments.skip:
            makers[name] = peers.maker(name, model, own[1], folder)
    expected = scorer.predict(documents)
    rows: list[list[Any]] = []
    ours: list[float] = []
    for name, make in makers.items():
        start = time.perf_counter()
        try:
            single = make(1)
        except ImportError as error:
            report.note(f"{name}: not measured ({error})")
            continue
        prepared = compiled if name == "rankgrove" else time.perf_counter() - start
        difference = float(np.abs(np.ravel(single(documents)) - expected).max())
        times = [batch_us(single, documents, arguments.quick)]
        if arguments.threads > 1:
            times.append(batch_us(make(arguments.threads), documents, arguments.quick))
        times += query_us(single, documents, arguments.quick)
        ours = ours or times
        rows.append(
            [
                name,
                *times,
                ratio(times[0], ours[0]),
                ratio(times[-2], ours[-2]),
                difference,
                prepared,
            ]
        )
    threads = [f"us/doc, {n} thread{'s' * (n > 1)}" for n in sorted({1, arguments.threads})]
    report.table(
        [
            "scorer",
            *threads,
            "query median us",
            "query p99 us",
            "batch: rankgrove is",
            "query: rankgrove is",
            "max difference",
            "prepare s",
        ],
        rows,
        caption=f"{model.model_.ensemble.n_trees} {caption}, {documents.shape[1]} features, "
        f"{len(documents):,} documents",
    )


def batch_us(predict: Predict, documents: np.ndarray, quick: bool) -> float:
    predict(documents[:1000])
    seconds, _ = best_time(lambda: predict(documents), 2 if quick else 5, 0.0 if quick else 1.0)
    return seconds / len(documents) * 1e6


def query_us(predict: Predict, documents: np.ndarray, quick: bool) -> list[float]:
    """Median and p99 latency of one query of 100 documents."""
    queries = [documents[i : i + 100].copy() for i in range(0, min(len(documents), 5000) - 99, 100)]
    for query in queries[:20]:
        predict(query)
    times = []
    end = time.perf_counter() + (0.2 if quick else 3.0)
    while time.perf_counter() < end or len(times) < 50:
        query = queries[len(times) % len(queries)]
        start = time.perf_counter()
        predict(query)
        times.append(time.perf_counter() - start)
    return [float(value) * 1e6 for value in np.percentile(times, [50, 99])]


if __name__ == "__main__":
    main()
