"""Our own connections, secured."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.client.two_transports import Http
from tests.client.wire import CHUNKED, END, OK, Wire, served_with, sized

from adanalytics_client import AsyncClient, Client, ConfigurationError
from adanalytics_client._direct_transport import DirectTransport
from adanalytics_client._sockets import Sockets


def test_a_handshake_without_an_answer_ends_with_the_sockets() -> None:
    sockets = Sockets()
    transport = DirectTransport(sockets.add, keepalive=4.0)
    caught: list[httpx.ConnectError] = []

    def ask(url: str) -> None:
        with httpx.Client(transport=transport, timeout=60) as http:
            try:
                http.get(url)
            except httpx.ConnectError as error:
                caught.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        thread = threading.Thread(target=ask, args=(url,), daemon=True)
        thread.start()
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(1)
            sockets.shut()
            thread.join(10)
            assert not thread.is_alive()
    assert len(caught) == 1


def test_secured_connections(
    http: Http, wire: Callable[..., Wire], trusted: ssl.SSLContext
) -> None:
    body = b"x" * 1_000_000
    server = wire([sized(body), CHUNKED], [sized(b"again")], context=trusted)
    assert http.get(server.url).content == body
    assert http.get(server.url).content == b"abcde"
    assert server.closed.wait(10)
    assert http.get(server.url).content == b"again"


def test_an_end_that_is_told_inside_the_connection_ends_its_use(
    http: Http, trusted: ssl.SSLContext
) -> None:
    """TLS has an end of its own, behind which the socket below may stay open."""

    def answer(opened: socket.socket) -> None:
        with suppress(OSError), trusted.wrap_socket(opened, server_side=True) as connection:
            connection.recv(65_536)
            connection.sendall(OK + b"X: y" + END + b"abcde")
            connection.unwrap()

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                opened, _ = listener.accept()
                threading.Thread(target=answer, args=(opened,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        assert [http.get(url).content for _ in range(2)] == [b"abcde", b"abcde"]


@pytest.mark.parametrize(
    ("length", "end"),
    [
        ("", "told"),
        ("", "closed"),
        ("", "reset"),
        ("Content-Length: 5", "closed"),
        ("Transfer-Encoding: chunked", "closed"),
    ],
)
def test_a_body_that_only_the_connection_ends_needs_the_end_of_tls(
    http: Http, trusted: ssl.SSLContext, end: str, length: str
) -> None:
    """Else it may have been cut. One that tells its length or its last chunk is whole anyway."""
    gone = threading.Event()

    def answer(opened: socket.socket) -> None:
        connection = trusted.wrap_socket(opened, server_side=True)
        connection.recv(65_536)
        body = b"5\r\nabcde\r\n0\r\n\r\n" if "chunked" in length else b"abcde"
        connection.sendall(OK + length.encode() + (b"" if length else b"X: y") + END + body)
        if end == "told":
            with suppress(OSError):
                connection.unwrap()
        with socket.socket(fileno=connection.detach()) as plain:
            if end == "reset":
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: answer(listener.accept()[0]), daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        if length or end == "told":
            assert http.get(url).content == b"abcde"
        else:
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                http.get(url)
        assert gone.wait(10)


def test_a_certificate_that_nobody_vouches_for(
    http: Http, wire: Callable[..., Wire], certificate: Path
) -> None:
    server = wire([sized(b"secret")], context=served_with(certificate))
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        http.get(server.url)


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
def test_certificates_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """Whoever set the variable is told of it, and nothing is tried again."""
    empty = tmp_path / "empty.pem"
    empty.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"

        def ask() -> None:
            with Client(url, api_key="k", partner="acme") as client:
                client.dates()

        async def ask_as_task() -> None:
            async with AsyncClient(url, api_key="k", partner="acme") as client:
                await client.dates()

        for run in (ask, lambda: asyncio.run(ask_as_task())):
            with pytest.raises(ConfigurationError, match="SSL_CERT_FILE or SSL_CERT_DIR"):
                run()
