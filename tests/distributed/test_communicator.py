"""Messages between workers, and what happens to those who should not be there, or are gone."""

from __future__ import annotations

import os
import queue
import re
import secrets
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgrove.distributed import Hub, WorkerFailed, WorkerLost, join
from rankgrove.distributed.handshake import HandshakeError, connect
from rankgrove.distributed.join_listener import JoinListener

TOKEN = secrets.token_bytes(32)
SECRET = TOKEN.hex()
SECONDS = 60.0  # until a test gives up waiting for an event


def together(size, work, *, patience=SECONDS, token=TOKEN):
    """Let ``work(communicator)`` run on so many workers, threads of this process."""
    hub = Hub()
    results: list = [None] * size

    def run(rank):
        try:
            make = (
                hub.accept(size, token, timeout=SECONDS, patience=patience)
                if rank == 0
                else join(hub.address, rank, size, token, timeout=SECONDS, patience=patience)
            )
            with make as communicator:
                results[rank] = work(communicator)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    return results


def enough_patience(size):
    """Patience that only a silent worker exceeds: many times what joining takes now."""
    start = time.monotonic()
    together(size, lambda communicator: communicator.barrier())
    return 2 + 20 * (time.monotonic() - start)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [0, 1, 100_000])
def test_sums_and_maxima_are_those_of_all_workers(size, n):
    values = np.random.default_rng(size).integers(-(2**60), 2**60, (size, n)) // size

    def work(communicator):
        total, largest = values[communicator.rank].copy(), values[communicator.rank].copy()
        communicator.sum(total)
        communicator.maximum(largest)
        return total, largest

    for total, largest in together(size, work):
        np.testing.assert_array_equal(total, values.sum(axis=0))
        np.testing.assert_array_equal(largest, values.max(axis=0))


@settings(max_examples=15, deadline=None)
@given(st.data(), st.integers(1, 4))
def test_bytes_reach_those_whom_they_are_for(data, size):
    parts = data.draw(st.lists(st.binary(max_size=50), min_size=size**2, max_size=size**2))
    sent = [parts[rank * size : (rank + 1) * size] for rank in range(size)]

    def work(communicator):
        own = sent[communicator.rank]
        return (
            communicator.gather(own[0]),
            communicator.broadcast(own[0]),
            communicator.exchange(own),
        )

    for rank, (gathered, broadcast, exchanged) in enumerate(together(size, work)):
        assert gathered == [own[0] for own in sent]
        assert broadcast == sent[0][0]
        assert exchanged == [own[rank] for own in sent]


def test_large_parts_are_exchanged():
    def work(communicator):
        parts = [bytes([communicator.rank]) * (3_000_000 * (r + 1)) for r in range(3)]
        return [(part[:1], len(part)) for part in communicator.exchange(parts)]

    for rank, got in enumerate(together(3, work)):
        assert got == [(bytes([r]), 3_000_000 * (rank + 1)) for r in range(3)]


def test_traffic_counts_messages_bytes_and_waiting():
    def work(communicator):
        communicator.barrier()
        if communicator.rank == 1:
            time.sleep(0.4)
        before, start = communicator.traffic.seconds_waiting, time.perf_counter()
        communicator.sum(np.zeros(1000, np.int64))
        elapsed = time.perf_counter() - start
        return communicator.traffic, communicator.traffic.seconds_waiting - before, elapsed

    (hub, waited, elapsed), (late, *_) = together(2, work)
    assert hub.messages == late.messages == 2
    assert hub.frames_sent == late.frames_sent == 2
    assert hub.bytes_sent == late.bytes_received == (16 + 8 + 8000) + (16 + 8 + 8)
    assert 0 < waited <= elapsed


def test_a_worker_that_gives_up_is_named_with_its_reason():
    def work(communicator):
        if communicator.rank == 2:
            communicator.abort("DataError: y holds no labels")
        else:
            communicator.barrier()

    results = together(3, work)
    for rank in (0, 1):
        assert isinstance(results[rank], WorkerFailed)
        assert results[rank].rank == 2
        assert "worker 2 (127.0.0.1:" in str(results[rank])
        assert "gave up: DataError: y holds no labels" in str(results[rank])


def test_a_hub_that_gives_up_is_named_with_its_reason():
    def work(communicator):
        if communicator.rank == 0:
            communicator.abort("disk full")
        else:
            communicator.barrier()

    for error in together(3, work)[1:]:
        assert isinstance(error, WorkerFailed)
        assert error.rank == 0
        assert "gave up: disk full" in str(error)


@pytest.mark.slow
def test_a_silent_worker_is_named_after_the_patience():
    others_failed = threading.Semaphore(0)

    def work(communicator):
        communicator.barrier()
        if communicator.rank == 1:
            assert others_failed.acquire(timeout=SECONDS)
            assert others_failed.acquire(timeout=SECONDS)
        try:
            communicator.barrier()
        finally:
            others_failed.release()

    results = together(3, work, patience=enough_patience(3))
    for rank in (0, 2):
        assert isinstance(results[rank], WorkerLost)
        assert results[rank].rank == 1
        assert "kept the others waiting" in str(results[rank])


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 7])
def test_the_silent_worker_is_named_by_all_not_one_that_waits_for_it(size):
    """Most workers wait for one that waits itself."""
    others_failed = threading.Semaphore(0)

    def work(communicator):
        communicator.barrier()
        if communicator.rank == 2:
            for _ in range(size - 1):
                assert others_failed.acquire(timeout=SECONDS)
            return
        try:
            communicator.sum_scatter(
                np.zeros(size, np.int64), np.arange(size + 1), np.zeros(1, np.int64)
            )
        finally:
            others_failed.release()

    for rank, error in enumerate(together(size, work, patience=enough_patience(size))):
        if rank != 2:
            assert isinstance(error, WorkerLost), rank
            assert error.rank == 2, error


@settings(max_examples=20, deadline=None)
@given(st.data(), st.integers(1, 9))
def test_a_reduce_scatter_gives_each_worker_its_part_and_all_the_extra_values(data, size):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    bounds = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    rng = np.random.default_rng(size)
    values = rng.integers(-(2**60), 2**60, (size, bounds[-1])) // size
    extra = rng.integers(-(2**60), 2**60, (size, data.draw(st.integers(0, 3)))) // size

    def work(communicator):
        own, more = values[communicator.rank].copy(), extra[communicator.rank].copy()
        communicator.sum_scatter(own, bounds, more)
        return own, more

    for rank, (own, more) in enumerate(together(size, work)):
        part = slice(bounds[rank], bounds[rank + 1])
        np.testing.assert_array_equal(own[part], values.sum(axis=0)[part])
        np.testing.assert_array_equal(more, extra.sum(axis=0))


def test_bounds_that_do_not_cut_the_values_are_refused():
    def work(communicator):
        communicator.sum_scatter(np.zeros(5, np.int64), np.array([0, 2, 4]), np.zeros(0, np.int64))

    for error in together(2, work):
        assert isinstance(error, ValueError)
        assert "one part for each worker" in str(error)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_worker_sends_no_more_the_more_workers_there_are(size):
    n = 60_000

    def work(communicator):
        bounds = (np.arange(size + 1) * n // size).astype(np.int64)
        communicator.sum_scatter(np.ones(n, np.int64), bounds, np.zeros(1, np.int64))
        scattered = communicator.traffic
        communicator.sum(np.ones(n, np.int64))
        return scattered, communicator.traffic

    for scattered, both in together(size, work):
        assert scattered.bytes_sent == pytest.approx(8 * n * (size - 1) / size, rel=0.01)
        assert scattered.frames_sent <= np.ceil(np.log2(size))
        assert both.bytes_sent - scattered.bytes_sent < 3 * 8 * n


def test_workers_that_do_different_things_are_told_so():
    def work(communicator):
        if communicator.rank == 0:
            communicator.sum(np.zeros(3, np.int64))
        else:
            communicator.sum(np.zeros(4, np.int64))

    hub, other = together(2, work)
    assert isinstance(hub, WorkerFailed)
    assert "worker 1 (127.0.0.1:" in str(hub)
    assert "out of step" in str(hub)
    assert isinstance(other, WorkerLost | WorkerFailed)


def test_a_closed_communicator_says_so():
    def work(communicator):
        communicator.close()
        communicator.close()
        communicator.barrier()

    for error in together(2, work):
        assert isinstance(error, RuntimeError)
        assert "closed" in str(error)


def test_a_wrong_token_is_turned_away_on_both_sides():
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    joined: queue.Queue = queue.Queue()
    listening = JoinListener(listener, [1], 2, TOKEN, lambda *worker: joined.put(worker))
    with pytest.raises(WorkerLost, match=r"worker 0 \(127.*does not know the token"):
        join(address, 1, 2, secrets.token_bytes(32), timeout=SECONDS)
    with connect("127.0.0.1", listener.getsockname()[1], 1, 2, TOKEN, SECONDS):
        rank, link, _ = joined.get(timeout=SECONDS)
        assert rank == 1
        link.close()
    deadline = time.monotonic() + SECONDS
    while not listening.last_refusal and time.monotonic() < deadline:
        time.sleep(0.01)
    assert re.fullmatch(
        r"127\.0\.0\.1:\d+ was turned away: it does not know the token", listening.last_refusal
    )
    listening.close()


def test_missing_workers_are_named():
    with pytest.raises(WorkerLost, match=r"worker 1, 2 of 3 has not joined 127.* within 0\.1 s"):
        Hub().accept(3, TOKEN, timeout=0.1)


def test_silent_connections_do_not_keep_a_worker_out():
    hub = Hub()
    host, port = hub.address.split(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(100)]
    joined = []
    joining = threading.Thread(
        target=lambda: joined.append(join(hub.address, 1, 2, TOKEN, timeout=SECONDS)), daemon=True
    )
    joining.start()
    with hub.accept(2, TOKEN, timeout=SECONDS):
        joining.join(SECONDS)
    joined[0].close()
    for stranger in strangers:
        stranger.close()


def test_a_worker_whose_connection_is_cut_off_joins_again():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    joined = []
    joining = threading.Thread(
        target=lambda: joined.append(connect("127.0.0.1", port, 1, 2, TOKEN, SECONDS)), daemon=True
    )
    joining.start()
    listener.accept()[0].close()
    listening = JoinListener(listener, [1], 2, TOKEN, lambda rank, link, address: None)
    joining.join(SECONDS)
    joined[0].close()
    listening.close()


def test_a_hub_without_the_token_is_not_believed():
    """A false hub that welcomes everybody proves nothing."""
    listener = socket.create_server(("127.0.0.1", 0))

    def false_hub():
        link, _ = listener.accept()
        link.sendall(b"rankgrv2" + np.uint32(0x01020304).tobytes() + bytes(32))
        link.recv(1000)
        link.sendall(bytes(33))

    threading.Thread(target=false_hub, daemon=True).start()
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(WorkerLost, match="does not know the token"):
        join(address, 1, 2, TOKEN, timeout=SECONDS)
    listener.close()


@pytest.mark.parametrize("noise", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(100_000), b"rankgrv2" * 9])
def test_strangers_do_not_disturb_those_who_join(noise):
    hub = Hub()
    host, port = hub.address.split(":")
    strangers = [socket.create_connection((host, int(port))) for _ in range(5)]
    for link in strangers:
        link.setblocking(False)
        link.send(noise)
    joined = []
    thread = threading.Thread(
        target=lambda: joined.append(join(hub.address, 1, 2, TOKEN, timeout=SECONDS))
    )
    thread.start()
    with hub.accept(2, TOKEN, timeout=SECONDS) as communicator:
        thread.join(SECONDS)
        assert communicator.size == 2
        with joined[0]:
            pass
    for link in strangers:
        link.close()


def test_a_rank_that_is_taken_or_another_size_is_refused():
    hub = Hub()
    joined: queue.Queue = queue.Queue()

    def take_part(make):
        with make() as communicator:
            communicator.barrier()
            joined.put(communicator.rank)

    def start(make):
        threading.Thread(target=take_part, args=(make,), daemon=True).start()

    start(lambda: hub.accept(3, TOKEN, timeout=SECONDS))
    start(lambda: join(hub.address, 1, 3, TOKEN, timeout=SECONDS))
    host, port = hub.address.split(":")
    deadline = time.monotonic() + SECONDS
    refused = ""
    while "has joined already" not in refused and time.monotonic() < deadline:
        with pytest.raises(HandshakeError) as caught:  # worker 1 comes at any moment
            connect(host, int(port), 1, 4, TOKEN, SECONDS)
        assert "another number of workers than 4" in str(caught.value)
        with pytest.raises(HandshakeError) as caught:
            connect(host, int(port), 0, 3, TOKEN, SECONDS)
        refused = str(caught.value)
    start(lambda: join(hub.address, 2, 3, TOKEN, timeout=SECONDS))
    assert {joined.get(timeout=SECONDS) for _ in range(3)} == {0, 1, 2}


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(WorkerLost, match=r"cannot be reached within 0\.3 s"):
        join(address, 1, 2, TOKEN, timeout=0.3)


def test_a_listener_that_keeps_silent():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(WorkerLost, match=r"cannot be reached within 0\.3 s: it keeps silent"):
            join(address, 1, 2, TOKEN, timeout=0.3)


@pytest.mark.parametrize("token", ["secret", b"short", None])
def test_a_token_must_be_hard_to_guess(token):
    with pytest.raises(ValueError, match="at least 16 secret bytes"):
        join("127.0.0.1:9", 1, 2, token)


WAITING_WORKER = """
    import sys, numpy as np
    from rankgrove.distributed import join
    address, rank, size, token = sys.argv[1:]
    with join(address, int(rank), int(size), bytes.fromhex(token)) as communicator:
        print("joined", flush=True)
        try:
            for _ in range(10**6):
                communicator.sum(np.zeros(20_000, np.int64))
                if communicator.rank == 1:
                    sys.stdin.read(1)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
"""


def start_worker(address, rank, size):
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(WAITING_WORKER),
            address,
            str(rank),
            str(size),
            SECRET,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
def test_a_killed_worker_is_named_at_once_to_all_others():
    hub = Hub()
    workers = [start_worker(hub.address, rank, 3) for rank in (1, 2)]
    with hub.accept(3, TOKEN, timeout=SECONDS) as communicator:
        communicator.sum(np.zeros(20_000, np.int64))
        os.kill(workers[0].pid, signal.SIGKILL)
        with pytest.raises(WorkerLost, match=r"worker 1 \(127.0.0.1:\d+\) is lost") as caught:
            communicator.sum(np.zeros(20_000, np.int64))
        assert caught.value.rank == 1
        assert caught.value.address.startswith("127.0.0.1:")
    told = workers[1].communicate(timeout=SECONDS)[0]
    assert "WorkerLost: worker 1 (127.0.0.1:" in told
    workers[0].wait(SECONDS)


@pytest.mark.process
def test_control_c_is_answered_while_waiting():
    hub = Hub()
    worker = start_worker(hub.address, 2, 3)
    silent = start_worker(hub.address, 1, 3)
    with hub.accept(3, TOKEN, timeout=SECONDS) as communicator:
        communicator.sum(np.zeros(20_000, np.int64))
        time.sleep(0.3)  # worker 2 waits for the others now
        worker.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in worker.communicate(timeout=SECONDS)[0]
        with pytest.raises(WorkerLost, match="worker 2"):
            communicator.sum(np.zeros(20_000, np.int64))
    silent.communicate("x", timeout=SECONDS)
