"""What is wrong on one worker is said with its name and cause, and the others stop.

Workers are processes that read files; ``ProcessEngine.stop`` fails if one of them does not end.
"""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankgrove
from process_engine import ProcessEngine
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit
from rankgrove.errors import DataError, RankgroveError
from rankgrove.formats.container import to_bytes

pytestmark = [pytest.mark.timeout(1200), pytest.mark.slow]

DATA = make_ranking(40, seed=3)
PATIENCE = 60.0


def small():
    return rankgrove.LambdaMART(n_estimators=3, random_state=1)


def two_files(folder, change=lambda table: table):
    """Two files, one for each worker, of which the second is changed."""
    table = to_arrow(DATA)
    middle = int(DATA.groups.offsets[20])
    pq.write_table(table.slice(0, middle), folder / "a.parquet")
    pq.write_table(change(table.slice(middle)), folder / "b.parquet")
    return str(folder)


def fit_badly(folder, engine, kind=DataError, **options):
    """Return the message of the error; the ranker stays as it was."""
    ranker = small()
    with pytest.raises(kind) as raised:
        fit(ranker, folder, on=engine, patience=PATIENCE, **options)
    assert not hasattr(ranker, "model_")
    assert all(process.returncode is not None for process in engine.processes)
    return str(raised.value)


def test_worker_processes_without_a_fault_give_the_bits_of_one_machine(tmp_path):
    folder = two_files(tmp_path)
    found = fit(small(), folder, on=ProcessEngine(2), patience=PATIENCE)
    assert to_bytes(found) == to_bytes(small().fit(rankgrove.load(folder)))


def test_a_shard_with_other_columns(tmp_path):
    column = to_arrow(DATA).column_names[-1]
    folder = two_files(
        tmp_path, lambda table: table.rename_columns([*table.column_names[:-1], "another"])
    )
    message = fit_badly(folder, ProcessEngine(2))
    assert "worker 0 (127.0.0.1" in message
    assert "a.parquet and" in message
    assert "b.parquet have" in message
    assert f"'another', {column!r}" in message


def test_a_shard_whose_column_holds_categories(tmp_path):
    column = to_arrow(DATA).column_names[-1]

    def with_texts(table):
        place = table.column_names.index(column)
        texts = pa.array(np.full(table.num_rows, "x"))
        return table.set_column(place, column, texts.dictionary_encode())

    message = fit_badly(two_files(tmp_path, with_texts), ProcessEngine(2))
    assert "worker" in message
    assert f"column {column!r} is categorical in" in message
    assert "b.parquet and holds numbers in" in message


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("import rankgrove.distributed.consistency as c; c.__version__ = '9.9.9'", "'9.9.9 (build"),
        ("import rankgrove.distributed.consistency as c; c.build_digest = lambda: 'bad'", "bad)'"),
    ],
)
def test_a_worker_of_another_version_or_build(tmp_path, fault, said):
    message = fit_badly(two_files(tmp_path), ProcessEngine(2, {1: fault}))
    assert "the workers do not fit the same: rankgrove is" in message
    assert said in message
    assert message.endswith("for worker 1")


def test_a_path_without_permission(tmp_path):
    prefixes = {}
    if os.geteuid() == 0:  # may read everything, unless it is told not to
        if shutil.which("setpriv") is None:
            pytest.skip("root may read every file, and setpriv is not installed")
        keep = "--bounding-set=-dac_override,-dac_read_search"
        prefixes = {1: ["setpriv", keep]}
    folder = two_files(tmp_path)
    (tmp_path / "b.parquet").chmod(0)
    message = fit_badly(folder, ProcessEngine(2, prefixes=prefixes))
    assert "worker 1 (127.0.0.1" in message
    assert "b.parquet" in message
    assert "ermission" in message


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_that_vanishes_after_it_was_listed(tmp_path, scheme):
    if scheme:
        pytest.importorskip("fsspec")
    folder = two_files(tmp_path)
    engine = ProcessEngine(2, before=(tmp_path / "b.parquet").unlink)
    message = fit_badly(scheme + folder, engine, RankgroveError)
    assert "worker 1 (127.0.0.1" in message
    assert "b.parquet" in message


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the size of the address space")
@pytest.mark.parametrize("where", ["row_spool.RowSpool.add", "run_exchange.RunExchange.run"])
def test_too_little_memory_on_one_worker(tmp_path, where):
    """A limit of the address space while it reads, or while others wait for its bins."""
    rng = np.random.default_rng(0)
    n_rows = 60_000
    columns = {f"f{j}": rng.normal(size=n_rows).astype(np.float32) for j in range(40)}
    table = pa.table({"label": np.arange(n_rows) % 3, "qid": np.arange(n_rows) // 20, **columns})
    pq.write_table(table.slice(0, n_rows // 2), tmp_path / "a.parquet")
    pq.write_table(table.slice(n_rows // 2), tmp_path / "b.parquet")
    name, _, method = where.rpartition(".")
    fault = f"""
import resource, numpy, pyarrow.parquet
from rankgrove.distributed import row_spool
from rankgrove.workers import run_exchange
original = {where}
def limited(*arguments):
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    numpy.zeros(1 << 28, numpy.uint8)  # more than freed memory may serve
    return original(*arguments)
{name}.{method} = limited
"""
    message = fit_badly(str(tmp_path), ProcessEngine(2, {1: fault}), RankgroveError)
    assert "worker 1 (127.0.0.1" in message
    assert "memory" in message.lower() or "alloc" in message
