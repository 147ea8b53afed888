"""Training on sparse data beside LightGBM and XGBoost, each from scipy CSR in its own process.

200,000 documents with 20,000 features, of which 1 % are filled (a tenth of both with --quick):
frequent and rare columns as words have them, values either real numbers (255 bins per feature) or
small counts (a dozen). LambdaMART, 31 leaves. Memory is what training adds to the process that
holds the matrix.
"""

from __future__ import annotations

from typing import Any

from _report import Report, benchmark_arguments, ratio, run_apart

DATA = """
import importlib, numpy as np, scipy.sparse, time
from rankgrove import LambdaMART, metric
name, values, n_rows, n_features, n_trees, threads = arguments
importlib.import_module(name)
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
sizes = np.full(n_rows // 50, 50)
del starts, drawn, columns, data

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key))

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak of making the data
before = resident("VmRSS")
start = time.perf_counter()
"""

FITS = {
    "rankgrove": """
marks = []
ranker = LambdaMART(n_estimators=n_trees, max_leaf_nodes=31, random_state=0, n_jobs=threads)
ranker.fit(X, y, group_sizes=sizes, callbacks=[lambda _: marks.append(time.perf_counter())])
predict = lambda: ranker.predict(X)
""",
    "lightgbm": """
import lightgbm
params = dict(objective="lambdarank", num_leaves=31, num_threads=threads, verbose=-1)
train = lightgbm.Dataset(X, y, group=sizes, params=params)
marks = []
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
marks = []
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
result["per_tree"] = (marks[-1] - marks[0]) / max(1, len(marks) - 1)
result["added_mb"] = resident("VmHWM") - before
result["ndcg"] = metric("ndcg@10")(y, np.asarray(predict(), np.float64), group_sizes=sizes)
result["stored"] = int(X.nnz)
"""


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--trees", type=int, default=None, help="boosting iterations")
    arguments = parser.parse_args()
    n_rows, n_features = (20_000, 2_000) if arguments.quick else (200_000, 20_000)
    n_trees = arguments.trees or (10 if arguments.quick else 3)
    report = Report("sparse", arguments, libraries=["scipy", "lightgbm", "xgboost-cpu"])
    for values in ("real numbers", "counts"):
        found: dict[str, dict[str, Any]] = {}
        for name, fit in FITS.items():
            code = DATA + fit + END
            setting = [name, values, n_rows, n_features, n_trees, arguments.threads]
            found[name] = run_apart(code, *setting)
        own = found["rankgrove"]
        rows = [
            [name, run["training"], 1000 * run["per_tree"], run["added_mb"], run["ndcg"]]
            + (
                ["", ""]
                if name == "rankgrove"
                else [
                    ratio(run["training"], own["training"]),
                    ratio(run["added_mb"], own["added_mb"]),
                ]
            )
            for name, run in found.items()
        ]
        report.table(
            ["library", "seconds", "ms/tree", "MB added", "NDCG@10", "time is", "memory is"],
            rows,
            caption=f"{n_trees} trees on {n_rows:,} x {n_features:,} with {own['stored']:,} "
            f"entries, {values}; the last columns say how many times rankgrove's",
        )
    report.write()


if __name__ == "__main__":
    main()
