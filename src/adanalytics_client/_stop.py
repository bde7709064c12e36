"""Tell the threads of one pull to stop, and end what they wait for."""

import os
import socket
import threading

from adanalytics_client._sockets import shut

STOP = "adanalytics.stop"
"""The extension of a request with the `Stop` that ends it."""


class Stop:
    """Set once, when nobody wants any more what threads are still at.

    A thread that reads from a socket hears of nothing else, so whoever exchanges over one holds it
    here meanwhile. A forked child has its parent's sockets, too, and leaves them alone.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._process = os.getpid()
        # Twice in one thread where a handler of a signal closes the client.
        self._lock = threading.RLock()
        self._held: set[socket.socket] = set()

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds, or until it is set; tells whether it is."""
        return self._event.wait(seconds)

    def set(self) -> None:
        """Stop, and end every exchange that is under way."""
        self._event.set()
        if os.getpid() != self._process:
            return
        # Under the lock: one that is released may be in use for something else at once.
        with self._lock:
            for each in self._held:
                shut(each)

    def hold(self, opened: socket.socket) -> None:
        """An exchange over a socket begins; it ends at once where it was to stop before."""
        with self._lock:
            self._held.add(opened)
        if self.is_set():
            shut(opened)

    def release(self, opened: socket.socket) -> None:
        """It is over."""
        with self._lock:
            self._held.discard(opened)
