"""What a build without vector instructions costs: training with it beside the usual build.

Other processors than x86-64 run that build, and it gives the same bits. The module is the one that
``make plain`` builds (its path is found by default)::

    python benchmarks/bench_plain.py
    python benchmarks/bench_plain.py --module build/plain/_native.so

Times are CPU seconds of one thread, binning included; both builds take turns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _report import Report, benchmark_arguments, run_apart

FIT = """
module, ranker, params, n_queries = arguments
import hashlib, importlib.util, sys, time
if module:
    spec = importlib.util.spec_from_file_location("rankgrove._native", module)
    native = importlib.util.module_from_spec(spec)
    sys.modules["rankgrove._native"] = native
    spec.loader.exec_module(native)
    import rankgrove
    rankgrove._native = native
import numpy as np
from rankgrove import make_ranker
from rankgrove.datasets import make_ranking
data = make_ranking(n_queries, preset="mslr", seed=0)
ranker = make_ranker(ranker, random_state=0, n_jobs=1, **params)
start = time.process_time()
ranker.fit(data)
result["cpu"] = time.process_time() - start
scores = np.ascontiguousarray(ranker.predict(data.X[:5000]))
result["bits"] = hashlib.sha256(scores.tobytes()).hexdigest()
"""

LEAF_WISE = {"tree": "leafwise", "max_leaf_nodes": 31, "n_estimators": 50}
RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lambdamart, leaf-wise": ("lambdamart", LEAF_WISE),
    "lambdamart, oblivious": ("lambdamart", {"tree": "oblivious", "n_estimators": 50}),
    "mart, leaf-wise": ("mart", LEAF_WISE),
    "rf-point": ("rf-point", {"n_estimators": 8}),
    "extra-trees": ("extra-trees", {"n_estimators": 8}),
    "rf-hybrid": ("rf-hybrid", {"n_estimators": 4}),
}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--module", type=Path, help="the plain build of rankgrove._native")
    arguments = parser.parse_args()
    arguments.threads = 1
    here = Path(__file__).resolve().parent.parent
    built = sorted(here.glob(".venv-plain/lib/*/site-packages/rankgrove/_native*.so"))
    module = arguments.module or (built[0] if built else None)
    if module is None:
        parser.error("there is no plain build: run make plain, or give --module")
    n_queries = 50 if arguments.quick else 1000
    report = Report("plain", arguments)
    rows = []
    for name, (ranker, params) in RANKERS.items():
        runs = {"": [], str(module.resolve()): []}
        for _ in range(1 if arguments.quick else 2):
            for path, found in runs.items():
                found.append(run_apart(FIT, path, ranker, params, n_queries))
        usual, plain = (min(run["cpu"] for run in found) for found in runs.values())
        if len({run["bits"] for found in runs.values() for run in found}) != 1:
            raise RuntimeError(f"the builds give different models of {name}")
        rows.append([name, usual, plain, f"{plain / usual:.2f} x"])
    report.table(
        ["ranker", "usual CPU s", "plain CPU s", "plain takes"],
        rows,
        caption=f"Fits on {n_queries} queries of WEB10K's shape, one thread, the best of two",
    )
    report.write()


if __name__ == "__main__":
    main()
