"""Workers keep their training rows in a temporary file until codes are there, to the same bits."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankgrove
from rankgrove.boosting.loop import Boosting
from rankgrove.data.matrix.disk_matrix import DiskMatrix
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit, worker
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes


def small(**params):
    return rankgrove.LambdaMART(**{"n_estimators": 4, "random_state": 1, "n_jobs": 1, **params})


def files_of(table, folder, n_files, **options):
    bounds = np.linspace(0, table.num_rows, n_files + 1).astype(int)
    for number, (a, b) in enumerate(itertools.pairwise(bounds)):
        pq.write_table(table.slice(a, b - a), folder / f"{number:02}.parquet", **options)
    return str(folder)


@pytest.fixture
def in_memory(monkeypatch):
    """Notes the data sets that were read into memory."""
    read = []
    original = worker.whole_queries

    def noting(parts, *rest):
        read.append(sum(len(part.rows.y) for part in parts))
        return original(parts, *rest)

    monkeypatch.setattr(worker, "whole_queries", noting)
    return read


@pytest.mark.parametrize("shuffled", [False, True])
def test_training_rows_stay_in_files_wherever_their_queries_are(
    tmp_path, threads, shuffled, in_memory, monkeypatch
):
    """Files that cut queries, of several row groups; rows that move in several messages."""
    monkeypatch.setattr("rankgrove.distributed.row_spool._MOVED_BYTES", 10_000)
    monkeypatch.setattr("rankgrove.distributed.row_spool._BATCH_ROWS", 64)
    data = make_ranking(40, seed=3)
    if shuffled:
        data = data.select_rows(np.random.default_rng(0).permutation(data.n_rows))
    folder = files_of(to_arrow(data), tmp_path, 5, row_group_size=150)
    valid = make_ranking(10, seed=4)
    found = fit(small(), folder, on=threads, eval_set=valid)
    local = small().fit(rankgrove.load(folder, shared_queries="merge"), eval_set=valid)
    assert to_bytes(found) == to_bytes(local)
    assert sum(in_memory) == valid.n_rows


def text_files(data, folder, n_files):
    """Files of text that end between queries, as all of a file's queries must."""
    for number, part in enumerate(np.array_split(np.arange(data.n_queries), n_files)):
        rankgrove.write_letor(data.select_queries(part), folder / f"{number:02}.txt", omit="zero")
    return str(folder)


@pytest.mark.parametrize("declared", [{}, {"n_features": 9}, {"n_features": 9, "first_feature": 1}])
@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_text_is_read_in_blocks_of_any_width(
    tmp_path, threads, in_memory, monkeypatch, declared, absent
):
    """The last feature is mentioned late in each file, so that blocks have different widths."""
    data = make_ranking(40, n_features=9, seed=3)
    X = np.asarray(data.X).copy()
    ends = np.cumsum(data.groups.sizes)[9::10] - 1
    X[np.setdiff1d(np.arange(data.n_rows), ends), 8] = 0
    X[ends, 8] = 1.5
    X[::3, 0] = 0
    folder = text_files(rankgrove.Dataset(X, data.y, data.qid), tmp_path, 4)
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 1000)
    read = []
    append = DiskMatrix.append
    monkeypatch.setattr(
        DiskMatrix, "append", lambda self, X, *a: (read.append(X), append(self, X, *a))
    )
    found = fit(small(), folder, on=threads, absent=absent, **declared)
    assert sum(in_memory) == 0
    assert max(map(len, read)) < 50
    assert len({block.shape[1] for block in read}) == (1 if declared else 2)
    whole = rankgrove.load(folder, shared_queries="merge", absent=absent, **declared)
    assert to_bytes(found) == to_bytes(small().fit(whole))


def test_text_of_few_features_in_one_file_is_refused_by_name(tmp_path, two_threads):
    data = make_ranking(40, n_features=9, seed=3)
    folder = text_files(data, tmp_path, 4)
    narrow = data.with_features(np.asarray(data.X)[:, :7], data.feature_names[:7])
    rankgrove.write_letor(narrow.select_queries(range(10)), tmp_path / "03.txt")
    with pytest.raises(DataError, match=r"02.txt and .*03.txt have 9 and 7 features.*give n_feat"):
        fit(small(), folder, on=two_threads)


def test_text_beside_tables_stays_in_memory(tmp_path, two_threads, in_memory):
    data = make_ranking(40, n_features=9, seed=3)
    folder = text_files(data, tmp_path, 4)
    rankgrove.write_parquet(rankgrove.load(tmp_path / "03.txt"), tmp_path / "03.parquet")
    (tmp_path / "03.txt").unlink()
    found = fit(small(), folder, on=two_threads)
    assert sum(in_memory) == data.n_rows
    local = small().fit(rankgrove.load(folder, shared_queries="merge"))
    assert to_bytes(found) == to_bytes(local)


def test_columns_of_other_order_and_categories_of_every_file_are_matched(
    tmp_path, two_threads, in_memory
):
    data = make_ranking(40, seed=3)
    table = to_arrow(data)
    kinds = np.random.default_rng(0).choice(["a", "b", "c", "d"], data.n_rows)
    table = table.append_column("kind", pa.array(kinds).dictionary_encode())
    folder = files_of(table, tmp_path, 4)
    last = tmp_path / "03.parquet"
    other = pq.read_table(last)
    pq.write_table(other.select(other.column_names[::-1]), last)
    found = fit(small(), folder, on=two_threads)
    local = small().fit(rankgrove.load(folder, shared_queries="merge"))
    assert to_bytes(found) == to_bytes(local)
    assert in_memory == []


def test_rows_without_weight_are_left_out_as_on_one_machine(tmp_path, two_threads):
    data = make_ranking(40, seed=3)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], data.n_rows)
    table = to_arrow(data).append_column("w", pa.array(weight))
    folder = files_of(table, tmp_path, 3)
    found = fit(small(), folder, on=two_threads, weight="w")
    local = small().fit(rankgrove.load(folder, weight="w", shared_queries="merge"))
    assert to_bytes(found) == to_bytes(local)


def test_the_file_of_features_is_deleted_when_the_codes_are_there(
    tmp_path, two_threads, monkeypatch
):
    files: list[weakref.ref[DiskMatrix]] = []
    alive: list[int] = []
    make, step = DiskMatrix.__init__, Boosting.step

    def noting(self, *arguments):
        files.append(weakref.ref(self))
        make(self, *arguments)

    def counting(self):
        gc.collect()
        alive.append(sum(file() is not None for file in files))
        return step(self)

    monkeypatch.setattr(DiskMatrix, "__init__", noting)
    monkeypatch.setattr(Boosting, "step", counting)
    folder = files_of(to_arrow(make_ranking(30, seed=3)), tmp_path, 2)
    fit(small(n_estimators=3), folder, on=two_threads)
    assert len(files) >= 2
    assert alive[-1] == 0


def test_an_error_in_a_later_batch_of_a_table_names_the_row_of_the_table(two_threads, monkeypatch):
    monkeypatch.setattr("rankgrove.distributed.partitions._TABLE_ROWS", 50)
    table = to_arrow(make_ranking(20, seed=3)).to_pandas()
    table.loc[130, "label"] = np.nan
    with pytest.raises(DataError, match="130"):
        fit(small(), [pa.Table.from_pandas(pd.DataFrame(table))], on=two_threads)
