"""Connections that wait for their next exchange, of threads or of tasks."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import httpx

_PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]
"""Scheme, host and port."""


class Connection(Protocol):
    """What may wait: an exchange at a time."""

    reusable: bool

    @property
    def is_stale(self) -> bool:
        """Whether the other side closed it, or sent what nobody asked for."""

    def close(self) -> None:
        """Close it at once."""


C = TypeVar("C", bound=Connection)


class IdleConnections(Generic[C]):
    """There are as many connections as there were requests in flight at the same time.

    One that has waited too long is closed at the end of the next exchange, whatever origin that is
    with.

    Args:
        keepalive: seconds that a connection may wait for its next exchange.
        now: seconds that never go back.
    """

    def __init__(self, keepalive: float, now: Callable[[], float]) -> None:
        self._keepalive = keepalive
        self._now = now
        # Twice in one thread where a handler of a signal closes the client.
        self._lock = threading.RLock()
        self._idle: dict[Origin, deque[tuple[float, C]]] = {}
        self._over = False

    def take(self, origin: Origin) -> C | None:
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

    def settle(self, origin: Origin, connection: C) -> None:
        """Keep a connection whose exchange is over, if another one can follow; else close it."""
        with self._lock:
            closing = self._expired()
            if connection.reusable and not self._over:
                self._idle.setdefault(origin, deque()).append((self._now(), connection))
            else:
                closing.append(connection)
        for each in closing:
            each.close()

    def close(self) -> None:
        """Close them, and keep no more of them."""
        with self._lock:
            self._over = True
            idle = [each for found in self._idle.values() for _, each in found]
            self._idle.clear()
        for each in idle:
            each.close()

    def _expired(self) -> list[C]:
        """Take out what waited too long; nobody may ask for those below the last one again."""
        latest = self._now() - self._keepalive
        found: list[C] = []
        for origin, waiting in list(self._idle.items()):
            while waiting and waiting[0][0] <= latest:
                found.append(waiting.popleft()[1])
            if not waiting:
                del self._idle[origin]
        return found


def origin_of(url: httpx.URL) -> Origin:
    """Where a request goes.

    Raises:
        httpx.UnsupportedProtocol: when it is no HTTP.
    """
    if url.scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"{url.scheme or 'no'} scheme: use http or https.")
    return url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
