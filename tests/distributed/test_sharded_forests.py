"""Forests whose rows are sharded over workers have the bytes of one machine."""

from __future__ import annotations

import pickle
import secrets
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fleet import Data, cuts, make_data, saved
from rankgrove import register_criterion
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.loading import load
from rankgrove.distributed import Hub, Shard, fit_shard, join
from rankgrove.errors import ModelError
from rankgrove.forests import sharded_growing
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names

FORESTS = ["rf-point", "rf-rand", "extra-trees", "rf"]
SIZES = (1, 2, 3)
DATA = make_data(90, seed=3)


@pytest.fixture(autouse=True, params=[16, 64])
def moved_rows(request, monkeypatch):
    """Nodes with more rows than these are split by all workers together."""
    monkeypatch.setattr(sharded_growing, "MOST_MOVED_ROWS", request.param)
    return request.param


def fit_in_threads(make, shards, **options):
    """Fit on workers that are threads of this process; return what each saves, or its error."""
    size, token = len(shards), secrets.token_bytes(32)
    hub = Hub()
    results = [None] * size

    def work(rank):
        own = {key: value for key, value in options.items() if key != "on_step" or rank == 0}
        try:
            waiting = {"timeout": 60.0, "patience": 60.0}
            if rank == 0:
                communicator = hub.accept(size, token, **waiting)
            else:
                communicator = join(hub.address, rank, size, token, **waiting)
            with communicator:
                results[rank] = saved(fit_shard(make(), shards[rank], communicator, **own))
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def shards_of(data, size, *, weighted=False):
    """Uneven shards; of three, one is empty."""
    ends = cuts(data, min(size, 2), seed=size)
    if size == 3:
        ends.insert(1, (ends[0][1],) * 2)
    parts = [data.rows(*pair) for pair in ends]
    return [Shard(p.X, p.y, p.qid, sample_weight=p.weight if weighted else None) for p in parts]


def check(make, data=DATA, sizes=SIZES, *, weighted=False, **options):
    weight = data.weight if weighted else None
    local = saved(make().fit(data.X, data.y, qid=data.qid, sample_weight=weight))
    for size in sizes:
        for result in fit_in_threads(make, shards_of(data, size, weighted=weighted), **options):
            assert not isinstance(result, Exception), (size, result)
            assert result == local, size


def quick(name, **params):
    small = {"n_estimators": 4, "random_state": 3, "n_jobs": 1}
    if name == "broof":
        small = {"n_estimators": 3, "n_trees": 4, "random_state": 3, "n_jobs": 1}
    if name == "igbrt":
        small |= {"n_forest_trees": 3}
    return make_ranker(name, **(small | params))


def test_forests_that_can_be_sharded():
    able = {name for name in ranker_names() if "rows" in ranker_class(name).shares}
    assert {*FORESTS, "broof", "igbrt"} <= able
    assert not {"rf-list", "rf-hybrid", "rf-pair"} & able


@pytest.mark.parametrize("name", FORESTS)
def test_every_forest_has_the_bits_of_one_machine(name):
    check(lambda: quick(name))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("weighting", ["split", "draw"])
def test_weights(name, weighting):
    check(lambda: quick(name, weighting=weighting), sizes=(2, 3), weighted=True)


@pytest.mark.parametrize("sampling", ["queries", "documents", "bootstrap", "bootstrap-queries"])
@pytest.mark.parametrize("name", ["rf-point", "rf"])
def test_samples_are_drawn_from_all_shards(name, sampling):
    params = {"sampling": sampling, "subsample": 0.7, "oob_score": True}
    check(lambda: quick(name, **params), sizes=(3,))


VARIANTS = {
    "gini": ("rf-point", {"criterion": "gini"}),
    "thresholds": ("rf-point", {"threshold_fraction": 0.4}),
    "entropy of random thresholds": ("extra-trees", {"criterion": "entropy"}),
    "grown to the end": ("rf", {"min_samples_leaf": 1}),
    "few redraws": ("rf", {"max_features": 1, "redraw": False}),
    "redraws": ("extra-trees", {"max_features": 1}),
    "depth": ("rf", {"max_depth": 3}),
    "leaves": ("rf", {"max_leaf_nodes": 12}),
    "many leaves, best first": ("rf", {"node_order": "best-first", "missing": "keep"}),
    "leaves, breadth first": ("rf-point", {"max_leaf_nodes": 12}),
    "leaves at random": ("rf-point", {"max_leaf_nodes": 12, "node_order": "random"}),
    "leaves, biggest first": ("rf-rand", {"max_leaf_nodes": 12, "node_order": "biggest-first"}),
    "depth first": ("rf-point", {"node_order": "depth-first"}),
    "most relevant first": ("rf-point", {"node_order": "most-relevant-first"}),
    "missing as a branch": ("rf", {"missing": "branch"}),
    "missing as a branch, leaves": ("rf", {"missing": "branch", "max_leaf_nodes": 11}),
    "missing as a branch at random": ("rf-rand", {"missing": "branch"}),
    "missing as a branch at thresholds": ("extra-trees", {"missing": "branch"}),
    "missing kept": ("rf", {"missing": "keep"}),
    "mean": ("rf", {"missing": "mean"}),
    "classification": ("rf", {"task": "classification", "oob_score": True}),
    "squares": ("rf", {"leaf_score": "square"}),
    "wide codes": ("rf", {"max_bins": 300}),
    "threads": ("rf", {"n_jobs": 2}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_way_to_grow_trees(variant):
    name, params = VARIANTS[variant]
    check(lambda: quick(name, **params), sizes=(2,))


@pytest.mark.parametrize("name", ["rf", "extra-trees", "rf-rand"])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_that_are_real_numbers(name, weighted):
    rng = np.random.default_rng(5)
    data = replace(DATA, y=DATA.y + rng.normal(size=len(DATA.y)))
    check(lambda: quick(name, sampling="bootstrap"), data, sizes=(3,), weighted=weighted)


def test_classes_that_are_no_whole_numbers():
    data = replace(DATA, y=DATA.y / 3)
    check(lambda: quick("rf"), data, sizes=(2,))
    check(lambda: quick("rf"), data, sizes=(2,), weighted=True)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("name", ["rf-point", "rf", "extra-trees"])
def test_nodes_with_more_documents_than_move(name, real, moved_rows, monkeypatch):
    """As many as on a cluster, where sums of real targets are those of large nodes."""
    if moved_rows != 16 or (real and name == "rf-point"):
        pytest.skip("once, and entropy is of classes")
    monkeypatch.setattr(sharded_growing, "MOST_MOVED_ROWS", 1 << 16)
    data = make_data(16_000, seed=8)
    assert len(data.y) > 2 << 16
    if real:
        noise = np.random.default_rng(1).normal(size=len(data.y))
        data = replace(data, y=data.y + noise)
    check(lambda: quick(name, n_estimators=2), data, sizes=(3,))


@pytest.mark.parametrize("preset", ["absolute", "median", "height", "gradient"])
def test_broof(preset):
    check(lambda: quick("broof", preset=preset, max_leaf_nodes=20), sizes=(2, 3))


def test_broof_without_bootstrap_and_with_random_weights():
    params = {"preset": "absolute", "initial_weights": "random"}
    check(lambda: quick("broof", **params), sizes=(3,))
    check(lambda: quick("broof", bootstrap=False, **params), sizes=(3,), weighted=True)


@pytest.mark.parametrize("params", [{}, {"residuals": "oob"}, {"task": "classification"}])
def test_igbrt_grows_its_forest_on_shards(params):
    check(lambda: quick("igbrt", **params), sizes=(3,))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("real", [False, True])
def test_categories(name, real):
    rng = np.random.default_rng(0)
    shops = rng.choice([*"abcdefg"], len(DATA.y))
    shops[: len(shops) // 2] = np.where(shops == "d", "h", shops)[: len(shops) // 2]
    y = DATA.y + (shops == "c") + (rng.normal(size=len(DATA.y)) if real else 0)
    if real and name == "rf-point":
        pytest.skip("entropy is of classes")
    params = {"category_splits": "subsets", "max_features": "all"}
    if name == "rf-rand":
        del params["max_features"]

    def frame(begin, end):
        part = DATA.rows(begin, end)
        table = pd.DataFrame(part.X, columns=[f"f{i}" for i in range(6)])
        table = table.assign(shop=shops[begin:end], label=y[begin:end], qid=part.qid)
        return load(table, categorical=["shop"], negative_labels="keep")

    local = saved(quick(name, **params).fit(frame(0, len(y))))
    shards = [Shard(frame(*pair)) for pair in cuts(DATA, 2, seed=1)]
    assert fit_in_threads(lambda: quick(name, **params), shards) == [local, local]


def test_sparse_shards():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X = np.nan_to_num(DATA.X)
    X[np.abs(X) < 1] = 0.0
    local = saved(quick("rf").fit(X, DATA.y, qid=DATA.qid))
    shards = [
        Shard(scipy_sparse.csr_array(X[slice(*pair)]), DATA.y[slice(*pair)], DATA.qid[slice(*pair)])
        for pair in cuts(DATA, 2)
    ]
    assert fit_in_threads(lambda: quick("rf"), shards) == [local, local]


def test_a_forest_resumes_on_another_number_of_workers(moved_rows):
    make = lambda: quick("rf", n_estimators=40, random_state=None)  # noqa: E731
    records = []
    whole = fit_in_threads(
        make, shards_of(DATA, 2), on_step=lambda step, record, metrics: records.append(record)
    )
    assert len(records) > 1
    assert isinstance(whole[0], bytes)
    resumed = fit_in_threads(make, shards_of(DATA, 3), resume=records[:1])
    assert resumed == [whole[0]] * 3


def test_rounds_of_another_forest_are_refused(moved_rows):
    """The same seed and the same trees to grow do not make the same fit."""
    if moved_rows != 16:
        pytest.skip("once")
    make = lambda **params: quick("rf-point", n_estimators=40, **params)  # noqa: E731
    records = []
    fit_in_threads(
        make, shards_of(DATA, 2), on_step=lambda step, record, metrics: records.append(record)
    )
    labels, features = (replace(DATA, X=DATA.X.copy(), y=DATA.y.copy()) for _ in range(2))
    labels.y = labels.y[::-1].copy()
    features.X[:, 0] += 1
    for what, made, data in (
        ("params", lambda: make(min_samples_leaf=7), DATA),
        ("random_state", lambda: make(random_state=4), DATA),
        ("labels", make, labels),
        ("features", make, features),
    ):
        (error, _) = fit_in_threads(made, shards_of(data, 2), resume=records[:1])
        assert isinstance(error, ModelError), what
        assert f"the round from tree 1 on belongs to another fit: its {what} is" in str(error)


def test_functions_that_see_all_documents_are_refused(moved_rows):
    def half(documents):
        return np.full(len(documents.y), 0.5)

    if moved_rows != 16:
        pytest.skip("once")

    @register_criterion("test-of-shards")
    def of_shards(left, right):
        return left.weight

    for make in (
        lambda: quick("broof", initial_weights=half),
        lambda: quick("rf-point", criterion="test-of-shards"),
    ):
        (error,) = fit_in_threads(make, shards_of(DATA, 1))
        assert isinstance(error, ModelError)
        assert "share='trees'" in str(error)


def test_listwise_forests_are_refused_with_what_to_do():
    for name in ("rf-list", "rf-hybrid"):
        (error,) = fit_in_threads(lambda name=name: make_ranker(name), shards_of(DATA, 1))
        assert isinstance(error, ModelError)
        assert f"{ranker_class(name).__name__} cannot be fitted in shards" in str(error)
        assert "merge" in str(error)


def test_a_warm_start_goes_on_with_out_of_bag_sums():
    first = quick("rf", oob_score=True).fit(DATA.X, DATA.y, qid=DATA.qid)
    make = lambda: pickle.loads(pickle.dumps(first)).set_params(  # noqa: E731
        warm_start=True, n_estimators=7
    )
    check(make, sizes=(2, 3))


def test_datasets_with_names():
    names = [f"f{i}" for i in range(6)]

    def dataset(part: Data) -> Dataset:
        return Dataset(part.X, part.y, part.qid, feature_names=names)

    local = saved(quick("rf-point").fit(dataset(DATA)))
    shards = [Shard(dataset(DATA.rows(*pair))) for pair in cuts(DATA, 2)]
    assert fit_in_threads(lambda: quick("rf-point"), shards) == [local, local]
