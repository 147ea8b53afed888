"""A server through its life: start, reload, many clients, stop."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.serving.conftest import PATIENCE
from tests.serving.test_answers import rows_of
from tests.serving.test_connections import post, read_response

from rankgrove import MART, Dataset, LambdaMART
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.serving.models import ModelStore


@pytest.fixture
def model_file(model_files, tmp_path):
    return shutil.copy(model_files[0], tmp_path / "web.rg")


@pytest.fixture(scope="module")
def newer(data):
    return LambdaMART(n_estimators=3, random_state=1).fit(data)


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def test_a_replaced_file_is_loaded_and_a_damaged_one_refused(
    start, model_file, ranker, newer, data
):
    server = start(model_file, "--reload-seconds", 0.05)
    X = np.asarray(data.X[:20])
    body = {"rows": rows_of(X)}

    def served_by(model):
        return np.array_equal(server.score(body).json()["scores"], model.predict(X))

    assert served_by(ranker)
    whole = model_file.read_bytes()
    model_file.write_bytes(whole[: len(whole) // 2])  # in place, as a careless copy does
    assert server.said("stays as it was")
    assert served_by(ranker)
    assert "web.rg" in server.client.get("/models/web").json()["problem"]
    model_file.unlink()
    until(lambda: "no such file" in server.client.get("/models/web").json()["problem"])
    assert served_by(ranker)
    newer.save(model_file)
    until(lambda: served_by(newer))
    assert server.client.get("/models/web").json()["problem"] is None
    metrics = server.client.get("/metrics").text
    assert 'rankgrove_reloads_total{model="web",outcome="loaded"} 1.0' in metrics
    assert 'rankgrove_reloads_total{model="web",outcome="refused"} 2.0' in metrics


def test_every_answer_during_reloads_is_of_one_model(start, model_file, ranker, newer, data):
    server = start(model_file, "--reload-seconds", 0.01)
    X = np.asarray(data.X[:20])
    both = [ranker.predict(X).tolist(), newer.predict(X).tolist()]
    body = {"rows": rows_of(X)}
    for turn in range(6):
        now = (turn + 1) % 2
        (ranker, newer)[now].save(model_file)
        until(lambda now=now: both.index(server.score(body).json()["scores"]) == now)


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_noticed(start, model_file):
    server = start(model_file, "--reload-seconds", 0.05)
    before = model_file.stat()
    damaged = model_file.with_name("damaged.rg")
    damaged.write_bytes(bytes(before.st_size))
    os.utime(damaged, ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.copy2(damaged, model_file)  # cp -p
    after = model_file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        *(before.st_size, before.st_mtime_ns, before.st_ino),
    )
    assert server.said("stays as it was")


def test_a_model_that_could_not_be_opened_is_loaded_when_it_can(model_file, newer, monkeypatch):
    store = ModelStore({"web": model_file})
    newer.save(model_file)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: os.open("/", os.O_WRONLY))  # an OSError
        store.refresh()
    assert "web.rg" in store.describe("web")["problem"]
    store.refresh()
    assert store.describe("web")["problem"] is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_a_model_is_refused(model_file, newer):
    store = ModelStore({"web": model_file})
    model_file.unlink()
    os.mkfifo(model_file)
    refreshing = threading.Thread(target=store.refresh, daemon=True)
    refreshing.start()
    refreshing.join(PATIENCE)
    assert not refreshing.is_alive()
    assert "web.rg is not a file" in store.describe("web")["problem"]
    newer.save(tmp := model_file.with_name("newer.rg"))
    tmp.replace(model_file)
    store.refresh()
    assert store.describe("web")["problem"] is None


def test_a_stop_does_not_wait_for_a_file_system_that_stalls(model_file, newer, monkeypatch):
    store = ModelStore({"web": model_file})
    begun, release = threading.Event(), threading.Event()

    def stalled(path):
        begun.set()
        release.wait(PATIENCE)
        raise OSError(f"{path}: stale")

    monkeypatch.setattr("rankgrove.serving.models.load_model", stalled)
    monkeypatch.setattr("rankgrove.serving.models._CLOSE_SECONDS", 0.01)
    newer.save(model_file)
    store.watch(0.01)
    watcher = store._watcher
    assert begun.wait(PATIENCE)
    store.close()
    assert watcher.is_alive()
    release.set()
    watcher.join(PATIENCE)


def test_a_model_with_other_columns_is_reported(tmp_path, caplog):
    data = make_ranking(10, seed=1)
    names = [f"a{j}" for j in range(data.n_features)]
    for number, order in enumerate((names, names[::-1])):
        ranker = MART(n_estimators=1).fit(Dataset(data.X, data.y, data.qid, feature_names=order))
        ranker.save(tmp_path / f"{number}.rg")
    path = tmp_path / "web.rg"
    shutil.copy(tmp_path / "0.rg", path)
    store = ModelStore({"web": path})
    shutil.copy(tmp_path / "0.rg", path)
    store.refresh()
    assert "other columns" not in caplog.text
    shutil.copy(tmp_path / "1.rg", path)
    store.refresh()
    assert "model web has other columns than before" in caplog.text


def test_a_model_with_another_number_of_columns_is_reported(tmp_path, caplog):
    data = make_ranking(10, seed=1)
    path = tmp_path / "web.rg"
    MART(n_estimators=1).fit(data).save(path)
    store = ModelStore({"web": path})
    MART(n_estimators=1).fit(data.X[:, 1:], data.y, qid=data.qid).save(path)
    store.refresh()
    assert "model web has other columns than before" in caplog.text


def refuses_connections(server):
    try:
        server.connect().close()
    except OSError:
        return True
    return False


BODY = b'{"rows": [[' + b", ".join([b"0.5"] * 20) + b"]]}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
def test_requests_in_flight_are_answered_before_a_stop(start, model_file, number, workers):
    server = start(model_file, "--workers", workers, "--drain-seconds", 1)
    with server.connect() as connection:
        connection.sendall(post(BODY) + post(BODY)[:-1])
        assert read_response(connection).status == 200  # so the second has been seen, too
        server.process.send_signal(number)
        until(lambda: refuses_connections(server))
        assert server.process.poll() is None
        connection.sendall(BODY[-1:])
        assert read_response(connection).status == 200
    assert server.process.wait(PATIENCE) == 0
    assert server.said("stopped")


def all_processes(server):
    """Return the server and its workers, whose signals a service manager sends at once."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    if not children.exists():
        pytest.skip("there is no /proc to find the workers")
    workers = [
        int(pid)
        for pid in children.read_text().split()
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return [server.process.pid, *workers]


def test_a_signal_to_all_processes_at_once_begins_one_draining(start, model_file):
    server = start(model_file, "--workers", 2, "--drain-seconds", 600)
    pids = all_processes(server)
    assert len(pids) == 3
    for pid in reversed(pids):
        os.kill(pid, signal.SIGTERM)
    until(lambda: sum("draining" in line for line in server.lines) == 2)
    with server.connect() as unused:
        assert httpx.get(f"{server.address}/ready").json() == {"status": "draining"}
        unused.sendall(post(BODY))
        assert read_response(unused).status == 200
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_drains_before_it_stops(start, model_file, workers):
    server = start(model_file, "--workers", workers, "--drain-seconds", 600)
    with server.connect() as old, server.connect() as unused:
        for _ in range(2):
            old.sendall(post(BODY))
            assert "connection" not in read_response(old).headers
        server.process.send_signal(signal.SIGTERM)
        until(lambda: httpx.get(f"{server.address}/ready").status_code == 503)
        assert httpx.get(f"{server.address}/ready").json() == {"status": "draining"}
        assert httpx.get(f"{server.address}/health").status_code == 200
        until(lambda: sum("draining" in line for line in server.lines) == workers)
        for connection in (old, unused, server.connect()):
            connection.sendall(post(BODY))
            response = read_response(connection)
            assert (response.status, response.headers["connection"]) == (200, "close")
            assert connection.recv(1) == b""
            connection.close()
    server.process.send_signal(signal.SIGTERM)  # once more ends the draining
    assert server.process.wait(PATIENCE) == 0


def test_what_waits_is_counted_and_beyond_the_limit_refused(start, model_file):
    server = start(model_file, "--max-concurrent", 4)
    connections = [server.connect() for _ in range(20)]
    for connection in connections:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert read_response(connection).status == 200
    server.process.send_signal(signal.SIGSTOP)  # so that all wait when it goes on
    os.waitpid(server.process.pid, os.WUNTRACED)  # the signal has arrived
    for connection in connections:
        connection.sendall(post(BODY))
    server.process.send_signal(signal.SIGCONT)
    responses = [read_response(connection) for connection in connections]
    assert sorted(response.status for response in responses) == [200] * 4 + [503] * 16
    for connection, response in zip(connections, responses, strict=True):
        assert response.headers.get("retry-after") == (None if response.status == 200 else "1")
        connection.sendall(post(BODY))  # the connection goes on
        assert read_response(connection).status == 200
        connection.close()
    text = server.client.get("/metrics").text
    assert 'rankgrove_requests_total{model="web",status="503"} 16.0' in text
    assert 'rankgrove_queue_seconds_count{model="web"} 24.0' in text
    assert 'rankgrove_request_seconds_count{model="web"} 40.0' in text


def test_clients_that_send_nothing_or_half_a_request_take_no_slot(start, model_file):
    server = start(model_file, "--max-concurrent", 1)
    silent = [server.connect() for _ in range(20)]
    for connection in silent[:10]:
        connection.sendall(post(BODY)[:-1])
    assert server.score({"rows": []}).status_code == 200
    assert server.client.get("/ready").status_code == 200
    for connection in silent:
        connection.close()


def test_a_worker_that_ends_is_reported_and_replaced(start, model_file):
    server = start(model_file, "--workers", 2)
    assert server.client.get("/ready").status_code == 200  # at once: the log came when it could
    pids = all_processes(server)[1:]
    assert len(pids) == 2
    os.kill(pids[0], signal.SIGKILL)
    assert server.said(f"worker {pids[0]} ended with code -9")
    assert server.said("is ready", 60)
    assert httpx.get(f"{server.address}/ready").status_code == 200
    assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("drain_seconds", [0, 0.2])
def test_a_worker_that_is_terminated_leaves_the_listening_to_the_others(
    start, model_file, drain_seconds
):
    server = start(model_file, "--workers", 2, "--drain-seconds", drain_seconds)
    for _ in range(2):  # so that the first worker that replaces another is alone for a while
        pid = all_processes(server)[1]
        os.kill(pid, signal.SIGTERM)
        assert server.said(f"worker {pid} ended with code 0")
        for _ in range(4):  # a new connection each
            answer = httpx.get(f"{server.address}/health", timeout=PATIENCE)
            assert answer.status_code == 200
    assert server.stop() == 0


@pytest.mark.parametrize("damage", ["cut", "absent"])
def test_a_worker_that_cannot_load_a_model_leaves_the_others_alone(start, model_file, damage):
    server = start(model_file, "--workers", 2, "--reload-seconds", 0.05)
    whole = model_file.read_bytes()
    if damage == "cut":
        model_file.write_bytes(whole[: len(whole) // 2])
    else:
        model_file.unlink()
    pid = all_processes(server)[1]
    os.kill(pid, signal.SIGKILL)
    assert server.said("a new worker waits, it cannot start")
    assert any("waits" in line and "web.rg" in line for line in server.lines)
    assert httpx.get(f"{server.address}/ready", timeout=PATIENCE).status_code == 200
    model_file.write_bytes(whole)
    assert server.said("is ready")
    assert server.stop() == 0


def test_a_worker_that_waits_for_a_model_stops_with_the_others(start, model_file):
    server = start(model_file, "--workers", 2, "--drain-seconds", 0)
    model_file.unlink()
    os.kill(all_processes(server)[1], signal.SIGKILL)
    assert server.said("a new worker waits, it cannot start")
    assert server.stop() == 0


@pytest.mark.process
def test_a_file_that_is_damaged_while_workers_start_is_named(model_file):
    """The parent has checked the file before."""
    from rankgrove.serving.listener import listening
    from rankgrove.serving.settings import Settings
    from rankgrove.serving.worker import WorkerPool

    model_file.write_text("no model")
    with (
        listening("127.0.0.1", 0) as listener,
        pytest.raises(ModelError, match=r"web\.rg: 8 bytes"),
    ):
        WorkerPool(Settings(models={"web": str(model_file)}, workers=2), listener).run(lambda: None)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_that_another_thread_receives_stops_the_server(start, model_file, workers):
    """As the kernel may do after a pause; handlers of Python run in the main thread."""
    server = start(model_file, "--workers", workers, "--drain-seconds", 0)
    pid = server.process.pid
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.is_dir():
        pytest.skip("there is no /proc to find the threads")
    # (Threads of the native pool block all signals: the kernel hands none to them.)
    others = [
        int(task.name)
        for task in tasks.iterdir()
        if int(task.name) != pid
        and not int(re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text())[1], 16)
        >> (signal.SIGTERM - 1)
        & 1
    ]
    if not others:
        pytest.skip("every other thread blocks signals")
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.tgkill(pid, others[0], int(signal.SIGTERM)) == 0
    assert server.process.wait(PATIENCE) == 0


def test_workers_end_with_their_parent(start, model_file):
    server = start(model_file, "--workers", 2)
    server.process.kill()
    until(lambda: refuses_connections(server), 60)


def test_many_clients_at_once_get_their_own_scores(start, model_file, ranker, data):
    server = start(model_file, "--workers", 2)
    failures = []

    def ask(number):
        X = np.asarray(data.X[number * 10 : number * 10 + 10])
        expected = ranker.predict(X).tolist()
        for _ in range(10):
            answer = server.score({"rows": rows_of(X)})
            if answer.status_code != 200 or answer.json()["scores"] != expected:
                failures.append(answer.text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    # Whichever worker is asked, it reports what both have counted.
    text = server.client.get("/metrics").text
    assert 'rankgrove_requests_total{model="web",status="200"} 80.0' in text
    assert server.stop() == 0


def run(arguments):
    """Run a server that should not start."""
    return subprocess.run(
        [sys.executable, "-m", "rankgrove", "serve", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=90,
    )


@pytest.mark.process
def test_what_cannot_be_served_is_reported_at_the_start(model_file, tmp_path):
    (tmp_path / "broken.rg").write_text("no model")
    for arguments, words in (
        ([tmp_path / "broken.rg"], "broken.rg: 8 bytes are too few"),
        ([tmp_path / "nowhere.rg"], "nowhere.rg: no such file"),
        ([model_file, model_file], "two models have the name 'web'"),
        ([f"a b={model_file}"], "'a b' cannot be the name"),
        ([model_file, "--workers", 2, "--port", 70000], "cannot listen on 127.0.0.1 port 70000"),
    ):
        done = run(arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_port_in_use_is_reported(model_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run([model_file, "--port", taken.getsockname()[1]])
    assert (done.returncode, "Address already in use" in done.stderr) == (1, True)


def test_it_listens_on_loopback_alone(server):
    assert server.address.startswith("http://127.0.0.1:")


@pytest.mark.process
def test_the_extra_is_named_when_a_library_is_absent(model_file, tmp_path):
    code = (
        "import sys; sys.modules['httptools'] = None\n"
        "from rankgrove.cli.main import main\n"
        f"sys.exit(main(['serve', {str(model_file)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert done.returncode == 1
    assert "pip install 'rankgrove[serve]'" in done.stderr
