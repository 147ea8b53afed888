"""Connections between the driver and the workers: who is accepted, what arrives, who is gone."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from rankgrove._warning_relay import WarningRelay
from rankgrove.distributed import cluster_fit
from rankgrove.distributed.cluster_fit import Attempt
from rankgrove.distributed.driver_hub import DriverHub, DriverLinkError, WorkerLink
from rankgrove.distributed.join_listener import JoinListener
from rankgrove.distributed.messages import Message, MessageKind
from rankgrove.errors import WorkerLost

SECONDS = 60  # until a test gives up waiting for an event


def received(hub, kind):
    """Return the next message of a kind."""
    while True:
        message = hub.next(SECONDS)
        assert message is not None, f"no worker sent {kind}"
        if message.kind is kind:
            return message


def test_messages_arrive_with_the_rank_of_their_worker():
    with DriverHub("127.0.0.1", 2) as hub:
        with WorkerLink(hub.ticket, 1) as link:
            assert link.host == "127.0.0.1"
            metrics = {"valid": {"ndcg@10": 0.5}}
            link.send(MessageKind.STEP, b"\x00trees", step=3, metrics=metrics)
            message = received(hub, MessageKind.STEP)
            assert (message.rank, message.payload) == (1, b"\x00trees")
            assert message.values == {"step": 3, "metrics": metrics}
            assert not link.has_received(MessageKind.STOP)
            hub.broadcast(Message(MessageKind.STOP))
            assert link.receive().kind is MessageKind.STOP
        assert received(hub, MessageKind.GONE).rank == 1


def test_strangers_are_not_accepted():
    with DriverHub("127.0.0.1", 2) as hub:
        wrong = dataclasses.replace(hub.ticket, token=bytes(32))
        with pytest.raises(DriverLinkError, match="worker 0 cannot reach the driver at 127"):
            WorkerLink(wrong, 0)
        with socket.create_connection((hub.ticket.host, hub.ticket.port)) as noise:
            noise.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(200))
            assert hub.next(0.2) is None


def test_a_task_that_starts_after_its_fit_ends_at_once(monkeypatch):
    """It would keep the only thread of its worker from the next attempt."""

    def retried(seconds):
        raise AssertionError("the driver that has ended is tried again")

    with DriverHub("127.0.0.1", 1) as hub:
        pass
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=retried)
    monkeypatch.setattr("rankgrove.distributed.handshake.time", clock)
    with pytest.raises(DriverLinkError, match="worker 0 cannot reach the driver"):
        WorkerLink(hub.ticket, 0)


def test_a_rank_joins_once():
    with DriverHub("127.0.0.1", 2) as hub, WorkerLink(hub.ticket, 0):
        with pytest.raises(DriverLinkError, match="joined already"):
            WorkerLink(hub.ticket, 0)
        with pytest.raises(DriverLinkError, match="joined already, or there is none"):
            WorkerLink(hub.ticket, 2)


def test_workers_notice_that_the_driver_is_gone(monkeypatch):
    with DriverHub("127.0.0.1", 1) as hub:
        link = WorkerLink(hub.ticket, 0)
        hub.close()
        with link, pytest.raises(DriverLinkError, match="has closed the connection"):
            link.receive()
    monkeypatch.setattr("rankgrove.distributed.driver_hub.HANDSHAKE_SECONDS", 0.2)
    with pytest.raises(DriverLinkError, match="cannot reach the driver"):
        WorkerLink(hub.ticket, 0)


def test_the_token_is_not_shown():
    with DriverHub("127.0.0.1", 1) as hub:
        assert repr(hub.ticket.token) not in repr(hub.ticket)


def test_small_messages_do_not_wait_for_one_another():
    """Else the system holds back a second one for 40 ms, until the first is acknowledged."""
    with DriverHub("127.0.0.1", 1) as hub, WorkerLink(hub.ticket, 0) as worker:
        worker.send(MessageKind.JOINED)
        received(hub, MessageKind.JOINED)
        for connection in (worker._connection, hub._connections[0]):
            with socket.socket(fileno=os.dup(connection.fileno())) as link:
                assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_silent_connections_do_not_keep_a_worker_out():
    with DriverHub("127.0.0.1", 1) as hub:
        address = (hub.ticket.host, hub.ticket.port)
        strangers = [socket.create_connection(address) for _ in range(100)]
        with WorkerLink(hub.ticket, 0) as link:
            link.send(MessageKind.JOINED)
            received(hub, MessageKind.JOINED)
        for stranger in strangers:
            stranger.close()


def test_workers_are_accepted_after_file_descriptors_were_used_up(monkeypatch):
    failed = threading.Event()
    cut_off = JoinListener._cut_off_oldest

    def cut_off_and_tell(self):
        failed.set()
        return cut_off(self)

    monkeypatch.setattr(JoinListener, "_cut_off_oldest", cut_off_and_tell)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with DriverHub("127.0.0.1", 1) as hub, socket.socket() as stranger:
        used: list[int] = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (stranger.fileno() + 50, hard))
            with contextlib.suppress(OSError):
                while True:
                    used.append(os.dup(0))
            stranger.connect((hub.ticket.host, hub.ticket.port))
            assert failed.wait(SECONDS)
        finally:
            for descriptor in used:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with WorkerLink(hub.ticket, 0) as link:
            link.send(MessageKind.JOINED)
            received(hub, MessageKind.JOINED)


class NoTasks:
    def check(self):
        pass


def test_a_worker_without_heartbeats_is_lost_although_it_is_ready(monkeypatch):
    """As if it were stopped (SIGSTOP): its connection stays open.

    Every heartbeat of the other worker is a second.
    """
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(cluster_fit, "time", clock)
    next_message = DriverHub.next

    def next_and_tick(self, seconds):
        message = next_message(self, seconds)
        clock.now += message is not None and message.kind is MessageKind.ALIVE
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_tick)
    with (
        DriverHub("127.0.0.1", 2) as hub,
        WorkerLink(hub.ticket, 0, heartbeat=0.01) as alive,
        WorkerLink(hub.ticket, 1, heartbeat=3600) as stopped,
    ):
        for link in (alive, stopped):
            link.send(MessageKind.READY, address="127.0.0.1:9")
        attempt = Attempt(hub, NoTasks(), 3.0, lambda message: None, WarningRelay())
        with pytest.raises(WorkerLost, match="worker 1 said nothing for 3 seconds") as caught:
            attempt.model()
        assert caught.value.rank == 1
