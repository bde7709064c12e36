"""A transport of httpx for tasks that takes as much at a time as has arrived.

asyncio takes up to 256 KiB from a socket at a time, whoever asks; httpcore's reads of 64 KiB cut
that into pieces, each with a copy of the rest, a deadline of its own and a turn of the event loop.
"""

import ssl
from collections.abc import Iterable

import httpcore
import httpx

from adanalytics_client._direct_connection import AT_ONCE
from adanalytics_client._direct_transport import trust

SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


class AsyncLargeReads(httpx.AsyncHTTPTransport):
    """httpx's own transport for direct connections on asyncio, but for larger reads.

    Args:
        limits: how many connections there may be.
    """

    def __init__(self, limits: httpx.Limits) -> None:
        context = trust()
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(),
        )


class _Backend(httpcore.AnyIOBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(
            await super().connect_tcp(host, port, timeout, local_address, socket_options)
        )


class _Stream(httpcore.AsyncNetworkStream):
    """A connection whose reads are as large as we like."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
    ) -> bytes:
        return await self._inner.read(max(max_bytes, AT_ONCE), timeout)

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
    ) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))
