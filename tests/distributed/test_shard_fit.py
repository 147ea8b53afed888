"""Fits of several worker processes give the bytes of one fit on one machine."""

from __future__ import annotations

import pickle
import secrets
import threading

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fleet import cuts, fit_locally, make_data, make_shards, own_objective, saved
from rankgrove.boosting.objectives.rankboost import rank_gain
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.loading import load
from rankgrove.data.scanning.scan import scan
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import (
    Communicator,
    Hub,
    Shard,
    WorkerFailed,
    consistency,
    fit_shard,
    join,
)
from rankgrove.distributed.shard_fit import _settings
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names

FORESTS = ("rf", "rf-point", "rf-rand", "extra-trees", "broof")  # test_sharded_forests.py
NAMES = [
    name for name in ranker_names() if "rows" in ranker_class(name).shares and name not in FORESTS
]
IN_ONE_PLACE = [name for name in ranker_names() if "rows" not in ranker_class(name).shares]
DATA, VALID = make_data(), make_data(11, seed=5)


def quick(name, **params):
    small = {"n_estimators": 5, "random_state": 3, "n_jobs": 1}
    if "min_samples_leaf" in ranker_class(name)._get_param_names() and name != "rcrank":
        small["min_samples_leaf"] = 3
    if name == "igbrt" and "forest" not in params:
        small["forest"] = fit_locally(make_ranker("rf", n_estimators=3, random_state=0), DATA)
    if name in ("querycrossentropy", "listce"):
        small["max_grade"] = 4
    return make_ranker(name, **(small | params))


def check(fleet, make, sizes=(1, 2, 3, 4), *, valid=None, weighted=False, **options):
    """Every worker saves the bytes of the local fit, for any number of workers."""
    local = saved(fit_locally(make(), DATA, valid=valid, weighted=weighted, **options))
    for size in sizes:
        shards = make_shards(DATA, size, valid=valid, weighted=weighted, seed=size)
        for rank, result in enumerate(fleet.fit(make(), shards, fit_options=options)):
            assert not isinstance(result, Exception), (size, rank, result)
            assert result == local, (size, rank)


def test_boosted_rankers_are_those_that_fit_in_shards():
    assert {"lambdamart", "mart", "mcrank", "plrank", "rankboost", "rcrank", "yetirank"} <= {*NAMES}
    assert {"rf-list", "rf-pair", "ranksvm"} <= {*IN_ONE_PLACE}


@pytest.mark.parametrize("name", NAMES)
def test_every_boosted_ranker_has_the_bits_of_one_machine(fleet, name):
    check(fleet, lambda: quick(name), valid=VALID, eval_metric=["ndcg@5", "rmse"])


@pytest.mark.parametrize("name", NAMES)
def test_weights_and_early_stopping(fleet, name):
    if name == "rcrank":
        pytest.skip("least squares take no weights")
    make = lambda: quick(name, n_estimators=12)  # noqa: E731
    check(fleet, make, (3,), valid=VALID, weighted=True, early_stopping_rounds=2)


def test_many_rows_whose_numbers_are_told_before_histograms(fleet):
    """Where rows are many, the child with fewer of them is looked at, not that of less Hessian."""
    data = make_data(14_000, seed=8)
    assert len(data.y) > 1 << 17
    make = lambda: quick("lambdamart", n_estimators=2)  # noqa: E731
    local = saved(fit_locally(make(), data))
    assert fleet.fit(make(), make_shards(data, 2)) == [local, local]


SAMPLED = [name for name in NAMES if "subsample" in ranker_class(name)._get_param_names()]


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("sampling", ["queries", "documents"])
def test_samples_are_drawn_from_all_shards(fleet, name, sampling):
    check(fleet, lambda: quick(name, subsample=0.6, sampling=sampling, max_features=0.5), (2,))


VARIANTS = {
    "mean": {"missing": "mean"},
    "median": {"missing": "median"},
    "inf": {"missing": "inf"},
    "zero": {"missing": "zero"},
    "levels": {"tree": "levelwise", "max_depth": 3},
    "oblivious": {"tree": "oblivious", "max_depth": 4, "min_samples_leaf": None},
    "no limit": {"max_leaf_nodes": None, "min_samples_leaf": 1},
    "few rows": {"min_samples_leaf": 25},
    "two bins": {"max_bins": 2},
    "wide codes": {"max_bins": 300},
    "least squares": {"criterion": "least_squares"},
    "criterion of one's own": {"criterion": rank_gain},
    "monotone": {"monotone": [1, 1, 0, 0, 0, -1]},
    "features of a tree": {"max_features_tree": 0.5},
    "threads": {"n_jobs": 2},
    "err": {"metric": "err"},
    "map": {"metric": "map"},
    "all pairs": {"truncation": None},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_way_to_grow_trees(fleet, variant):
    check(fleet, lambda: quick("lambdamart", **VARIANTS[variant]), (3,))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("mcrank", {"ordinal": True}),
        ("gbrt", {"task": "classification"}),
        ("mart", {"target": "normalised_gain"}),
        ("plrank", {"n_permutations": 7, "l2": 0.5}),
    ],
)
def test_forms_of_rankers(fleet, name, params):
    check(fleet, lambda: quick(name, **params), (3,), weighted=name == "mcrank")


def test_an_objective_of_ones_own_query_by_query(fleet):
    params = {"objective": own_objective, "per_query": True, "compiled": False}
    check(fleet, lambda: quick("custom", **params))


def test_an_init_model(fleet):
    init_model = fit_locally(quick("mart"), DATA)
    check(fleet, lambda: quick("lambdamart"), (2,), init_model=init_model)


def test_without_a_random_state_all_workers_draw_alike(fleet):
    ranker = quick("yetirank", random_state=None, subsample=0.5)
    first, *others = fleet.fit(ranker, make_shards(DATA, 3))
    assert isinstance(first, bytes)
    assert all(other == first for other in others)


def test_datasets_with_names_of_columns(fleet):
    names = [f"f{i}" for i in range(6)]
    whole = Dataset(DATA.X, DATA.y, DATA.qid, feature_names=names)
    parts = [DATA.rows(*ends) for ends in cuts(DATA, 2)]
    shards = [Shard(Dataset(p.X, p.y, p.qid, feature_names=names)) for p in parts]
    local = saved(quick("lambdamart").fit(whole))
    assert fleet.fit(quick("lambdamart"), shards) == [local, local]


@pytest.mark.parametrize("splits", ["subsets", "statistics"])
def test_dictionaries_are_agreed_on(fleet, splits):
    random = np.random.default_rng(0)
    shops = random.choice(["a", "b", "c", "d"], len(DATA.y))
    shops[: len(shops) // 2] = np.where(shops == "d", "e", shops)[: len(shops) // 2]

    def frame(part, values):
        names = [f"f{i}" for i in range(part.X.shape[1])]
        table = pd.DataFrame(part.X, columns=names).assign(shop=values)
        return load(table.assign(label=part.y, qid=part.qid), categorical=["shop"])

    def ranker():
        return quick("lambdamart", category_splits=splits)

    local = saved(ranker().fit(frame(DATA, shops)))
    for size in (1, 2, 3):
        ends = cuts(DATA, size)
        shards = [Shard(frame(DATA.rows(*pair), shops[slice(*pair)])) for pair in ends]
        assert fleet.fit(ranker(), shards) == [local] * size


def test_queries_by_their_sizes(fleet):
    starts = np.flatnonzero(np.r_[True, DATA.qid[1:] != DATA.qid[:-1]])
    sizes = np.diff(np.r_[starts, len(DATA.qid)])
    half = int(starts[10])
    shards = [
        Shard(DATA.X[:half], DATA.y[:half], group_sizes=sizes[:10]),
        Shard(DATA.X[half:], DATA.y[half:], group_sizes=sizes[10:]),
    ]
    local = saved(quick("xendcg").fit(DATA.X, DATA.y, group_sizes=sizes))
    assert fleet.fit(quick("xendcg"), shards) == [local, local]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_worker_without_rows(fleet, name, empty):
    """Also without rows of the evaluation set."""
    data, half = DATA, cuts(DATA, 2)[0][1]
    ends = [(0, half), (half, len(data.y))]
    ends.insert(empty, (ends[empty - 1][1] if empty else 0,) * 2)
    shards = []
    for rank, (begin, end) in enumerate(ends):
        part = data.rows(begin, end)
        valid = VALID if rank == (empty + 1) % 3 else VALID.rows(0, 0)
        sets = {"valid": (valid.X, valid.y, valid.qid)}
        shards.append(Shard(part.X, part.y, part.qid, eval_set=sets))
    ranker = quick(name, n_estimators=3)
    local = ranker.fit(data.X, data.y, qid=data.qid, eval_set=(VALID.X, VALID.y, VALID.qid))
    assert fleet.fit(quick(name, n_estimators=3), shards) == [saved(local)] * 3


def test_a_worker_whose_rows_weigh_nothing(fleet):
    weight = DATA.weight.copy()
    (_, begin), (_, end), _ = cuts(DATA, 3)
    weight[begin:end] = 0.0
    shards = [
        Shard(part.X, part.y, part.qid, sample_weight=part_weight)
        for part, part_weight in (
            (DATA.rows(*ends), weight[slice(*ends)]) for ends in cuts(DATA, 3)
        )
    ]
    local = quick("plrank").fit(DATA.X, DATA.y, qid=DATA.qid, sample_weight=weight)
    assert fleet.fit(quick("plrank"), shards) == [saved(local)] * 3
    nothing = [Shard(s.X, s.y, s.qid, sample_weight=0 * s.sample_weight) for s in shards]
    for error in fleet.fit(quick("plrank"), nothing):
        assert isinstance(error, DataError | WorkerFailed)
        assert "their sample_weight is 0" in str(error)


def test_sparse_shards(fleet):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X = np.nan_to_num(DATA.X)
    X[np.abs(X) < 1] = 0.0
    parts = [DATA.rows(*ends) for ends in cuts(DATA, 3)]
    matrices = [scipy_sparse.csr_array(X[slice(*ends)]) for ends in cuts(DATA, 3)]
    shards = [Shard(m, part.y, part.qid) for m, part in zip(matrices, parts, strict=True)]
    local = saved(quick("lambdamart").fit(X, DATA.y, qid=DATA.qid))
    assert fleet.fit(quick("lambdamart"), shards) == [local] * 3


def test_callbacks_of_the_first_worker_end_the_fit_of_all(fleet):
    ranker = quick("mart", n_estimators=50)
    hub, *others = fleet.fit(
        ranker, make_shards(DATA, 3), on_step=lambda step, record, metrics: step == 4
    )
    assert ranker.model_.ensemble.n_trees == 4
    assert all(other == hub for other in others)


@pytest.mark.parametrize("name", IN_ONE_PLACE)
def test_other_rankers_are_refused_by_name(fleet, name):
    ranker = make_ranker(name)
    (error,) = fleet.fit(ranker, make_shards(DATA, 1))
    assert isinstance(error, ModelError)
    assert f"{type(ranker).__name__} cannot be fitted in shards" in str(error)


def test_an_objective_over_all_documents_is_refused(fleet):
    error, other = fleet.fit(quick("custom", objective=own_objective), make_shards(DATA, 2))
    assert isinstance(error, ModelError)
    assert "per_query=True" in str(error)
    assert isinstance(other, ModelError | WorkerFailed)


def test_a_query_in_two_shards_is_refused_by_name(fleet):
    query = DATA.qid[len(DATA.qid) // 2]
    middle = int(np.flatnonzero(DATA.qid == query)[1])
    shards = [
        Shard(part.X, part.y, part.qid)
        for part in (DATA.rows(0, middle), DATA.rows(middle, len(DATA.y)))
    ]
    for error in fleet.fit(quick("mart"), shards):
        assert isinstance(error, DataError | WorkerFailed)
        assert f"query {query} is in the shards of workers 0 and 1" in str(error)


STRANGE = {
    "sample_weight": lambda d: Shard(d.X, d.y, d.qid, sample_weight=np.ones(len(d.y))),
    "number of columns": lambda d: Shard(d.X[:, :5], d.y, d.qid),
    "names of columns": lambda d: Shard(Dataset(d.X, d.y, d.qid, feature_names=list("abcdef"))),
    "eval_set": lambda d: Shard(d.X, d.y, d.qid, eval_set={"train": "train"}),
}


@pytest.mark.parametrize("what", STRANGE)
def test_shards_that_do_not_belong_together_are_refused(fleet, what):
    first, second = (DATA.rows(*ends) for ends in cuts(DATA, 2))
    shards = [Shard(first.X, first.y, first.qid), STRANGE[what](second)]
    for error in fleet.fit(quick("mart"), shards):
        assert isinstance(error, DataError | WorkerFailed)
        assert f"{what} is" in str(error)
        assert "worker 0" in str(error)
        assert "worker 1" in str(error)


def test_an_error_of_one_worker_reaches_the_others_with_its_text(fleet):
    first, second = (DATA.rows(*ends) for ends in cuts(DATA, 2))
    shards = [Shard(first.X, first.y, first.qid), Shard(second.X, second.y[:-1], second.qid)]
    hub, other = fleet.fit(quick("mart"), shards)
    assert isinstance(other, DataError)
    assert isinstance(hub, WorkerFailed)
    assert hub.rank == 1
    assert str(other) in str(hub)


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(fleet):
    ranker = fit_locally(quick("mart"), DATA)
    before = saved(ranker)
    wrong = make_shards(DATA, 1)[0]
    (error,) = fleet.fit(ranker, [Shard(wrong.X, wrong.y[:-1], wrong.qid)])
    assert isinstance(error, DataError)
    assert saved(ranker) == before


def test_unknown_options_are_refused(fleet):
    (error,) = fleet.fit(quick("mart"), make_shards(DATA, 1), fit_options={"qid": 1})
    assert isinstance(error, ValueError)
    assert "fit_options has no 'qid'" in str(error)


def test_shards_that_are_streamed_have_the_bits_of_one_machine(fleet, tmp_path):
    data = make_ranking(30, seed=2)
    middle = data.groups.offsets[data.n_queries // 2]
    paths = []
    for number, rows in enumerate(np.split(np.arange(data.n_rows), [middle])):
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(to_arrow(data.select_rows(rows)), paths[-1], row_group_size=100)
    local = saved(quick("lambdamart").fit(load(paths)))
    shards = [Shard(scan(path)) for path in paths]
    assert fleet.fit(quick("lambdamart"), shards) == [local, local]


class PlainCommunicator(Communicator):
    """A communicator that is Python alone, as one over MPI would be."""

    def __init__(self, inner):
        self.inner, self.rank, self.size = inner, inner.rank, inner.size

    def sum(self, values):
        self.inner.sum(values)

    def maximum(self, values):
        self.inner.maximum(values)

    def sum_scatter(self, values, bounds, extra):
        self.inner.sum_scatter(values, bounds, extra)

    def gather(self, data):
        return self.inner.gather(data)

    def broadcast(self, data):
        return self.inner.broadcast(data)

    def exchange(self, parts):
        return self.inner.exchange(parts)

    @property
    def traffic(self):
        return self.inner.traffic

    def abort(self, reason):
        self.inner.abort(reason)

    def close(self):
        self.inner.close()


@pytest.mark.parametrize("name", ["lambdamart", "plrank", "rcrank"])
def test_kernels_take_a_communicator_that_is_python(name):
    hub, token = Hub(), secrets.token_bytes(32)
    shards = make_shards(DATA, 2)
    results: list = [None, None]

    def run(rank):
        inner = hub.accept(2, token) if rank == 0 else join(hub.address, 1, 2, token)
        with PlainCommunicator(inner) as communicator:
            results[rank] = saved(fit_shard(quick(name), shards[rank], communicator))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [saved(fit_locally(quick(name), DATA))] * 2


def test_workers_must_continue_the_same_model():
    one, other = (fit_locally(quick("mart", n_estimators=n), DATA) for n in (2, 3))
    said = [
        _settings(quick("mart"), {"init_model": model})["init_model"]
        for model in (one, pickle.loads(pickle.dumps(one)), other, None)
    ]
    assert said[0] == said[1]
    assert len(set(said)) == 3


def test_a_worker_of_another_build_is_refused_by_name(monkeypatch):
    digests = iter(["aaaa", "bbbb"])
    monkeypatch.setattr(consistency, "build_digest", lambda: next(digests))
    hub, token = Hub(), secrets.token_bytes(32)
    results: list = [None, None]

    def run(rank):
        try:
            make = hub.accept(2, token) if rank == 0 else join(hub.address, 1, 2, token)
            with make as communicator:
                fit_shard(quick("mart"), make_shards(DATA, 2)[rank], communicator)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert any(isinstance(error, DataError) for error in results)
    for error in results:
        assert "rankgrove is" in str(error)
        assert "build aaaa" in str(error)
        assert "build bbbb" in str(error)
        assert "worker 1" in str(error)
