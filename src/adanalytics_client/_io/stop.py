"""End a thread's wait: at the deadline of its request, or when its result is not wanted."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from struct import pack
from time import monotonic
from weakref import WeakSet

SECONDS_TO_A_SIGNAL = 1.0
"""The longest read or wait for a page: a signal that comes just before it does not end it."""


class Stop(threading.Event):
    """A flag that is set once; setting it also ends every read, write and wait under way.

    Nothing else interrupts a thread that reads from a socket, so each request registers its socket
    here while it waits. A forked child shares its parent's sockets and leaves them alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self._process = os.getpid()
        # Reentrant: a signal handler may close the client during any of these methods.
        self._lock = threading.RLock()
        self._sockets: set[socket.socket] = set()

    def set(self) -> None:
        """Set the flag, and end every request under way."""
        super().set()
        if os.getpid() != self._process:
            return
        # Under the lock, because a released socket may already serve another request.
        with self._lock:
            for open_socket in self._sockets:
                _shut_down(open_socket)

    @contextmanager
    def ends(self, open_socket: socket.socket) -> Iterator[None]:
        """Within this block `set` ends every operation on the socket."""
        with self._lock:
            self._sockets.add(open_socket)
        try:
            if self.is_set():
                _shut_down(open_socket)
            yield
        finally:
            with self._lock:
                self._sockets.discard(open_socket)


def _shut_down(open_socket: socket.socket) -> None:
    # SSLSocket.shutdown would drop the TLS state that the other thread is using.
    with suppress(OSError):
        # Have its close reset the connection. If the buffer was full before, Linux refuses further
        # bytes for a minute, and as long the service keeps the rest of its response.
        open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        socket.socket.shutdown(open_socket, socket.SHUT_RDWR)


@dataclass(slots=True)
class RunningRequest:
    """One request on a thread and its response.

    Attributes:
        stop: ends it early.
        until: its deadline, on the machine's monotonic clock; None for none.
    """

    stop: Stop
    until: float | None = None

    def within(self, timeout: float | None) -> float | None:
        """Return the seconds for one step, at most `timeout`; 0 or less when the time is over."""
        if self.until is None:
            return timeout
        remaining = self.until - monotonic()
        return remaining if timeout is None else min(timeout, remaining)


RUNNING: ContextVar[RunningRequest] = ContextVar("adanalytics_client_running")
"""The request of the calling thread; httpx has no way to pass it to a connection's stream."""

SOCKETS: WeakSet[socket.socket] = WeakSet()
"""The sockets of all connections of this process."""


def _close_inherited() -> None:
    """Close the parent's sockets in a forked child; nothing is sent, so its connections stay."""
    for open_socket in list(SOCKETS):
        open_socket.close()


# The drivers are renewed after this, because they import this module before they register.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
