"""Delta and Iceberg tables, written by their own packages, and pyarrow data sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import rankgrove as rg
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.distributed.partitions import path_partitions
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes


def small():
    return rg.LambdaMART(n_estimators=3, random_state=1, n_jobs=1)


@pytest.fixture(scope="module")
def parts():
    """Two tables of whole queries."""
    data = make_ranking(30, n_features=4, seed=3)
    return [to_arrow(data.select_queries(queries)) for queries in (range(20), range(20, 30))]


@pytest.fixture
def delta(parts, tmp_path):
    """A Delta table of two files, whose folder also holds a file that was replaced."""
    deltalake = pytest.importorskip("deltalake")
    place = tmp_path / "delta"
    deltalake.write_deltalake(place, parts[1])
    deltalake.write_deltalake(place, parts[0], mode="overwrite")
    deltalake.write_deltalake(place, parts[1], mode="append")
    return deltalake.DeltaTable(place)


@pytest.fixture
def iceberg(parts, tmp_path):
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    pytest.importorskip("sqlalchemy")
    place = f"file://{tmp_path}/warehouse"
    catalog = sql.SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=place)
    catalog.create_namespace("search")
    table = catalog.create_table("search.judgments", schema=parts[0].schema)
    for part in parts:
        table.append(part)
    yield table
    catalog.close()


def rows_of(data):
    """The rows, sorted: their order in a table is that of its files."""
    X = np.asarray(data.X)
    return sorted(zip(data.y.tolist(), data.qid.tolist(), map(tuple, X.tolist()), strict=True))


def test_a_delta_table_is_read_without_files_of_other_versions(delta, parts):
    loaded = rg.load(delta)
    assert rows_of(loaded) == rows_of(rg.load(pa.concat_tables(parts)))
    assert to_bytes(small().fit(delta)) == to_bytes(small().fit(loaded))
    assert np.array_equal(small().fit(delta).predict(delta), small().fit(loaded).predict(loaded))
    older = type(delta)(delta.table_uri, version=0)
    assert rows_of(rg.load(older)) == rows_of(rg.load(parts[1]))


def test_columns_by_which_a_delta_table_is_divided_are_read(parts, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    table = pa.concat_tables(parts)
    table = table.append_column("site", pa.array(np.arange(table.num_rows) % 2))
    deltalake.write_deltalake(tmp_path / "delta", table, partition_by=["site"])
    found = rg.load(deltalake.DeltaTable(tmp_path / "delta"))
    expected = rg.load(table)
    assert set(found.feature_names) == set(expected.feature_names)
    order = [found.feature_names.index(name) for name in expected.feature_names]
    X = np.asarray(found.X)[:, order]
    assert sorted(map(tuple, X.tolist())) == sorted(map(tuple, np.asarray(expected.X).tolist()))


def test_the_folder_of_a_delta_table_is_refused_by_name(delta, tmp_path):
    for use in (rg.load, rg.scan, path_partitions):
        with pytest.raises(DataError, match=r"delta: this is a Delta table.*DeltaTable"):
            use(str(tmp_path / "delta"))


def test_a_file_of_a_delta_table_that_is_gone_is_named(delta, tmp_path):
    for file in (tmp_path / "delta").glob("*.parquet"):
        file.unlink()
    with pytest.raises(DataError, match=r"the Delta table .*delta.*parquet"):
        rg.load(delta)


def test_an_iceberg_table_and_its_scans_are_read(iceberg, parts):
    expected = rg.load(pa.concat_tables(parts))
    loaded = rg.load(iceberg)
    assert rows_of(loaded) == rows_of(expected)
    assert to_bytes(small().fit(iceberg)) == to_bytes(small().fit(loaded))
    some = rg.load(iceberg.scan(row_filter="label >= 1"))
    assert rows_of(some) == rows_of(expected.select_rows(expected.y >= 1))


def test_the_folder_of_an_iceberg_table_is_refused_by_name(iceberg, tmp_path):
    with pytest.raises(DataError, match=r"judgments: this is an Iceberg table.*pyiceberg"):
        rg.load(tmp_path / "warehouse" / "search" / "judgments")


def test_a_pyarrow_data_set_is_read(parts, tmp_path):
    rg.write_parquet(rg.load(parts[0]), tmp_path / "a.parquet")
    rg.write_parquet(rg.load(parts[1]), tmp_path / "b.parquet")
    data = ds.dataset(tmp_path, format="parquet")
    model = to_bytes(small().fit(rg.load(tmp_path)))
    assert to_bytes(small().fit(rg.load(data))) == model
    assert to_bytes(small().fit(data)) == model
    with pytest.raises(DataError, match="the table has no rows"):
        rg.load(ds.dataset(parts[0].slice(0, 0)))
