"""NDCG@10, MAP and ERR of one million documents, beside ranx, ir_measures and scikit-learn.

Every library gets its data in the form it likes best, built before the clock starts (ranx: Qrels
and Run, already compiled; ir_measures: nested dictionaries and a ready evaluator; scikit-learn: one
padded matrix), and computes only those of the three metrics that it has. rankgrove is timed from
plain arrays, with everything that only labels decide computed anew.

    python benchmarks/bench_metrics.py [--quick] [--threads N]
"""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np

from _report import Report, benchmark_arguments, best_time, ratio

ARGUMENTS = benchmark_arguments(__doc__)


def judged_ranking(n_docs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and query sizes shaped like MSLR-WEB10K: about 120 documents per query."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.gamma(3.0, 40.0, n_docs // 100).astype(int), 5, 800)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n_docs)]
    n = int(sizes.sum())
    y = rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    scores = y * 0.5 + rng.normal(size=n)
    return y, scores, sizes


def ours(report: Report, y, scores, sizes, threads: int) -> dict[str, float]:
    """Time rankgrove; returns seconds by the set of metrics."""
    from rankgrove import QueryGroups, evaluate, metric

    groups = QueryGroups.from_sizes(sizes)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    names = {"ndcg@10": "ndcg", "map": "map", "err": "err"}
    seconds = {}
    for chosen in (["ndcg@10"], ["ndcg@10", "map"], ["ndcg@10", "map", "err"]):
        key = "+".join(names[name] for name in chosen)
        seconds[key], result = best_time(
            lambda chosen=chosen: evaluate(
                y, scores, groups=groups, metrics=chosen, n_jobs=threads
            ),
            at_least=1.0,
        )
    from_qid, _ = best_time(
        lambda: evaluate(y, scores, qid=qid, metrics=chosen, n_jobs=threads), at_least=0.5
    )
    rows = [[f"evaluate, {key}", value * 1e3] for key, value in seconds.items()]
    rows.append(["evaluate, ndcg+map+err, from qid", from_qid * 1e3])
    for name in chosen:
        prepared = metric(name).prepare(y, groups, n_jobs=threads)
        again, _ = best_time(lambda prepared=prepared: prepared(scores), at_least=0.5)
        rows.append([f"prepared {name}, each further call", again * 1e3])
    report.table(["rankgrove", "ms"], rows, caption=f"rankgrove, {len(y)} documents")
    report.note(str(result))
    return seconds


def time_ranx(y, scores, sizes, threads: int) -> tuple[float, dict[str, float]]:
    """Return seconds and values of ranx for NDCG@10 and MAP; it has no ERR."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    from ranx import Qrels, Run, evaluate

    query_ids, docs_of_query, labels, run_scores = [], [], [], []
    ends = np.cumsum(sizes)
    for q, (begin, end) in enumerate(zip(ends - sizes, ends, strict=True)):
        query_ids.append(str(q))
        docs_of_query.append([str(i) for i in range(end - begin)])
        labels.append(y[begin:end].astype(int).tolist())
        run_scores.append(scores[begin:end].tolist())
    qrels, run = Qrels(), Run()
    qrels.add_multi(query_ids, docs_of_query, labels)
    run.add_multi(query_ids, docs_of_query, run_scores)
    metrics = ["ndcg_burges@10", "map"]
    return best_time(lambda: evaluate(qrels, run, metrics, make_comparable=False))


def time_ir_measures(y, scores, sizes) -> tuple[float, dict[str, float]]:
    """Return seconds and values of ir_measures (trec_eval) for linear NDCG@10 and MAP."""
    import ir_measures

    qrels, run = {}, {}
    ends = np.cumsum(sizes)
    for q, (begin, end) in enumerate(zip(ends - sizes, ends, strict=True)):
        docs = [f"d{i:05}" for i in range(end - begin)]
        qrels[str(q)] = dict(zip(docs, y[begin:end].astype(int).tolist(), strict=True))
        run[str(q)] = dict(zip(docs, scores[begin:end].tolist(), strict=True))
    evaluator = ir_measures.evaluator([ir_measures.nDCG @ 10, ir_measures.AP], qrels)
    seconds, values = best_time(lambda: evaluator.calc_aggregate(run), repeats=2)
    return seconds, {str(name): value for name, value in values.items()}


def time_sklearn(y, scores, sizes) -> tuple[float, dict[str, float]]:
    """Return seconds and value of scikit-learn for linear NDCG@10 on one padded matrix."""
    from sklearn.metrics import ndcg_score

    present = np.arange(sizes.max()) < sizes[:, None]
    labels = np.zeros(present.shape)
    padded = np.full(present.shape, scores.min() - 1)
    labels[present], padded[present] = y, scores
    seconds, value = best_time(
        lambda: ndcg_score(labels, padded, k=10, ignore_ties=True), repeats=2
    )
    return seconds, {"ndcg@10": float(value)}


def main() -> int:
    """Run the comparison and return 1 if a value disagrees."""
    warnings.simplefilter("ignore")
    arguments = ARGUMENTS.parse_args()
    report = Report("metrics", arguments, libraries=["ranx", "ir_measures", "scikit-learn"])
    y, scores, sizes = judged_ranking(50_000 if arguments.quick else 1_000_000)
    seconds = ours(report, y, scores, sizes, arguments.threads)

    from rankgrove import metric

    def mean(name: str) -> float:
        return metric(name)(y, scores, group_sizes=sizes)

    peers = [
        ("ranx", "ndcg+map", *time_ranx(y, scores, sizes, arguments.threads),
         {"ndcg_burges@10": "ndcg@10", "map": "map"}),
        ("ir_measures", "ndcg+map", *time_ir_measures(y, scores, sizes),
         {"nDCG@10": "ndcg@10(gain=linear)", "AP": "map"}),
        ("scikit-learn", "ndcg", *time_sklearn(y, scores, sizes),
         {"ndcg@10": "ndcg@10(gain=linear)"}),
    ]  # fmt: skip
    rows, agree = [], True
    for name, key, theirs, values, same in peers:
        difference = max(abs(values[their] - mean(our)) for their, our in same.items())
        agree = agree and difference < 1e-9
        all_three = ratio(theirs, seconds["ndcg+map+err"])
        rows.append(
            [name, key, theirs * 1e3, seconds[key] * 1e3, ratio(theirs, seconds[key]), all_three,
             f"{difference:.1e}"]
        )  # fmt: skip
    report.table(
        ["library", "metrics", "ms", "rankgrove ms", "rankgrove is", "with all three it is",
         "difference"],
        rows,
        caption=f"Faster on {len(y)} documents in {len(sizes)} queries",
    )  # fmt: skip
    report.write()
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
