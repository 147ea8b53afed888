"""Reading a LETOR text file beside scikit-learn, LightGBM, XGBoost and CatBoost.

The file is written first (720k rows x 136 features, shaped like MSLR-WEB10K). Every reader runs in
a process of its own; the time is that of loading alone, after imports and one loading of a small
file, and the peak of memory is what that loading added. LightGBM knows no qid in text: it reads the
same file without it, and the sizes of the queries beside it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from _report import Report, benchmark_arguments, ratio, run_apart

PREPARE = """
import os, resource, sys, time, warnings
warnings.filterwarnings("ignore")
small, path, threads, repeats = arguments
os.environ["OMP_NUM_THREADS"] = str(threads)

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(key))

def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def measure(read):
    read(small)
    best = float("inf")
    for _ in range(repeats):
        try:
            forget_peak()
        except OSError:
            pass
        before = status("VmRSS")
        start = time.perf_counter()
        value = read(path)
        best = min(best, time.perf_counter() - start)
        # The peak counts pages of the mapped file as well.
        result["added_mb"] = status("VmHWM") - before
        del value
    result["load_seconds"] = best
"""

READERS = {
    "rankgrove": """
import rankgrove
measure(lambda path: rankgrove.load(path, n_jobs=threads))
""",
    "rankgrove, 1 thread": """
import rankgrove
measure(lambda path: rankgrove.load(path, n_jobs=1))
""",
    "xgboost": """
import xgboost
def read(path):
    return xgboost.DMatrix(f"{path}?format=libsvm", nthread=threads, silent=True)
measure(read)
""",
    "lightgbm": """
import lightgbm
measure(lambda path: lightgbm.Dataset(
    path + ".noqid", params={"verbose": -1, "num_threads": threads, "header": False}).construct())
""",
    "catboost": """
import catboost
description = os.path.join(os.path.dirname(path), "columns.cd")
measure(lambda path: catboost.Pool(
    "libsvm://" + path, column_description=description, thread_count=threads))
""",
    "scikit-learn": """
from sklearn.datasets import load_svmlight_file
measure(lambda path: load_svmlight_file(path, query_id=True))
""",
}


def write_without_qid(path: Path) -> None:
    """Write the file as LightGBM wants it: no qid in the text, sizes of the queries beside it."""
    import numpy as np

    from rankgrove import load

    bare = path.with_name(path.name + ".noqid")
    with path.open("rb") as source, bare.open("wb") as target:
        while lines := source.readlines(1 << 26):
            target.write(re.sub(rb" qid:\d+", b"", b"".join(lines)))
    np.savetxt(bare.with_name(bare.name + ".query"), load(path).group_sizes, fmt="%d")


def write_files(folder: Path, n_queries: int) -> tuple[Path, Path, int]:
    """Write a small and a large file; the arrays of the large one have the size returned."""
    from rankgrove.data.writing import write_letor
    from rankgrove.datasets import make_ranking

    small, large = folder / "small.txt", folder / "large.txt"
    write_letor(make_ranking(20, preset="mslr", seed=1), small)
    data = make_ranking(n_queries, preset="mslr", seed=2)
    write_letor(data, large)
    for path in (small, large):
        write_without_qid(path)
    (folder / "columns.cd").write_text("0\tLabel\n1\tGroupId\n")
    print(f"{data.n_rows} rows, {data.n_features} features", flush=True)
    return small, large, data.X.nbytes + data.y.nbytes + data.qid.nbytes


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--readers", nargs="*", default=list(READERS), choices=list(READERS))
    arguments = parser.parse_args()
    report = Report(
        "reading", arguments, libraries=["xgboost-cpu", "lightgbm", "catboost", "scikit-learn"]
    )
    with tempfile.TemporaryDirectory() as name:
        small, large, array_bytes = write_files(Path(name), 150 if arguments.quick else 6000)
        file_mb, array_mb = large.stat().st_size / 1e6, array_bytes / 2**20
        measured = {}
        for reader in arguments.readers:
            repeats = 1 if reader == "scikit-learn" and not arguments.quick else 3
            measured[reader] = run_apart(
                PREPARE + READERS[reader], str(small), str(large), arguments.threads, repeats
            )
            speed = file_mb / measured[reader]["load_seconds"]
            print(
                f"{reader}: {measured[reader]['load_seconds']:.2f} s, {speed:.0f} MB/s", flush=True
            )
    ours = measured["rankgrove"]["load_seconds"] if "rankgrove" in measured else float("nan")
    rows = [
        [
            reader,
            round(values["load_seconds"], 3),
            round(file_mb / values["load_seconds"], 1),
            ratio(values["load_seconds"], ours) if reader != "rankgrove" else "",
            round(values["added_mb"]),
            f"{values['added_mb'] / array_mb:.2f}",
        ]
        for reader, values in measured.items()
    ]
    report.table(
        ["reader", "seconds", "MB/s", "rankgrove is faster by", "peak added MB", "of the arrays"],
        rows,
        caption=f"Reading {file_mb:.0f} MB of LETOR text, {arguments.threads} threads",
    )
    report.note(
        f"The arrays of a Dataset (X, y, qid) take {array_mb:.0f} MB. The peak of a process that "
        "maps the file counts the pages of it that are in memory as well."
    )
    report.write()


if __name__ == "__main__":
    main()
