"""The end of a server: at once when it is idle, and not before what is under way is done."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Literal, NamedTuple

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from adanalytics_server.local import LocalServer
from adanalytics_server.serving.running import Server, listen

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
