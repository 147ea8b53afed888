"""Metrics of several workers: what happens to the files through which they share them."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from rankgrove.serving import shared_metrics
from rankgrove.serving.http_message import RequestHead
from rankgrove.serving.service import Service

PATH = "/score"


@pytest.fixture
def two_workers(start, model_files, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return start(model_files[0], "--workers", 2, "--drain-seconds", 0)


def test_files_are_allocated_before_they_are_mapped(two_workers, tmp_path):
    """A write to a page of a map that a full disk cannot hold would end the worker."""
    files = list(tmp_path.glob("rankgrove-metrics-*/*.db"))
    assert len(files) == 6
    for file in files:
        found = file.stat()
        assert found.st_size > 0
        assert found.st_blocks * 512 >= found.st_size


def test_requests_are_answered_after_the_folder_was_removed(two_workers, tmp_path):
    """As programs do that tidy up /tmp."""
    (folder,) = tmp_path.glob("rankgrove-metrics-*")
    shutil.rmtree(folder)
    for _ in range(8):  # on connections of both workers
        with two_workers.connect() as connection:
            connection.sendall(
                b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"connection: close\r\ncontent-length: 16\r\n\r\n" + b'{"rows": [[0]]} '
            )
            assert connection.recv(12) == b"HTTP/1.1 422"


def test_metrics_without_the_counts_of_other_workers_are_refused(
    model_files, tmp_path, monkeypatch
):
    """The folder was removed, and a new worker has begun to count in another one."""
    folder = tmp_path / "metrics"
    service = Service({"web": model_files[0]})
    ask = service.begin(RequestHead("GET", "/metrics"), 0.0)
    folder.mkdir()
    monkeypatch.setenv(shared_metrics.VARIABLE, str(folder))
    assert ask().status == 200
    shutil.rmtree(folder)
    assert ask().status == 500
    shared_metrics.reserve_metrics(1)
    response = ask()
    assert response.status == 500
    assert b"restart the server" in response.body


def test_a_disk_without_room_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(shared_metrics.VARIABLE, str(tmp_path))

    def write(path, content):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", write)
    with pytest.raises(OSError, match=r"no room for the metrics in .*: No space left on device"):
        shared_metrics.reserve_metrics(1)
    assert not list(tmp_path.iterdir())


def test_the_counts_of_an_ended_worker_take_no_more_room_than_they_need(tmp_path, monkeypatch):
    from prometheus_client.mmap_dict import MmapedDict

    monkeypatch.setenv(shared_metrics.VARIABLE, str(tmp_path))
    monkeypatch.setattr("os.getpid", lambda: 7)
    shared_metrics.reserve_metrics(1)
    name = str(tmp_path / "counter_7.db")
    values = MmapedDict(name)
    values.write_value("answers", 3.0, 0.0)
    values.close()
    shared_metrics.end_metrics(7)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 200
    assert [(key, value) for key, value, *_ in MmapedDict.read_all_values_from_file(name)] == [
        ("answers", 3.0)
    ]


def test_a_request_that_cannot_be_counted_is_answered(model_files, monkeypatch):
    service = Service({"web": model_files[0]})

    def fail(*_):
        raise OSError("no such file")

    monkeypatch.setattr(service, "_count", fail)

    async def ask():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)
        response = loop.create_future()
        head = RequestHead("POST", PATH, headers={"content-type": "application/json"})
        call = service.begin(head, 0.0)
        service.submit(call, b'{"rows": [[0]]}', response.set_result)
        return await asyncio.wait_for(response, 200)

    assert asyncio.run(ask()).status == 422
