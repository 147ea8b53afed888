"""The same tests on real clusters of Dask, Ray and Spark, all on this machine.

They are in one file so that no two clusters run at the same time (they are one group of xdist).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit, predict
from rankgrove.distributed.driver_hub import DriverHub
from rankgrove.distributed.engines import find_engine
from rankgrove.distributed.messages import MessageKind
from rankgrove.distributed.on_dask import DaskEngine
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes

# Ray takes minutes on a machine with ten processes per core; what hangs, hangs for longer.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.cluster]


@dataclass
class Cluster:
    """A running cluster of two workers.

    ``frame`` makes data of the engine of Arrow tables, ``read`` reads a folder of Parquet files,
    ``scores`` reads what ``predict`` returns.
    """

    on: Any
    frame: Any
    read: Any
    scores: Any


def start_dask():
    distributed = pytest.importorskip("dask.distributed")
    frames = pytest.importorskip("dask.dataframe")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield Cluster(
            client,
            lambda tables: frames.concat(
                [frames.from_pandas(table.to_pandas(), npartitions=1) for table in tables]
            ),
            frames.read_parquet,
            lambda predicted: predicted.compute().to_numpy(),
        )


def start_ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _node_ip_address="127.0.0.2",  # loopback, too: Ray replaces 127.0.0.1 by another address
        object_store_memory=100 << 20,
    )
    try:
        yield Cluster(
            "ray",
            ray.data.from_arrow,
            ray.data.read_parquet,
            lambda data: data.to_pandas()["score"].to_numpy(),
        )
    finally:
        ray.shutdown()


def start_spark():
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
        "spark.default.parallelism": "2",
    }
    session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def frame(tables):
        frames = [session.createDataFrame(table).coalesce(1) for table in tables]
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    try:
        yield Cluster(
            session,
            frame,
            session.read.parquet,
            lambda data: data.toArrow()["score"].to_numpy(),
        )
    finally:
        session.stop()


@pytest.fixture(scope="module", params=[start_dask, start_ray, start_spark])
def cluster(request):
    yield from request.param()


@pytest.fixture(scope="module")
def data():
    """Queries that are cut in two, documents in any order, and values that are missing."""
    data = make_ranking(40, seed=3)
    data = data.select_rows(np.random.default_rng(1).permutation(data.n_rows))
    data.X[np.random.default_rng(2).random(data.X.shape) < 0.1] = np.nan
    return data


@pytest.fixture(scope="module")
def tables(data):
    table = to_arrow(data)
    half = table.num_rows // 2
    return [table.slice(0, half), table.slice(half)]


class Killed(list):
    """Processes that were killed; ``rank`` is the worker to be killed, ``signal`` how."""

    rank = 1
    signal = signal.SIGKILL


@pytest.fixture
def killing(monkeypatch):
    """Send a signal to one of two workers when the driver receives the third step.

    Return whom (by default worker 1) and, once it is done, the process.
    """
    killed = Killed()
    next_message, processes, n_steps = DriverHub.next, {}, itertools.count(1)

    def next_and_kill(self, seconds):
        message = next_message(self, seconds)
        if message is not None and message.kind is MessageKind.JOINED:
            processes[message.rank] = message.values["process"]
        if message is not None and message.kind is MessageKind.STEP and next(n_steps) == 3:
            killed.append(processes[killed.rank])
            os.kill(processes[killed.rank], killed.signal)
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_kill)
    yield killed
    for process in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@pytest.fixture
def counted_steps(monkeypatch):
    """Return the numbers of the steps that the driver hears of."""
    steps, next_message = [], DriverHub.next

    def next_and_count(self, seconds):
        message = next_message(self, seconds)
        if message is not None and message.kind is MessageKind.STEP:
            steps.append(message.values["step"])
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_count)
    return steps


def boosted(**params):
    return rankgrove.LambdaMART(
        **{"n_estimators": 10, "random_state": 7, "subsample": 0.7} | params
    )


def forest(**params):
    return rankgrove.RFPoint(**{"n_estimators": 30, "random_state": 7, "oob_score": True} | params)


def test_boosting_and_its_validation_have_the_bits_of_a_local_fit(cluster, data, tables):
    valid = make_ranking(10, seed=4)
    local = boosted().fit(data, eval_set=valid, early_stopping_rounds=4)
    far = fit(
        boosted(),
        cluster.frame(tables),
        on=cluster.on,
        n_workers=2,
        eval_set=cluster.frame([to_arrow(valid)]),
        early_stopping_rounds=4,
    )
    assert far.evals_result_ == local.evals_result_
    assert to_bytes(far) == to_bytes(local)


def test_a_forest_has_the_bits_of_a_local_fit_and_scores_where_the_data_are(cluster, data, tables):
    far = fit(forest(), cluster.frame(tables), on=cluster.on, n_workers=2)
    assert to_bytes(far) == to_bytes(forest().fit(data))
    reordered = [table.select(table.column_names[::-1]) for table in tables]
    scores = cluster.scores(predict(far, cluster.frame(reordered), on=cluster.on))
    np.testing.assert_array_equal(scores, far.predict(data))


def test_a_forest_of_shards_has_the_bits_of_a_local_fit(cluster, data, tables):
    ranker = forest(n_estimators=6)
    far = fit(ranker, cluster.frame(tables), on=cluster.on, n_workers=2, share="rows")
    assert to_bytes(far) == to_bytes(forest(n_estimators=6).fit(data))


@pytest.mark.parametrize("make", [boosted, forest])
def test_categories_are_agreed_on_over_workers(cluster, data, tables, make):
    """Partitions have different categories, and one that is missing."""
    random = np.random.default_rng(5)
    shops = [random.choice(["a", "b", "c"], tables[0].num_rows).astype(object)]
    shops.append(random.choice(["c", "d"], tables[1].num_rows).astype(object))
    shops[0][3] = None
    parts = [
        table.append_column("shop", pa.array(values))
        for table, values in zip(tables, shops, strict=True)
    ]
    whole = rankgrove.load(pa.concat_tables(parts), categorical=["shop"])
    local = make().fit(whole)
    frame = cluster.frame(parts)
    far = fit(make(), frame, on=cluster.on, n_workers=2, categorical=["shop"])
    assert far.model_.columns.categories == local.model_.columns.categories
    assert to_bytes(far) == to_bytes(local)
    scores = cluster.scores(predict(far, frame, on=cluster.on))
    np.testing.assert_array_equal(scores, local.predict(whole))


def test_fit_and_predict_in_memory_point_to_the_cluster(cluster, data, tables):
    frame = cluster.frame(tables)
    ranker = rankgrove.MART(n_estimators=2, random_state=0)
    with pytest.raises(rankgrove.DataError, match=r"rankgrove\.distributed\.fit .*into memory"):
        ranker.fit(frame)
    with pytest.raises(rankgrove.DataError, match=r"rankgrove\.distributed\.predict"):
        ranker.fit(data).predict(frame)


def test_workers_read_files(cluster, tmp_path):
    data = make_ranking(20, seed=5)
    for name, queries in (("b", np.arange(10)), ("a", np.arange(10, 20))):
        rankgrove.write_letor(data.select_queries(queries), tmp_path / f"{name}.txt")
    local = boosted().fit(rankgrove.load([tmp_path / "a.txt", tmp_path / "b.txt"]))
    far = fit(boosted(), tmp_path, on=cluster.on, n_workers=2)
    assert to_bytes(far) == to_bytes(local)
    scored = predict(far, tmp_path, on=cluster.on)
    if hasattr(scored, "compute"):
        scores = scored.compute()
    else:
        table = scored.toArrow() if hasattr(scored, "toArrow") else scored.to_pandas()
        frame = table.to_pandas() if hasattr(table, "schema") else table
        scores = frame.sort_values(["path", "row"])["score"].to_numpy()
    files = rankgrove.load([tmp_path / "a.txt", tmp_path / "b.txt"])
    np.testing.assert_array_equal(scores, local.predict(files))


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster, data, tables, killing):
    ranker = forest(n_estimators=300) if cluster.on == "ray" else boosted(n_estimators=60)
    local = type(ranker)(**ranker.get_params()).fit(data)
    with pytest.warns(RuntimeWarning, match=r"worker 1 \(.* is gone; the fit goes on after step"):
        far = fit(ranker, cluster.frame(tables), on=cluster.on, n_workers=2)
    assert len(killing) == 1
    assert to_bytes(far) == to_bytes(local)


def test_a_killed_worker_costs_no_more_than_a_boosted_tree_of_igbrt(
    cluster, data, tables, killing, counted_steps
):
    """The third step is a boosted tree: after one round of the forest, and another tree."""
    if hasattr(cluster.on, "wait_for_workers"):
        cluster.on.wait_for_workers(2)  # one was killed before
    killing.rank = 0  # whose records count
    params = {"n_estimators": 400, "n_forest_trees": 8, "random_state": 7, "residuals": "oob"}
    local = rankgrove.IGBRT(**params).fit(data)
    with pytest.warns(RuntimeWarning, match=r"worker 0 .*; the fit goes on after step"):
        far = fit(rankgrove.IGBRT(**params), cluster.frame(tables), on=cluster.on, n_workers=2)
    assert len(killing) == 1
    assert to_bytes(far) == to_bytes(local)
    assert counted_steps == list(range(8, 8 + 400 + 1))


@pytest.fixture
def patience(cluster, tables):
    """More seconds than a worker that is not stopped needs for a whole fit on this machine now."""
    if hasattr(cluster.on, "wait_for_workers"):
        cluster.on.wait_for_workers(2)
    start = time.monotonic()
    fit(forest(), cluster.frame(tables), on=cluster.on, n_workers=2)
    return math.ceil(4 + 4 * (time.monotonic() - start))


@pytest.mark.timeout(1200)  # on a busy machine, patience alone may be minutes
def test_a_stopped_worker_is_lost_after_the_patience(cluster, data, tables, patience, killing):
    """Its connections stay open: only silence tells (SIGSTOP, a machine that swaps)."""
    killing.signal = signal.SIGSTOP
    ranker = forest(n_estimators=300)
    with pytest.warns(RuntimeWarning, match=r"worker \d .*; the fit goes on after step"):
        far = fit(ranker, cluster.frame(tables), on=cluster.on, n_workers=2, patience=patience)
    assert len(killing) == 1
    assert to_bytes(far) == to_bytes(forest(n_estimators=300).fit(data))


@pytest.mark.timeout(1200)
def test_a_stopped_worker_that_holds_partitions_is_lost_after_the_patience(
    cluster, data, tables, patience
):
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("Ray and Spark start processes for the fit")
    process = sorted(cluster.on.run(os.getpid).items())[1][1]
    os.kill(process, signal.SIGSTOP)
    try:
        words = f"was not computed within {patience} seconds by its worker"
        with pytest.warns(RuntimeWarning, match=words):
            far = fit(boosted(), cluster.frame(tables), on=cluster.on, patience=patience)
    finally:
        os.kill(process, signal.SIGCONT)
    assert to_bytes(far) == to_bytes(boosted().fit(data))


def test_a_worker_that_leaves_before_its_task_starts_is_lost(cluster, data, tables, monkeypatch):
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("of Dask, whose tasks are placed on named workers")
    counts = iter([3])  # the third worker has left since it was counted
    n_workers = DaskEngine.n_workers
    monkeypatch.setattr(
        DaskEngine, "n_workers", lambda self, wanted: next(counts, None) or n_workers(self, wanted)
    )
    with pytest.warns(RuntimeWarning, match="one of 3 workers left the Dask cluster"):
        far = fit(boosted(), cluster.frame(tables), on=cluster.on, patience=60)
    assert to_bytes(far) == to_bytes(boosted().fit(data))


def test_dask_columns_of_objects(cluster, data, tables):
    """Query ids may be objects; a feature of objects is refused by name unless it is ignored."""
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("of Dask")
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    frames = [table.to_pandas() for table in tables]
    for frame in frames:
        frame["qid"] = [f"q{number}" for number in frame["qid"]]
        frame["qid"] = frame["qid"].astype(object)
        frame["title"] = frame["qid"]
    parts = from_delayed([delayed(frame) for frame in frames], meta=frames[0].iloc[:0])
    parts = parts.assign(qid=parts["qid"].astype(object), title=parts["title"].astype(object))
    with pytest.raises(DataError, match=r"hold no numbers: 'title'.*type object count as text"):
        fit(boosted(), parts, on=cluster.on, n_workers=2)
    with pytest.raises(DataError, match=r"the type of column 'title' is object, .* ignore="):
        fit(boosted(), parts, on=cluster.on, features=[data.feature_names[0], "title"])
    far = fit(boosted(), parts, on=cluster.on, n_workers=2, ignore=["title"])
    whole = rankgrove.load(pa.concat_tables(map(pa.Table.from_pandas, frames)), ignore=["title"])
    assert to_bytes(far) == to_bytes(boosted().fit(whole))
    np.testing.assert_array_equal(
        cluster.scores(predict(far, parts, on=cluster.on)), far.predict(whole)
    )


def test_files_of_a_folder_are_in_order_of_their_names(cluster, tmp_path):
    """Also where the engine reads the largest file first: stored gains depend on the order."""
    data = make_ranking(30, seed=5)
    names = ["a b.parquet", "a!b.parquet", "a+ü%b.parquet"]  # Spark escapes some of the characters
    for name, queries in zip(names, ([27, 28], [29], np.arange(27)), strict=True):
        rankgrove.write_parquet(data.select_queries(np.array(queries)), tmp_path / name)
    local = boosted().fit(rankgrove.load([tmp_path / name for name in names]))
    far = fit(boosted(), cluster.read(str(tmp_path)), on=cluster.on, n_workers=2)
    assert to_bytes(far) == to_bytes(local)


def test_a_partition_that_contradicts_its_metadata_is_refused_by_name(cluster, tables):
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("of Dask")
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    first, second = (table.to_pandas() for table in tables[:2])
    parts = [delayed(first), delayed(second.iloc[:, :-1])]
    frame = from_delayed(parts, meta=first.iloc[:0]).map_partitions(
        lambda part: part, meta=first.iloc[:0], enforce_metadata=True
    )
    message = f"the training data, partition 1.*{second.columns[-1]}"
    with pytest.raises(DataError, match=re.compile(message, re.DOTALL)):
        fit(boosted(), frame, on=cluster.on, n_workers=2)


def test_a_partition_without_a_column_is_refused_by_name(cluster, tables):
    column = tables[1].column_names[-1]
    lacking = tables[1].drop_columns([column])
    options = {}
    if hasattr(cluster.on, "scheduler"):
        from dask.dataframe import from_delayed
        from dask.delayed import delayed

        first = tables[0].to_pandas()
        parts = [delayed(first), delayed(lacking.to_pandas())]
        frame = from_delayed(parts, meta=first.iloc[:0], verify_meta=False)
        options = {"ignore": [tables[0].column_names[-2]]}  # Dask selects columns
        message = f"the training data, partition 1 lacks a column: .*{column}"
    elif cluster.on == "ray":
        frame = cluster.frame([tables[0], lacking])
        message = f"the training data, block 1: there is no column {column!r}"
    else:
        pytest.skip("a Spark DataFrame has one schema")
    with pytest.raises(rankgrove.DataError, match=message):
        fit(boosted(), frame, on=cluster.on, n_workers=2, **options)


def test_errors_of_workers_are_raised_on_the_driver(cluster, tables):
    bad = tables[1].set_column(0, "label", pa.array(-tables[1].column("label").to_numpy() - 1.0))
    with pytest.raises(
        rankgrove.DataError, match=r"the training data, .*: the label -\d is negative"
    ):
        fit(forest(), cluster.frame([tables[0], bad]), on=cluster.on, n_workers=2)


def test_labels_beside_a_dask_dataframe_are_refused_with_what_to_do(cluster, tables):
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("arrays are Dask's")
    frame = cluster.frame(tables)
    with pytest.raises(rankgrove.DataError, match="as columns: give it alone, with label="):
        fit(boosted(), frame, frame["label"], qid=frame["qid"], on=cluster.on)


def test_dask_arrays_of_other_lengths_are_refused_by_name(cluster, data):
    if not hasattr(cluster.on, "scheduler"):
        pytest.skip("arrays are Dask's")
    import dask.array

    X, y, qid = (dask.array.from_array(a, chunks=300) for a in (data.X, data.y, data.qid))
    wrong = rf"the training data: y has {data.n_rows - 5} entries but X has {data.n_rows} rows"
    with pytest.raises(rankgrove.DataError, match=wrong):
        fit(boosted(), X, y[:-5], qid=qid, on=cluster.on)


def test_positions_of_clicks_correct_as_in_a_local_fit(cluster, data, tables):
    clicked = (data.y >= 2).astype(float)
    position = np.random.default_rng(5).integers(1, 6, data.n_rows)
    names = ["clicked", "shown_at"]
    halves = slice(0, len(tables[0])), slice(len(tables[0]), None)
    parts = [
        table.set_column(0, names[0], pa.array(clicked[rows])).append_column(
            names[1], pa.array(position[rows])
        )
        for table, rows in zip(tables, halves, strict=True)
    ]
    roles = {"label": "clicked", "position": "shown_at"}
    local = boosted(position_bias="unbiased").fit(
        rankgrove.load(pa.concat_tables(parts), query="qid", **roles)
    )
    frame = cluster.frame(parts)
    far = fit(
        boosted(position_bias="unbiased"), frame, on=cluster.on, n_workers=2, query="qid", **roles
    )
    assert to_bytes(far) == to_bytes(local)
    if hasattr(cluster.on, "scheduler"):
        import dask.array

        X, y, qid, shown = (
            dask.array.from_array(a, chunks=300) for a in (data.X, clicked, data.qid, position)
        )
        far = fit(boosted(position_bias="unbiased"), X, y, qid=qid, position=shown, on=cluster.on)
        plain = boosted(position_bias="unbiased").fit(data.X, clicked, data.qid, position=position)
        assert to_bytes(far) == to_bytes(plain)


def test_workers_listen_on_loopback(cluster):
    assert find_engine(cluster.on).host() == "127.0.0.1"
