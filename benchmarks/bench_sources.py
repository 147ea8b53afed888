"""LambdaMART from arrays, frames, a Parquet file and a stream of it: seconds beside float32 arrays.

WEB10K-shaped data, 100 leaf-wise trees. Every source is fitted in a process of its own and gives
the same bits. "before" is what passes before the first tree: reading, checking and binning; a file
and a stream are also read from disk and decoded there.
"""

from __future__ import annotations

import tempfile
from typing import Any

from _report import Report, benchmark_arguments, run_apart

DATA = """
n_queries, folder = arguments
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from rankgrove.datasets import make_ranking
data = make_ranking(n_queries, preset="mslr", seed=0)
sizes = np.asarray(data.group_sizes)
names = [f"f{i}" for i in range(data.X.shape[1])]
np.save(folder + "/X.npy", data.X)
np.save(folder + "/y.npy", data.y)
np.save(folder + "/sizes.npy", sizes)
columns = {name: data.X[:, i] for i, name in enumerate(names)}
qid = np.repeat(np.arange(len(sizes)), sizes)
table = pa.table({"label": data.y, "qid": qid, **columns})
pq.write_table(table, folder + "/data.parquet", row_group_size=20_000)
result["shape"] = data.X.shape
"""

FIT = """
source, folder, n_trees, threads = arguments
import hashlib, time, numpy as np, rankgrove
X, y, sizes = (np.load(f"{folder}/{name}.npy") for name in ("X", "y", "sizes"))
names = [f"f{i}" for i in range(X.shape[1])]
path = folder + "/data.parquet"
marks = []
ranker = rankgrove.LambdaMART(
    n_estimators=n_trees, tree="leafwise", max_leaf_nodes=31, random_state=0, n_jobs=threads
)
if source == "float64 array":
    X = X.astype(np.float64)
elif source == "pandas":
    import pandas
    X = pandas.DataFrame(X, columns=names)
elif source == "polars":
    import polars
    X = polars.DataFrame(X, schema=names)
elif source == "pyarrow":
    import pyarrow
    X = pyarrow.table({name: X[:, i].copy() for i, name in enumerate(names)})
if source == "Parquet, streamed through files":  # as streams of more than 256 MB are
    import rankgrove.data.matrix.streamed as streamed
    streamed._SMALL_BYTES = 0
if "Parquet" in source:  # libraries that read it are loaded before
    rankgrove.load(path, label="label", query="qid")
start, cpu = time.perf_counter(), time.process_time()
mark = lambda _: marks.append(time.perf_counter())
if "streamed" in source:
    ranker.fit(rankgrove.scan(path, label="label", query="qid"), callbacks=[mark])
elif source == "Parquet, loaded":
    ranker.fit(rankgrove.load(path, label="label", query="qid"), callbacks=[mark])
else:
    ranker.fit(X, y, group_sizes=sizes, callbacks=[mark])
result["cpu"] = time.process_time() - cpu
result["wall"] = time.perf_counter() - start
result["tree"] = (marks[-1] - marks[0]) / (len(marks) - 1)
result["before"] = marks[0] - start - result["tree"]
scores = ranker.predict(np.load(folder + "/X.npy")[:5000])
result["bits"] = hashlib.sha256(np.ascontiguousarray(scores).tobytes()).hexdigest()[:8]
"""

DECODE = """
folder, threads = arguments
import time, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(threads)
seconds = []
for _ in range(3):
    start = time.perf_counter()
    for batch in pq.ParquetFile(folder + "/data.parquet").iter_batches(20_000):
        pass
    seconds.append(time.perf_counter() - start)
result["wall"] = min(seconds)
"""

SOURCES = (
    "float32 array",
    "float64 array",
    "pandas",
    "polars",
    "pyarrow",
    "Parquet, loaded",
    "Parquet, streamed",
    "Parquet, streamed through files",
)


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--trees", type=int, default=100)
    arguments = parser.parse_args()
    n_queries, n_trees = (300, 10) if arguments.quick else (3000, arguments.trees)
    report = Report("sources", arguments, libraries=["pandas", "polars", "pyarrow"])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        n_rows, n_features = run_apart(DATA, n_queries, folder)["shape"]
        found: dict[str, dict[str, Any]] = {}
        for source in SOURCES:
            found[source] = run_apart(FIT, source, folder, n_trees, arguments.threads)
        decoding = run_apart(DECODE, folder, arguments.threads)["wall"]
    base = found["float32 array"]
    if len({run["bits"] for run in found.values()}) != 1:
        raise RuntimeError(f"sources give different models: {found}")
    report.table(
        ["source", "seconds", "before s", "ms/tree", "CPU s", "slower", "CPU more"],
        [
            [
                source,
                run["wall"],
                run["before"],
                1000 * run["tree"],
                run["cpu"],
                *(f"{run[key] / base[key] - 1:+.0%}" for key in ("wall", "cpu")),
            ]
            for source, run in found.items()
        ],
        caption=f"{n_trees} trees on {n_rows:,} x {n_features}",
    )
    small, large = found["Parquet, streamed"], found["Parquet, streamed through files"]
    report.note(
        "The rows of Parquet include reading and decoding the file, which the others have in "
        f"memory; pyarrow alone needs {decoding:.2f} s for it. A stream of up to 256 MB of "
        "features stays in memory. Through files: those of a larger one, forced here for the same "
        "data, are written to a temporary file, which is read twice, for bins and for codes, and "
        "trees are grown on mapped files of codes. Of the "
        f"{large['wall'] - small['wall']:.2f} s that this takes, "
        f"{n_trees * (large['tree'] - small['tree']):.2f} s are trees."
    )
    report.write()


if __name__ == "__main__":
    main()
