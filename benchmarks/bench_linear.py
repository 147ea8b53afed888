"""Training time of the linear and classical rankers on data shaped like MSLR-WEB10K.

The synthetic set has 6000 queries, some 720,000 documents and 136 features (a tenth with --quick).
Coordinate ascent makes one pass over the features, RankBoost 100 rounds; AdaRank and RankSVM train
to their end. Scores are NDCG@10 on 300 other queries.
"""

from __future__ import annotations

import time
from typing import Any

from _report import Report, benchmark_arguments, peak_mb
from rankgrove.datasets import make_ranking
from rankgrove.rankers.base.registry import make_ranker

# Ranker, parameters, and the seconds that full size may take.
RUNS: tuple[tuple[str, dict[str, Any], float | None], ...] = (
    ("ranksvm", {"normalisation": "query-zscore"}, 60),
    ("ranksvm", {"normalisation": "query-zscore", "loss": "squared_hinge"}, 60),
    ("adarank", {"normalisation": "query-minmax"}, 60),
    ("rankboost", {"n_estimators": 100}, 120),
    ("coordinate-ascent", {"max_passes": 1, "n_restarts": 0}, 120),
    ("listmle", {"normalisation": "query-zscore"}, None),
    ("single-feature", {}, None),
    ("random", {}, None),
)


def main() -> None:
    arguments = benchmark_arguments(__doc__).parse_args()
    n_queries = 600 if arguments.quick else 6000
    train = make_ranking(n_queries, preset="mslr", seed=1)
    test = make_ranking(300, preset="mslr", seed=2)
    rows = []
    for name, params, goal in RUNS:
        ranker = make_ranker(name, random_state=0, n_jobs=arguments.threads, **params)
        start, spent = time.perf_counter(), time.process_time()
        ranker.fit(train)
        seconds, cpu = time.perf_counter() - start, time.process_time() - spent
        settings = ", ".join(f"{key}={value}" for key, value in params.items())
        rows.append(
            [name, settings, ranker.model_.n_steps, seconds, cpu, goal or "", ranker.score(test)]
        )
    report = Report("linear", arguments)
    report.table(
        ["ranker", "parameters", "steps", "seconds", "CPU seconds", "goal", "NDCG@10"],
        rows,
        caption=f"Training on {len(train.y)} documents of {train.n_queries} queries, "
        f"{train.n_features} features, {arguments.threads} threads"
        + (" (goals are for ten times as many)" if arguments.quick else ""),
    )
    report.note(f"Peak memory {peak_mb():.0f} MB; the features alone take {train.X.nbytes >> 20}.")
    report.write()


if __name__ == "__main__":
    main()
