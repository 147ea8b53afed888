"""Models in worker processes that were forked from one that had already used its threads."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import time

import httpx
import numpy as np
import pytest
from tests.serving.conftest import PATIENCE
from tests.serving.test_answers import rows_of

from rankgrove import LambdaMART, load_model

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

PARAMS = {"n_estimators": 5, "random_state": 0, "n_jobs": 2}


def work(path, data):
    """Load, predict and fit; return the scores of both."""
    scores = load_model(path, mmap=True).predict(data, n_jobs=2)
    return scores.tobytes() + LambdaMART(**PARAMS).fit(data).predict(data).tobytes()


@pytest.mark.process
def test_a_forked_child_predicts_and_fits(model_files, data):
    expected = work(model_files[0], data)  # threads are used in the parent
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, bytes([work(model_files[0], data) == expected]))
            code = 0
        finally:
            os._exit(code)
    try:
        assert select.select([reader], [], [], 60)[0], "the child hangs"
        assert os.read(reader, 1) == b"\x01"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


@pytest.mark.process
def test_a_forked_pool_shares_a_model_of_its_parent(ranker, data):
    expected = ranker.predict(data, n_jobs=2)
    X = np.asarray(data.X)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = pool.map_async(ranker.predict, np.array_split(X, 8)).get(60)
    assert np.array_equal(np.concatenate(parts), expected)


APP = """
import numpy, os
import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.serving import make_app
data = make_ranking(200, preset="mslr", seed=1)
rankgrove.LambdaMART(n_estimators=3, n_jobs=2).fit(data).predict(data, n_jobs=2)
app = make_app({"web": os.environ["MODEL"]}, reload_seconds=0.05)
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.mark.process
def test_gunicorn_with_preloaded_models(model_files, ranker, data, tmp_path):
    pytest.importorskip("gunicorn")
    (tmp_path / "preloaded.py").write_text(APP)
    model = tmp_path / "web.rg"
    ranker.save(model)
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "preloaded:app", "--preload", "-w", "2"]
    command += ["-k", "uvicorn.workers.UvicornWorker", "-b", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"MODEL": str(model)}, stderr=subprocess.PIPE
    )
    X = np.asarray(data.X[:30])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    assert client.get("/ready").status_code == 200
                    break
                except httpx.TransportError:
                    assert process.poll() is None, process.stderr.read().decode()
                    assert time.monotonic() < end, "gunicorn does not start"
                    time.sleep(0.1)
            answer = client.post("/score", json={"rows": rows_of(X)}).json()
            assert np.array_equal(answer["scores"], ranker.predict(X))
            newer = LambdaMART(n_estimators=2, random_state=0).fit(data)
            newer.save(model)
            while (
                client.post("/score", json={"rows": rows_of(X)}).json()["scores"]
                != newer.predict(X).tolist()
            ):
                assert time.monotonic() < end, "the forked worker does not reload"
                time.sleep(0.05)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
