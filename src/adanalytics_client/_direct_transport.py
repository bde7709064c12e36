"""A transport of httpx for direct connections: a few calls a request, and large reads.

With httpcore in between a request costs half as much again, and a page twice as much. What
it does for proxies, HTTP/2 and local addresses is not needed here.
"""

import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from time import monotonic

import httpx

from adanalytics_client._connecting import addresses_of, connected, remaining
from adanalytics_client._direct_connection import DirectConnection, SizedBody, Waits
from adanalytics_client._wire import RECEIVE_INTO
from adanalytics_client.errors import ConfigurationError

_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


def trust() -> ssl.SSLContext:
    """Settings of TLS with the certificates that httpx trusts: its own, or the environment's.

    Raises:
        ConfigurationError: when these cannot be read.
    """
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise ConfigurationError(
            f"The certificates to trust cannot be read: {error}. "
            "Correct the environment variable SSL_CERT_FILE or SSL_CERT_DIR."
        ) from None


class DirectTransport(httpx.BaseTransport):
    """Connects, sends, and keeps what can be used again.

    There are as many connections as there were requests in flight at the same time. One that has
    waited too long is closed at the end of the next exchange, whatever origin that is with.

    Args:
        opened: told of each socket.
        keepalive: seconds that a connection may wait for its next exchange.
        now: seconds that never go back.
    """

    def __init__(
        self,
        opened: Callable[[socket.socket], None],
        *,
        keepalive: float,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._opened = opened
        self._keepalive = keepalive
        self._now = now
        self._lock = threading.Lock()
        self._idle: dict[Origin, deque[tuple[float, DirectConnection]]] = {}
        self._over = False

    @cached_property
    def _context(self) -> ssl.SSLContext:
        # Reading the certificates takes longer than a hundred requests.
        context = trust()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and give the answer, whose body is still to be read.

        Raises:
            httpx.TransportError: when no answer arrives.
            ConfigurationError: when the certificates to trust cannot be read.
        """
        begun = monotonic()
        waits: Waits = request.extensions.get("timeout", {})
        origin = _origin(request.url)
        connection = self._take(origin) or self._connect(origin, waits.get("connect"))
        try:
            head, body = connection.ask(request, waits, begun)
        except BaseException:
            connection.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(body, lambda: self._settle(origin, connection)),
            extensions={
                "http_version": b"HTTP/" + head.http_version,
                "reason_phrase": head.reason,
                **({RECEIVE_INTO: body.receive_into} if isinstance(body, SizedBody) else {}),
            },
        )

    def close(self) -> None:
        """Close the idle connections, and keep no more of them."""
        with self._lock:
            self._over = True
            idle = [each for found in self._idle.values() for _, each in found]
            self._idle.clear()
        for each in idle:
            each.close()

    def _take(self, origin: Origin) -> DirectConnection | None:
        """The connection that was used last, if it is still good; those before it are older."""
        while True:
            with self._lock:
                found = self._idle.get(origin)
                since, connection = found.pop() if found else (0.0, None)
            if connection is None:
                return None
            if self._now() - since < self._keepalive and not connection.is_stale:
                return connection
            connection.close()

    def _settle(self, origin: Origin, connection: DirectConnection) -> None:
        with self._lock:
            closing = self._expired()
            if connection.reusable and not self._over:
                self._idle.setdefault(origin, deque()).append((self._now(), connection))
            else:
                closing.append(connection)
        for each in closing:
            each.close()

    def _expired(self) -> list[DirectConnection]:
        """Take out what waited too long; nobody may ask for those below the last one again."""
        latest = self._now() - self._keepalive
        found: list[DirectConnection] = []
        for origin, waiting in list(self._idle.items()):
            while waiting and waiting[0][0] <= latest:
                found.append(waiting.popleft()[1])
            if not waiting:
                del self._idle[origin]
        return found

    def _connect(self, origin: Origin, wait: float | None) -> DirectConnection:
        scheme, host, port = origin
        try:
            addresses = addresses_of(host, port)
            until = None if wait is None else monotonic() + wait
            opened = connected(addresses, until)
            try:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._opened(opened)
                if scheme == "https":
                    opened = secured = self._context.wrap_socket(
                        opened, server_hostname=host, do_handshake_on_connect=False
                    )
                    # Before the handshake, which may have to be ended, too.
                    self._opened(secured)
                    secured.settimeout(remaining(until))
                    secured.do_handshake()
            except BaseException:
                opened.close()
                raise
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
        return DirectConnection(opened)


class _Body(httpx.SyncByteStream):
    """A body as it arrives; closing it gives its connection back."""

    def __init__(self, pieces: Iterator[bytes], settle: Callable[[], None]) -> None:
        self._pieces = pieces
        self._settle = settle
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._settle()


def _origin(url: httpx.URL) -> Origin:
    if url.scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"{url.scheme or 'no'} scheme: use http or https.")
    return url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
