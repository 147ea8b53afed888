"""Where driver and workers meet: who gets in, what is heard, who is gone."""

from __future__ import annotations

import dataclasses
import os
import socket

import pytest

from rankgrove.distributed.meeting import Meeting, MeetingError, Message, Seat


def heard(meeting, kind):
    while True:
        message = meeting.next(10)
        assert message is not None, f"nobody said {kind}"
        if message.kind == kind:
            return message


def test_what_workers_say_is_heard_with_their_rank():
    with Meeting("127.0.0.1", 2) as meeting:
        with Seat(meeting.invitation, 1) as seat:
            assert seat.host == "127.0.0.1"
            seat.say("step", b"\x00trees", step=3, metrics={"valid": {"ndcg@10": 0.5}})
            message = heard(meeting, "step")
            assert (message.rank, message.payload) == (1, b"\x00trees")
            assert message.values == {"step": 3, "metrics": {"valid": {"ndcg@10": 0.5}}}
            assert not seat.told("stop")
            meeting.tell_all(Message("stop"))
            assert seat.hear().kind == "stop"
        assert heard(meeting, "gone").rank == 1


def test_strangers_do_not_get_in():
    with Meeting("127.0.0.1", 2) as meeting:
        wrong = dataclasses.replace(meeting.invitation, token=bytes(32))
        with pytest.raises(MeetingError, match="worker 0 cannot reach the driver at 127"):
            Seat(wrong, 0)
        address = (meeting.invitation.host, meeting.invitation.port)
        with socket.create_connection(address) as noise:
            noise.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(200))
            assert meeting.next(0.2) is None


@pytest.mark.process
def test_a_seat_is_taken_once():
    with Meeting("127.0.0.1", 2) as meeting, Seat(meeting.invitation, 0):
        with pytest.raises(MeetingError, match="joined already"):
            Seat(meeting.invitation, 0)
        with pytest.raises(MeetingError, match="joined already, or there is none"):
            Seat(meeting.invitation, 2)


def test_workers_notice_that_the_driver_is_gone():
    with Meeting("127.0.0.1", 1) as meeting:
        seat = Seat(meeting.invitation, 0)
        meeting.close()
        with seat, pytest.raises(MeetingError, match="has closed the connection"):
            seat.hear()
    with pytest.raises(MeetingError, match="cannot reach the driver"):
        Seat(meeting.invitation, 0)


def test_the_token_is_not_shown():
    with Meeting("127.0.0.1", 1) as meeting:
        assert repr(meeting.invitation.token) not in repr(meeting.invitation)


def test_small_messages_do_not_wait_for_one_another():
    """Else the system holds back a second one for 40 ms, until the first is acknowledged."""
    with Meeting("127.0.0.1", 1) as meeting, Seat(meeting.invitation, 0) as seat:
        seat.say("joined")
        heard(meeting, "joined")
        for connection in (seat._connection, meeting._seats[0]):
            with socket.socket(fileno=os.dup(connection.fileno())) as link:
                assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
