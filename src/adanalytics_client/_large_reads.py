"""A transport of httpx that takes as much from the socket at a time as has arrived.

httpcore asks for 64 KiB at a time, and what it does with each piece costs four times as much as the
kernel's part in it. A page has some hundred pieces of that size.
"""

import socket
import ssl
from collections.abc import Callable, Iterable

import httpcore
import httpx

AT_ONCE = 256 * 1024
"""The most bytes that one read takes from a socket; a connection holds no more of a body."""

Opened = Callable[[socket.socket], None]
SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


class LargeReads(httpx.HTTPTransport):
    """httpx's own transport for direct connections, but for larger reads.

    Args:
        limits: how many connections there may be.
        opened: told of each socket; asking httpcore's `trace` for them costs ten calls a request.
    """

    def __init__(self, limits: httpx.Limits, opened: Opened) -> None:
        context = httpx.create_ssl_context()
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(opened),
        )


class _Backend(httpcore.SyncBackend):
    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.NetworkStream:
        found = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(found, self._opened)


class _Stream(httpcore.NetworkStream):
    """A connection whose reads are as large as we like."""

    def __init__(self, inner: httpcore.NetworkStream, opened: Opened) -> None:
        self._inner = inner
        self._opened = opened
        opened(inner.get_extra_info("socket"))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max(max_bytes, AT_ONCE), timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(secured, self._opened)
