"""A search of 50 trials on MQ2008, beside the same search with Optuna and LightGBM.

Both draw settings of six parameters with Optuna's TPE sampler, fit LambdaMART (100 leaf-wise trees)
to one training fold after the other, measure NDCG@10 on the validation part and give a trial up
that is below the median. LightGBM's datasets are built once for each fold. Times are those of the
whole search, reading and imports excluded. As the settings that are drawn differ after the first
ten trials, the time per fit stands beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _report import Report, benchmark_arguments, ratio, run_apart

COMMON = """
folder, n_trials, n_trees, threads = arguments
import time, optuna, numpy as np, rankgrove
optuna.logging.set_verbosity(optuna.logging.WARNING)
def spent(start):
    return time.perf_counter() - start[0], time.process_time() - start[1]
"""

SEARCHES = {
    "rankgrove tune": """
import tempfile
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.tuning import tune
ranker = f"lambdamart:tree=leafwise,n_estimators={n_trees}"
study = make_study(folder, [ranker], metrics=["ndcg@10"])
for source in study.sources:
    list(source.folds())
with tempfile.TemporaryDirectory() as out, Store(out) as store:
    start = time.perf_counter(), time.process_time()
    found = tune(study, store, n_trials=n_trials, n_jobs=threads)
    result["wall"], result["cpu"] = spent(start)
result["fits"] = sum(len(trial.values) for trial in found.trials)
result["best"] = found.best.value
""",
    "optuna + LightGBM": """
import lightgbm
folds = list(rankgrove.load_folds(folder))
ndcg = rankgrove.metric("ndcg@10")
fixed = dict(objective="lambdarank", num_threads=threads, verbosity=-1, seed=0, bagging_freq=1,
             feature_pre_filter=False)
start = time.perf_counter(), time.process_time()
data = [lightgbm.Dataset(f.train.X, f.train.y, group=f.train.group_sizes, params=fixed).construct()
        for f in folds]
fits = 0
def objective(trial):
    global fits
    params = dict(
        fixed,
        learning_rate=trial.suggest_float("learning_rate", 0.02, 0.3, log=True),
        num_leaves=trial.suggest_int("num_leaves", 7, 127, log=True),
        min_data_in_leaf=trial.suggest_int("min_data_in_leaf", 1, 200, log=True),
        lambda_l2=trial.suggest_float("lambda_l2", 0.1, 100.0, log=True),
        bagging_fraction=trial.suggest_float("bagging_fraction", 0.3, 1.0),
        feature_fraction=trial.suggest_float("feature_fraction", 0.2, 1.0),
    )
    values = []
    for number, (fold, train) in enumerate(zip(folds, data)):
        booster = lightgbm.train(params, train, n_trees)
        fits += 1
        part = fold.validation
        values.append(ndcg(part.y, booster.predict(part.X), group_sizes=part.group_sizes))
        trial.report(float(np.mean(values)), number)
        if number + 1 < len(folds) and trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(values))
search = optuna.create_study(
    direction="maximize", sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=5))
search.optimize(objective, n_trials=n_trials)
result["wall"], result["cpu"] = spent(start)
result["fits"] = fits
result["best"] = search.best_value
""",
}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--data", default="../shared/data/mq2008", help="folder of folds")
    parser.add_argument("--trials", type=int, default=50)
    arguments = parser.parse_args()
    n_trials, n_trees = (5, 20) if arguments.quick else (arguments.trials, 100)
    report = Report("tuning", arguments, libraries=["optuna", "lightgbm"])
    setting = [str(Path(arguments.data).resolve()), n_trials, n_trees, arguments.threads]
    found: dict[str, dict[str, Any]] = {
        name: run_apart(COMMON + code, *setting) for name, code in SEARCHES.items()
    }
    own = found["rankgrove tune"]
    report.table(
        ["search", "seconds", "CPU s", "fits", "ms/fit", "best NDCG@10", "time is", "per fit"],
        [
            [
                name,
                run["wall"],
                run["cpu"],
                run["fits"],
                1000 * run["wall"] / run["fits"],
                run["best"],
                *(
                    "" if run is own else ratio(run["wall"] * own_fits, own["wall"] * fits)
                    for own_fits, fits in ((1, 1), (own["fits"], run["fits"]))
                ),
            ]
            for name, run in found.items()
        ],
        caption=f"{n_trials} trials on MQ2008, {n_trees} trees; the last columns: times "
        "rankgrove's",
    )
    report.write()


if __name__ == "__main__":
    main()
