"""The open sockets of a client, so that closing it ends a read that another thread is in."""

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import httpx

_OPENED = frozenset(
    {
        "connection.connect_tcp.complete",
        "connection.connect_unix_socket.complete",
        "connection.start_tls.complete",
        "proxy.start_tls.complete",
        "socks.start_tls.complete",
    }
)


class Sockets:
    """Is told of sockets, or learns of them as httpcore opens them; holds none of them open."""

    def __init__(self) -> None:
        # Twice in one thread where a handler of a signal closes the client.
        self._lock = threading.RLock()
        self._open: WeakSet[socket.socket] = WeakSet()
        self._over = False

    def add(self, opened: socket.socket) -> None:
        """Take one that was opened just now."""
        with self._lock:
            self._open.add(opened)
            over = self._over
        if over:
            shut(opened)

    def watch(self, request: httpx.Request) -> None:
        """A hook that asks httpcore to tell what it opens for a request; see its `trace`."""
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpcore at each step of a request."""
        if event in _OPENED:
            self.add(info["return_value"].get_extra_info("socket"))

    def shut(self) -> None:
        """End what is read from them or written to them; closing alone would wake nobody.

        One that opens afterwards, because a thread was just connecting, is ended at once.
        """
        with self._lock:
            self._over = True
            found = list(self._open)
        for each in found:
            shut(each)

    def leave(self) -> None:
        """Close this process's descriptors; who else has the connections can go on with them.

        Without the lock, which nobody may release any more: for a forked child.
        """
        for each in list(self._open):
            each.close()


def shut(opened: socket.socket) -> None:
    """End what is read from a socket or written to it; it still has to be closed."""
    # A TLS socket's own method would take its state away under the other thread.
    with suppress(OSError):
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
