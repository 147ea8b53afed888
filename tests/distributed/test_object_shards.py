"""Workers that read their shards from an object store, also one whose objects vanish or change."""

from __future__ import annotations

import threading

import pytest

import rankgrove as rg
from rankgrove._addresses import Address
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes
from support.object_store import BUCKET

pytestmark = pytest.mark.process

DATA = make_ranking(600, n_features=8, seed=3)
PATIENCE = 60.0
FORMATS = {"txt": rg.write_letor, "parquet": rg.write_parquet}


def small():
    return rg.LambdaMART(n_estimators=3, random_state=1, n_jobs=1)


@pytest.fixture(params=FORMATS)
def shards(request, store, tmp_path, monkeypatch):
    """Two objects of several blocks each: their keys, and the folder of the same files."""
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 1 << 16)
    keys = []
    for name, queries in (("a", range(300)), ("b", range(300, 600))):
        file = tmp_path / f"{name}.{request.param}"
        FORMATS[request.param](DATA.select_queries(queries), file)
        keys.append(f"shards-{request.param}/{file.name}")
        store.put(keys[-1], file)
        assert len(file.read_bytes()) > 1 << 16 or request.param == "parquet"
    return keys, tmp_path


def folder_of(keys):
    return f"s3://{BUCKET}/{keys[0].split('/')[0]}"


def test_shards_of_objects_have_the_bytes_of_local_files(shards, two_threads):
    keys, folder = shards
    found = fit(small(), folder_of(keys), on=two_threads, patience=PATIENCE)
    assert to_bytes(found) == to_bytes(small().fit(rg.load(folder)))


def between_blocks(monkeypatch, name, act):
    """Call ``act`` once, after the first bytes of an object were read."""
    fetch, read = Address.fetch, []

    def noting(address, start, end):
        block = fetch(address, start, end)
        if address.name == name and not read:
            read.append(end)
            act()
        return block

    monkeypatch.setattr(Address, "fetch", noting)
    return read


def test_an_object_that_vanishes_between_blocks_is_named_with_its_worker(
    shards, store, two_threads, monkeypatch
):
    keys, _ = shards
    name = keys[1].split("/")[1]
    gone = {"Bucket": BUCKET, "Key": keys[1]}
    read = between_blocks(monkeypatch, name, lambda: store.client.delete_object(**gone))
    ranker = small()
    before = set(threading.enumerate())
    with pytest.raises(DataError, match=rf"worker 1.*{BUCKET}/{keys[1]}: no such (object|file)"):
        fit(ranker, folder_of(keys), on=two_threads, patience=PATIENCE)
    assert read
    assert not hasattr(ranker, "model_")
    workers = [
        thread for thread in set(threading.enumerate()) - before if "take_part" in thread.name
    ]
    for thread in workers:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_an_object_that_changes_between_blocks_is_named_with_its_worker(
    shards, store, two_threads, monkeypatch
):
    keys, folder = shards
    name = keys[1].split("/")[1]
    content = (folder / name).read_bytes()
    other = content[:-1] + bytes([content[-1] ^ 1])
    between_blocks(monkeypatch, name, lambda: store.put(keys[1], other))
    with pytest.raises(DataError, match=rf"worker 1.*{BUCKET}/{keys[1]}.*has changed"):
        fit(small(), folder_of(keys), on=two_threads, patience=PATIENCE)


def test_on_one_machine_an_object_that_vanishes_between_blocks_is_named(shards, store, monkeypatch):
    keys, _ = shards
    name = keys[0].split("/")[1]
    gone = {"Bucket": BUCKET, "Key": keys[0]}
    read = between_blocks(monkeypatch, name, lambda: store.client.delete_object(**gone))
    ranker = small()
    with pytest.raises(DataError, match=rf"^s3://{BUCKET}/{keys[0]}: no such (object|file)"):
        ranker.fit(f"s3://{BUCKET}/{keys[0]}")
    assert read
    assert not hasattr(ranker, "model_")
