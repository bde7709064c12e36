"""A transport of httpx for direct connections of tasks; see `_direct_transport`."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from time import monotonic

import httpx

from adanalytics_client._async_connecting import connected_by_task
from adanalytics_client._async_direct_connection import AsyncDirectBody, AsyncDirectConnection
from adanalytics_client._direct_connection import Waits
from adanalytics_client._idle_connections import IdleConnections, Origin, origin_of
from adanalytics_client._trust import trust
from adanalytics_client._wire import RECEIVE_INTO, answer_of


class AsyncDirectTransport(httpx.AsyncBaseTransport):
    """Connects, sends, and keeps what can be used again; on one event loop.

    Args:
        keepalive: seconds that a connection may wait for its next exchange.
        now: seconds that never go back.
    """

    def __init__(self, *, keepalive: float, now: Callable[[], float] = monotonic) -> None:
        self._idle = IdleConnections[AsyncDirectConnection](keepalive, now)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return trust()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and give the answer, whose body is still to be read.

        Raises:
            httpx.TransportError: when no answer arrives.
            ConfigurationError: when the certificates to trust cannot be read.
        """
        waits: Waits = request.extensions.get("timeout", {})
        origin = origin_of(request.url)
        connection = self._idle.take(origin) or await self._connect(origin, waits.get("connect"))
        try:
            head, body = await connection.ask(request, waits)
        except BaseException:
            connection.close()
            raise
        stream = _Stream(body, lambda: self._idle.settle(origin, connection))
        return answer_of(head, stream, {RECEIVE_INTO: body.receive_into} if body.sized else {})

    async def aclose(self) -> None:
        """Close the idle connections, and keep no more of them."""
        self._idle.close()
        # The event loop closes their sockets in its next turn.
        await asyncio.sleep(0)

    async def _connect(self, origin: Origin, wait: float | None) -> AsyncDirectConnection:
        scheme, host, port = origin
        # Before connecting: it may raise, and nothing may come between a socket and its transport.
        context = self._context if scheme == "https" else None
        try:
            async with asyncio.timeout(wait):
                _, connection = await asyncio.get_running_loop().create_connection(
                    AsyncDirectConnection,
                    sock=await connected_by_task(host, port),
                    ssl=context,
                    server_hostname=host if context else None,
                    ssl_handshake_timeout=wait if context else None,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
        return connection


class _Stream(httpx.AsyncByteStream):
    """A body as it arrives; closing it gives its connection back."""

    def __init__(self, body: AsyncDirectBody, settle: Callable[[], None]) -> None:
        self._body = body
        self._settle = settle
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._settle()
