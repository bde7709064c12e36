"""Our own connections: what is kept and used again, and what breaks."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.client.wire import CHUNKED, END, OK, Wire, sized

from adanalytics_client._direct_transport import DirectTransport

if TYPE_CHECKING:
    from tests.client.conftest import Seconds
    from tests.client.two_transports import Http


@pytest.mark.parametrize(
    "first",
    [
        sized(b"abcde"),
        CHUNKED,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>" + END + sized(b"abcde"),
        OK + b"Content-Length: 5\r\nContent-Length: 5" + END + b"abcde",
    ],
)
def test_a_connection_is_used_again(first: bytes, http: Http, wire: Callable[..., Wire]) -> None:
    server = wire([first, sized(b"again"), b"HTTP/1.1 204 No Content" + END, sized(b"")])
    assert [http.get(server.url).content for _ in range(4)] == [b"abcde", b"again", b"", b""]
    assert [len(each) for each in server.heads] == [4]


@pytest.mark.parametrize(
    "first",
    [
        sized(b"abcde", b"Connection: close"),
        sized(b"abcde").replace(b"1.1", b"1.0"),
        sized(b"abcde") + b"more than was asked for",
        OK + b"X: y" + END + b"abcde",
        CHUNKED.replace(b"chunked", b"chunked\r\nConnection: Close"),
    ],
)
def test_a_connection_that_is_over_is_not(
    first: bytes, http: Http, wire: Callable[..., Wire]
) -> None:
    server = wire([first], [sized(b"again")])
    assert [http.get(server.url).content for _ in range(2)] == [b"abcde", b"again"]
    assert [len(each) for each in server.heads] == [1, 1]


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (sized(b"abcde") + b"more", b"abcde"),
        (sized(b"x" * 20_000) + b"more", b"x" * 20_000),
        (CHUNKED + OK + b"Content-Le", b"abcde"),
        (b"HTTP/1.1 204 No Content" + END + b"more", b""),
    ],
    ids=["short", "long", "chunked", "none"],
)
@pytest.mark.parametrize("secured", [False, True])
def test_what_comes_behind_a_body_answers_nothing(
    first: bytes,
    body: bytes,
    *,
    secured: bool,
    http: Http,
    wire: Callable[..., Wire],
    trusted: ssl.SSLContext,
) -> None:
    """The server does not close: only what it sent too much tells."""
    server = wire([first, sized(b"never")], [sized(b"again")], context=trusted if secured else None)
    assert [http.get(server.url).content for _ in range(2)] == [body, b"again"]


def test_a_connection_that_was_closed_meanwhile_costs_nothing(
    http: Http, wire: Callable[..., Wire]
) -> None:
    server = wire([sized(b"one")], [sized(b"two")])
    assert http.get(server.url).content == b"one"
    assert server.closed.wait(10)
    assert http.get(server.url).content == b"two"


def test_a_connection_that_ends_unseen_is_not_used_again(http: Http) -> None:
    """An event loop that stands still has not been told."""
    go, gone = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for body in (b"one", b"two"):
                opened, _ = listener.accept()
                with opened:
                    opened.recv(65_536)
                    opened.sendall(sized(body))
                    go.wait(10)
                gone.set()

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert http.get(url).content == b"one"
        go.set()
        assert gone.wait(10)
        assert http.get(url).content == b"two"


@pytest.mark.parametrize(
    ("sent", "answer"), [(20_000_000, b""), (0, sized(b"x" * 300_000)[:-1])], ids=["asking", "told"]
)
def test_a_reset_ends_what_is_under_way(sent: int, answer: bytes, http: Http) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            opened, _ = listener.accept()
            with opened:
                opened.recv(65_536)
                opened.sendall(answer)
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        threading.Thread(target=reset, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        # What was being sent may have taken the reset already, and then there is an end.
        ends = httpx.ReadError if answer else (httpx.ReadError, httpx.RemoteProtocolError)
        with pytest.raises(ends):
            http.post(url, content=b"x" * sent)


def test_a_connection_that_waited_long_is_given_up(
    http: Http, seconds: Seconds, wire: Callable[..., Wire]
) -> None:
    server = wire([sized(b"one"), sized(b"two"), sized(b"never")], [sized(b"three")])
    assert http.get(server.url).content == b"one"
    seconds.now += 3.9
    assert http.get(server.url).content == b"two"
    seconds.now += 4.0
    assert http.get(server.url).content == b"three"


def test_connections_that_nobody_takes_are_closed(
    seconds: Seconds, wire: Callable[..., Wire]
) -> None:
    """Those of a busy minute, and those to a server that is asked once."""
    opened: list[socket.socket] = []
    transport = DirectTransport(opened.append, keepalive=4.0, now=seconds)
    one, other = (wire(*[[sized(b"1"), sized(b"2"), sized(b"3")]] * 2) for _ in range(2))
    with httpx.Client(transport=transport, timeout=10) as http:
        with http.stream("GET", one.url) as first, http.stream("GET", one.url) as second:
            second.read()
            first.read()
        http.get(other.url)
        seconds.now += 2.5
        assert http.get(one.url).content == b"2"
        seconds.now += 2.5
        assert http.get(one.url).content == b"3"
        assert [each.fileno() >= 0 for each in opened] == [True, False, False]
    assert [each.fileno() for each in opened] == [-1, -1, -1]


def test_a_body_that_ends_after_the_transport_was_closed(wire: Callable[..., Wire]) -> None:
    opened: list[socket.socket] = []
    transport = DirectTransport(opened.append, keepalive=4.0)
    with httpx.Client(transport=transport, timeout=10) as http:
        request = httpx.Request("GET", wire([sized(b"abcde"), sized(b"never")]).url)
        answer = http.send(request, stream=True)
        transport.close()
        assert answer.read() == b"abcde"
        assert opened[0].fileno() == -1


def test_a_body_left_unread_ends_its_connection(http: Http, wire: Callable[..., Wire]) -> None:
    server = wire([sized(b"x" * 1_000_000)], [sized(b"two")])
    with http.stream("GET", server.url) as answer:
        assert next(answer.iter_raw()).startswith(b"x")
    assert http.get(server.url).content == b"two"


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"HTTP/1.1 200",
        b"SSH-2.0-OpenSSH" + END,
        OK + b"X: " + b"y" * 200_000 + END,
        OK + b"Content-Length: 5\r\nContent-Length: 6" + END + b"abcde",
        OK + b"Content-Length: -5" + END + b"abcde",
        OK + b"Content-Length: " + b"5" * 5000 + END + b"abcde",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade" + END,
        sized(b"abcde")[:-1],
        OK + b"Content-Length: 5" + END,
        CHUNKED[:-2],
        CHUNKED[:-9],
        CHUNKED.replace(b"3\r\n", b"x\r\n"),
    ],
)
def test_what_is_broken_is_an_error(broken: bytes, http: Http, wire: Callable[..., Wire]) -> None:
    server = wire([broken], [sized(b"again")])
    with pytest.raises(httpx.TransportError):
        http.get(server.url)
    assert http.get(server.url).content == b"again"


def test_a_request_goes_out_as_it_is(http: Http, wire: Callable[..., Wire]) -> None:
    body = bytes(range(256)) * 10_000
    server = wire([sized(b""), sized(b"")])
    http.post(server.url + "a%2Fb?x=1", content=body, headers={"X-Name": "value"})
    http.get(server.url, extensions={"target": b"/../as/signed?a=%7E"})
    head, other = server.heads[0]
    assert head.startswith(b"POST /a%2Fb?x=1 HTTP/1.1\r\n")
    assert b"\r\nX-Name: value\r\n" in head
    assert other.startswith(b"GET /../as/signed?a=%7E HTTP/1.1\r\n")
    assert server.bodies == [body, b""]


def test_an_answer_before_the_request_was_read_is_taken(http: Http) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            opened, _ = listener.accept()
            with opened:
                opened.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0" + END)
                # Closing with unread bytes would reset the connection under the answer.
                opened.shutdown(socket.SHUT_WR)
                while opened.recv(1_000_000):
                    pass

        threading.Thread(target=refuse, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert http.post(url, content=b"x" * 5_000_000).status_code == 413


def test_nobody_there_and_no_such_scheme(http: Http) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpx.ConnectError):
        http.get(f"http://127.0.0.1:{port}/")
    with pytest.raises(httpx.ConnectError):
        http.get(f"http://{'x' * 64}.example/")
    with pytest.raises(httpx.UnsupportedProtocol):
        http.get("ftp://127.0.0.1/")


def test_silence_ends_in_time(http: Http) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with pytest.raises(httpx.ReadTimeout):
            http.get(url, timeout=httpx.Timeout(10, read=0.01))
        with pytest.raises(httpx.WriteTimeout):
            http.post(url, content=b"x" * 20_000_000, timeout=httpx.Timeout(10, write=0.01))
        with pytest.raises(httpx.ConnectTimeout):
            http.get(url.replace("http:", "https:"), timeout=httpx.Timeout(10, connect=0.01))


def test_ipv6(http: Http, wire: Callable[..., Wire]) -> None:
    try:
        server = wire([sized(b"six")], host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert http.get(f"http://[::1]:{server.port}/").content == b"six"
