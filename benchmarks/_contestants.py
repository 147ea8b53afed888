"""Who trains in bench_boosting.py, and how: one function per contestant.

Each gets the training data and returns a ``Trained``: seconds for binning and for training, and a
function that scores a matrix. Settings are those of the comparison (leaves, trees, learning rate,
threads); everything else is the library's default, so that nobody is tuned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Training:
    """Training data in grouped order, and the shared settings."""

    X: Any
    y: Any
    group_sizes: Any
    n_trees: int
    n_leaves: int
    depth: int
    learning_rate: float
    threads: int


@dataclass(frozen=True)
class Trained:
    """What a contestant reports."""

    binning_seconds: float
    training_seconds: float
    predict: Callable[[Any], Any]


def _rankgrove(name: str, **params: Any) -> Callable[[Training], Trained]:
    def run(data: Training) -> Trained:
        from rankgrove.rankers.base import boosted
        from rankgrove.rankers.base.registry import make_ranker

        clock = {"binning": 0.0}
        for step in ("shared_bins", "cached_codes"):
            setattr(boosted, step, _timed(getattr(boosted, step), clock))
        oblivious = params.get("tree") == "oblivious" or name == "rcrank"
        leaves = {"tree": "leafwise", "max_leaf_nodes": data.n_leaves}
        size = {"max_depth": data.depth} if oblivious else leaves
        ranker = make_ranker(
            name,
            n_estimators=data.n_trees,
            learning_rate=data.learning_rate,
            n_jobs=data.threads,
            random_state=0,
            **size,
            **params,
        )
        start = time.perf_counter()
        ranker.fit(data.X, data.y, group_sizes=data.group_sizes)
        total = time.perf_counter() - start
        return Trained(clock["binning"], total - clock["binning"], ranker.predict)

    return run


def _timed(function: Callable[..., Any], clock: dict[str, float]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        result = function(*args, **kwargs)
        clock["binning"] += time.perf_counter() - start
        return result

    return call


def _lightgbm(**settings: Any) -> Callable[[Training], Trained]:
    def run(data: Training) -> Trained:
        import lightgbm

        params = {
            "objective": "lambdarank",
            "num_leaves": data.n_leaves,
            "learning_rate": data.learning_rate,
            "num_threads": data.threads,
            "verbosity": -1,
            "seed": 0,
            **settings,
        }
        group = data.group_sizes if params["objective"] == "lambdarank" else None
        start = time.perf_counter()
        train = lightgbm.Dataset(data.X, data.y, group=group, params=params).construct()
        binned = time.perf_counter()
        booster = lightgbm.train(params, train, data.n_trees)
        end = time.perf_counter()
        return Trained(binned - start, end - binned, booster.predict)

    return run


def _xgboost(**settings: Any) -> Callable[[Training], Trained]:
    def run(data: Training) -> Trained:
        import xgboost

        params = {
            "objective": "rank:ndcg",
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": data.n_leaves,
            "max_depth": 0,
            "eta": data.learning_rate,
            "nthread": data.threads,
            "seed": 0,
            **settings,
        }
        qid = np.repeat(np.arange(len(data.group_sizes)), data.group_sizes)
        start = time.perf_counter()
        train = xgboost.QuantileDMatrix(data.X, data.y, qid=qid, nthread=data.threads)
        binned = time.perf_counter()
        booster = xgboost.train(params, train, data.n_trees)
        end = time.perf_counter()
        return Trained(binned - start, end - binned, booster.inplace_predict)

    return run


def _catboost(loss: str) -> Callable[[Training], Trained]:
    def run(data: Training) -> Trained:
        import catboost

        qid = np.repeat(np.arange(len(data.group_sizes)), data.group_sizes)
        start = time.perf_counter()
        train = catboost.Pool(data.X, data.y, group_id=qid, thread_count=data.threads)
        train.quantize()
        binned = time.perf_counter()
        model = catboost.CatBoost(
            {
                "loss_function": loss,
                "iterations": data.n_trees,
                "depth": data.depth,
                "learning_rate": data.learning_rate,
                "thread_count": data.threads,
                "random_seed": 0,
                "verbose": False,
                "allow_writing_files": False,
                "metric_period": data.n_trees,
            }
        ).fit(train)
        end = time.perf_counter()
        return Trained(binned - start, end - binned, model.predict)

    return run


QUANTISED = {
    "use_quantized_grad": True,
    "num_grad_quant_bins": 16,
    "quant_train_renew_leaf": True,
}

CONTESTANTS: dict[str, Callable[[Training], Trained]] = {
    "rankgrove-lambdamart": _rankgrove("lambdamart"),
    "rankgrove-lambdamart-oblivious": _rankgrove("lambdamart", tree="oblivious"),
    "rankgrove-mart": _rankgrove("mart"),
    "rankgrove-rcrank": _rankgrove("rcrank"),
    "rankgrove-yetirank-oblivious": _rankgrove("yetirank", tree="oblivious"),
    "rankgrove-mart-oblivious": _rankgrove("mart", tree="oblivious"),
    "rankgrove-xendcg": _rankgrove("xendcg"),
    "lightgbm-auto": _lightgbm(),
    "lightgbm-row": _lightgbm(force_row_wise=True),
    "lightgbm-col": _lightgbm(force_col_wise=True),
    "lightgbm-quantised": _lightgbm(**QUANTISED),
    "lightgbm-regression": _lightgbm(objective="regression"),
    "lightgbm-regression-quantised": _lightgbm(objective="regression", **QUANTISED),
    "xgboost-ndcg": _xgboost(),
    "xgboost-ndcg-mean": _xgboost(lambdarank_pair_method="mean"),
    "catboost-queryrmse": _catboost("QueryRMSE"),
    "catboost-yetirank": _catboost("YetiRank"),
    "catboost-lambdamart": _catboost("LambdaMart"),
}

# (ours, the peers of which the fastest counts, the speed-up that we promise)
GOALS = (
    (
        "rankgrove-lambdamart",
        ("lightgbm-auto", "lightgbm-row", "lightgbm-col", "lightgbm-quantised"),
        2.0,
    ),
    ("rankgrove-mart", ("lightgbm-regression", "lightgbm-regression-quantised"), 1.5),
    ("rankgrove-rcrank", ("catboost-lambdamart",), 10.0),
    ("rankgrove-yetirank-oblivious", ("catboost-yetirank",), 10.0),
    ("rankgrove-mart-oblivious", ("catboost-queryrmse",), 2.0),
)
