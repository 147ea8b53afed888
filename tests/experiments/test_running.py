"""Studies that are stopped, killed, shared, short of memory, or in part impossible."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import rankgrove
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.writing import write_letor
from rankgrove.errors import DataError
from rankgrove.experiments import running
from rankgrove.experiments.cells import CellOutcome, reason
from rankgrove.experiments.fold_files import FoldFiles
from rankgrove.experiments.memory import limited_memory
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.sources import fingerprint
from rankgrove.experiments.specs import as_spec
from rankgrove.experiments.store import FILE, Store
from rankgrove.experiments.study import make_study
from rankgrove.experiments.views import View

COMMAND = """
import sys
from rankgrove.experiments.study import make_study
from rankgrove.experiments.store import Store
from rankgrove.experiments.fold_files import FoldFiles
from rankgrove.experiments.memory import limited_memory
from rankgrove.experiments.running import Run, run_study
rankers = ["lambdamart:n_estimators=5,max_leaf_nodes=4|8", "mart:n_estimators=3"]
study = make_study(sys.argv[1], rankers, folds=3, repeats=2, metrics=["ndcg@5"])
if __name__ == "__main__":
    with Store(sys.argv[2]) as store:
        run_study(study, store, Run())
"""


@pytest.fixture
def data_file(tiny_data, tmp_path):
    path = tmp_path / "data.txt"
    write_letor(tiny_data, path)
    return path


def start(data_file, folder):
    return subprocess.Popen([sys.executable, "-c", COMMAND, str(data_file), str(folder)])


def finished(folder):
    try:
        base = sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)
        return base.execute("SELECT count(*) FROM cells WHERE status = 'done'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def whole_study(data_file, folder, results):
    assert start(data_file, folder).wait() == 0
    with Store.existing(folder) as store:
        return results(store)


@pytest.mark.process
def test_killed_studies_go_on_and_end_with_the_same_bits(data_file, tmp_path, results):
    wanted = whole_study(data_file, tmp_path / "whole", results)
    folder = tmp_path / "killed"
    kept = []
    for goal in (1, 7):
        process = start(data_file, folder)
        while finished(folder) < goal:
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(finished(folder))
        with Store.existing(folder) as store:
            old = [r for r in results(store) if r[6] == "done"]
        assert len(old) == kept[-1]
        assert set(old) <= set(wanted)
    assert kept[0] < len(wanted)
    assert whole_study(data_file, folder, results) == wanted


@pytest.mark.process
def test_folds_of_a_killed_process_are_removed(data_file, tmp_path):
    folder = tmp_path / "results"
    command = [sys.executable, "-m", "rankgrove", "compare", str(data_file), "--workers", "2"]
    command += ["--folds", "3", "--out", str(folder), "--ranker"]
    process = subprocess.Popen(
        [*command, "mart:n_estimators=1000000"], stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not list(folder.glob(".folds-*/*/fold.joblib")):
        assert process.poll() is None
        time.sleep(0.01)
    other = FoldFiles(folder)
    assert len(list(folder.glob(".folds-*"))) == 2  # the other one lives
    os.killpg(process.pid, signal.SIGKILL)  # its workers, too
    process.wait()
    with other:
        # Whoever goes on removes them, with one process as well.
        study = make_study(data_file, ["mart:n_estimators=2"], folds=3)
        with Store(folder) as store:
            run_study(study, store, Run())
        assert len(list(folder.glob(".folds-*"))) == 1
    assert not list(folder.glob(".folds-*"))


def test_finished_cells_are_not_computed_again(tiny_study, tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        run_study(tiny_study, store, Run())
    monkeypatch.setattr(running, "run_cell", None)  # a call would fail
    with Store(tmp_path) as store:
        run_study(tiny_study, store, Run())
        assert {entry.status for entry in store.results()} == {"done"}


@pytest.mark.process
def test_two_processes_share_a_study(data_file, tmp_path, results):
    wanted = whole_study(data_file, tmp_path / "alone", results)
    processes = [start(data_file, tmp_path / "both") for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    with Store.existing(tmp_path / "both") as store:
        assert results(store) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", [Run(workers=2), Run(memory_limit=2**31)], ids=["side by side", "with a limit"]
)
def test_results_do_not_depend_on_how_a_study_is_run(tiny_study, results, run):
    with Store(None) as store:
        run_study(tiny_study, store, Run())
        wanted = results(store)
    with Store(None) as store:
        run_study(tiny_study, store, run)
        assert results(store) == wanted


@contextlib.contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster):
        yield


@contextlib.contextmanager
def ray_cluster():
    ray = pytest.importorskip("ray")
    options = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
    ray.init(num_cpus=2, object_store_memory=100 << 20, **options)
    try:
        yield
    finally:
        ray.shutdown()


@pytest.mark.process
@pytest.mark.parametrize(
    ("backend", "cluster"), [("dask", dask_cluster), ("ray", ray_cluster)], ids=["dask", "ray"]
)
def test_cells_run_on_a_cluster(backend, cluster, tiny_study, results, monkeypatch):
    with Store(None) as store:
        run_study(tiny_study, store, Run())
        wanted = results(store)
    stored_before_last_job = []
    claim = Store.claim

    def claimed(store, cell):
        stored_before_last_job[:] = [sum(e.status == "done" for e in store.results())]
        return claim(store, cell)

    monkeypatch.setattr(Store, "claim", claimed)
    with cluster(), Store(None) as store:
        run_study(tiny_study, store, Run(workers=2, backend=backend))
        assert results(store) == wanted
    assert stored_before_last_job[0] > 0  # results are kept as they come


_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def dask_elsewhere(tmp_path):
    """Address of the scheduler of a cluster of processes that stand in another folder."""
    pytest.importorskip("distributed")
    (tmp_path / "cluster.py").write_text(_CLUSTER)
    command = [sys.executable, str(tmp_path / "cluster.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd="/", **pipes) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


@pytest.mark.process
def test_cells_run_on_the_cluster_of_another_process(
    dask_elsewhere, tiny_data, results, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    np.savetxt("run.txt", np.arange(tiny_data.n_rows))
    specs = [
        replace(as_spec("mart:n_estimators=3"), view=View(n_features=4)),
        as_spec("scores:run.txt"),
    ]
    study = make_study(tiny_data, specs, folds=3)
    with Store(None) as store:
        run_study(study, store, Run())
        wanted = repr(results(store))  # the same bits; NaN, too, where nothing is validated
    config = pytest.importorskip("dask.config")
    with config.set(scheduler_address=dask_elsewhere), Store("results") as store:
        run_study(
            study, store, Run(workers=2, backend="dask")
        )  # by what DASK_SCHEDULER_ADDRESS sets
        assert repr(results(store)) == wanted
        assert {entry.status for entry in store.results()} == {"done"}


@pytest.mark.slow
def test_dask_without_a_cluster_is_refused_with_what_to_do(tiny_study):
    pytest.importorskip("distributed")
    with Store(None) as store, pytest.raises(ValueError, match="set DASK_SCHEDULER_ADDRESS"):
        run_study(tiny_study, store, Run(workers=2, backend="dask"))
    with pytest.raises(ValueError, match="workers=2"):
        Run(backend="dask")


def test_a_failure_is_kept_with_its_reason_and_others_go_on(tiny_data):
    # Listwise forests need whole queries, which only the fit can know.
    study = make_study(tiny_data, ["rf-list:sampling=bootstrap", "mart:n_estimators=2"], folds=3)
    with Store(None) as store:
        run_study(study, store, Run())
        status = {(e.ranker, e.status): e.outcome.error for e in store.results()}
    assert set(status) == {("rf-list", "failed"), ("mart", "done")}
    assert "sampling of RFList must be 'queries'" in status["rf-list", "failed"]


def test_failures_are_run_again_only_if_asked(tiny_data, tmp_path):
    study = make_study(tiny_data, ["rf-list:sampling=bootstrap"], folds=3)
    with Store(tmp_path) as store:
        run_study(study, store, Run())
        assert store.open_cells() == (0, 0)
        store.forget_failures()
        assert store.open_cells() == (3, 0)


def test_no_room_for_a_thread_is_said_to_be_a_matter_of_memory():
    assert reason(RuntimeError("can't start new thread")).startswith("not enough memory")


@pytest.mark.slow
def test_too_much_memory_is_a_failure_of_the_cell(tmp_path):
    data = rankgrove.datasets.make_ranking(300, docs_per_query=40, seed=1)
    forest = "rf-point:n_estimators=2000,min_samples_leaf=1"
    study = make_study(data, [forest], folds=3, max_folds=1)
    with Store(None) as store:
        run_study(study, store, Run(memory_limit=400 * 2**20, n_jobs=1))
        (entry,) = store.results()
    assert entry.status == "failed"
    assert "memory" in entry.outcome.error


def test_a_fit_that_lacked_memory_is_run_again_under_another_limit(
    tiny_data, tmp_path, monkeypatch
):
    limits = []

    def worker(self, job):
        limits.append(job.memory_limit)
        if job.memory_limit < 100 * 2**20:
            return job.cell.key, CellOutcome(error=reason(MemoryError("std::bad_alloc")))
        return running.run_job(replace(job, memory_limit=None))

    monkeypatch.setattr(running._OneWorker, "__call__", worker)
    study = make_study(tiny_data, ["mart:n_estimators=1"], folds=3, max_folds=1)

    def run(limit):
        with Store(tmp_path) as store:
            run_study(study, store, Run(memory_limit=limit, n_jobs=1))
            (entry,) = store.results()
        return entry

    lacking = "not enough memory (std::bad_alloc) (the limit of memory was 50.0 MB per fit)"
    assert run(50 * 2**20).outcome.error == lacking
    assert run(50 * 2**20).outcome.error == lacking
    assert len(limits) == 1
    assert "60.0 MB" in run(60 * 2**20).outcome.error
    assert run(200 * 2**20).status == "done"
    assert run(50 * 2**20).status == "done"
    assert len(limits) == 3


def test_a_fit_that_lacked_memory_is_run_again_without_a_limit(tiny_data, tmp_path, monkeypatch):
    lacking = CellOutcome(error=reason(MemoryError()))
    monkeypatch.setattr(running._OneWorker, "__call__", lambda self, job: (job.cell.key, lacking))
    study = make_study(tiny_data, ["mart:n_estimators=1"], folds=3, max_folds=1)
    for run, status in ((Run(memory_limit=2**20), "failed"), (Run(), "done")):
        with Store(tmp_path) as store:
            run_study(study, store, run)
            assert [entry.status for entry in store.results()] == [status]


def die(job):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_dies_is_a_failure_of_its_cell(tiny_data, monkeypatch):
    monkeypatch.setattr(running, "run_job", die)
    study = make_study(tiny_data, ["mart:n_estimators=2"], folds=3, max_folds=2)
    with Store(None) as store:
        run_study(study, store, Run(workers=2))
        assert {e.status for e in store.results()} == {"failed"}
        assert all("process that trained it died" in e.outcome.error for e in store.results())


@pytest.mark.process
def test_data_that_cannot_be_read_stop_the_study(tmp_path):
    (tmp_path / "bad.txt").write_text("1 qid:1 1:x\n")
    study = make_study(str(tmp_path / "bad.txt"), ["mart"])
    for run in (Run(), Run(workers=2)):
        with Store(None) as store, pytest.raises(rankgrove.DataError, match=r"bad\.txt"):
            run_study(study, store, run)


@pytest.mark.process
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_stops_at_once_and_keeps_what_is_finished(data_file, tmp_path, jobs):
    rankers = ["--ranker", "quick=mart:n_estimators=1", "--ranker", "mart:n_estimators=1000000"]
    options = ["--folds", "3", "--workers", str(jobs), "--out", str(tmp_path / "results")]
    process = subprocess.Popen(
        [sys.executable, "-m", "rankgrove", "compare", str(data_file), *rankers, *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    while finished(tmp_path / "results") < 1:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in messages
    with Store.existing(tmp_path / "results") as store:
        status = [entry.status for entry in store.results()]
    assert status.count("done") >= 1
    assert set(status) == {"done", "waiting"}  # claims are given up
    assert not list((tmp_path / "results").glob(".folds-*"))


@pytest.mark.parametrize("change", [-3600, 3600])
def test_stale_claims_are_taken_over(tiny_study, tmp_path, change):
    """Somebody on another machine died: nobody can ask for the process, but the heart stands.

    If the clock was set back meanwhile, its last beat lies in the future.
    """
    fold = next(tiny_study.sources[0].folds())
    cell = next(tiny_study.cells(fold))
    with Store(tmp_path) as dead, Store(tmp_path) as store:
        assert dead.claim(cell)
        assert not store.claim(cell)
        with dead._transaction() as base:
            base.execute("UPDATE cells SET host = 'elsewhere'")
        assert not store.claim(cell)
        with dead._transaction() as base:
            base.execute("UPDATE cells SET beat = beat + ?", (change,))
        assert store.claim(cell)


def test_changed_data_are_other_cells(tiny_data, tiny_study):
    key = next(tiny_study.cells(next(tiny_study.sources[0].folds()))).key
    changed = tiny_data.with_features(tiny_data.X.copy(), tiny_data.feature_names)
    changed.X[0, 0] += 1
    other = make_study(changed, "lambdamart:n_estimators=5,max_leaf_nodes=4", metrics=["ndcg@5"])
    keys = {next(other.cells(fold)).key for fold in other.sources[0].folds()}
    assert key not in keys


@pytest.mark.parametrize("run", [Run(), Run(workers=2, backend="threading")])
def test_bins_are_shared_by_fits_on_the_same_data(tiny_study, monkeypatch, run):
    from rankgrove import _native

    calls = []

    def counted(name):
        real = getattr(_native, name)
        monkeypatch.setattr(_native, name, lambda *args: calls.append(name) or real(*args))

    counted("find_bins")
    counted("bin_matrix")
    with Store(None) as store:
        run_study(tiny_study, store, run)
    # The training and the validation part of each fold once, for two settings of LambdaMART and a
    # forest, wherever they run.
    assert sorted(calls) == ["bin_matrix"] * 6 + ["find_bins"] * 3


def test_nothing_is_cached_outside(tiny_data):
    from rankgrove.trees.bin_cache import bin_cache, cached_bins, cached_codes

    X = tiny_data.X
    assert cached_bins(X) is not cached_bins(X)
    with bin_cache():
        bins = cached_bins(X)
        assert cached_bins(X) is bins
        assert cached_bins(X, max_bins=7) is not bins
        assert cached_bins(X[:-1]) is not bins
        codes = cached_codes(X, bins)
        assert cached_codes(X, bins) is codes
        assert cached_codes(X, bins, rows=np.arange(len(X))[::-1].copy()) is not codes


def test_bins_in_a_folder_are_known_by_the_values(tiny_data, tmp_path, monkeypatch):
    from rankgrove import _native
    from rankgrove.trees.bin_cache import bin_cache, cached_bins, cached_codes

    X, rows = tiny_data.X, np.arange(tiny_data.n_rows)[::-1].copy()
    wanted = cached_codes(X, cached_bins(X), rows=rows)
    with bin_cache(tmp_path):
        cached_codes(X, cached_bins(X), rows=rows)
    changed = X.copy()
    changed[0, 0] += 1
    with bin_cache(tmp_path):
        other = cached_codes(changed, cached_bins(changed), rows=rows)
    assert not np.array_equal(other.all_codes, wanted.all_codes)
    monkeypatch.setattr(_native, "find_bins", None)  # a call would fail
    monkeypatch.setattr(_native, "bin_matrix", None)
    with bin_cache(tmp_path):
        same = np.asfortranarray(X)
        found = cached_codes(same, cached_bins(same), rows=rows.copy())
    np.testing.assert_array_equal(found.all_codes, wanted.all_codes)


def part_of(step):
    def squared(scores, labels, queries, weights):
        return step * (scores - labels), np.ones_like(scores)

    return squared


def test_another_function_of_the_same_name_is_another_ranker(tiny_data, tmp_path):
    def values(objective):
        ranker = rankgrove.CustomMART(objective=objective, n_estimators=3, random_state=0)
        found = rankgrove.compare(
            tiny_data, {"own": ranker}, folds=3, metrics="rmse", out=tmp_path / "out"
        )
        return found.frame("fold")["rmse"].tolist()

    first = values(part_of(1.0))
    assert values(part_of(0.1)) != first
    assert values(part_of(1.0)) == first


def test_folds_are_known_by_positions_and_propensities(tiny_data):
    n = tiny_data.n_rows

    def known_as(**shown):
        return fingerprint([rankgrove.Dataset(tiny_data.X, tiny_data.y, tiny_data.qid, **shown)])

    ones, twos = np.full(n, 1), np.full(n, 2)
    every = [{}, {"position": ones}, {"position": twos}, {"propensity": ones}]
    every.append({"propensity": np.full(n, 0.5)})
    assert len({known_as(**shown) for shown in every}) == len(every)


def test_folds_are_known_by_document_ids_and_sparse_entries(tiny_data, monkeypatch):
    def known_as(X, ids=None):
        return fingerprint([rankgrove.Dataset(X, tiny_data.y, tiny_data.qid, doc_ids=ids)])

    ids = np.arange(tiny_data.n_rows).astype(str)
    dense = np.where(tiny_data.X > 0.5, tiny_data.X, 0)
    assert len({known_as(dense), known_as(dense, ids), known_as(dense, ids[::-1])}) == 3
    monkeypatch.setattr("rankgrove.data.matrix.sparse.MAX_DENSE_BYTES", 10)  # never made dense
    sparse = SparseMatrix.from_dense(dense, 0.0)
    other = sparse.with_values(sparse.values * 2)
    missing = replace(sparse, absent=np.nan)
    assert len({known_as(X) for X in (sparse, other, missing)}) == 3
    assert known_as(sparse) == known_as(SparseMatrix.from_dense(dense, 0.0))


def test_too_little_memory_for_the_data_is_the_reason_of_the_fit(tiny_study, monkeypatch):
    def mapped(path):
        raise MemoryError

    monkeypatch.setattr(running, "_mapped", mapped)
    fold = next(tiny_study.sources[0].folds())
    cell = next(tiny_study.cells(fold))
    job = running.CellJob(cell=cell, fold="fold.joblib", n_jobs=1)
    key, outcome = running.run_job(job)
    assert (key, outcome.error) == (cell.key, "not enough memory")


def test_a_limit_of_memory_ends_with_its_fit(tiny_study, monkeypatch):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    during = []

    def mapped(path):
        during.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
        raise MemoryError

    monkeypatch.setattr(running, "_mapped", mapped)
    cell = next(tiny_study.cells(next(tiny_study.sources[0].folds())))
    limit = 2**44
    running.run_job(running.CellJob(cell=cell, fold="fold.joblib", n_jobs=1, memory_limit=limit))
    assert during == [limit]
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_limits_of_memory_of_two_threads_are_added_and_end_with_the_last():
    before = resource.getrlimit(resource.RLIMIT_DATA)

    def soft():
        return resource.getrlimit(resource.RLIMIT_DATA)[0]

    first, second = limited_memory(2**44), limited_memory(2**45)
    first.__enter__()
    second.__enter__()
    assert soft() == 2**44 + 2**45
    first.__exit__(None, None, None)
    assert soft() == 2**45
    second.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_the_digest_of_a_callers_matrix_reads_blocks(tmp_path, monkeypatch):
    from rankgrove.data.matrix.conversion import in_place
    from rankgrove.data.matrix.dense import CallerMatrix
    from rankgrove.trees.bin_cache import bin_cache, cached_bins

    X = np.random.default_rng(0).normal(size=(50, 4))
    changed = X.copy()
    changed[-1, -1] += 1
    monkeypatch.setattr(CallerMatrix, "to_array", None)  # would copy the matrix
    for values, n_entries in ((X, 1), (X.copy(), 1), (changed, 2)):
        with bin_cache(tmp_path):
            cached_bins(in_place(values))
        assert sum(path.is_dir() for path in tmp_path.iterdir()) == n_entries


def test_a_fold_that_a_full_disk_cannot_hold_is_named(tiny_study, tmp_path, monkeypatch):
    def fill(parts, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("joblib.dump", fill)
    with Store(tmp_path) as store, pytest.raises(OSError, match="No space left") as caught:
        run_study(tiny_study, store, Run(workers=2))
    assert str(tmp_path) in str(caught.value.filename)


@pytest.mark.filterwarnings("error:.*unnecessary computation")
def test_a_study_whose_store_is_full_ends_without_words_of_other_libraries(
    tiny_study, tmp_path, monkeypatch, recwarn
):
    def fill(*_):
        raise DataError("study.sqlite: database or disk is full")

    monkeypatch.setattr(Store, "finish", fill)
    with Store(tmp_path) as store, pytest.raises(DataError, match="disk is full"):
        run_study(tiny_study, store, Run(workers=2))
    assert not [one for one in recwarn if "processed by the workers" in str(one.message)]
