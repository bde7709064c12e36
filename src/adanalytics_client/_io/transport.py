"""Our own httpx clients, which respx, pytest-httpx, vcrpy and instrumentation can intercept.

Threads send through a subclass of `httpx.HTTPTransport` that overrides no method: those libraries
patch that class, or the pools of httpcore below it. This module imports httpcore, which httpx
imports only for its first client.
"""

import os
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from adanalytics_client.errors import ConfigurationError

from .http import ignore_cookies
from .library import httpx
from .proxies import Proxies
from .stop import RUNNING, SECONDS_TO_A_SIGNAL, SOCKETS

if TYPE_CHECKING:
    import httpcore
else:
    # The core of the library that sends by default.
    httpcore = import_module(httpx.__name__.replace("httpx", "httpcore"))

T = TypeVar("T", httpx.HTTPTransport, httpx.AsyncHTTPTransport)

# httpcore asks for 64 KiB: pages of 6 MB take a quarter less CPU in reads of 256 KiB. Short answers
# would take a twentieth more, because the C library gives back so much memory after each read; and
# TLS allocates all that it is asked for, but returns one record of 16 KiB at a time.
_READ_SIZE = 256 * 1024

# The caller's concurrency decides the number of connections. An idle one is dropped before the 5 s
# after which uvicorn and many load balancers close it.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=4.0)


def open_client(proxies: Proxies) -> httpx.Client:
    """Return an httpx client for threads."""
    http = httpx.Client(transport=_Routed(proxies, _Transport), trust_env=False)
    ignore_cookies(http)
    return http


def open_async_client(proxies: Proxies) -> httpx.AsyncClient:
    """As `open_client`, for tasks; their deadlines and stops are cancellations."""

    def make(proxy: httpx.Proxy | None, trust: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(verify=trust, limits=_LIMITS, proxy=proxy)

    http = httpx.AsyncClient(transport=_AsyncRouted(proxies, make), trust_env=False)
    ignore_cookies(http)
    return http


class _Routes(Generic[T]):
    """The transport of each proxy, for either scheme, made for the first request that needs it.

    The patterns of httpx's `mounts=` cannot express the ranges of addresses in `NO_PROXY`. And
    certificates that cannot be read are no problem until something is sent over TLS.
    """

    def __init__(
        self, proxies: Proxies, make: Callable[[httpx.Proxy | None, ssl.SSLContext], T]
    ) -> None:
        self._proxies = proxies
        self._make: Callable[[httpx.Proxy | None, ssl.SSLContext], T] = make
        self._making = Lock()
        self._transports: dict[tuple[str | None, str], T] = {}

    def _transport_for(self, request: httpx.Request) -> T:
        url, scheme = request.url, request.url.scheme
        key = self._proxies.variable_for(str(url)), scheme
        with self._making:
            if key not in self._transports:
                trust = (
                    _trust_of(os.getpid(), *map(os.environ.get, _TLS_VARIABLES))
                    if scheme == "https"
                    else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                )
                self._transports[key] = self._make(self._proxies.through(str(url)), trust)
            return self._transports[key]


class _Routed(_Routes[httpx.HTTPTransport], httpx.BaseTransport):
    """Sends each request directly, or through the proxy for its address."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._transport_for(request).handle_request(request)

    def close(self) -> None:
        for transport in self._transports.values():
            transport.close()


class _AsyncRouted(_Routes[httpx.AsyncHTTPTransport], httpx.AsyncBaseTransport):
    """As `_Routed`, for tasks."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._transport_for(request).handle_async_request(request)

    async def aclose(self) -> None:
        for transport in self._transports.values():
            await transport.aclose()


_TLS_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


@lru_cache(maxsize=2)
def _trust_of(
    _process: int, file: str | None, folder: str | None, _log: str | None
) -> ssl.SSLContext:
    """TLS settings with the certificates that httpx trusts: certifi's, or the environment's.

    Reading them takes longer than a hundred requests, so each process reads them once.
    """
    try:
        if folder and not file:
            # OpenSSL trusts nobody if the folder is missing.
            next(Path(folder).iterdir(), None)
        return httpx.create_ssl_context()
    except OSError as error:
        # httpx reads the folder only if no file is named.
        certificates = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
        names = [name for name in (certificates, "SSLKEYLOGFILE") if os.environ.get(name)]
        suspects = [f"{name}={os.environ[name]}" for name in names]
        raise ConfigurationError(
            f"TLS cannot be prepared: {error.strerror or error}.",
            remedy=f"Correct or remove {' or '.join(suspects)} in the environment."
            if suspects
            else "Install certifi again.",
        ) from None


class _Transport(httpx.HTTPTransport):
    """httpx's transport over a pool with a network backend, for which httpx has no argument."""

    def __init__(self, proxy: httpx.Proxy | None, trust: ssl.SSLContext) -> None:
        http_proxy = None
        if proxy is not None:
            http_proxy = httpcore.Proxy(
                str(proxy.url), auth=proxy.raw_auth, headers=proxy.headers.raw
            )
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust,
            proxy=http_proxy,
            max_connections=_LIMITS.max_connections,
            max_keepalive_connections=_LIMITS.max_keepalive_connections,
            keepalive_expiry=_LIMITS.keepalive_expiry,
            network_backend=_Backend(),
        )


class _Backend(httpcore.SyncBackend):
    """Connects as httpcore does."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    """A connection that respects the deadline of the current request and ends with its stop."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._socket = stream.get_extra_info("socket")
        SOCKETS.add(self._socket)
        self._read_size = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        running = RUNNING.get()
        until = None if timeout is None else monotonic() + timeout
        while True:
            remaining = running.within(None if until is None else until - monotonic())
            if remaining is not None and remaining <= 0:
                raise httpcore.ReadTimeout("the answer came too slowly")
            # Short steps, because a blocking read hides Ctrl-C and the end of the work.
            step = SECONDS_TO_A_SIGNAL if remaining is None else min(remaining, SECONDS_TO_A_SIGNAL)
            with suppress(httpcore.ReadTimeout), running.stop.ends(self._socket):
                piece = self._stream.read(max(max_bytes, self._read_size), step)
                # More is waiting.
                if len(piece) == max_bytes:
                    self._read_size = _READ_SIZE
                return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._read_size = 0
        # httpcore also writes the empty body of a request, and its end.
        if buffer:
            with RUNNING.get().stop.ends(self._socket):
                self._stream.write(buffer, timeout)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        # The handshake detaches the descriptor from this socket; a duplicate can still end it.
        duplicate = socket.fromfd(self._socket.fileno(), self._socket.family, self._socket.type)
        with duplicate, RUNNING.get().stop.ends(duplicate):
            return _Stream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
