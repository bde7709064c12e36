"""Below HTTP: heads that are too long or none, bodies that break off, idle clients."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import httpx
import pytest

from adanalytics_server.api import requests
from adanalytics_server.local import LocalServer

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
