"""How much of the full-information NDCG is reached from n simulated sessions, by method.

The usual protocol: a weak production ranker, trained on 1 % of the training queries (at least 5),
shows lists of 10 documents with some exploration (Gumbel noise of scale 0.3); simulated users click
by the position-based model, or also trust high positions; rankers learn from the clicks; NDCG@10 is
measured with the true grades of the test queries, and divided by that of the same ranker trained on
the true grades of the training queries. Every method is LambdaMART with the same settings, fixed
beforehand::

    python benchmarks/bench_clicks.py --sessions 1000 10000 100000
    python benchmarks/bench_clicks.py --quick --no-write
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import rankgrove
from _judgments import DATA
from _judgments import collections as judged_collections
from _report import Report, benchmark_arguments
from rankgrove.clicks import estimate_trust_bias, fit_click_model, propensities_of_rank_changes
from rankgrove.datasets import make_ranking, simulate_clicks

METHODS = ("naive", "IPS, true", "IPS, estimated", "unbiased", "additive", "trust", "PBM labels")


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=2, help="simulations that are averaged")
    args = parser.parse_args()
    warnings.simplefilter("ignore", rankgrove.DataWarning)
    if args.quick:
        args.sessions, args.seeds = [300], 1
    report = Report("clicks", args)
    for name, train, test in collections(args):
        full = ranker(args).fit(train).score(test)
        for users in ("pbm", "trust"):
            rows = []
            for n in args.sessions:
                shares = [study(train, test, users, n, seed, args) for seed in range(args.seeds)]
                means = np.array(shares).mean(axis=0) / full
                rows.append([f"{n:,}", *(percent(share) for share in means)])
            caption = f"{name}, users: {users}; full information: NDCG@10 {full:.4f}"
            report.table(["sessions", "production", *METHODS], rows, caption=caption)
    report.note(
        f"Percent of the full-information NDCG@10, mean of {args.seeds} simulations. A dash is an "
        "estimate that the log does not allow. Simulated users obey the models that the methods "
        "assume; real ones do not (Hager et al., SIGIR 2024)."
    )
    report.write()


def percent(share: float) -> str:
    """Return a share as a number of percent, a dash if there is none."""
    return "-" if np.isnan(share) else f"{100 * share:.1f}"


def collections(args: Any) -> list[tuple[str, Any, Any]]:
    """Return names, training and test data of the collections that are there."""
    found = []
    parts = sorted((args.data / "mq2008").glob("S?.txt.gz"))
    if parts and not args.quick:
        found.append(("MQ2008", rankgrove.load(parts[:-1]), rankgrove.load(parts[-1])))
    web = judged_collections(args.data).get("WEB10K sample")
    if web is not None and not args.quick:
        found.append(("WEB10K sample", *halves(web)))
    synthetic = make_ranking(40 if args.quick else 400, docs_per_query=20, n_features=20, seed=1)
    return [*found, ("synthetic", *halves(synthetic))]


def halves(data: Any) -> tuple[Any, Any]:
    """Divide queries into two halves."""
    even = np.arange(data.n_queries) % 2 == 0
    return data.select_queries(even), data.select_queries(~even)


def ranker(args: Any, **params: Any) -> Any:
    """Return the ranker of every method."""
    settings = {"n_estimators": 50, "tree": "leafwise", "max_leaf_nodes": 15, "random_state": 0}
    return rankgrove.LambdaMART(**settings, n_jobs=args.threads, **params)


def study(train: Any, test: Any, users: str, n: int, seed: int, args: Any) -> list[float]:
    """Return NDCG@10 of the production ranker and of each method."""
    few = np.random.default_rng(seed).permutation(train.n_queries)[: max(5, train.n_queries // 100)]
    weak = ranker(args, min_samples_leaf=5).fit(train.select_queries(np.sort(few)))
    options = {"ranker": weak, "exploration": 0.3, "seed": seed}
    log = simulate_clicks(train, n_sessions=n, model=users, **options)
    rows = log["row"].to_numpy()
    clicks = rankgrove.Dataset(
        train.X[rows],
        log["clicked"].to_numpy().astype(np.float64),
        log["session"].to_numpy().astype(np.int64),
        feature_names=train.feature_names,
        position=log["position"].to_numpy(),
        propensity=log["propensity"].to_numpy(),
    )
    return [
        weak.score(test),
        *(_score(method, train, test, clicks, log, rows, args) for method in METHODS),
    ]


def _score(method: str, train: Any, test: Any, clicks: Any, log: Any, rows: Any, args: Any) -> Any:
    try:
        if method == "PBM labels":
            fit = fit_click_model(log, "pbm")
            pair_row = np.zeros(fit.log.n_pairs, np.int64)
            table = log.select(["query", "document", "row"]).group_by(["query", "document"])
            first = table.aggregate([("row", "min")]).to_pylist()
            known = {(one["query"], one["document"]): one["row_min"] for one in first}
            names = zip(fit.log.queries.to_pylist(), fit.log.documents.to_pylist(), strict=True)
            pair_row[:] = [known[name] for name in names]
            grades = ranker(args, gain="linear")
            labels, weights = fit.relevance, fit.trials / fit.trials.mean()
            grades.fit(train.X[pair_row], labels, train.qid[pair_row], sample_weight=weights)
            return grades.score(test.X, test.y, test.qid)
        return _debiased(method, clicks, log, args).score(test)
    except rankgrove.DataError:
        return np.nan


def _debiased(method: str, clicks: Any, log: Any, args: Any) -> Any:
    if method == "IPS, estimated":
        found = propensities_of_rank_changes(log)
        chances = np.clip(found.of(clicks.position), 1e-3, 1)
        own = {"position": clicks.position, "propensity": chances}
        names = {"feature_names": clicks.feature_names}
        data = rankgrove.Dataset(clicks.X, clicks.y, clicks.qid, **names, **own)
        return ranker(args, position_bias="ips").fit(data)
    settings: dict[str, dict[str, Any]] = {
        "naive": {},
        "IPS, true": {"position_bias": "ips"},
        "unbiased": {"position_bias": "unbiased"},
        "additive": {"position_bias": "additive"},
    }
    if method == "trust":
        pairs = estimate_trust_bias(log, max_iter=100).pairs()
        return ranker(args, position_bias="trust", trust_bias=pairs).fit(clicks)
    return ranker(args, **settings[method]).fit(clicks)


if __name__ == "__main__":
    main()
