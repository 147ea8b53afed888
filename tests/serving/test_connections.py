"""What a connection takes: pipelined requests, large and endless ones, clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import resource
import select
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rankgrove.serving.http_server import DRAIN, HttpServer
from rankgrove.serving.service import Service

BODY = json.dumps({"rows": [[0.5] * 20] * 2}).encode()
SECONDS = 200


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


def post(body, *headers, path="/score", length=True):
    lines = [f"POST {path} HTTP/1.1", "host: x", "content-type: application/json", *headers]
    lines += [f"content-length: {len(body)}"] * length
    return "\r\n".join([*lines, "", ""]).encode() + body


def read_response(connection):
    """Read one response, and no byte more."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, f"closed after {head!r}"
        head += byte
    line, *lines = head.decode().rstrip().split("\r\n")
    headers = dict(entry.split(": ", 1) for entry in lines)
    body = b""
    while len(body) < int(headers["content-length"]):
        part = connection.recv(int(headers["content-length"]) - len(body))
        assert part, "closed within a body"
        body += part
    return Response(int(line.split()[1]), headers, body)


def send_until_answered(connection, part, most=64 << 20):
    """Send until there is something to read; return how many bytes that took."""
    connection.setblocking(False)
    sent = 0
    while not select.select([connection], [], [], 0)[0]:
        assert sent < most, "there is no answer"
        select.select([connection], [connection], [], SECONDS)
        try:
            sent += connection.send(part)
        except BlockingIOError:
            continue
    connection.settimeout(SECONDS)
    return sent


@pytest.fixture(scope="module")
def expected(ranker):
    return ranker.predict(np.full((2, 20), 0.5)).tolist()


def test_headers_without_end_are_refused(server):
    with server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nx: ")
        send_until_answered(connection, b"a" * 8192)
        response = read_response(connection)
        assert (response.status, response.headers["connection"]) == (431, "close")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /health?" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /score HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
        b"content-type: application/json\r\n\r\n2\r\n{}\r\n0\r\nx: " + b"a" * 70_000 + b"\r\n\r\n",
    ],
    ids=["header", "target", "trailer"],
)
def test_a_whole_head_beyond_the_limit_is_refused(server, request_bytes):
    with server.connect() as connection:
        connection.sendall(request_bytes)
        response = read_response(connection)
        assert (response.status, response.headers["connection"]) == (431, "close")


@pytest.mark.parametrize("trailer", [b"x: y\r\n" * 1000, b"x" * 8192])
@pytest.mark.parametrize("path", ["/score", "/health"])
def test_trailers_without_end_are_refused(server, path, trailer):
    with server.connect() as connection:
        connection.sendall(
            post(b"", "transfer-encoding: chunked", path=path, length=False) + b"1\r\n{\r\n0\r\n"
        )
        send_until_answered(connection, trailer)
        assert read_response(connection).status == 431


def test_trailers_and_small_chunks_are_taken(server, expected):
    chunks = b"".join(b"1;name=value\r\n%c\r\n" % byte for byte in BODY + b" " * 20_000)
    with server.connect() as connection:
        for _ in range(2):
            connection.sendall(post(b"", "transfer-encoding: chunked", length=False))
            connection.sendall(chunks + b"0\r\nchecksum: 1\r\n\r\n")
            assert json.loads(read_response(connection).body)["scores"] == expected


def test_a_body_that_nobody_asked_for_has_a_time_limit_too(impatient_server):
    with impatient_server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        assert read_response(connection).status == 408
        assert connection.recv(1) == b""


def test_large_pipelined_requests_are_all_answered(server, expected):
    request = post(BODY + b" " * 100_000)
    with server.connect() as connection:
        connection.sendall(request * 10)
        for _ in range(10):
            assert json.loads(read_response(connection).body)["scores"] == expected


def test_small_pipelined_requests_are_answered_in_order(server):
    with server.connect() as connection:
        paths = ["/health", "/models/web", "/nowhere", "/score"] * 50
        connection.sendall(
            b"".join(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode() for path in paths)
        )
        found = [read_response(connection).status for _ in paths]
    assert found == [200, 200, 404, 405] * 50


@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_that_offers_http2_keeps_its_body(server, expected, chunked):
    upgrade = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAEAAEAA")
    request = post(BODY, *upgrade)
    if chunked:
        request = post(b"", *upgrade, "transfer-encoding: chunked", length=False)
        request += b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    with server.connect() as connection:
        connection.sendall(
            request + b"GET /health HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\n\r\n" + post(BODY)
        )
        assert json.loads(read_response(connection).body)["scores"] == expected
        assert json.loads(read_response(connection).body) == {"status": "alive"}
        assert json.loads(read_response(connection).body)["scores"] == expected
        connection.sendall(request[:-5])
        connection.sendall(request[-5:])
        assert json.loads(read_response(connection).body)["scores"] == expected


def test_a_refused_large_body_gets_its_answer(server):
    """A client that sends everything before it reads must not find its connection reset."""
    body = b" " * (13 << 20)
    for request in (
        post(body),
        post(b"", "transfer-encoding: chunked", length=False)
        + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
    ):
        with server.connect() as connection:
            connection.sendall(request)
            response = read_response(connection)
            assert (response.status, response.headers["connection"]) == (413, "close")
            assert connection.recv(1) == b""


@pytest.mark.parametrize("path", ["/score", "/models/web/score"])
def test_a_body_compressed_for_transfer_is_refused(server, path):
    with server.connect() as connection:
        head = post(b"", "transfer-encoding: gzip, chunked", path=path, length=False)
        connection.sendall(head + b"2\r\n{}\r\n0\r\n\r\n")
        response = read_response(connection)
    assert response.status == 501
    assert json.loads(response.body)["error"]["field"] == "transfer-encoding"


def test_a_client_that_waits_for_100_continue_gets_it_or_the_refusal(server, expected):
    with server.connect() as connection:
        connection.sendall(post(BODY, "expect: 100-continue").removesuffix(BODY))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert json.loads(read_response(connection).body)["scores"] == expected
        connection.sendall(
            b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: text/csv\r\ncontent-length: 9\r\n"
            b"expect: 100-continue\r\n\r\n"
        )
        assert read_response(connection).status == 415


@pytest.mark.parametrize("bodies", [[BODY] * 5, [BODY, b"{bad", BODY]])
def test_all_pipelined_requests_are_answered_after_the_client_closed_its_side(server, bodies):
    with server.connect() as connection:
        connection.sendall(b"".join(map(post, bodies)))
        connection.shutdown(socket.SHUT_WR)
        found = [read_response(connection).status for _ in bodies]
        assert found == [200 if body == BODY else 400 for body in bodies]
        assert connection.recv(1) == b""


@pytest.mark.parametrize("before", [b"", post(BODY)])
@pytest.mark.parametrize("part", [post(BODY)[:-3], post(BODY)[:20], b"P"])
def test_half_a_request_is_refused_when_the_client_has_closed_its_side(server, before, part):
    with server.connect() as connection:
        connection.sendall(before + part)
        connection.shutdown(socket.SHUT_WR)
        if before:
            assert read_response(connection).status == 200
        assert read_response(connection).status == 400
        assert connection.recv(1) == b""


def test_many_pipelined_offers_of_another_protocol_are_answered(server):
    offer = b"GET /health HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(offer * 2000)
        assert {read_response(connection).status for _ in range(2000)} == {200}


def test_a_client_that_reads_no_response_cannot_send_without_end(impatient_server):
    server = impatient_server
    request = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n" * 1000
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(2 * SECONDS)
        sent, closed = 0, False
        while not closed:
            assert sent < 32 << 20, "everything is taken"
            assert server.client.get("/health").status_code == 200
            try:
                sent += connection.send(request)
            except ConnectionError:  # after --read-seconds
                closed = True


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_small_chunks_take_no_more_memory_than_the_body(start, model_files):
    server = start(model_files[0])

    def peak():
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) << 10

    before = peak()
    with server.connect() as connection:
        connection.sendall(post(b"", "transfer-encoding: chunked", length=False))
        for _ in range(20):
            connection.sendall(b"2\r\n  \r\n" * 100_000)
        connection.sendall(b"0\r\n\r\n")
        assert read_response(connection).status == 400
    assert peak() - before < 64 << 20  # objects for 2 million chunks would take 100 MB


def test_a_client_that_has_closed_its_side_is_answered(server, expected):
    with server.connect() as connection:
        connection.sendall(post(BODY))
        connection.shutdown(socket.SHUT_WR)
        assert json.loads(read_response(connection).body)["scores"] == expected
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "head",
    [
        "content-length: 5\r\ncontent-length: 6",
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 5",
        "transfer-encoding: chunked, identity",
        "transfer-encoding : chunked",
        "content-length: +5",
        "content-length: 5\r\n x: y",
        "content-length: -1",
        "content-length: 99999999999999999999999",
    ],
)
def test_ambiguous_framing_ends_the_connection(server, head):
    with server.connect() as connection:
        connection.sendall(
            f"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{head}\r\n\r\n"
            "0\r\n\r\nGET /health HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        )
        response = read_response(connection)
        assert response.status >= 400
        assert b"alive" not in connection.recv(1000)


@pytest.mark.parametrize(
    "hosts",
    ["", "host: x\r\nhost: x\r\n", "host: x\r\nHost: y\r\n", "host: x y\r\n", "host: u@x/\r\n"],
)
@pytest.mark.parametrize("path", ["/health", "/score"])
def test_none_two_or_odd_hosts_are_refused(server, path, hosts):
    """A proxy in front may choose another of them."""
    with server.connect() as connection:
        head = post(BODY, path=path).replace(b"host: x\r\n", hosts.encode())
        connection.sendall(head + b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        response = read_response(connection)
        assert (response.status, response.headers["connection"]) == (400, "close")
        assert json.loads(response.body)["error"]["field"] == "host"
        assert connection.recv(1) == b""


@pytest.mark.parametrize("version", ["0.9", "2.0"])
def test_other_versions_of_http_are_refused(server, version):
    with server.connect() as connection:
        connection.sendall(f"GET /health HTTP/{version}\r\nhost: x\r\n\r\n".encode())
        response = read_response(connection)
        assert response.status >= 400
        assert b"alive" not in response.body


@pytest.mark.parametrize("host", ["", "x:8000", "[::1]:8000", "xn--bcher-kva.example", "a_b"])
def test_usual_hosts_are_taken(server, host):
    with server.connect() as connection:
        connection.sendall(f"GET /health HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        assert read_response(connection).status == 200


@pytest.mark.parametrize(("path", "status"), [("/%73core", 200), ("/models/web%2Fscore", 404)])
def test_an_encoded_slash_separates_no_parts_of_a_path(server, path, status):
    with server.connect() as connection:
        connection.sendall(post(BODY, path=path))
        assert read_response(connection).status == status


@pytest.mark.parametrize("path", ["/%2Fscore", "/%2fscore", "%2fscore", "/models%2fweb/score"])
def test_paths_with_an_encoded_slash_do_not_exist(server, path):
    with server.connect() as connection:
        connection.sendall(post(BODY, path=path))
        assert read_response(connection).status in (400, 404)


@pytest.mark.parametrize("path", ["/models/web%2Fscore%00", "/%ff", "//score", "*", "/score/"])
def test_odd_paths_are_answered(server, path):
    with server.connect() as connection:
        connection.sendall(post(BODY, path=path))
        assert read_response(connection).status in (400, 404)


def test_http_1_0_and_head_requests(server):
    with server.connect() as connection:
        connection.sendall(b"HEAD /health HTTP/1.1\r\nhost: x\r\n\r\nGET /ready HTTP/1.0\r\n\r\n")
        answer = b""
        while part := connection.recv(4096):
            answer += part
    first, second, body = answer.split(b"\r\n\r\n")
    assert b"content-length: 18" in first
    assert b"connection: close" in second
    assert b"ready" in body


@pytest.mark.parametrize("by_descriptor", [False, True])
def test_small_responses_are_sent_at_once(model_files, by_descriptor):
    """A socket that is handed over by its descriptor lost TCP_NODELAY."""

    async def check():
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        if by_descriptor:
            listener = socket.socket(fileno=listener.detach())
        server = HttpServer(Service({"web": model_files[0]}, reload_seconds=0), listener)
        ready = asyncio.Event()
        running = asyncio.create_task(server.run(ready.set))
        await ready.wait()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        (connection,) = server.connections
        accepted = connection._transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        writer.close()
        server.stop(DRAIN)
        await running

    asyncio.run(asyncio.wait_for(check(), SECONDS))


@pytest.mark.parametrize("path", ["/score", "/health"])
def test_an_upgrade_with_a_body_that_nothing_frames_is_refused(server, path):
    with server.connect() as connection:
        connection.sendall(
            post(
                BODY,
                "connection: upgrade",
                "upgrade: h2c",
                "transfer-encoding: identity",
                path=path,
                length=False,
            )
        )
        assert read_response(connection).status == 400
    assert not any("Fatal error" in line for line in server.lines)


def test_a_pipelined_request_is_told_to_send_its_body_when_its_turn_comes(server):
    with server.connect() as connection:
        connection.sendall(post(BODY) + post(BODY, "expect: 100-continue").removesuffix(BODY))
        assert read_response(connection).status == 200
        told = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert connection.recv(len(told), socket.MSG_WAITALL) == told
        connection.sendall(BODY)
        assert read_response(connection).status == 200


def test_a_client_of_http_1_0_does_not_get_an_interim_response(server):
    request = post(BODY, "expect: 100-continue").replace(b"HTTP/1.1", b"HTTP/1.0")
    with server.connect() as connection:
        connection.sendall(request)
        assert read_response(connection).status == 200


class SilentConnection:
    """A connection that takes no bytes, or sends none."""

    def __init__(self, idle=True, busy=False):
        self.idle, self.busy, self.aborted = idle, busy, False

    def abort(self):
        self.aborted = True


def _with_an_event_loop(server_of, work):
    async def run():
        work(server_of())

    asyncio.run(run())


def test_the_oldest_responses_that_nobody_reads_are_dropped(model_files, monkeypatch):
    monkeypatch.setattr("rankgrove.serving.http_server.MAX_UNSENT", 1000)
    connections = [SilentConnection() for _ in range(4)]

    def work(server):
        for connection in connections[:3]:
            server.hold(connection, 400)
        assert [one.aborted for one in connections] == [True, False, False, False]
        server.hold(connections[1], 0)  # read
        server.hold(connections[3], 5000)  # alone beyond the limit: only older ones go
        assert [one.aborted for one in connections] == [True, False, True, False]

    with socket.socket() as listener:
        _with_an_event_loop(lambda: HttpServer(Service({"web": model_files[0]}), listener), work)


def test_a_full_server_closes_what_was_unused_for_longest(model_files):
    slow, busy = SilentConnection(idle=False), SilentConnection(idle=False, busy=True)
    idle = [SilentConnection() for _ in range(2)]

    def work(server):
        for connection in (busy, slow, *idle):
            server.connections[connection] = None
        server.note_use(idle[0])  # now idle[1] is the older one
        closed = []
        while server._make_room():
            closed += [one for one in (busy, slow, *idle) if one.aborted and one not in closed]
        assert closed == [idle[1], idle[0], slow]

    with socket.socket() as listener:
        _with_an_event_loop(lambda: HttpServer(Service({"web": model_files[0]}), listener), work)


def test_connections_without_requests_shut_nobody_out(start, model_files):
    """More than the server may open files, half of them silent, half kept alive."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, before[1]))
    try:
        server = start(model_files[0], "--read-seconds", SECONDS, "--drain-seconds", 0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    with ExitStack() as opened:
        connections = [opened.enter_context(server.connect()) for _ in range(250)]
        for connection in connections[::2]:
            with suppress(OSError):  # it was closed for a newer one
                connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        with server.connect() as connection:
            connection.sendall(post(BODY))
            assert read_response(connection).status == 200
    assert any("those unused for longest are closed" in line for line in server.lines)
