"""A fit of data that are streamed gives the bits of a fit of the same data in memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.data.scanning.scan import Scan
from rankgrove.datasets import make_ranking
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names

pytestmark = [pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")]

SMALL = {
    "igbrt": {"n_forest_trees": 3},
    "broof": {"n_trees": 3},
    "querycrossentropy": {"max_grade": 4},
    "listce": {"max_grade": 4},
    "bagged": {"ranker": "lambdamart:n_estimators=3", "n_bags": 2},
    "blend": {"rankers": ["lambdamart:n_estimators=3", "rf-point:n_estimators=3"]},
    "calibrated": {"ranker": "lambdamart:n_estimators=3"},
}


def quick(name, **params):
    small = {"n_estimators": 3, "max_iter": 3, "max_passes": 1, "n_restarts": 1, "C": 1.0}
    known = ranker_class(name)._get_param_names()
    sizes = {key: value for key, value in small.items() if key in known}
    return make_ranker(name, **{**sizes, "random_state": 0, **SMALL.get(name, {}), **params})


def bits(ranker, folder):
    path = folder / "bits.rg"
    ranker.save(path)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Cut even small data into many pieces and blocks, and keep none of them in memory."""
    monkeypatch.setattr("rankgrove.data.matrix.streamed._SMALL_BYTES", 0)
    monkeypatch.setattr("rankgrove.data.reading.arrow._BLOCK_ROWS", 50)
    monkeypatch.setattr("rankgrove.data.reading.arrow._BATCH_VALUES", 700)
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 3000)
    monkeypatch.setattr("rankgrove.data.matrix.disk_matrix._MOST_ROWS", 70)
    monkeypatch.setattr("rankgrove.data.matrix.feature_matrix.COLUMN_BLOCK_BYTES", 5_000)


@pytest.fixture(scope="module")
def data():
    """Ties, few values, missing values, an empty and a constant column."""
    data = make_ranking(30, docs_per_query=12, n_features=9, missing=0.1, seed=3)
    X = data.X.copy()
    X[:, 3] = np.round(X[:, 3])
    X[:, 5] = np.nan
    X[:, 6] = 2.0
    X[::7, 2] = np.inf
    return data.with_features(X, [f"feature {j}" for j in range(9)])


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    valid = data.select_queries(np.arange(8))
    for name, part in (("train", data), ("valid", valid)):
        rg.write_parquet(part, folder / f"{name}.parquet")
        rg.write_letor(part, folder / f"{name}.txt")
    return folder


# What rankers that refuse streams otherwise can do on them.
OF_STREAMS = {"bagged": {"sampling": "seeds"}, "calibrated": {"min_queries": 2}}


@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.filterwarnings("ignore:the objective of RankSVM may be")
@pytest.mark.parametrize("name", ranker_names())
@pytest.mark.parametrize("suffix", ["parquet", "txt"])
def test_paths_give_the_bits_of_arrays(name, suffix, files, tmp_path):
    train, valid = files / f"train.{suffix}", files / f"valid.{suffix}"
    if name == "auto":
        with pytest.raises(rg.ModelError, match="which streams do not allow"):
            quick(name).fit(train, eval_set=valid)
        return
    loaded = rg.load(train)
    params = OF_STREAMS.get(name, {})
    ours = quick(name, **params).fit(train, eval_set=valid)
    theirs = quick(name, **params).fit(loaded, eval_set=rg.load(valid, like=loaded))
    assert ours.evals_result_ == theirs.evals_result_
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(rg.load(valid)))


@pytest.mark.parametrize("missing", ["zero", "mean", "median", "inf"])
@pytest.mark.parametrize("name", ["lambdamart", "rf", "coordinate-ascent"])
def test_fill_policies_give_the_bits_of_arrays(name, missing, files, tmp_path):
    if missing == "inf" and name == "coordinate-ascent":
        pytest.skip("linear rankers take no infinite values")
    train = files / "train.parquet"
    ours = quick(name, missing=missing).fit(train)
    assert bits(ours, tmp_path) == bits(quick(name, missing=missing).fit(rg.load(train)), tmp_path)


@pytest.mark.parametrize(
    "params",
    [
        {"max_bins": 7},
        {"max_bins": 1000},
        {"tree": "oblivious"},
        {"subsample": 0.5, "max_features": 0.5},
        {"tree": "levelwise", "n_jobs": 2},
    ],
)
def test_parameters_of_boosting_give_the_bits_of_arrays(params, files, tmp_path):
    train = files / "train.parquet"
    ours = quick("lambdamart", **params).fit(train)
    theirs = quick("lambdamart", **params).fit(rg.load(train))
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)


def test_absent_features_of_text_may_be_missing(files, tmp_path):
    train, valid = files / "train.txt", files / "valid.txt"
    loaded = rg.load(train, absent="missing")
    ours = quick("mart").fit(rg.scan(train, absent="missing"), eval_set=valid)
    theirs = quick("mart").fit(loaded, eval_set=rg.load(valid, like=loaded))
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(rg.load(valid, like=ours)))
    with pytest.raises(rg.DataError, match="absent"):
        ours.predict(rg.scan(valid, absent="zero"))


def test_weights_come_from_their_column(files, data, tmp_path):
    weighted = rg.load(data.X, data.y, qid=data.qid, sample_weight=np.linspace(0.5, 2, data.n_rows))
    rg.write_parquet(weighted, tmp_path / "weighted.parquet")
    ours = quick("mart").fit(tmp_path / "weighted.parquet")
    theirs = quick("mart").fit(rg.load(tmp_path / "weighted.parquet"))
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)
    with pytest.raises(rg.DataError, match="brings its weight"):
        quick("mart").fit(tmp_path / "weighted.parquet", sample_weight=np.ones(data.n_rows))


@pytest.mark.parametrize("name", ["lambdamart", "rf-pair"])
def test_an_init_model_is_continued(name, files, tmp_path):
    train = files / "train.parquet"
    init_model = quick(name).fit(rg.load(train))
    ours = quick("mart").fit(train, init_model=init_model)
    theirs = quick("mart").fit(rg.load(train), init_model=init_model)
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)


def test_batches_of_arrays_are_a_fit_of_the_arrays(data, tmp_path):
    bounds = [0, 1, 100, 100, 230, data.n_rows]

    def batches():
        for begin, end in itertools.pairwise(bounds):
            yield data.X[begin:end], data.y[begin:end], data.qid[begin:end]

    theirs = quick("lambdamart").fit(data.X, data.y, qid=data.qid)
    for source in (batches, batches(), rg.scan(batches)):
        ours = quick("lambdamart").fit(source)
        assert bits(ours, tmp_path) == bits(theirs, tmp_path)
    np.testing.assert_array_equal(ours.predict(batches), theirs.predict(data.X))
    assert ours.score(batches) == theirs.score(data.X, data.y, data.qid)


def test_batches_may_use_the_same_memory_again(data, tmp_path):
    def batches():
        X, y, qid = np.empty((99, 9), np.float32), np.empty(99), np.empty(99, np.int64)
        for query, n in enumerate(data.group_sizes):
            rows = slice(data.groups.offsets[query], data.groups.offsets[query] + n)
            X[:n], y[:n], qid[:n] = data.X[rows], data.y[rows], query
            yield X[:n], y[:n], qid[:n]

    ours = quick("lambdamart").fit(batches)
    theirs = quick("lambdamart").fit(data.X, data.y, group_sizes=data.group_sizes)
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)


@pytest.mark.parametrize("name", ["lambdamart", "rf", "broof", "coordinate-ascent"])
@pytest.mark.parametrize("suffix", ["parquet", "txt"])
def test_a_small_stream_stays_in_memory(name, suffix, files, tmp_path, monkeypatch):
    train, valid = files / f"train.{suffix}", files / f"valid.{suffix}"
    theirs = quick(name).fit(train, eval_set=valid)
    monkeypatch.setattr("rankgrove.data.matrix.streamed._SMALL_BYTES", 1 << 20)

    def no_file(*_, **__):
        raise AssertionError("a temporary file")

    monkeypatch.setattr("tempfile.TemporaryFile", no_file)
    ours = quick(name).fit(train, eval_set=valid)
    assert ours.evals_result_ == theirs.evals_result_
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)


def test_batches_of_tables_keep_the_names_of_columns(files, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pq.read_table(files / "train.parquet")
    ours = quick("mart").fit(lambda: iter(table.to_batches(max_chunksize=40)))
    theirs = quick("mart").fit(rg.load(files / "train.parquet"))
    assert bits(ours, tmp_path) == bits(theirs, tmp_path)
    assert list(ours.feature_names_in_) == [f"feature {j}" for j in range(9)]
    assert isinstance(table, pa.Table)


def test_an_iterator_is_used_once(data):
    batches = rg.scan(iter([(data.X, data.y, data.qid)]))
    assert isinstance(batches, Scan)
    ranker = quick("mart").fit(batches)
    with pytest.raises(rg.DataError, match="was used before"):
        ranker.predict(batches)


@pytest.mark.parametrize("name", ["lambdamart", "rf-pair", "coordinate-ascent"])
@pytest.mark.parametrize("suffix", ["parquet", "txt"])
def test_scores_and_metrics_of_a_scan_are_those_of_memory(name, suffix, files):
    path = files / f"train.{suffix}"
    loaded = rg.load(path)
    ranker = quick(name).fit(loaded)
    scores = ranker.predict(loaded)
    np.testing.assert_array_equal(ranker.predict(path), scores)
    np.testing.assert_array_equal(ranker.rank(path), ranker.rank(loaded))
    assert ranker.score(path) == ranker.score(loaded)
    assert rg.evaluate(path, scores).to_dict() == rg.evaluate(loaded, scores).to_dict()
    assert rg.evaluate(rg.scan(path), scores).to_dict() == rg.evaluate(loaded, scores).to_dict()


def test_a_model_of_named_columns_takes_reordered_files(files, data, tmp_path):
    ranker = quick("lambdamart").fit(files / "train.parquet")
    order = [4, 2, 0, 1, 3, 8, 7, 6, 5]
    names = [data.feature_names[j] for j in order]
    rg.write_parquet(data.with_features(data.X[:, order], names), tmp_path / "reordered.parquet")
    reordered = tmp_path / "reordered.parquet"
    np.testing.assert_array_equal(ranker.predict(reordered), ranker.predict(data))
    again = quick("lambdamart").fit(files / "train.parquet", eval_set=reordered)
    expected = quick("lambdamart").fit(rg.load(files / "train.parquet"), eval_set=data)
    assert again.evals_result_ == expected.evals_result_


def test_stages_of_a_scan_are_refused(files):
    ranker = quick("mart").fit(files / "train.parquet")
    with pytest.raises(rg.DataError, match="staged_predict takes data in memory"):
        ranker.staged_predict(files / "train.parquet")


@pytest.mark.parametrize("beside", ["y", "qid", "group_sizes"])
def test_labels_and_queries_beside_a_path_are_refused(files, beside):
    with pytest.raises(rg.DataError, match="brings its labels"):
        quick("mart").fit(files / "train.parquet", **{beside: [1]})
