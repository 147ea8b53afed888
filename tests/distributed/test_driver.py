"""Fits on workers that are threads: the same bits as a local fit, at every door."""

from __future__ import annotations

import itertools
import math
import re
import time
import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import WorkerLost, fit, row_replication
from rankgrove.distributed.driver_hub import DriverHub
from rankgrove.distributed.engine import NoWorkersError
from rankgrove.distributed.messages import Message, MessageKind
from rankgrove.errors import ModelError
from rankgrove.forests import sharded_growing
from rankgrove.formats.container import to_bytes
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import FitResult
from rankgrove.rankers.base.registry import make_ranker

FORESTS = {
    "rf": {"n_estimators": 40, "oob_score": True, "task": "classification"},
    "extra-trees": {"n_estimators": 3},
    "rf-point": {"n_estimators": 20, "oob_score": True, "sampling": "bootstrap"},
    "rf-list": {"n_estimators": 5},
    "rf-hybrid": {"n_estimators": 5},
    "rf-rand": {"n_estimators": 5},
    "rf-pair": {"n_estimators": 5},
    "broof": {"n_estimators": 3, "n_trees": 4},
    "igbrt": {"n_estimators": 3, "n_forest_trees": 4, "residuals": "oob"},
}


def tables_of(data, n_tables):
    """Cut a Dataset into tables, wherever the cuts fall."""
    table = to_arrow(data)
    bounds = np.linspace(0, table.num_rows, n_tables + 1).astype(int)
    return [table.slice(a, b - a) for a, b in itertools.pairwise(bounds)]


def shuffled(data, seed=0):
    """Documents of all queries in any order."""
    return data.select_rows(np.random.default_rng(seed).permutation(data.n_rows))


def with_gaps(data, seed=0):
    X = data.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return data.with_features(X, data.feature_names)


def same(ranker, local):
    assert to_bytes(ranker) == to_bytes(local)


@pytest.mark.parametrize("share", ["trees", "rows"])
@pytest.mark.parametrize("name", FORESTS)
def test_every_forest_has_the_bits_of_a_local_fit(name, share, threads, monkeypatch):
    monkeypatch.setattr(sharded_growing, "MOST_MOVED_ROWS", 32)
    data = with_gaps(shuffled(make_ranking(20, seed=4)))
    valid = make_ranking(8, seed=5)
    ranker = make_ranker(name, random_state=3, **FORESTS[name])
    local = make_ranker(name, random_state=3, **FORESTS[name]).fit(data, eval_set=valid)
    if share not in ranker.shares:
        with pytest.raises(ModelError, match=f"{type(ranker).__name__} cannot be fitted in shards"):
            fit(ranker, tables_of(data, 5), on=threads, share=share)
        return
    same(fit(ranker, tables_of(data, 5), on=threads, eval_set=valid, share=share), local)


def test_workers_share_rows_where_all_do_not_fit_into_one(two_threads, monkeypatch):
    data, shares = make_ranking(12, seed=4), []
    grow = sharded_growing.ShardedGrower.grow

    def noted(self, *given):
        shares.append("rows")
        return grow(self, *given)

    monkeypatch.setattr(sharded_growing.ShardedGrower, "grow", noted)
    fit(forest(), tables_of(data, 2), on=two_threads)
    assert not shares
    monkeypatch.setattr(row_replication, "_free_bytes", lambda: 2 * 7 * data.X.size - 2)
    same(fit(forest(), tables_of(data, 2), on=two_threads), forest().fit(data))
    assert shares


def test_shares_that_are_refused(two_threads):
    data = make_ranking(5, seed=4)
    with pytest.raises(ValueError, match="share must be one of rows, trees"):
        fit(forest(), data, on=two_threads, share="columns")
    with pytest.raises(ModelError, match="MART has no trees to share"):
        fit(make_ranker("mart"), data, on=two_threads, share="trees")


BOOSTED = {
    "lambdamart": {"subsample": 0.6, "max_features": 0.5},
    "plrank": {},
    "yetirank": {},
    "rcrank": {"missing": "median"},
    "mcrank": {},
}


def test_a_dataset_as_eval_set_beside_tables_with_named_columns(threads):
    data, valid = make_ranking(20, seed=4), make_ranking(8, seed=5)
    table = to_arrow(data)
    other = {"label": "grade", "qid": "search"}
    table = table.rename_columns([other.get(name, name) for name in table.column_names])
    named = {"label": "grade", "query": "search"}
    far = fit(
        rankgrove.MART(n_estimators=4, random_state=1), table, on=threads, eval_set=valid, **named
    )
    same(far, rankgrove.MART(n_estimators=4, random_state=1).fit(data, eval_set=valid))


@pytest.mark.parametrize("name", BOOSTED)
def test_boosted_rankers_have_the_bits_of_a_local_fit(name, threads):
    data = with_gaps(shuffled(make_ranking(20, seed=4)))
    valid = make_ranking(8, seed=5)
    params = {"n_estimators": 6, "random_state": 3, "min_samples_leaf": 3, **BOOSTED[name]}
    if name == "rcrank":
        del params["min_samples_leaf"]
    local = make_ranker(name, **params).fit(
        data, eval_set={"all": data, "valid": valid}, early_stopping_rounds=2
    )
    tables = tables_of(data, 5)
    far = fit(
        make_ranker(name, **params),
        tables,
        on=threads,
        eval_set={"all": tables, "valid": valid},
        early_stopping_rounds=2,
    )
    assert far.evals_result_ == local.evals_result_
    same(far, local)


def test_ctrl_c_keeps_the_trees_that_are_finished(two_threads, monkeypatch):
    next_message, pressed = DriverHub.next, []

    def next_and_press(self, seconds):
        message = next_message(self, seconds)
        if message is not None and message.values.get("step") == 3:
            pressed.append(True)
        elif pressed == [True]:
            pressed.append(False)
            raise KeyboardInterrupt
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_press)
    data = make_ranking(20, seed=4)
    ranker = rankgrove.LambdaMART(n_estimators=3000, random_state=1)
    with pytest.raises(KeyboardInterrupt):
        fit(ranker, data, on=two_threads)
    n_trees = ranker.model_.ensemble.n_trees
    assert 3 <= n_trees < 3000
    same(
        ranker.set_params(n_estimators=n_trees),
        rankgrove.LambdaMART(n_estimators=n_trees, random_state=1).fit(data),
    )


LOSS = Message(MessageKind.GONE, rank=1)


@pytest.mark.parametrize(
    ("after_step", "at_start", "after_ready"),
    [
        ([KeyboardInterrupt, LOSS], [], []),
        ([LOSS], [KeyboardInterrupt], []),
        ([LOSS], [], [KeyboardInterrupt]),
    ],
    ids=["before the loss", "before workers start", "before all are ready"],
)
def test_ctrl_c_ends_a_fit_that_loses_a_worker(
    two_threads, monkeypatch, after_step, at_start, after_ready
):
    """Worker 1 is lost after step 3, and Ctrl-C is pressed before the next attempt has a step."""
    next_message, start, n_starts = DriverHub.next, two_threads.start, itertools.count()
    due, ready = [], []  # events: what comes next, and what comes when a worker is ready again

    def next_of_script(self, seconds):
        if due:
            event = due.pop(0)
            if event is KeyboardInterrupt:
                raise event
            return event
        message = next_message(self, seconds)
        if message is not None and message.values.get("step") == 3:
            due.extend(after_step)
            ready.extend(after_ready)
        elif message is not None and message.kind is MessageKind.READY:
            due.extend(ready)
            ready.clear()
        return message

    def start_of_script(task, sources):
        if next(n_starts) == 1 and at_start:
            raise KeyboardInterrupt
        return start(task, sources)

    monkeypatch.setattr(DriverHub, "next", next_of_script)
    monkeypatch.setattr(two_threads, "start", start_of_script)
    data = make_ranking(20, seed=4)
    ranker = rankgrove.LambdaMART(n_estimators=300, random_state=1)
    with pytest.warns(RuntimeWarning, match="step 3"), pytest.raises(KeyboardInterrupt):
        fit(ranker, data, on=two_threads)
    same(
        ranker.set_params(n_estimators=4),
        rankgrove.LambdaMART(n_estimators=4, random_state=1).fit(data),
    )


def test_a_fit_that_has_lost_all_workers_waits_for_new_ones(two_threads, monkeypatch):
    next_message, n_workers, lost = DriverHub.next, two_threads.n_workers, []
    answers = iter([2, 0, 0, 1])

    def next_and_lose(self, seconds):
        if lost == [True]:
            lost.append(False)
            return LOSS
        message = next_message(self, seconds)
        if message is not None and message.values.get("step") == 3:
            lost.append(True)
        return message

    def n_now(wanted):
        two_threads.size = next(answers)
        if two_threads.size == 0:
            raise NoWorkersError("the cluster has no workers")
        return n_workers(wanted)

    monkeypatch.setattr(DriverHub, "next", next_and_lose)
    monkeypatch.setattr(two_threads, "n_workers", n_now)
    data = make_ranking(20, seed=4)
    ranker = rankgrove.LambdaMART(n_estimators=20, random_state=1)
    with pytest.warns(RuntimeWarning, match="step 3"):
        fit(ranker, data, on=two_threads)
    same(ranker, rankgrove.LambdaMART(n_estimators=20, random_state=1).fit(data))
    assert next(answers, None) is None


def test_a_cluster_that_never_had_workers_is_refused_at_once(two_threads, monkeypatch):
    answers = iter([NoWorkersError("the cluster has no workers")])

    def n_now(wanted):
        raise next(answers)

    monkeypatch.setattr(two_threads, "n_workers", n_now)
    with pytest.raises(NoWorkersError, match="has no workers"):
        fit(forest(), make_ranking(5, seed=4), on=two_threads)


@pytest.mark.slow
def test_a_worker_that_never_comes_is_named_and_nobody_waits_for_ever(thread_engine):
    data = make_ranking(5, seed=4)
    for _ in range(2):  # the first fit imports modules
        start = time.monotonic()
        fit(forest(), data, on=thread_engine(2))
    patience = math.ceil(2 + 5 * (time.monotonic() - start))  # a worker that comes needs less

    class Absent(thread_engine):
        """Worker 1 never starts."""

        def start(self, task, sources):
            self.size = 1
            try:
                return super().start(task, sources)
            finally:
                self.size = 2

    with (
        pytest.warns(RuntimeWarning, match="worker 1 said nothing .* goes on after step 0"),
        pytest.raises(WorkerLost, match=f"worker 1 said nothing for {patience} seconds") as caught,
    ):
        fit(forest(), data, on=Absent(2), patience=patience)
    assert caught.value.rank == 1


class OwnForest(rankgrove.RFPoint):
    """A forest of a user's own, which nobody has registered."""


class OwnEnsemble(BaseRanker):
    """A ranker of a user's own that is no forest ranker, and grows two forests."""

    shares = ("trees",)

    def planned_trees(self):
        return 12, 0

    def _learn(self, fit):
        one, other = (rankgrove.RFPoint(n_estimators=6, random_state=seed) for seed in (1, 2))
        for part in (one, other):
            part.replace_fitted(part.learn_within(fit))
        return FitResult(rankgrove.merge(one, other).model_)


@pytest.mark.parametrize("cls", [OwnForest, OwnEnsemble])
def test_a_forest_of_a_users_own_is_fitted_by_what_it_says_of_itself(threads, cls):
    data = shuffled(make_ranking(20, seed=4))
    far = fit(cls(random_state=3), tables_of(data, 3), on=threads)
    assert to_bytes(far, named=False) == to_bytes(cls(random_state=3).fit(data), named=False)


def test_linear_rankers_are_refused_by_name(two_threads):
    with pytest.raises(rankgrove.ModelError, match="ListMLE is fitted on one machine only"):
        fit(rankgrove.ListMLE(), make_ranking(5, seed=4), on=two_threads)


def forest(**params):
    return rankgrove.RFPoint(n_estimators=8, random_state=1, oob_score=True, **params)


def test_columns_of_tables_may_stand_in_any_order(two_threads):
    data = make_ranking(20, seed=4)
    one, two, three = tables_of(data, 3)
    mixed = [one, two.select(two.column_names[::-1]), three]
    same(fit(forest(), mixed, on=two_threads), forest().fit(data))


def test_tables_with_other_columns_are_refused(two_threads):
    one, two = tables_of(make_ranking(20, seed=4), 2)
    with pytest.raises(KeyError, match="f3"):
        fit(forest(), [one, two.drop_columns(["f3"])], on=two_threads)


def test_files_with_other_features_are_refused_by_name(two_threads, tmp_path):
    data = make_ranking(20, seed=4)
    rankgrove.write_letor(data, tmp_path / "a.txt")
    rankgrove.write_letor(
        data.with_features(data.X[:, :-1], data.feature_names[:-1]), tmp_path / "b.txt"
    )
    with pytest.raises(
        rankgrove.DataError, match=r"a\.txt and .*b\.txt have 20 and 19 .*n_features"
    ):
        fit(forest(), tmp_path, on=two_threads)
    with pytest.raises(rankgrove.DataError, match="no such file"):
        fit(forest(), tmp_path / "c.txt", on=two_threads)


@pytest.mark.parametrize("suffix", ["txt", "parquet"])
def test_workers_read_files_of_a_folder_in_order_of_names(threads, tmp_path, suffix):
    data = with_gaps(make_ranking(20, seed=4))
    write = rankgrove.write_letor if suffix == "txt" else rankgrove.write_parquet
    paths = [tmp_path / f"{name}.{suffix}" for name in "cab"]
    for path, queries in zip(paths, np.array_split(np.arange(20), 3), strict=True):
        write(data.select_queries(queries), path)
    local = forest().fit(rankgrove.load(sorted(paths)))
    same(fit(forest(), tmp_path, on=threads), local)
    same(fit(forest(), str(tmp_path / f"*.{suffix}"), on=threads), local)
    same(fit(forest(), sorted(paths), on=threads), local)


def test_workers_read_the_objects_of_a_store(two_threads):
    fsspec = pytest.importorskip("fsspec")
    data = make_ranking(20, seed=4)
    folder = "memory://driver/parts"
    for name, queries in zip("cab", np.array_split(np.arange(20), 3), strict=True):
        rankgrove.write_parquet(data.select_queries(queries), f"{folder}/{name}.parquet")
    local = forest().fit(rankgrove.load([f"{folder}/{name}.parquet" for name in "abc"]))
    same(fit(forest(), folder, on=two_threads), local)
    same(fit(forest(), f"{folder}/*.parquet", on=two_threads), local)
    with pytest.raises(rankgrove.DataError, match=r"^memory://driver/none: .*no such object"):
        fit(forest(), "memory://driver/none", on=two_threads)
    fsspec.filesystem("memory").rm("/driver", recursive=True)


def test_arrays_need_labels_and_queries_and_give_a_model_without_names(threads):
    data = shuffled(make_ranking(20, seed=4))
    weight = np.random.default_rng(1).integers(0, 3, data.n_rows).astype(float)
    local = forest().fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    far = fit(forest(), data.X, data.y, qid=data.qid, sample_weight=weight, on=threads)
    same(far, local)
    assert far.model_.columns.names is None
    with pytest.raises(rankgrove.DataError, match="qid"):
        fit(forest(), data.X, data.y, on=threads)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": lambda y: y.astype(int).astype(str)}, "y must hold numbers, not texts"),
        ({"y": lambda y: y + 1j}, "Complex data not supported"),
        ({"y": lambda y: np.ma.masked_equal(y, y[3])}, "y of row .* is nan"),
        ({"y": lambda y: y[:, None]}, "y must have one dimension"),
        ({"sample_weight": lambda y: y.astype(str)}, "sample_weight must hold numbers"),
    ],
)
def test_arrays_that_only_look_like_numbers_are_refused(two_threads, change, message):
    data = make_ranking(20, seed=4)
    given = {"y": data.y, "qid": data.qid} | {name: make(data.y) for name, make in change.items()}
    with pytest.raises(rankgrove.DataError, match=message):
        fit(forest(), data.X, on=two_threads, **given)


def test_a_query_in_two_parts_is_brought_together_or_refused(two_threads):
    data = make_ranking(20, seed=4)
    texts = [f"q{i}" for i in data.qid]
    table = to_arrow(data).set_column(1, "qid", pa.array(texts))
    cut = int(data.groups.offsets[10]) + 1
    parts = [table.slice(0, cut), table.slice(cut)]
    same(fit(forest(), parts, on=two_threads), forest().fit(rankgrove.load(table)))
    with pytest.raises(
        rankgrove.DataError, match=rf"query 'q{data.groups.ids[10]}' is in .*table 0"
    ):
        fit(forest(), parts, on=two_threads, split_queries="refuse")
    with pytest.raises(ValueError, match="n_workers must be at least 1, not 0"):
        fit(rankgrove.LambdaMART(), [], on=two_threads, n_workers=0)
    with pytest.raises(ValueError, match="split_queries must be one of gather, refuse"):
        fit(forest(), parts, on=two_threads, split_queries="drop")


def test_missing_query_ids_and_labels_are_refused_by_part_and_column(two_threads):
    table = to_arrow(make_ranking(20, seed=4))
    bad = table.set_column(1, "qid", pa.nulls(table.num_rows, pa.int64()))
    with pytest.raises(rankgrove.DataError, match="table 1: column 'qid': the query id is missing"):
        fit(forest(), [table, bad], on=two_threads)
    with pytest.raises(rankgrove.DataError, match="no column of query ids"):
        fit(forest(), [table.drop_columns(["qid"])], on=two_threads)
    with pytest.raises(rankgrove.DataError, match="no rows"):
        fit(forest(), [table.slice(0, 0)], on=two_threads)


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(two_threads):
    data = make_ranking(20, seed=4)
    ranker = forest().fit(data)
    before = to_bytes(ranker)
    table = to_arrow(data)
    bad = table.set_column(0, "label", pa.array(np.full(data.n_rows, -1.0)))
    with pytest.raises(rankgrove.DataError, match="negative"):
        fit(ranker, [table, bad], on=two_threads)
    assert to_bytes(ranker) == before


def test_a_random_state_goes_on_as_after_a_local_fit(two_threads):
    data = make_ranking(20, seed=4)
    far, near = (rankgrove.RFPoint(n_estimators=2) for _ in range(2))
    far.set_params(random_state=np.random.RandomState(5))
    near.set_params(random_state=np.random.RandomState(5))
    for _ in range(2):
        fit(far, data, on=two_threads)
        near.fit(data)
        np.testing.assert_array_equal(far.predict(data), near.predict(data))


def test_unknown_options_engines_and_data_are_refused(two_threads):
    data = make_ranking(5, seed=4)
    with pytest.raises(TypeError, match="lable"):
        fit(forest(), data, on=two_threads, lable="y")
    with pytest.raises(ValueError, match="Dask Client, 'ray' or a SparkSession"):
        fit(forest(), data, on="dusk")
    with pytest.raises(rankgrove.DataError, match="lists of tables, paths, or a Dataset"):
        fit(forest(), 7, on=two_threads)
    with pytest.raises(ValueError, match="absent does not apply to arrays"):
        fit(forest(), data.X, data.y, qid=data.qid, on=two_threads, absent="zero")
    with pytest.raises(ValueError, match="absent does not apply to a table"):
        fit(forest(), tables_of(data, 2), on=two_threads, absent="zero")
    with pytest.raises(ValueError, match="n_estimators"):
        fit(forest().set_params(n_estimators=0), data, on=two_threads)


@pytest.mark.filterwarnings("ignore:.*every label is")
@pytest.mark.filterwarnings("ignore:.*oob_score")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:every label")
@settings(max_examples=20, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=12),
    n_tables=st.integers(1, 6),
    size=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_any_cut_of_any_rows_gives_the_bits_of_one_table(
    thread_engine, sizes, n_tables, size, seed
):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    if len(qid) == 0:
        return
    X = rng.normal(size=(len(qid), 3)).astype(np.float32)
    data = rankgrove.Dataset(X, rng.integers(0, 3, len(qid)), qid)
    small = forest().set_params(min_samples_leaf=1)
    far = fit(small, tables_of(data, n_tables), on=thread_engine(size))
    same(far, forest().set_params(min_samples_leaf=1).fit(data))


@pytest.mark.parametrize("lost_at", [1, 2, 5])
@pytest.mark.parametrize("forest", ["grown", "given"])
def test_igbrt_goes_on_after_the_boosted_trees_it_has(two_threads, monkeypatch, lost_at, forest):
    data = make_ranking(20, seed=4)
    params = {"n_estimators": 6, "n_forest_trees": 40, "random_state": 3}
    if forest == "given":
        given = rankgrove.RandomForest(n_estimators=3, random_state=0).fit(make_ranking(9, seed=2))
        params = {"n_estimators": 6, "forest": given, "random_state": 3}
    local = rankgrove.IGBRT(**params).fit(data, eval_set=data)
    steps, next_message = [], DriverHub.next

    def next_and_lose(self, seconds):
        """Say once that a worker is gone."""
        if len(steps) == lost_at and None not in steps:
            steps.append(None)
            return Message(MessageKind.GONE, rank=0)
        message = next_message(self, seconds)
        if message is not None and message.kind is MessageKind.STEP:
            steps.append(message.values["step"])
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_lose)
    with pytest.warns(RuntimeWarning, match=f"worker 0 .* goes on after step {lost_at}"):
        far = fit(rankgrove.IGBRT(**params), data, on=two_threads, eval_set=data)
    heard = [step for step in steps if step is not None]
    n_forest = 0 if forest == "given" else 40
    grown = [16, 32, 40] if n_forest else []
    assert heard == [*grown, *range(n_forest + 1, n_forest + 7)]
    assert far.evals_result_ == local.evals_result_
    same(far, local)


def test_warnings_of_workers_reach_the_driver_once(threads):
    data = make_ranking(20, seed=4)
    data = rankgrove.Dataset(data.X, np.full(data.n_rows, 2.0), data.qid)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(rankgrove.MART(n_estimators=2), tables_of(data, 4), on=threads)
        fit(rankgrove.MART(n_estimators=2), tables_of(data, 4), on=threads)
    told = [warning for warning in caught if issubclass(warning.category, rankgrove.DataWarning)]
    assert len(told) == 2, "once per fit, however many workers"
    for warning in told:
        assert re.match(
            r"worker \d \(127\.0\.0\.1, process \d+\): every label is 2", str(warning.message)
        )


def test_bins_of_summaries_are_off_by_default_and_give_a_model_of_their_own(two_threads):
    data = make_ranking(200, seed=4)
    small = partial(rankgrove.LambdaMART, n_estimators=3, max_bins=31, random_state=1)
    exact, rough = (
        fit(small(), tables_of(data, 4), on=two_threads, **options)
        for options in ({}, {"bin_error": 0.05})
    )
    local = small().fit(data)
    assert (exact.predict(data) == local.predict(data)).all()
    assert (rough.predict(data) != local.predict(data)).any()
    assert np.corrcoef(rough.predict(data), local.predict(data))[0, 1] > 0.9


def test_a_bin_error_that_is_no_part_or_has_no_effect_is_refused(two_threads):
    data = make_ranking(8, seed=4)
    small = rankgrove.LambdaMART
    with pytest.raises(ValueError, match=r"bin_error must be a part of the documents.*1.5"):
        fit(small(), data, on=two_threads, bin_error=1.5)
    forest = rankgrove.RFPoint(n_estimators=2)
    with pytest.raises(ValueError, match="bin_error has no effect on RFPoint"):
        fit(forest, data, on=two_threads, bin_error=0.1)


def test_a_fit_with_bins_of_summaries_begins_anew_when_a_worker_is_lost(two_threads, monkeypatch):
    """Workers that share the data otherwise would find other bins than its trees have."""
    data = make_ranking(60, seed=4)
    small = partial(rankgrove.LambdaMART, n_estimators=4, max_bins=31, random_state=1)
    whole = fit(small(), tables_of(data, 4), on=two_threads, bin_error=0.05)
    steps, next_message = [], DriverHub.next

    def next_and_lose(self, seconds):
        if len(steps) == 2:
            steps.append(None)
            return Message(MessageKind.GONE, rank=0)
        message = next_message(self, seconds)
        if message is not None and message.kind is MessageKind.STEP:
            steps.append(message.values["step"])
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_lose)
    with pytest.warns(RuntimeWarning, match="worker 0 .* goes on after step 0"):
        again = fit(small(), tables_of(data, 4), on=two_threads, bin_error=0.05)
    assert steps == [1, 2, None, 1, 2, 3, 4]
    same(again, whole)
