"""Data and models in an object store: a real server on loopback, with and without faults."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rankgrove as rg
from rankgrove._addresses import Address, file_path, is_address, printable
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.distributed.partitions import path_partitions, read_partition
from rankgrove.errors import DataError, MissingDependencyError, ModelError
from rankgrove.serving.models import ModelStore
from support.object_store import BUCKET


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    data = make_ranking(60, n_features=5, seed=3)
    rg.write_letor(data, folder / "train.txt")
    rg.write_letor(data, folder / "train.txt.gz")
    rg.write_parquet(data, folder / "train.parquet")
    table = rg.load(folder / "train.parquet")
    np.savez(folder / "train.npz", X=table.X, y=table.y, qid=table.qid)
    import pyarrow.csv as pc
    import pyarrow.feather as pf
    import pyarrow.parquet as pq

    arrow = pq.read_table(folder / "train.parquet")
    pf.write_feather(arrow, folder / "train.feather")
    pc.write_csv(arrow, folder / "train.csv")
    return folder


NAMES = ("train.txt", "train.txt.gz", "train.parquet", "train.feather", "train.csv", "train.npz")


def small() -> rg.LambdaMART:
    return rg.LambdaMART(n_estimators=3, random_state=1, n_jobs=1)


def same_data(one, other) -> bool:
    return (
        np.array_equal(one.X, other.X, equal_nan=True)
        and np.array_equal(one.y, other.y)
        and np.array_equal(one.qid, other.qid)
        and one.feature_names == other.feature_names
    )


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_the_same_data_as_the_file(store, files, name):
    address = store.put(f"formats/{name}", files / name)
    loaded = rg.load(address)
    assert same_data(loaded, rg.load(files / name))
    assert loaded.source == address if name != "train.npz" else True


@pytest.mark.process
def test_a_folder_and_a_list_of_objects_are_read_in_order(store, files, tmp_path):
    for number, (begin, end) in enumerate([(0, 20), (20, 45), (45, 60)]):
        part = rg.load(files / "train.parquet").select_queries(range(begin, end))
        rg.write_parquet(part, tmp_path / f"part-{number}.parquet")
        store.put(f"parts/part-{number}.parquet", tmp_path / f"part-{number}.parquet")
    store.put("parts/_SUCCESS", b"")
    assert same_data(rg.load(f"s3://{BUCKET}/parts"), rg.load(tmp_path))
    assert same_data(rg.load(f"s3://{BUCKET}/parts/"), rg.load(tmp_path))
    for pattern in ("parts", "parts/*.parquet"):
        parts = path_partitions(f"s3://{BUCKET}/{pattern}")
        local = path_partitions(str(tmp_path))
        assert [part.size for part in parts] == [part.size for part in local]
        for part, other in zip(parts, local, strict=True):
            rows, expected = read_partition(part, {}, 1), read_partition(other, {}, 1)
            assert np.array_equal(rows.y, expected.y)
            assert np.array_equal(rows.qid, expected.qid)


@pytest.mark.process
def test_folds_of_a_store_are_those_of_the_folder(store, files, tmp_path):
    for fold in ("Fold1", "Fold2"):
        (tmp_path / fold).mkdir()
        for role in ("train", "vali", "test"):
            rg.write_letor(
                make_ranking(4, n_features=3, seed=len(role)), tmp_path / fold / f"{role}.txt"
            )
            store.put(f"folds/{fold}/{role}.txt", tmp_path / fold / f"{role}.txt")
    found = list(rg.load_folds(f"s3://{BUCKET}/folds"))
    expected = list(rg.load_folds(tmp_path))
    assert len(found) == len(expected) == 2
    for one, other in zip(found, expected, strict=True):
        assert all(map(same_data, one, other))


@pytest.mark.process
@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz", "train.parquet", "train.csv"])
def test_a_streamed_fit_has_the_bytes_of_the_local_one(store, files, tmp_path, name):
    address = store.put(f"streams/{name}", files / name)
    small().fit(rg.scan(files / name)).save(tmp_path / "local.rg")
    small().fit(rg.scan(address)).save(f"s3://{BUCKET}/streams/{name}.rg")
    assert store.get(f"streams/{name}.rg") == (tmp_path / "local.rg").read_bytes()


def test_with_a_cache_only_the_version_of_an_object_is_asked_for(files, tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/rankgrove/cached.txt", (files / "train.txt").read_bytes())
    address = "memory://rankgrove/cached.txt"
    first = small().fit(rg.scan(address, cache=tmp_path))
    fetched = []
    fetch = Address.fetch
    monkeypatch.setattr(Address, "fetch", lambda *a: (fetched.append(a), fetch(*a))[1])
    second = small().fit(rg.scan(address, cache=tmp_path))
    assert not fetched
    assert second.model_.n_steps == first.model_.n_steps
    memory.pipe_file("/rankgrove/cached.txt", (files / "train.txt").read_bytes() + b"1 qid:x 1:1\n")
    assert rg.scan(address, cache=tmp_path).n_rows == rg.load(files / "train.txt").n_rows + 1
    assert fetched


@pytest.mark.process
def test_a_signed_web_address_is_read_and_its_signature_stays_secret(store, files):
    store.put("signed/train.txt", files / "train.txt")
    place = {"Bucket": BUCKET, "Key": "signed/train.txt"}
    address = store.client.generate_presigned_url("get_object", Params=place)
    assert "?" in address
    data = rg.load(address)
    assert same_data(data, rg.load(files / "train.txt"))
    assert data.source == address.partition("?")[0]
    store.denied.add("signed/train.txt")
    with pytest.raises(DataError, match=r"signed/train.txt: the store denies access") as caught:
        rg.load(address)
    assert "?" not in str(caught.value)


@pytest.mark.process
def test_group_sizes_beside_an_object_are_read(store):
    rows = "".join(f"{row % 2} 1:{row}\n" for row in range(6)).encode()
    address = store.put("groups/data.txt", rows)
    store.put("groups/data.txt.query", b"2\n4\n")
    assert rg.load(address).groups.sizes.tolist() == [2, 4]


@pytest.mark.process
def test_a_model_goes_through_the_store_byte_for_byte(store, files, tmp_path):
    ranker = small().fit(rg.load(files / "train.txt"))
    ranker.save(tmp_path / "local.rg")
    address = f"s3://{BUCKET}/models/ranker.rg"
    store.put("models/ranker.rg", b"an older model")
    ranker.save(address, card=f"s3://{BUCKET}/models/card.md")
    assert store.get("models/ranker.rg") == (tmp_path / "local.rg").read_bytes()
    assert store.get("models/card.md").startswith(b"# Model card")
    rg.load_model(address).save(tmp_path / "again.rg")
    assert (tmp_path / "again.rg").read_bytes() == (tmp_path / "local.rg").read_bytes()
    with pytest.raises(ModelError, match=r"s3://judgments/models/ranker.rg: .*mmap"):
        rg.load_model(address, mmap=True)


@pytest.mark.process
def test_the_command_line_takes_addresses(store, files, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    address = store.put("verbs/train.txt", files / "train.txt")
    how = ["--n-estimators", "3", "--seed", "1", "--quiet", "--json", "--out"]
    local, remote = str(tmp_path / "local.rg"), f"s3://{BUCKET}/verbs/model.rg"
    assert main(["train", "lambdamart", str(files / "train.txt"), *how, local]) == 0
    capsys.readouterr()
    assert main(["train", "lambdamart", f"s3://{BUCKET}/verbs/*.txt", *how, remote]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == remote
    assert store.get("verbs/model.rg") == Path(local).read_bytes()
    scores = f"s3://{BUCKET}/verbs/scores"
    assert main(["predict", remote, address, "--out", scores]) == 0
    assert main(["predict", local, str(files / "train.txt"), "--out", str(tmp_path / "s")]) == 0
    assert store.get("verbs/scores") == (tmp_path / "s").read_bytes()
    assert main(["evaluate", scores, address]) == 0
    assert main(["info", remote]) == 0
    assert main(["convert", address, f"s3://{BUCKET}/verbs/data.parquet"]) == 0
    assert same_data(rg.load(f"s3://{BUCKET}/verbs/data.parquet"), rg.load(address))
    capsys.readouterr()
    assert main(["predict", remote, address, "--out", address]) == 1
    assert "would be lost" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_denied_and_absent_objects_are_named_with_the_cause(store, files, name):
    address = store.put(f"denied/{name}", files / name)
    store.denied.add(f"denied/{name}")
    with pytest.raises(DataError, match=rf"^{address}: the store denies access"):
        rg.load(address)
    with pytest.raises(DataError, match=rf"^s3://{BUCKET}/none/{name}: no such (object|file)"):
        rg.load(f"s3://{BUCKET}/none/{name}")


@pytest.mark.process
def test_denied_and_absent_models_are_named_with_the_cause(store, files):
    ranker = small().fit(rg.load(files / "train.txt"))
    store.denied.add("denied.rg")
    with pytest.raises(ModelError, match=r"^s3://judgments/denied.rg: the store denies access"):
        rg.load_model("s3://judgments/denied.rg")
    with pytest.raises(PermissionError, match=r"denies access.*s3://judgments/denied.rg"):
        ranker.save("s3://judgments/denied.rg")
    with pytest.raises(ModelError, match=r"^s3://judgments/none.rg: no such object"):
        rg.load_model("s3://judgments/none.rg")
    with pytest.raises(FileNotFoundError, match=r"no such bucket: 's3://no-such-one/m.rg'"):
        ranker.save("s3://no-such-one/m.rg")
    with pytest.raises(IsADirectoryError, match=r"'s3://judgments/models/'"):
        ranker.save("s3://judgments/models/")


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_read_is_an_error(store, files, name):
    address = store.put(f"cut/{name}", files / name)
    store.cut.add(f"cut/{name}")
    with pytest.raises(DataError, match=rf"^{address}: the store sent \d+ bytes of \d+"):
        rg.load(address)


@pytest.mark.process
def test_a_truncated_model_is_an_error(store, files, tmp_path):
    small().fit(rg.load(files / "train.txt")).save(tmp_path / "m.rg")
    address = store.put("cut/m.rg", tmp_path / "m.rg")
    store.cut.add("cut/m.rg")
    with pytest.raises(ModelError, match=rf"^{address}: the store sent \d+ bytes of \d+"):
        rg.load_model(address)


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("read", [rg.load, lambda address: small().fit(rg.scan(address))])
def test_an_object_that_changes_while_it_is_read_is_an_error(store, files, name, read):
    address = store.put(f"changing/{name}", files / name)
    content = (files / name).read_bytes()
    # Of the same size: only the etag tells.
    other = content[:-1] + bytes([content[-1] ^ 1])
    store.on_read[f"changing/{name}"] = lambda: store.put(f"changing/{name}", other)
    with pytest.raises(DataError, match=rf"{address}.*: the (object has|data have) changed"):
        read(address)
    assert not store.on_read


@pytest.mark.process
@pytest.mark.parametrize("name", ["train.txt", "train.parquet"])
def test_an_object_that_vanishes_while_it_is_read_is_an_error(store, files, name):
    address = store.put(f"vanishing/{name}", files / name)
    gone = {"Bucket": BUCKET, "Key": f"vanishing/{name}"}
    store.on_read[f"vanishing/{name}"] = lambda: store.client.delete_object(**gone)
    with pytest.raises(DataError, match=rf"^{address}: no such (object|file)"):
        small().fit(rg.scan(address))


@pytest.mark.process
def test_a_store_that_does_not_answer_is_an_error(store, files, monkeypatch):
    import s3fs

    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    address = store.put("slow/train.txt", files / "train.txt")
    store.slow.add("slow/train.txt")
    with pytest.raises(DataError, match=rf"^{address}: the store .*(time|Time)"):
        rg.load(address)


def test_secrets_of_addresses_are_not_printed():
    address = Address("s3://user:password@bucket/a.txt?token=secret")
    assert str(address) == "s3://bucket/a.txt"
    assert repr(address) == "Address('s3://bucket/a.txt')"
    assert (address.name, address.stem, address.suffix) == ("a.txt", "a", ".txt")
    assert printable("GET https://h/x?sig=secret failed") == "GET https://h/x failed"
    assert str(Address("abfs://box@account.dfs.core.windows.net/a")).startswith("abfs://box@acc")
    assert "pw" not in str(Address("abfs://user:pw@account/a"))


@pytest.mark.process
@pytest.mark.parametrize(
    "address",
    ["s3://user:password@judgments/a.txt", "foo://user:password@judgments/a.txt?a=secret"],
)
def test_errors_tell_no_secrets(store, address, capsys):
    with pytest.raises(DataError) as caught:
        rg.load(address)
    assert main(["info", address]) == 1
    for text in (str(caught.value), capsys.readouterr().err):
        assert "://judgments/a.txt" in text
        assert "password" not in text
        assert "secret" not in text


def test_any_file_system_of_fsspec_is_read_and_written(files):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/rankgrove/train.txt", (files / "train.txt").read_bytes())
    local = rg.load(files / "train.txt")
    assert same_data(rg.load("memory://rankgrove/train.txt"), local)
    assert same_data(rg.load(f"file://{files}/train.txt"), local)
    small().fit(local).save("memory://rankgrove/m.rg")
    scores = rg.load_model("memory://rankgrove/m.rg").predict(local)
    assert np.array_equal(scores, small().fit(local).predict(local))


def test_large_objects_are_read_by_ranges_at_any_position(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    content = np.random.default_rng(1).bytes(3_000_000)
    fsspec.filesystem("memory").pipe_file("/rankgrove/large", content)
    asked = []
    fetch = Address.fetch
    monkeypatch.setattr(Address, "fetch", lambda *a: (asked.append(a[2] - a[1]), fetch(*a))[1])
    with Address("memory://rankgrove/large").open("rb") as file:
        assert file.read() == content
        assert len(asked) < 10
        assert max(asked) < len(content)
        for position, size in ((2_999_990, 50), (17, 100_000), (100_017, 5), (3_000_005, 1)):
            file.seek(position)
            assert file.read(size) == content[position : position + size]
        assert file.seek(-4, 2) == len(content) - 4


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependencyError, match=r"s3://b/a.txt.*rankgrove\[remote\]"):
        rg.load("s3://b/a.txt")


@pytest.mark.parametrize(
    "use",
    [
        lambda address: rg.scan("train.txt", cache=address),
        lambda address: ModelStore({"ranker": address}),
    ],
)
def test_what_needs_a_local_file_refuses_addresses_by_name(use):
    with pytest.raises(ValueError, match=r"^s3://b/a.txt: .* must be on a local disk"):
        use("s3://user:pw@b/a.txt")


def test_only_addresses_are_taken_for_addresses(tmp_path):
    for text in ("s3://b/k", "gs://b/k", "abfs://c@a/k", "hdfs:///k", "simplecache::s3://b/k"):
        assert is_address(text), text
    for path in ("train.txt", "/a//b", "C:/x", "a:b/c", "./s3:/b", str(tmp_path)):
        assert not is_address(path), path
        assert file_path(path) == Path(path)


def test_a_file_address_makes_its_folder(tmp_path):
    ranker = rg.MART(n_estimators=1).fit([[1.0], [2.0]], [0, 1], qid=[1, 1])
    ranker.save(f"file://{tmp_path}/new/deeper/model.rg")
    assert (tmp_path / "new/deeper/model.rg").is_file()
