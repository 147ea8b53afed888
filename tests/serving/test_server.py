"""A server through its life: start, reload, many clients, stop."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.serving.test_answers import rows_of

from rankgrove import LambdaMART


@pytest.fixture
def model_file(model_files, tmp_path):
    return shutil.copy(model_files[0], tmp_path / "web.rg")


@pytest.fixture(scope="module")
def newer(data):
    return LambdaMART(n_estimators=3, random_state=1).fit(data)


def until(condition, seconds=20.0):
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
    until(lambda: "No such file" in server.client.get("/models/web").json()["problem"])
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
    seen = []
    for turn in range(6):
        (newer, ranker)[turn % 2].save(model_file)
        seen += [both.index(server.score(body).json()["scores"]) for _ in range(20)]
    assert set(seen) == {0, 1}


def half_sent(server, body):
    """Open a connection and send a request but for its last byte."""
    host, port = server.address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    head = (
        "POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body[:-1])
    return connection


BODY = b'{"rows": [[' + b", ".join([b"0.5"] * 20) + b"]]}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_are_answered_before_a_stop(start, model_file, number):
    server = start(model_file)
    with half_sent(server, BODY) as connection:
        until(lambda: "rankgrove_requests_in_progress 1.0" in server.client.get("/metrics").text)
        server.client.close()
        server.process.send_signal(number)
        time.sleep(0.5)
        assert server.process.poll() is None
        connection.sendall(BODY[-1:])
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert server.process.wait(30) == 0
    assert server.said("stopped")


def test_more_clients_than_slots_are_told_to_come_back(start, model_file):
    server = start(model_file, "--max-concurrent", 1)
    with half_sent(server, BODY) as connection:
        until(lambda: server.client.get("/ready").status_code == 503)
        answer = server.score({"rows": []})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert server.client.get("/health").status_code == 200
        connection.sendall(BODY[-1:])
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
    until(lambda: server.score({"rows": []}).status_code == 200)


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
    # Whichever worker is asked, it tells what both have seen.
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
def test_what_cannot_be_served_is_told_at_the_start(model_file, tmp_path):
    (tmp_path / "broken.rg").write_text("no model")
    for arguments, words in (
        ([tmp_path / "broken.rg"], "broken.rg: 8 bytes are too few"),
        ([tmp_path / "nowhere.rg"], "nowhere.rg: No such file"),
        ([model_file, model_file], "two models have the name 'web'"),
        ([f"a b={model_file}"], "'a b' cannot be the name"),
        ([model_file, "--workers", 2, "--port", 70000], "cannot listen on 127.0.0.1 port 70000"),
    ):
        done = run(arguments)
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_port_in_use_is_told(model_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run([model_file, "--port", taken.getsockname()[1]])
    assert (done.returncode, "Address already in use" in done.stderr) == (1, True)


def test_it_listens_on_loopback_alone(server):
    assert server.address.startswith("http://127.0.0.1:")


@pytest.mark.process
def test_the_extra_is_named_when_a_library_is_absent(model_file, tmp_path):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from rankgrove.cli.main import main\n"
        f"sys.exit(main(['serve', {str(model_file)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert done.returncode == 1
    assert "pip install 'rankgrove[serve]'" in done.stderr
