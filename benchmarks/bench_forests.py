"""Seconds and megabytes per tree of the forests, beside scikit-learn and LightGBM's rf mode.

Data are WEB10K-shaped (``make_ranking(preset="mslr")``). All grow full trees on the same queries
(3780, 63 % of 6000; about 450k documents) with the same number of features per node; NDCG@10 is
that of the whole forest on 2000 other queries::

    python benchmarks/bench_forests.py              # everything
    python benchmarks/bench_forests.py --quick      # a minute, to see that it works
    python benchmarks/bench_forests.py --only rf-list rf-point --no-scaling
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from _report import Report, benchmark_arguments, ratio

# It keeps a histogram per leaf: full trees would take more memory than there is.
LIGHTGBM_LEAVES = 4096


@dataclass(frozen=True)
class Task:
    """What everybody trains and tests on."""

    X: Any
    y: Any
    sizes: Any
    test: Any
    k: int
    threads: int

    def part(self, share: float) -> Task:
        """Return the task with the first queries only."""
        n = max(1, round(share * len(self.sizes)))
        rows = int(self.sizes[:n].sum())
        return Task(self.X[:rows], self.y[:rows], self.sizes[:n], self.test, self.k, self.threads)


@dataclass(frozen=True)
class Forest:
    """What a contestant reports."""

    name: str
    n_trees: int
    seconds: float
    megabytes: float
    n_leaves: float
    ndcg: float
    depth: float = float("nan")  # of a leaf, in the mean over documents
    trees: Any = None  # of rankgrove's

    @property
    def seconds_per_tree(self) -> float:
        """Wall-clock time of the fit over the number of trees."""
        return self.seconds / self.n_trees

    @property
    def megabytes_per_tree(self) -> float:
        """Size of the arrays of the trees over their number."""
        return self.megabytes / self.n_trees


def rankgrove_forest(name: str, n_trees: int, **params: Any) -> Callable[[Task], Forest]:
    def run(task: Task) -> Forest:
        from rankgrove.rankers.base.registry import make_ranker

        drawn = {} if name == "rf-rand" else {"max_features": task.k}  # which draws one, always
        forest = make_ranker(
            name,
            n_estimators=n_trees,
            subsample=1.0,
            sampling="queries",
            n_jobs=task.threads,
            random_state=0,
            **{"min_samples_leaf": 1, **drawn, **params},
        )
        start = time.perf_counter()
        forest.fit(task.X, task.y, group_sizes=task.sizes)
        seconds = time.perf_counter() - start
        trees = forest.model_.ensemble
        arrays = [getattr(trees, field.name) for field in fields(trees)]
        size = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
        label = f"rankgrove {name}" + "".join(f" {k}={v}" for k, v in params.items())
        leaves = float(trees.n_leaves.mean())
        depth = trees.count[trees.left >= 0].sum() / trees.count[trees.tree_offsets[:-1]].sum()
        score = ndcg(forest, task)
        return Forest(label, n_trees, seconds, size / 1e6, leaves, score, depth, trees)

    return run


def sklearn_forest(class_name: str, n_trees: int, **params: Any) -> Callable[[Task], Forest]:
    def run(task: Task) -> Forest:
        from sklearn import ensemble

        forest = getattr(ensemble, class_name)(
            n_trees,
            bootstrap=False,
            max_features=task.k,
            n_jobs=task.threads,
            random_state=0,
            **{"min_samples_leaf": 1, **params},
        )
        start = time.perf_counter()
        forest.fit(task.X, task.y)
        seconds = time.perf_counter() - start
        states = [tree.tree_.__getstate__() for tree in forest.estimators_]
        size = sum(state["nodes"].nbytes + state["values"].nbytes for state in states)
        leaves = float(np.mean([tree.get_n_leaves() for tree in forest.estimators_]))
        if hasattr(forest, "predict_proba"):
            classes = forest.classes_.astype(float)
            scores = forest.predict_proba(task.test.X) @ classes
        else:
            scores = forest.predict(task.test.X)
        label = f"scikit-learn {class_name}" + "".join(f" {v}" for v in params.values())
        return Forest(label, n_trees, seconds, size / 1e6, leaves, measured(scores, task))

    return run


def lightgbm_forest(n_trees: int) -> Callable[[Task], Forest]:
    def run(task: Task) -> Forest:
        import lightgbm

        params = {
            "boosting": "rf",
            "objective": "regression",
            "num_leaves": LIGHTGBM_LEAVES,
            "histogram_pool_size": 1024,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "bagging_freq": 1,
            "bagging_fraction": 0.999,
            "feature_fraction_bynode": task.k / task.X.shape[1],
            "num_threads": task.threads,
            "verbose": -1,
        }
        start = time.perf_counter()
        booster = lightgbm.train(params, lightgbm.Dataset(task.X, task.y), n_trees)
        seconds = time.perf_counter() - start
        size = len(booster.model_to_string())
        leaves = float(np.mean([t["num_leaves"] for t in booster.dump_model()["tree_info"]]))
        scores = booster.predict(task.test.X)
        label = f"lightgbm rf ({LIGHTGBM_LEAVES} leaves at most; MB of its text)"
        return Forest(label, n_trees, seconds, size / 1e6, leaves, measured(scores, task))

    return run


def measured(scores: Any, task: Task) -> float:
    from rankgrove import metric

    return float(metric("ndcg@10")(task.test.y, scores, groups=task.test.groups))


def ndcg(forest: Any, task: Task) -> float:
    return measured(forest.predict(task.test), task)


def contestants(n: int, n_list: int) -> dict[str, tuple[Callable[[Task], Forest], str]]:
    """Return name -> (how to run it, whom it is measured against)."""
    classifier = ("RandomForestClassifier", {"criterion": "entropy"})
    return {
        "sk-entropy": (sklearn_forest(classifier[0], n, **classifier[1]), ""),
        "sk-squared": (sklearn_forest("RandomForestRegressor", n), ""),
        "sk-extra": (sklearn_forest("ExtraTreesRegressor", n), ""),
        "lightgbm": (lightgbm_forest(n), ""),
        "rf-point": (rankgrove_forest("rf-point", n), "sk-entropy"),
        "rf": (rankgrove_forest("rf-point", n, criterion="squared_error"), "sk-squared"),
        "extra-trees": (rankgrove_forest("extra-trees", n), "sk-extra"),
        "rf-rand": (rankgrove_forest("rf-rand", n), "sk-extra"),
        "rf-hybrid": (rankgrove_forest("rf-hybrid", n, listwise_levels=6), "sk-entropy"),
        "rf-list": (rankgrove_forest("rf-list", n_list), "sk-entropy"),
        "rf-list-map": (rankgrove_forest("rf-list", n_list, metric="map"), "rf-list"),
        "rf-list-err": (rankgrove_forest("rf-list", n_list, metric="err"), "rf-list"),
    }


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--list-trees", type=int, default=4, help="of the listwise forest")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contestants to run")
    parser.add_argument("--no-scaling", action="store_true", help="skip the growth of the cost")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.trees, arguments.list_trees = 4, 2
    task = make_task(arguments.quick, arguments.threads)
    report = Report("forests", arguments, libraries=["scikit-learn", "lightgbm"])
    report.note(
        f"{len(task.X):,} documents of {len(task.sizes):,} queries, {task.X.shape[1]} features, "
        f"K = {task.k} features per node, full depth. Seconds include binning."
    )
    everyone = contestants(arguments.trees, arguments.list_trees)
    results: dict[str, Forest] = {}
    for name, (run, _) in everyone.items():
        if arguments.only and name not in arguments.only:
            continue
        results[name] = run(task)
        print(f"{results[name].name}: {results[name].seconds_per_tree:.2f} s per tree", flush=True)
    compare(report, results, everyone)
    if not arguments.no_scaling:
        scaling(report, task, arguments.list_trees)
    report.write()


def compare(report: Report, results: dict[str, Forest], everyone: dict[str, Any]) -> None:
    rows = []
    for name, forest in results.items():
        peer = results.get(everyone[name][1])
        faster = ratio(peer.seconds_per_tree, forest.seconds_per_tree) if peer else ""
        smaller = ratio(peer.megabytes_per_tree, forest.megabytes_per_tree) if peer else ""
        rows.append(
            [
                forest.name,
                forest.n_trees,
                forest.seconds_per_tree,
                faster,
                forest.megabytes_per_tree,
                smaller,
                round(forest.n_leaves),
                f"{forest.ndcg:.4f}",
            ]
        )
    columns = ["forest", "trees", "s/tree", "faster", "MB/tree", "smaller", "leaves", "NDCG@10"]
    report.table(columns, rows, caption="Growing full trees")


def scaling(report: Report, task: Task, n_trees: int) -> None:
    rows, last = [], None
    for share in (1 / 8, 1 / 4, 1 / 2, 1.0):
        part = task.part(share)
        forest = rankgrove_forest("rf-list", n_trees)(part)
        visits, blocks = visited_queries(forest.trees, part)
        seconds = forest.seconds_per_tree
        n = len(part.X)
        growth = [
            f"{now / before:.2f} x" if last else ""
            for now, before in zip((seconds, visits, blocks), last or (1, 1, 1), strict=True)
        ]
        shape = [forest.depth, visits / (n * forest.depth), blocks / visits]
        rows.append([f"{share:g}", n, seconds, *growth, *shape, 1e9 * seconds / visits])
        last = (seconds, visits, blocks)
        print(f"{share:g} of the queries: {seconds:.2f} s per tree", flush=True)
    columns = ["share", "documents", "s/tree", "seconds", "visits", "blocks", "mean depth"]
    columns += ["visits/document and level", "blocks/visit", "ns/visit"]
    report.table(columns, rows, caption="Cost of a full RF-list tree")
    report.note(
        "A visit is a query in a node that is split: its response to all thresholds of the node is "
        "computed once. It depends on its blocks, which are its documents in leaves of equal "
        "score; blocks are those of all visits when their level begins. The columns seconds, "
        "visits and blocks are how many times as many there are as with half as many documents."
    )


def visited_queries(trees: Any, task: Task) -> tuple[int, int]:
    """Return the number of visits of queries by nodes of the first tree, and their blocks."""
    end = trees.tree_offsets[1]
    left, feature, threshold = (a[:end] for a in (trees.left, trees.feature, trees.threshold))
    scores = np.unique(trees.value[:end], return_inverse=True)[1].astype(np.int64)
    query = np.repeat(np.arange(len(task.sizes)), task.sizes)
    node = np.zeros(len(query), dtype=np.int64)
    rows = np.arange(len(query))  # that are in a node that is split
    visits = blocks = 0
    while len(rows := rows[left[node[rows]] >= 0]):
        pairs = np.unique(query[rows] * end + node[rows])
        ranks = np.unique(query * end + scores[node])
        blocks_of = np.bincount(ranks // end, minlength=len(task.sizes))
        visits += len(pairs)
        blocks += int(blocks_of[pairs // end].sum())
        here = node[rows]
        goes_right = task.X[rows, feature[here]] > threshold[here]
        node[rows] = left[here] + goes_right
    return visits, blocks


def make_task(quick: bool, threads: int) -> Task:
    from rankgrove.datasets import make_ranking

    n_train, n_test = (200, 100) if quick else (3780, 2000)
    train = make_ranking(n_train, preset="mslr", seed=1)
    test = make_ranking(n_test, preset="mslr", seed=2)
    k = int(np.log2(train.X.shape[1])) + 1
    return Task(train.X, train.y, np.asarray(train.group_sizes), test, k, threads)


if __name__ == "__main__":
    main()
