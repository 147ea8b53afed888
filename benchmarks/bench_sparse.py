"""Training on sparse data beside LightGBM and XGBoost, each from scipy CSR in its own process.

200,000 documents with 20,000 features, of which 1 % are filled (a tenth of both with --quick):
frequent and rare columns as words have them. Values are real numbers (255 bins per feature); in a
second table, of half the documents, small counts (a dozen). LambdaMART, 31 leaves. Memory is what
training adds to the process that holds the matrix. Ten minutes, most of them LightGBM's; each table
is written as soon as it is there.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from _report import Report, benchmark_arguments, ratio, run_apart

DATA = """
values, n_rows, n_features, folder = arguments
import numpy as np, scipy.sparse
rng = np.random.default_rng(0)
per_row = rng.poisson(0.01 * n_features, n_rows).clip(1)
starts = np.r_[0, np.cumsum(per_row)]
popularity = np.cumsum(np.arange(1, n_features + 1) ** -0.5)
drawn = np.searchsorted(popularity, rng.random(starts[-1]) * popularity[-1])
columns = rng.permutation(n_features)[drawn].astype(np.int32)
data = (
    rng.random(starts[-1], np.float32) + np.float32(0.1)
    if values == "real numbers"
    else rng.geometric(0.5, starts[-1]).astype(np.float32)
)
X = scipy.sparse.csr_matrix((data, columns, starts), shape=(n_rows, n_features))
X.sum_duplicates()
weights = rng.normal(size=n_features) * (rng.random(n_features) < 0.05)
score = X @ weights
score = (score - score.mean()) / score.std() + rng.normal(size=n_rows)
y = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)
scipy.sparse.save_npz(folder + "/X.npz", X, compressed=False)
np.save(folder + "/y.npy", y)
result["stored"] = int(X.nnz)
"""

BEGIN = """
name, folder, n_trees, threads = arguments
import importlib, numpy as np, scipy.sparse, time
from rankgrove import LambdaMART, metric
importlib.import_module(name)
X, y = scipy.sparse.load_npz(folder + "/X.npz"), np.load(folder + "/y.npy")
sizes = np.full(len(y) // 50, 50)
marks = []

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key))

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak of loading the data
before = resident("VmRSS")
start = time.perf_counter()
"""

FITS = {
    "rankgrove": """
ranker = LambdaMART(
    n_estimators=n_trees, tree="leafwise", max_leaf_nodes=31, random_state=0, n_jobs=threads
)
ranker.fit(X, y, group_sizes=sizes, callbacks=[lambda _: marks.append(time.perf_counter())])
predict = lambda: ranker.predict(X)
""",
    "lightgbm": """
import lightgbm
params = dict(objective="lambdarank", num_leaves=31, num_threads=threads, verbose=-1)
train = lightgbm.Dataset(X, y, group=sizes, params=params).construct()
result["construct"] = time.perf_counter() - start
mark = lambda _: marks.append(time.perf_counter())
booster = lightgbm.train(params, train, n_trees, callbacks=[mark])
predict = lambda: booster.predict(X, num_threads=threads)
""",
    "xgboost": """
import xgboost
params = dict(objective="rank:ndcg", eta=0.1, max_leaves=31, max_depth=0,
              grow_policy="lossguide", tree_method="hist", nthread=threads)
train = xgboost.DMatrix(X, y, nthread=threads)
train.set_group(sizes)
result["construct"] = time.perf_counter() - start
class Mark(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        marks.append(time.perf_counter())
        return False
booster = xgboost.train(params, train, n_trees, callbacks=[Mark()])
predict = lambda: booster.predict(train)
""",
}

END = """
end = time.perf_counter()
result["training"] = end - start
result["first"] = marks[0] - start
result["per_tree"] = (marks[-1] - marks[0]) / max(1, len(marks) - 1)
result["added_mb"] = resident("VmHWM") - before
result["ndcg"] = metric("ndcg@10")(y, np.asarray(predict(), np.float64), group_sizes=sizes)
"""


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--trees", type=int, default=None, help="boosting iterations")
    parser.add_argument("--only", choices=["real numbers", "counts"], help="one of the tables")
    parser.add_argument("--rows", type=int, help="documents of real numbers")
    parser.add_argument("--features", type=int)
    arguments = parser.parse_args()
    n_rows = arguments.rows or (20_000 if arguments.quick else 200_000)
    n_features = arguments.features or (2_000 if arguments.quick else 20_000)
    n_trees = arguments.trees or (10 if arguments.quick else 4)
    report = Report("sparse", arguments, libraries=["scipy", "lightgbm", "xgboost-cpu"])
    for values, n in (("real numbers", n_rows), ("counts", n_rows // 2)):
        if arguments.only not in (None, values):
            continue
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            made = run_apart(DATA, values, n, n_features, folder)
            found: dict[str, dict[str, Any]] = {}
            for name, fit in FITS.items():
                setting = [name, folder, n_trees, arguments.threads]
                found[name] = run_apart(BEGIN + fit + END, *setting)
                print(name, found[name], file=sys.stderr)
        own = found["rankgrove"]
        report.table(
            [
                *("library", "seconds", "construct s", "first tree s", "ms/tree", "MB added"),
                *("NDCG@10", "time is", "tree is", "memory is"),
            ],
            [
                [
                    name,
                    run["training"],
                    run.get("construct", "-"),
                    run["first"],
                    1000 * run["per_tree"],
                    run["added_mb"],
                    run["ndcg"],
                    *(
                        ratio(run[measure], own[measure]) if run is not own else ""
                        for measure in ("training", "per_tree", "added_mb")
                    ),
                ]
                for name, run in found.items()
            ],
            caption=f"{n_trees} trees on {n:,} x {n_features:,} with {made['stored']:,} "
            f"entries, {values}; the last columns say how many times rankgrove's",
        )
        report.write()
    report.note(
        '"construct" is the time before training starts: LightGBM bins and bundles features, '
        'XGBoost copies entries (and bins them in its first tree). "first tree" includes it.'
    )
    report.write()


if __name__ == "__main__":
    main()
