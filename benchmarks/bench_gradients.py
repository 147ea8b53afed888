"""Milliseconds per iteration of every gradient kernel, on data shaped like MSLR-WEB10K.

LightGBM does not expose its gradients. Its share is estimated by boosting stumps on one constant
feature, where an iteration is little more than the gradients: the time with a ranking objective,
minus the time with least squares (whose gradients are nearly free).
"""

from __future__ import annotations

import time

import lightgbm
import numpy as np

from _report import Report, benchmark_arguments, best_time, ratio
from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.cosmart import CosineDistance
from rankgrove.boosting.objectives.klmart import KullbackLeibler
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.objectives.mart import SquaredError
from rankgrove.boosting.objectives.mcrank import GradeProbabilities
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.boosting.objectives.xendcg import CrossEntropyNDCG
from rankgrove.boosting.objectives.yetirank import YetiRankPairs


def mslr_shaped(n_queries: int, threads: int) -> TrainingData:
    random = np.random.default_rng(0)
    sizes = np.clip(random.gamma(4.0, 30.0, n_queries).astype(int), 1, 900)
    labels = random.choice(5, sizes.sum(), p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    return TrainingData(labels, np.r_[0, np.cumsum(sizes)].astype(np.int64), None, threads, 0)


def gradient_time(objective: Objective, n: int) -> float:
    shape = (objective.n_outputs, n)
    scores = np.random.default_rng(1).normal(size=shape)
    gradients = np.empty(shape, np.float32)
    hessians = None if objective.constant_hessian else np.empty(shape, np.float32)
    return best_time(lambda: objective.gradients(scores, gradients, hessians, 0), 3, at_least=0.5)[
        0
    ]


def leaf_time(objective: PlackettLuceLikelihood, n: int) -> float:
    random = np.random.default_rng(1)
    scores, leaf = random.normal(size=(1, n)), random.integers(30, 61, n).astype(np.int32)
    return best_time(lambda: objective.leaf_values(scores, leaf, 61, 0), 3, at_least=0.5)[0]


def lightgbm_iteration(data: TrainingData, objective: str, threads: int, iterations: int) -> float:
    """Seconds per iteration on one feature, without building the data set."""
    X = np.random.default_rng(2).normal(size=(data.n_documents, 1))
    parameters = {
        "objective": objective,
        "num_leaves": 2,
        "num_threads": threads,
        "verbosity": -1,
        "max_bin": 4,
    }
    dataset = lightgbm.Dataset(X, data.y, group=np.diff(data.offsets), params=parameters)
    booster = lightgbm.Booster(parameters, dataset)
    times = []
    for _ in range(iterations):
        start = time.perf_counter()
        booster.update()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    arguments = benchmark_arguments(__doc__).parse_args()
    data = mslr_shaped(600 if arguments.quick else 6000, arguments.threads)
    n = data.n_documents
    kernels: dict[str, Objective] = {
        "MART": SquaredError(data),
        "LambdaMART NDCG": LambdaGradients(data),
        "LambdaMART NDCG@10": LambdaGradients(data, k=10),
        "LambdaMART MAP": LambdaGradients(data, "map"),
        "LambdaMART ERR@10": LambdaGradients(data, "err", k=10),
        "LambdaMART MRR": LambdaGradients(data, "mrr"),
        "PLRank obj=1": PlackettLuceLikelihood(data, n_permutations=1),
        "PLRank obj=3": PlackettLuceLikelihood(data, n_permutations=3),
        "McRank": GradeProbabilities(data),
        "McRank ordinal": GradeProbabilities(data, ordinal=True),
        "KLMART": KullbackLeibler(data),
        "CosMART": CosineDistance(data),
        "XENDCG": CrossEntropyNDCG(data),
        "YetiRank": YetiRankPairs(data),
    }
    seconds = {name: gradient_time(objective, n) for name, objective in kernels.items()}
    for n_permutations in (1, 3):
        name = f"PLRank obj={n_permutations}"
        seconds[f"{name}, leaf values"] = leaf_time(kernels[name], n)  # type: ignore[arg-type]

    iterations = 5 if arguments.quick else 15
    plain = lightgbm_iteration(data, "regression", arguments.threads, iterations)
    peers = {
        ours: lightgbm_iteration(data, theirs, arguments.threads, iterations) - plain
        for ours, theirs in (("LambdaMART NDCG", "lambdarank"), ("XENDCG", "rank_xendcg"))
    }
    report = Report("gradients", arguments, libraries=["lightgbm"])
    report.table(
        ["kernel", "ms", "ns per document", "LightGBM ms", "rankgrove is"],
        [
            [
                name,
                1e3 * value,
                1e9 * value / n,
                1e3 * peers[name] if name in peers else "",
                ratio(peers[name], value) if name in peers else "",
            ]
            for name, value in seconds.items()
        ],
        caption=f"Gradients of one iteration, {data.n_queries} queries, {n} documents, "
        f"{arguments.threads} threads",
    )
    report.table(
        ["permutations", "contexts stored", "equals permutations"],
        [
            [count, share, share * count]
            for count in (3, 6, 9, 12, 15, 18, 21)
            for share in [PlackettLuceLikelihood(data, n_permutations=count).compression]
        ],
        caption="PLRank: contexts left after merging (as table 3 of the paper, but random labels)",
    )
    report.write()


if __name__ == "__main__":
    main()
