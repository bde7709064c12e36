"""A transport of httpx for direct connections of threads: few calls a request, and large reads.

With httpcore in between a request costs half as much again, and a page twice as much. What
it does for proxies, HTTP/2 and local addresses is not needed here.
"""

import socket
import ssl
from collections.abc import Callable, Iterator
from functools import cached_property
from time import monotonic

import httpx

from adanalytics_client._connecting import addresses_of, connected, remaining
from adanalytics_client._direct_connection import DirectBody, DirectConnection, Waits
from adanalytics_client._idle_connections import IdleConnections, Origin, origin_of
from adanalytics_client._stop import STOP, Stop
from adanalytics_client._trust import trust
from adanalytics_client._wire import RECEIVE_INTO, answer_of


class DirectTransport(httpx.BaseTransport):
    """Connects, sends, and keeps what can be used again.

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
        self._idle = IdleConnections[DirectConnection](keepalive, now)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return trust()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and give the answer, whose body is still to be read.

        Raises:
            httpx.TransportError: when no answer arrives.
            ConfigurationError: when the certificates to trust cannot be read.
        """
        begun = monotonic()
        waits: Waits = request.extensions.get("timeout", {})
        origin = origin_of(request.url)
        connection = self._idle.take(origin) or self._connect(origin, waits.get("connect"))
        stop: Stop = request.extensions.get(STOP) or Stop()
        try:
            stop.hold(connection.socket)
            head, body = connection.ask(request, waits, begun)
        except BaseException:
            stop.release(connection.socket)
            connection.close()
            raise

        def settle() -> None:
            stop.release(connection.socket)
            self._idle.settle(origin, connection)

        stream = _Stream(body, settle)
        return answer_of(head, stream, {RECEIVE_INTO: body.receive_into} if body.sized else {})

    def close(self) -> None:
        """Close the idle connections, and keep no more of them."""
        self._idle.close()

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
                        opened,
                        server_hostname=host,
                        do_handshake_on_connect=False,
                        suppress_ragged_eofs=False,
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


class _Stream(httpx.SyncByteStream):
    """A body as it arrives; closing it gives its connection back."""

    def __init__(self, body: DirectBody, settle: Callable[[], None]) -> None:
        self._body = body
        self._settle = settle
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self._body

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._settle()
