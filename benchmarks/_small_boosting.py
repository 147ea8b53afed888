"""LambdaMART beside LightGBM on data as small as MQ2008, on a quiet and on a busy machine."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from _contestants import CONTESTANTS, Training
from _report import Report, ratio

LETOR = Path(__file__).resolve().parents[2] / "shared" / "data" / "mq2008"
OURS, PEER = "rankgrove-lambdamart", "lightgbm-auto"
BUSY = 6  # processes that do nothing but calculate


def run(args: argparse.Namespace) -> None:
    report = Report("boosting_small", args, libraries=["lightgbm"])
    X, y, sizes = small_data()
    repeats = 2 if args.quick else 7
    rows = []
    for busy in (0, BUSY):
        for threads in (1, 2):
            data = Training(X, y, sizes, 100, 31, 6, 0.1, threads)
            for name in (OURS, PEER):
                CONTESTANTS[name](data)  # starts threads, loads code
            with busy_machine(busy):
                seconds = measure(data, repeats)
            ours, theirs = np.median(seconds[OURS]), np.median(seconds[PEER])
            rows.append([threads, busy, float(ours), float(theirs), ratio(theirs, ours)])
    report.table(
        ["threads", "busy processes", "rankgrove s", "lightgbm s", "rankgrove is"],
        rows,
        caption=f"100 trees of 31 leaves on {len(y)} x {X.shape[1]}, median of {repeats} runs",
    )
    report.write()


def measure(data: Training, repeats: int) -> dict[str, list[float]]:
    """Train both in turns, so that whatever else the machine does meets both."""
    seconds: dict[str, list[float]] = {OURS: [], PEER: []}
    for _ in range(repeats):
        for name, times in seconds.items():
            start = time.perf_counter()
            CONTESTANTS[name](data)
            times.append(time.perf_counter() - start)
    return seconds


@contextlib.contextmanager
def busy_machine(n_processes: int) -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(n_processes)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def small_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three parts of MQ2008 (a training set of its folds), or made-up data of that size."""
    if LETOR.is_dir():
        from rankgrove import load

        parts = [load(LETOR / f"S{number}.txt.gz") for number in (1, 2, 3)]
    else:
        from rankgrove.datasets import make_ranking

        parts = [make_ranking(480, seed=0)]
    return (
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.group_sizes for part in parts]),
    )
