"""Exact SHAP values beside LightGBM's ``pred_contrib`` and shap's C code, on the same trees.

Models: LightGBM of 500 trees of 31 leaves on 136 features, and a scikit-learn forest of 100 deep
trees. rankgrove explains each of them as imported, shap in the form that ``shap_trees`` makes of
it. Every answer is compared with rankgrove's. shap's C code runs on one thread. The slower ones
explain fewer documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import shap

import rankgrove
from _report import Report, benchmark_arguments, best_time, ratio
from rankgrove.datasets import make_ranking
from rankgrove.explain import explain, interactions, shap_trees

Explain = Callable[[np.ndarray], np.ndarray]


def main() -> None:
    arguments = benchmark_arguments(__doc__).parse_args()
    report = Report("explain", arguments, libraries=["lightgbm", "shap", "scikit-learn"])
    n_queries = 40 if arguments.quick else 200
    train = make_ranking(n_queries, preset="mslr", seed=1)
    documents = np.ascontiguousarray(make_ranking(n_queries, preset="mslr", seed=2).X)
    for caption, make in (("boosted", boosted), ("forest", forest)):
        ranker, peers = make(train, arguments)
        measure(report, caption, ranker, peers, documents, arguments)
    report.write()


def boosted(data: Any, arguments: Any) -> tuple[Any, dict[str, Explain]]:
    import lightgbm

    params = {"objective": "lambdarank", "num_leaves": 31, "learning_rate": 0.05}
    booster = lightgbm.train(
        params | {"min_data_in_leaf": 20, "verbose": -1, "seed": 1},
        lightgbm.Dataset(data.X, data.y, group=data.group_sizes),
        50 if arguments.quick else 500,
    )

    def pred_contrib(threads: int) -> Explain:
        return lambda X: booster.predict(X, pred_contrib=True, num_threads=threads)[:, :-1]

    return rankgrove.from_lightgbm(booster), {
        f"LightGBM pred_contrib, {threads_text(n)}": pred_contrib(n)
        for n in sorted({1, arguments.threads})
    }


def forest(data: Any, arguments: Any) -> tuple[Any, dict[str, Explain]]:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        10 if arguments.quick else 100,
        max_features=0.1,
        min_samples_leaf=5,
        random_state=1,
        n_jobs=arguments.threads,
    )
    return rankgrove.from_sklearn(model.fit(data.X, data.y)), {}


def measure(
    report: Report,
    caption: str,
    ranker: Any,
    peers: dict[str, Explain],
    documents: np.ndarray,
    arguments: Any,
) -> None:
    """Time contributions of all, and interactions of rankgrove and shap."""
    trees = ranker.model_.ensemble
    explainer = shap.TreeExplainer(shap_trees(ranker))
    title = f"{trees.n_trees} trees of {trees.n_leaves.mean():.0f} leaves on average ({caption})"

    def ours(threads: int) -> Explain:
        return lambda X: explain(ranker, X, n_jobs=threads).values

    counts = sorted({1, arguments.threads}, reverse=True)
    many = 4096 if caption == "boosted" else 256  # deep trees take their time
    table(
        report,
        f"Contributions: {title}",
        {f"rankgrove, {threads_text(n)}": ours(n) for n in counts}
        | peers
        | {"shap's C code, 1 thread": explainer.shap_values},
        documents[: 64 if arguments.quick else many],
        documents[: 16 if arguments.quick else many // 16],
    )
    if caption == "boosted":
        table(
            report,
            f"Interactions: {title}",
            {
                f"rankgrove, {threads_text(n)}": lambda X, n=n: interactions(ranker, X, n_jobs=n)
                for n in counts
            }
            | {"shap's C code, 1 thread": explainer.shap_interaction_values},
            documents[: 16 if arguments.quick else 256],
            documents[:2],
        )


def table(
    report: Report,
    caption: str,
    contestants: dict[str, Explain],
    many: np.ndarray,
    few: np.ndarray,
) -> None:
    """Time rankgrove, which comes first, on many documents and the others on few."""
    expected = next(iter(contestants.values()))(few)
    rows: list[list[Any]] = []
    for name, compute in contestants.items():
        documents = many if name.startswith("rankgrove") else few
        compute(documents[:8])
        seconds, answer = best_time(lambda: compute(documents), 3)  # noqa: B023
        microseconds = 1e6 * seconds / len(documents)
        difference = float(np.abs(answer[: len(few)] - expected).max())
        rows.append([name, len(documents), microseconds, f"{difference:.1e}"])
    best = rows[0][2]
    report.table(
        ["contestant", "documents", "us/document", "max difference", f"{rows[0][0]} is"],
        [[*row, ratio(row[2], best)] for row in rows],
        caption=caption,
    )


def threads_text(n: int) -> str:
    return f"{n} thread{'s' * (n > 1)}"


if __name__ == "__main__":
    main()
