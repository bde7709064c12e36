"""A connection of tasks: what it holds, and its end."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING

import httpx
from tests.client.wire import END, sized

from adanalytics_client._async_direct_connection import AsyncDirectConnection
from adanalytics_client._framing import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.wire import Wire

BODY = bytes(range(256)) * 40_000


class Watched(AsyncDirectConnection):
    """Tells when it reads no more for now, when its end came, and when it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.full, self.ended, self.gone = (asyncio.Event() for _ in range(3))

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        if not self._transport.is_reading():
            self.full.set()

    def eof_received(self) -> None:
        super().eof_received()
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.gone.set()


async def connected(port: int) -> Watched:
    opened = socket.create_connection(("127.0.0.1", port))
    _, connection = await asyncio.get_running_loop().create_connection(Watched, sock=opened)
    return connection


def test_what_nobody_asks_for_stays_in_the_kernel(wire: Callable[..., Wire]) -> None:
    server = wire([sized(BODY)])

    async def main() -> None:
        connection = await connected(server.port)
        _, body = await connection.ask(httpx.Request("GET", server.url), {})
        await connection.full.wait()
        assert AT_ONCE <= len(connection._ahead) <= AT_ONCE + 65_536
        assert b"".join([piece async for piece in body]) == BODY
        connection.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_what_has_ended_can_be_closed(wire: Callable[..., Wire]) -> None:
    server = wire([sized(b"abcde")])

    async def main() -> None:
        connection = await connected(server.port)
        _, body = await connection.ask(httpx.Request("GET", server.url), {})
        assert [piece async for piece in body] == [b"abcde"]
        await connection.gone.wait()
        assert connection.is_stale
        connection.close()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_what_ended_while_it_was_sending_can_be_closed() -> None:
    """The answer comes first, and its connection lasts until the request is read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answered = threading.Event()

        def refuse() -> None:
            opened, _ = listener.accept()
            with opened:
                opened.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0" + END)
                opened.shutdown(socket.SHUT_WR)
                answered.wait(10)
                while opened.recv(1_000_000):
                    pass

        async def main() -> None:
            connection = await connected(listener.getsockname()[1])
            request = httpx.Request("POST", "http://127.0.0.1/", content=b"x" * 20_000_000)
            asking = asyncio.create_task(connection.ask(request, {}))
            await connection.ended.wait()
            answered.set()
            head, _ = await asking
            assert head.status_code == 413
            await connection.gone.wait()
            connection.close()

        threading.Thread(target=refuse, daemon=True).start()
        asyncio.run(asyncio.wait_for(main(), 10))
