"""Below HTTP: heads and bodies that are wrong or idle, and the end of a server under them."""

import asyncio
import json
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from adanalytics_server.api import requests
from adanalytics_server.local import LocalServer
from adanalytics_server.serving.running import Server, listen

API = "/api/partners/acme/ad-analytics"
PATIENCE = 30.0
IDLE = 200
ORDER = b'{"start_date":"2026-01-01","end_date":"2026-01-02","format":"csv"}'
Connect = Callable[[], socket.socket]


@pytest.fixture
def connect(server: LocalServer) -> Iterator[Connect]:
    """Open a connection to the server; all are closed in the end."""
    address = urlsplit(server.url)
    with ExitStack() as stack:

        def open_one() -> socket.socket:
            place = (address.hostname, address.port)
            return stack.enter_context(closing(socket.create_connection(place, PATIENCE)))

        yield open_one


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read until the server closes, and split what came into status, headers and body."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: minus\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_the_shape_of_all_errors(connect: Connect, sent: bytes) -> None:
    connection = connect()
    connection.sendall(sent)
    status, headers, body = read_answer(connection)
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert len(headers["x-request-id"]) == 32
    assert json.loads(body) == {"error": "Invalid HTTP request received."}


@pytest.mark.parametrize(
    ("version", "hosts", "expected"),
    [(b"1.1", 0, 400), (b"1.1", 1, 200), (b"1.1", 2, 400), (b"1.0", 0, 200)],
)
def test_a_request_has_one_host(
    connect: Connect, version: bytes, hosts: int, expected: int
) -> None:
    connection = connect()
    lines = [b"GET /livez HTTP/" + version, *[b"Host: localhost"] * hosts, b"Connection: close"]
    connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
    status, headers, body = read_answer(connection)
    assert status == expected
    assert len(headers["x-request-id"]) == 32
    if status == 400:
        assert json.loads(body) == {"error": "A request needs exactly one Host header"}


@pytest.mark.parametrize("more", [b"a" * 65_536, b"X-Many: %s\r\n" % (b"b" * 1000) * 65])
def test_a_head_without_an_end_is_refused(connect: Connect, more: bytes) -> None:
    connection = connect()
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: a\r\nX-Endless: a")
    refused = False
    for _ in range(200):
        try:
            connection.sendall(more)
        except ConnectionError:
            refused = True
            break
    assert refused, "12 MiB of a head were taken"
    head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert b"connection: close" in head
    assert b"x-request-id: " in head
    assert json.loads(body) == {"error": "Request Header Fields Too Large"}


def test_a_request_line_of_60_kib_is_read(http: httpx.Client) -> None:
    answer = http.get(f"{API}/events", params={"page": "9" * 60_000})
    assert answer.status_code == 400
    assert "page must be a whole number" in answer.json()["error"]
    assert http.get("/" + "a" * 60_000).json() == {"error": "Not Found"}


def post(server: LocalServer, *headers: bytes) -> bytes:
    """Write the head of an order for an export, as far as the empty line."""
    return b"\r\n".join(
        [
            b"POST %b/bulk-export HTTP/1.1" % API.encode(),
            b"Host: localhost",
            b"Authorization: Bearer " + server.api_key.encode(),
            b"Content-Type: application/json",
            *headers,
            b"\r\n",
        ]
    )


def test_a_body_that_breaks_off_harms_nobody(
    server: LocalServer, http: httpx.Client, connect: Connect
) -> None:
    connection = connect()
    connection.sendall(post(server, b"Content-Length: 100") + ORDER[:20])
    connection.close()
    assert http.get(f"{API}/dates").status_code == 200


def test_a_body_may_come_byte_by_byte(server: LocalServer, connect: Connect) -> None:
    connection = connect()
    head = post(server, b"Content-Length: %d" % len(ORDER), b"Connection: close")
    for byte in head + ORDER:
        connection.sendall(bytes([byte]))
    status, _, body = read_answer(connection)
    assert (status, json.loads(body)["status"]) == (200, "completed")


@pytest.mark.parametrize("mebibytes", [2, 16])
def test_who_sends_too_much_reads_the_413(
    server: LocalServer, connect: Connect, mebibytes: int
) -> None:
    size = mebibytes << 20
    for _ in range(5):
        connection = connect()
        head = post(server, b"Content-Length: %d" % size, b"Connection: close")
        connection.sendall(head + b" " * size)
        status, _, body = read_answer(connection)
        assert (status, json.loads(body)) == (413, {"error": "Content Too Large"})


def test_who_asks_first_is_told_before_sending_too_much(
    server: LocalServer, connect: Connect
) -> None:
    connection = connect()
    connection.sendall(post(server, b"Content-Length: 2097152", b"Expect: 100-continue"))
    assert read_answer(connection)[0] == 413


def test_a_body_without_end_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, server: LocalServer, connect: Connect
) -> None:
    monkeypatch.setattr(requests, "MOST_DISCARDED_BYTES", 1 << 21)
    connection = connect()
    chunks = (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 1_000
    with pytest.raises(ConnectionError):
        connection.sendall(post(server, b"Transfer-Encoding: chunked") + chunks)


def test_a_key_of_a_body_that_is_there_twice_is_refused(http: httpx.Client) -> None:
    twice = ORDER.replace(b"}", b',"format":"jsonl"}')
    answer = http.post(
        f"{API}/bulk-export", content=twice, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json() == {"error": "format must not be repeated"}


def test_idle_and_half_said_requests_do_not_keep_others_waiting(
    server: LocalServer, http: httpx.Client, connect: Connect
) -> None:
    idle = [connect() for _ in range(IDLE)]
    for number, connection in enumerate(idle):
        if number % 3 == 1:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: loc")
        if number % 3 == 2:
            connection.sendall(post(server, b"Content-Length: 100") + b"{")
    for _ in range(5):
        assert http.get(f"{API}/dates").status_code == 200
    idle[1].sendall(b"alhost\r\nConnection: close\r\n\r\n")
    assert read_answer(idle[1])[0] == 200


TIMEOUT = 20
ASKING = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNK = b"x" * 2**20


class Held:
    """An application whose answer begins at once and ends when it is let go."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self.steps.append("closed")
            await send({"type": "lifespan.shutdown.complete"})
            return
        self._loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        try:
            await self._free.wait()
        except asyncio.CancelledError:
            self.steps.append("given up")
            raise
        # More than a socket takes without a reader.
        for _ in range(8):
            await send({"type": "http.response.body", "body": CHUNK, "more_body": True})
        await send({"type": "http.response.body"})
        self.steps.append("answered")

    def let_go(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._free.set)


class Running(NamedTuple):
    app: Held
    server: Server
    thread: threading.Thread
    connect: Callable[[], socket.socket]

    def wait(self) -> None:
        """Wait for its end."""
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()


@contextmanager
def running_server(loop: Literal["auto", "asyncio"] = "auto") -> Iterator[Running]:
    ready = threading.Event()
    with closing(listen("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        app = Held()
        server = Server(app, ready=ready.set)
        server.config.loop = loop
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert ready.wait(TIMEOUT)
        try:
            yield Running(app, server, thread, lambda: socket.create_connection(address, TIMEOUT))
        finally:
            server.force_exit = True
            server.stop()
            thread.join(TIMEOUT)


@pytest.fixture(params=["auto", "asyncio"])
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """A server on the fast loop where there is one, and on the loop that is everywhere."""
    with running_server(request.param) as one:
        yield one


def read_until(connection: socket.socket, end: bytes) -> bytes:
    read = b""
    while end not in read:
        more = connection.recv(2**16)
        assert more, read
        read += more
    return read


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(2**16), b""))


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if each.name == "adanalytics_server.stopping"
    ]


def test_a_server_that_has_ended_may_be_stopped_again(running: Running) -> None:
    running.server.stop()
    running.wait()
    running.server.stop()
    assert running.app.steps == ["closed"]


def test_an_answer_under_way_is_given_to_its_end(running: Running) -> None:
    with closing(running.connect()) as idle, closing(running.connect()) as busy:
        busy.sendall(ASKING)
        read_until(busy, b"begun")
        running.server.stop()
        # That the idle one is closed tells that the stop has begun.
        assert idle.recv(1) == b""
        running.app.let_go()
        assert read_all(busy).endswith(b"\r\n0\r\n\r\n")
    running.wait()
    assert running.app.steps == ["answered", "closed"]


def test_a_connection_kept_for_a_next_request_is_closed(running: Running) -> None:
    with closing(running.connect()) as kept:
        kept.sendall(ASKING)
        read_until(kept, b"begun")
        running.app.let_go()
        read_until(kept, b"\r\n0\r\n\r\n")
        running.server.stop()
        assert kept.recv(1) == b""
        running.wait()


def test_a_second_ctrl_c_does_not_wait(running: Running) -> None:
    running.server.config.timeout_graceful_shutdown = 10 * TIMEOUT
    with closing(running.connect()) as idle, closing(running.connect()) as busy:
        busy.sendall(ASKING)
        read_until(busy, b"begun")
        for _ in range(2):
            running.server.handle_exit(signal.SIGINT, None)
            assert idle.recv(1) == b""
        running.wait()
    assert running.app.steps == ["given up", "closed"]


def test_a_request_without_an_end_is_given_up(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.server.config.timeout_graceful_shutdown = 0
    with closing(running.connect()) as busy:
        busy.sendall(ASKING)
        read_until(busy, b"begun")
        running.server.stop()
        assert not read_all(busy).endswith(b"0\r\n\r\n")
        running.wait()
    assert running.app.steps == ["given up", "closed"]
    assert "Cancel 1 running task(s), timeout graceful shutdown exceeded" in caplog.messages


def test_a_client_that_does_not_read_is_given_up(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """As warnings are errors here, uvloop would never end if it had to warn of the connection."""
    running.server.config.timeout_graceful_shutdown = 0
    with closing(running.connect()) as slow:
        slow.sendall(ASKING)
        read_until(slow, b"begun")
        running.app.let_go()
        running.server.stop()
        running.wait()
        assert not read_all(slow).endswith(b"0\r\n\r\n")
    assert said(caplog)[1:] == [
        "A client had not read all of its response: its connection is closed"
    ]


@pytest.mark.parametrize("fault", ["reset", "empty reply", "truncated body"])
def test_a_connection_that_a_fault_ended_is_not_waited_for(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "adanalytics_server.stopping")
    with LocalServer(faults=[fault]) as server:
        dates = f"{server.url}/api/partners/acme/ad-analytics/dates"
        with pytest.raises(httpx.TransportError):
            httpx.get(dates, headers={"Authorization": f"Bearer {server.api_key}"})
    assert said(caplog) == ["Stopping: requests in progress have 8 s to finish"]
