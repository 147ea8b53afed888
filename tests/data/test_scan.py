"""What a scan reads, keeps and refuses."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import time
import zlib

import numpy as np
import pandas
import pytest

import rankgrove as rg
from rankgrove.data.matrix import cache as cache_module
from rankgrove.data.matrix.disk_matrix import DiskMatrix
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError


@pytest.fixture
def data():
    return make_ranking(20, docs_per_query=10, n_features=6, missing=0.1, seed=5)


@pytest.fixture
def path(data, tmp_path):
    path = tmp_path / "train.parquet"
    rg.write_parquet(data, path)
    return path


@pytest.fixture
def no_room(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    return lambda name: monkeypatch.setattr(name, full)


def fitted(source, **params):
    return rg.MART(n_estimators=3, random_state=0, **params).fit(source)


def kept(folder):
    files = (file.name for file in folder.glob("rankgrove-*/*"))
    return sorted(name.split("-")[0] for name in files if not name.startswith("."))


def write_text(path, rows):
    path.write_text("".join(f"{label} qid:{qid} {rest}\n" for label, qid, rest in rows))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".feather", ".txt", ".txt.gz", ".npz", ".parquet"])
def test_every_format_is_read_as_it_is_loaded(data, tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    if suffix.startswith(".txt"):
        rg.write_letor(data, tmp_path / "plain.txt")
        text = (tmp_path / "plain.txt").read_bytes()
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    elif suffix == ".npz":
        np.savez(path, X=data.X, y=data.y, qid=data.qid)
    else:
        rg.write_parquet(data, tmp_path / "plain.parquet")
        import pyarrow.csv
        import pyarrow.feather
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(tmp_path / "plain.parquet")
        if suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        elif suffix == ".feather":
            pyarrow.feather.write_feather(table, str(path))
        else:
            pyarrow.parquet.write_table(table, path)
    loaded, scanned = rg.load(path), rg.scan(path)
    np.testing.assert_array_equal(np.asarray(scanned.X), loaded.X)
    np.testing.assert_array_equal(scanned.y, loaded.y)
    np.testing.assert_array_equal(scanned.groups.ids, loaded.groups.ids)
    np.testing.assert_array_equal(scanned.groups.offsets, loaded.groups.offsets)
    assert scanned.columns.names == loaded.feature_names


@pytest.mark.parametrize("shared", ["merge", "apart"])
def test_a_folder_is_its_files_one_after_the_other(data, tmp_path, shared):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / "notes.md").touch()
    half = data.n_rows // 2
    for number, rows in enumerate((np.arange(half), np.arange(half, data.n_rows))):
        rg.write_parquet(data.select_rows(rows), folder / f"part-{number}.parquet")
    loaded = rg.load(folder, shared_queries=shared)
    scanned = rg.scan(folder, shared_queries=shared)
    np.testing.assert_array_equal(np.asarray(scanned.X), loaded.X)
    np.testing.assert_array_equal(scanned.groups.ids, loaded.groups.ids)
    np.testing.assert_array_equal(scanned.groups.offsets, loaded.groups.offsets)


def test_a_query_of_two_files_is_refused_by_name(data, tmp_path):
    rg.write_parquet(data, tmp_path / "a.parquet")
    rg.write_parquet(data, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"query \d+ occurs in .*a\.parquet and in .*b\.parquet"):
        rg.scan([tmp_path / "a.parquet", tmp_path / "b.parquet"]).read()


def test_scattered_queries_are_refused_by_name(tmp_path):
    rows = [(1, 7, "1:1"), (0, 8, "1:2"), (1, 7, "1:3")]
    path = write_text(tmp_path / "train.txt", rows)
    with pytest.raises(DataError, match=r"train\.txt: documents of the query 7 do not follow"):
        fitted(path)


def test_query_ids_are_texts_if_one_is(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 16)
    path = write_text(tmp_path / "t.txt", [(1, "5", "1:1"), (0, "5", "1:2"), (1, "x", "1:3")])
    np.testing.assert_array_equal(rg.scan(path).groups.ids, rg.load(path).groups.ids)


def test_text_counts_features_as_the_whole_file_does(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 16)
    rows = [(1, 1, "1:1"), (0, 1, "0:5 3:2"), (1, 2, "2:3"), (0, 2, "7:1")]
    for changed in (rows, rows[:1] + rows[2:]):
        path = write_text(tmp_path / "t.txt", changed)
        loaded, scanned = rg.load(path), rg.scan(path)
        np.testing.assert_array_equal(np.asarray(scanned.X), loaded.X)
        assert scanned.columns.names == loaded.feature_names


def test_a_declared_width_and_a_late_feature_zero_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 16)
    path = write_text(tmp_path / "t.txt", [(1, 1, "3:1"), (0, 1, "0:5 1:2")])
    with pytest.raises(DataError, match="declare first_feature=0"):
        rg.scan(path, n_features=3).read()


def test_texts_of_different_widths_are_refused(tmp_path):
    one = write_text(tmp_path / "a.txt", [(1, 1, "3:1")])
    other = write_text(tmp_path / "b.txt", [(1, 2, "5:1")])
    with pytest.raises(DataError, match=r"b\.txt has features 1 to 5, but .*a\.txt has 1 to 3"):
        rg.scan([one, other]).read()
    assert rg.scan([one, other], n_features=5, first_feature=1).X.shape == (2, 5)


def test_sizes_beside_text_are_its_queries(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("1 1:1\n0 1:2\n1 1:3\n")
    (tmp_path / "t.txt.query").write_text("2\n1\n")
    np.testing.assert_array_equal(rg.scan(path).groups.offsets, rg.load(path).groups.offsets)
    (tmp_path / "t.txt.query").write_text("2\n2\n")
    with pytest.raises(DataError, match="group sizes add up to 4 but there are 3 rows"):
        rg.scan(path).read()


@pytest.mark.parametrize("choice", ["error", "keep", "drop"])
def test_negative_labels_are_treated_as_in_load(tmp_path, choice):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a\n1,1,2\n-1,1,3\n0,1,4\n")
    if choice == "error":
        with pytest.raises(DataError, match="row 1: the label -1 is negative"):
            rg.scan(path).read()
        return
    scanned, loaded = (read(path, negative_labels=choice) for read in (rg.scan, rg.load))
    np.testing.assert_array_equal(scanned.y, loaded.y)
    np.testing.assert_array_equal(np.asarray(scanned.X), loaded.X)


def test_nothing_is_read_before_it_is_used(tmp_path):
    scan = rg.scan(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"none\.parquet: no such file"):
        scan.read()


def test_a_cache_is_used_again(path, tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    first = fitted(rg.scan(path, cache=folder))
    assert kept(folder) == ["bins", "codes", "rows.arrays"]
    monkeypatch.setattr("rankgrove.data.scanning.scan.load_batches", None)  # nobody reads the file
    again = fitted(rg.scan(path, cache=folder))
    np.testing.assert_array_equal(again.model_.ensemble.value, first.model_.ensemble.value)


def test_the_environment_names_the_cache(path, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGROVE_CACHE", str(tmp_path / "cache"))
    fitted(path)
    assert kept(tmp_path / "cache")
    assert rg.clear_cache() > 0
    assert not kept(tmp_path / "cache")


def test_without_a_folder_nothing_is_kept(path, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.delenv("RANKGROVE_CACHE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    fitted(path)
    assert cache_module.temporary_folder() == tmp_path / "tmp"
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ValueError, match="clear_cache needs a folder"):
        rg.clear_cache()


def test_clear_cache_leaves_what_is_not_its_own(path, tmp_path):
    (tmp_path / "cache").mkdir()
    mine = tmp_path / "cache" / "mine.txt"
    mine.write_text("mine")
    fitted(rg.scan(path, cache=tmp_path / "cache"))
    rg.clear_cache(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [mine]


def test_a_changed_file_has_other_codes(data, path, tmp_path):
    folder = tmp_path / "cache"
    scan = rg.scan(path, cache=folder)
    before = fitted(scan)
    stat = path.stat()
    X = data.X.copy()
    X[:, 0] = -X[:, 0]
    rg.write_parquet(data.with_features(X, data.feature_names), path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    expected = fitted(rg.load(path)).predict(X)
    for again in (scan, rg.scan(path, cache=folder)):
        np.testing.assert_array_equal(fitted(again).predict(X), expected)
    assert not np.array_equal(before.predict(X), expected)


def test_options_have_codes_of_their_own(path, tmp_path):
    folder = tmp_path / "cache"
    fitted(rg.scan(path, cache=folder))
    fitted(rg.scan(path, cache=folder), max_bins=5)
    assert kept(folder) == ["bins", "bins", "codes", "codes", "rows.arrays"]
    fitted(rg.scan(path, cache=folder, negative_labels="keep"))
    assert len(list(folder.iterdir())) == 2


def test_another_version_has_a_cache_of_its_own(path, tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    fitted(rg.scan(path, cache=folder))
    monkeypatch.setattr("rankgrove.data.matrix.cache.__version__", "0.0.0")
    fitted(rg.scan(path, cache=folder))
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "header"])
@pytest.mark.parametrize("name", ["codes-*", "bins-*", "rows.arrays"])
def test_a_damaged_cache_is_made_again(path, tmp_path, damage, name):
    folder = tmp_path / "cache"
    expected = fitted(rg.scan(path, cache=folder)).model_.ensemble.value
    (file,) = folder.glob(f"rankgrove-*/{name}")
    content = bytearray(file.read_bytes())
    whole = bytes(content)
    if damage == "cut":
        del content[-5:]
    elif damage == "empty":
        content.clear()
    else:
        content[-300 if damage == "flip" else 20] ^= 255
    file.write_bytes(content)
    again = fitted(rg.scan(path, cache=folder))
    np.testing.assert_array_equal(again.model_.ensemble.value, expected)
    if name == "codes-*":
        assert file.read_bytes() == whole


def test_codes_that_no_bin_has_are_made_again(path, tmp_path):
    """However right their checksum is: what grows trees counts by code."""
    folder = tmp_path / "cache"
    expected = fitted(rg.scan(path, cache=folder)).model_.ensemble.value
    (file,) = folder.glob("rankgrove-*/codes-*")
    whole = file.read_bytes()
    content = bytearray(whole)
    content[4096 + 7] = 255
    content[36:40] = zlib.crc32(content[4096 : 4096 + 200]).to_bytes(4, "little")
    file.write_bytes(content)
    again = fitted(rg.scan(path, cache=folder))
    np.testing.assert_array_equal(again.model_.ensemble.value, expected)
    assert file.read_bytes() == whole


def test_a_file_that_changes_while_it_is_read_is_refused(data, path, monkeypatch):
    append = DiskMatrix.append

    def append_and_change(self, *args):
        rg.write_parquet(data.select_queries(np.arange(10)), path)
        append(self, *args)

    monkeypatch.setattr(DiskMatrix, "append", append_and_change)
    with pytest.raises(DataError, match="have changed since they were first read"):
        fitted(path)


def test_a_file_that_changes_before_it_is_read_again_is_refused(data, path):
    scan = rg.scan(path)
    matrix = scan.X
    matrix.release()
    rg.write_parquet(data.select_queries(np.arange(10)), path)
    with pytest.raises(DataError, match="have changed"):
        np.asarray(matrix)


@pytest.mark.parametrize("place", ["os.posix_fallocate", "os.pwrite"])
def test_a_full_disk_is_named_and_nothing_is_left(path, tmp_path, no_room, place):
    folder = tmp_path / "cache"
    no_room(place)
    with pytest.raises(DataError, match=r"cache.*No space left on device"):
        fitted(rg.scan(path, cache=folder))
    assert kept(folder) == ["bins", "rows.arrays"]


def test_a_folder_that_cannot_be_written_is_named(path, tmp_path):
    blocker = tmp_path / "file"
    blocker.touch()
    with pytest.raises(DataError, match="file"):
        fitted(rg.scan(path, cache=blocker / "cache"))


@pytest.mark.process
def test_interrupted_work_leaves_no_files(tmp_path):
    code = f"""
import numpy as np, rankgrove as rg, time
def batches():
    rng = np.random.default_rng(0)
    for i in range(1000):
        yield rng.normal(size=(5000, 20)), rng.integers(0, 3, 5000), np.full(5000, i)
        print("batch", flush=True)
        time.sleep(0.01)
rg.MART().fit(rg.scan(batches, cache={str(tmp_path / "cache")!r}))
"""
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    time.sleep(0.1)
    assert not list((tmp_path / "tmp").iterdir())
    assert not list((tmp_path / "cache").rglob("*"))


def test_rows_of_weight_0_are_refused(data, tmp_path):
    weight = np.ones(data.n_rows)
    weight[3] = 0
    rg.write_parquet(
        rg.load(data.X, data.y, qid=data.qid, sample_weight=weight), tmp_path / "w.parquet"
    )
    with pytest.raises(DataError, match="the weight of row 3 is 0"):
        fitted(tmp_path / "w.parquet")


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "there are no rows"),
        ([(np.zeros((2, 2)), [1, 2])], r"batch 0: a tuple must be \(X, y, qid\)"),
        ([(np.zeros((2, 2)), [1, 2], [1])], "batch 0: qid has 1 entries but X has 2 rows"),
        ([(np.zeros((2, 2)), [1, np.nan], [1, 1])], "batch 0: y of row 1 is nan"),
        (
            [(np.zeros((1, 2)), [1], [1]), (np.zeros((1, 3)), [1], [2])],
            "batch 1 has other features than batch 0: 3 instead of 2",
        ),
        ([42], "batch 0: cannot load a int"),
        (
            [pandas.DataFrame({"label": 1.0, "qid": i, "a": [0.0], f"b{i}": 1.0}) for i in (1, 2)],
            r"batch 1 has other features than batch 0 \(",
        ),
        (
            [(np.zeros((1, 2)), [1], [query]) for query in (1, 2, 3, 1)],
            "batch 3: documents of the query 1 do not follow one another",
        ),
    ],
)
def test_bad_batches_are_named(batches, message):
    with pytest.raises(DataError, match=message):
        fitted(lambda: iter(batches))


def test_what_is_no_source_is_refused():
    with pytest.raises(DataError, match="scan takes paths"):
        rg.scan(42)
    with pytest.raises(ValueError, match="shared_queries must be one of"):
        rg.scan("a.txt", shared_queries="both")


def test_a_late_feature_0_of_text_with_names_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 64)
    lines = [f"{i % 2} qid:{i // 4} 1:{i} 2:{i * 2}\n" for i in range(40)]
    (tmp_path / "x.txt").write_text("".join([*lines, "1 qid:99 0:5 1:3\n"]))
    with pytest.raises(DataError, match=r"x.txt: feature number 0 occurs.*declare first_feature=0"):
        rg.scan(tmp_path / "x.txt", feature_names=["a", "b"]).read()


def test_text_from_0_may_leave_feature_0_out(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 64)
    lines = [f"{i % 2} qid:{i // 4} {'0:7 ' if i < 3 else ''}1:{i}\n" for i in range(40)]
    (tmp_path / "x.txt").write_text("".join(lines))
    streamed = rg.scan(tmp_path / "x.txt", n_features=2).read().X.to_array()
    np.testing.assert_array_equal(streamed, rg.load(tmp_path / "x.txt", n_features=2).X)
