"""A score service under load: rankgrove's, and the same service around LightGBM's predict.

One server process, or two worker processes where a row says so, and one load generator (wrk) in
another, for five seconds. A request has 100 documents of 136 features, as JSON or as an Arrow
stream; the model is a LambdaMART of 500 trees of 31 leaves, which LightGBM gets exported. The
scores of each service are compared before it is measured. The scorer's share is what the server
spent in predict, of its time from a request's first byte to its answer, waiting for its turn
included. Beside it stands the CPU time of the load generator per request: it shares the cores with
the servers, so two workers on two cores cannot bring twice the requests of one.
"""

from __future__ import annotations

import io
import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rankgrove
from _report import Report, benchmark_arguments, ratio
from rankgrove.datasets import make_ranking

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
KINDS = {
    "rankgrove": "rankgrove",
    "workers": "rankgrove, two workers",
    "threads": "rankgrove, all on threads",
    "lightgbm": "LightGBM",
}

LUA = """
wrk.method = "POST"
wrk.headers["content-type"] = "%s"
local file = io.open("%s", "rb")
wrk.body = file:read("*a")
done = function(summary, latency, requests)
  local errors = summary.errors
  local bad = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\\n{"rate": %%f, "p50": %%f, "p99": %%f, "bad": %%d}\\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, bad))
end
"""


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--services", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--connections", nargs="+", type=int, default=[1, 8])
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("this benchmark needs the load generator wrk (Debian: apt install wrk)")
    report = Report("serving", arguments, libraries=["lightgbm", "httptools", "uvloop", "msgspec"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies, expected = prepare(folder, arguments.quick)
        rows: list[dict[str, Any]] = []
        for kind in arguments.services:
            with service(kind, folder) as address:
                for body in bodies:
                    check(address, body, expected)
                    rows += [
                        measure(kind, address, body, connections, arguments.quick)
                        for connections in arguments.connections
                    ]
    show(report, rows, arguments.connections)
    if {"rankgrove", "workers"} <= set(arguments.services):
        last = [row for row in rows if row["connections"] == arguments.connections[-1]]
        report.note(" ".join(of_two_workers(last, body) for body in ("JSON", "Arrow")))
    report.write()


def prepare(folder: Path, quick: bool) -> tuple[list[tuple[str, Path]], np.ndarray]:
    """Write the model in both forms, and a request in both; return the requests and the scores."""
    train = make_ranking(40 if quick else 400, preset="mslr", seed=1)
    model = rankgrove.LambdaMART(
        n_estimators=50 if quick else 500, tree="leafwise", max_leaf_nodes=31, random_state=0
    )
    model.fit(train).save(folder / "model.rg")
    model.export(folder / "model.txt", to="lightgbm")
    X = np.array(make_ranking(40, preset="mslr", seed=2).X[:100], np.float32)
    names = list(model.feature_names_in_)
    rows = [[float(str(value)) for value in row] for row in X]
    (folder / "body.json").write_text(json.dumps({"rows": rows, "columns": names}))
    batch = pa.RecordBatch.from_arrays([pa.array(column) for column in X.T], names)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    (folder / "body.arrow").write_bytes(sink.getvalue())
    bodies = [(JSON, folder / "body.json"), (ARROW, folder / "body.arrow")]
    return bodies, model.predict(X)


@contextmanager
def service(kind: str, folder: Path) -> Any:
    if kind == "workers":
        command = [sys.executable, "-m", "rankgrove", "serve", f"web={folder / 'model.rg'}"]
        command += ["--port", "0", "--n-jobs", "1", "--workers", "2"]
    else:
        command = [sys.executable, Path(__file__).parent / "_serving_service.py", kind, folder]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield address_in(process.stderr)
    finally:
        process.send_signal(signal.SIGINT)  # without draining
        process.wait()


def address_in(log: Iterable[str]) -> str:
    """Return the address that a server logs when it can answer."""
    lines = []
    for line in log:
        lines.append(line)
        if found := re.search(r" on (http://\S+)", line):
            return found[1]
    raise RuntimeError("the service did not start:\n" + "".join(lines))


def check(address: str, body: tuple[str, Path], expected: np.ndarray) -> None:
    headers = {"content-type": body[0], "accept": JSON}
    request = urllib.request.Request(f"{address}/score", body[1].read_bytes(), headers)
    with urllib.request.urlopen(request) as answer:
        scores = json.load(answer)["scores"]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)


def measure(
    kind: str, address: str, body: tuple[str, Path], connections: int, quick: bool
) -> dict[str, Any]:
    script = body[1].with_suffix(".lua")
    script.write_text(LUA % body)
    command = ["wrk", "-t", "1", "-c", str(connections), "-s", str(script)]
    subprocess.run([*command, "-d", "1s", f"{address}/score"], capture_output=True, check=True)
    before, generator = seconds_spent(address), cpu_of_ended_children()
    run = subprocess.run(
        [*command, "-d", "2s" if quick else "5s", f"{address}/score"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout.splitlines()[-1])
    if found["bad"]:
        raise RuntimeError(f"{kind}: {found['bad']} requests failed")
    requests, whole, scoring = (
        after - earlier for after, earlier in zip(seconds_spent(address), before, strict=True)
    )
    return found | {
        "kind": kind,
        "body": "JSON" if body[0] == JSON else "Arrow",
        "connections": connections,
        "scoring_us": scoring / requests * 1e6,
        "share": scoring / whole,
        "generator_us": (cpu_of_ended_children() - generator) / requests * 1e6,
    }


def cpu_of_ended_children() -> float:
    """CPU seconds of all child processes that have ended: the servers are not among them yet."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_spent(address: str) -> tuple[float, float, float]:
    """Requests so far, and the seconds that they and their scoring took."""
    with urllib.request.urlopen(f"{address}/metrics") as answer:
        lines = answer.read().decode().splitlines()

    def total(name: str) -> float:
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name + "{"))

    whole = "rankgrove_request_seconds"
    return total(f"{whole}_count"), total(f"{whole}_sum"), total("rankgrove_scoring_seconds_sum")


def of_two_workers(rows: list[dict[str, Any]], body: str) -> str:
    """Say what two workers bring, and what they could bring beside the load generator."""
    one, two = (
        next(row for row in rows if (row["kind"], row["body"]) == (kind, body))
        for kind in ("rankgrove", "workers")
    )
    most = 2 / (1 + one["rate"] * two["generator_us"] / 1e6)
    return (
        f"{body}, {one['connections']} connections: two workers answer "
        f"{two['rate'] / one['rate']:.2f} times the requests of one; two cores that the load "
        f"generator shares allow {most:.2f} times."
    )


def show(report: Report, rows: list[dict[str, Any]], every: list[int]) -> None:
    first = rows[0]["kind"]
    ours = {(r["body"], r["connections"]): r["rate"] for r in rows if r["kind"] == first}
    for connections in every:
        report.table(
            [
                *("service", "body", "requests/s", "p50 ms", "p99 ms"),
                *("scorer us", "its share", "generator us", f"{KINDS[first]} is"),
            ],
            [
                [
                    *(KINDS[row["kind"]], row["body"], row["rate"], row["p50"], row["p99"]),
                    *(row["scoring_us"], f"{row['share']:.0%}", row["generator_us"]),
                    ratio(ours[row["body"], connections], row["rate"]),
                ]
                for row in rows
                if row["connections"] == connections
            ],
            caption=f"100 documents x 136 features, {connections} "
            f"connection{'s' * (connections > 1)}",
        )


if __name__ == "__main__":
    main()
