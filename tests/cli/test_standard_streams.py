"""Standard output and standard error: nothing is lost, whatever they are."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rankgrove

N_ROWS = 16_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    rng = np.random.default_rng(0)
    data = rankgrove.Dataset(
        rng.random((N_ROWS, 2)), rng.integers(0, 3, N_ROWS), np.arange(N_ROWS) // 20
    )
    rankgrove.write_letor(data, folder / "data.txt")
    rankgrove.MART(n_estimators=2).fit(data).save(folder / "model.rg")
    return folder


def start(folder, *arguments, unbuffered=True, **options):
    environment = os.environ | ({"PYTHONUNBUFFERED": "1"} if unbuffered else {})
    command = [sys.executable, "-m", "rankgrove", *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, **options)


PREDICT = ("predict", "model.rg", "data.txt")


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_pipe_that_does_not_wait_gets_every_line(folder, unbuffered):
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)
    process = start(folder, *PREDICT, unbuffered=unbuffered, stdout=writing)
    os.close(writing)
    time.sleep(1)
    with open(reading, "rb") as pipe:
        lines = pipe.read().splitlines()
    assert process.wait() == 0
    assert len(lines) == N_ROWS


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_full_disk_is_an_error_that_names_the_stream(folder, unbuffered):
    with open("/dev/full", "wb") as full:
        process = start(
            folder, *PREDICT, unbuffered=unbuffered, stdout=full, stderr=subprocess.PIPE, text=True
        )
        _, errors = process.communicate()
    assert process.returncode == 1
    assert errors == "rankgrove predict: standard output: No space left on device\n"


@pytest.mark.process
@pytest.mark.parametrize("arguments", [("--help",), ("train", "--help"), ("info", "data.txt")])
def test_a_full_disk_is_one_line_for_short_texts_too(folder, arguments):
    with open("/dev/full", "wb") as full:
        run = start(folder, *arguments, unbuffered=False, stdout=full, stderr=subprocess.PIPE)
        error = run.communicate(timeout=60)[1].decode()
    assert (run.returncode, error.count("\n")) == (1, 1)
    assert error.endswith("standard output: No space left on device\n")


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", [True, False])
def test_a_reader_that_goes_away_ends_it_like_other_tools(folder, unbuffered):
    process = start(
        folder, *PREDICT, unbuffered=unbuffered, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == -signal.SIGPIPE


@pytest.mark.process
def test_training_without_standard_error_writes_the_model(folder):
    command = (
        f"{sys.executable} -m rankgrove train mart data.txt --n-estimators 2 --out closed.rg 2>&-"
    )
    assert subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.PIPE).returncode == 0
    assert rankgrove.load_model(folder / "closed.rg").model_.n_steps == 2


@pytest.mark.process
def test_closed_standard_output_is_an_error(folder):
    command = f"{sys.executable} -m rankgrove predict model.rg data.txt >&-"
    run = subprocess.run(command, shell=True, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert run.stderr == "rankgrove predict: standard output: Bad file descriptor\n"
