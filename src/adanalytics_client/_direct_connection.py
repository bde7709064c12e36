"""One connection of threads to a service, and the exchanges over it, one after the other."""

import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import TypeVar

import h11
import httpx

from adanalytics_client._framing import AT_ONCE, TORN, Framing, Steps
from adanalytics_client._wire import HEAD_WAIT, WHOLE_WAIT

# TLS gives a record at a time (RFC 8446, section 5.1), and takes room for all it is asked for.
_RECORD = 16 * 1024

Waits = Mapping[str, float | None]
"""Seconds for each step, by httpx's names; None is without end."""

T = TypeVar("T")


class DirectConnection:
    """A socket and whether another exchange can follow.

    Args:
        opened: connected, and secured where the address asks for it; ours to close.

    Attributes:
        socket: what it is over.
        reusable: whether the last exchange left it ready for the next one.
        torn: whether it ended without the end that TLS has of its own.
    """

    def __init__(self, opened: socket.socket) -> None:
        self.reusable = False
        self.torn = False
        self.socket = opened
        self._until: float | None = None
        self._most = _RECORD if isinstance(opened, ssl.SSLSocket) else AT_ONCE

    @property
    def is_stale(self) -> bool:
        """Whether the other side closed it, or sent what nobody asked for."""
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            # Decrypted with the end of a body, and so out of the kernel's sight.
            return True
        return has_news(self.socket.fileno())

    def close(self) -> None:
        """Close the socket; what is under way ends with an error."""
        self.reusable = False
        self.socket.close()

    def ask(
        self, request: httpx.Request, waits: Waits, begun: float
    ) -> tuple[h11.Response, "DirectBody"]:
        """Send a request; gives the head of the answer, and its body as it arrives.

        Args:
            request: what to send.
            waits: seconds for each step.
            begun: when the exchange began, on the monotonic clock; its own waits count from there.

        Raises:
            httpx.TransportError: when no head of an answer arrives; reading the body raises
                it, too, when its end is missing.
        """
        self.reusable = False
        framing = Framing()
        read_wait = waits.get("read")
        self._until = _after(begun, request.extensions.get(HEAD_WAIT))
        # A view, since error reports show the bytes of bytes, and so the credential.
        data = memoryview(framing.sent(request, request.read()))
        self._send(data, waits.get("write"))
        self.socket.settimeout(read_wait)
        head = self.run(framing.head())
        self._until = _after(begun, request.extensions.get(WHOLE_WAIT))
        self.socket.settimeout(read_wait)
        return head, DirectBody(self, framing)

    def run(self, steps: Steps[T]) -> T:
        """Receive what some steps take.

        Raises:
            httpx.TransportError: when it does not come.
        """
        try:
            most = next(steps)
            while True:
                most = steps.send(self._receive(most))
        except StopIteration as end:
            result: T = end.value
            return result

    def receive_into(self, space: memoryview) -> int:
        """Put the next bytes at the beginning of some memory; gives their number, 0 at the end.

        Raises:
            httpx.TransportError: when none come.
        """
        return self._read(lambda: self.socket.recv_into(space), 0)

    def _send(self, data: memoryview, wait: float | None) -> None:
        self.socket.settimeout(wait)
        try:
            self.socket.sendall(data)
        except TimeoutError as error:
            raise httpx.WriteTimeout(str(error)) from error
        except OSError:
            # Who refuses a request may answer and close before having read all of it.
            return

    def _receive(self, most: int) -> bytes:
        return self._read(lambda: self.socket.recv(min(most, self._most)), b"")

    def _read(self, step: Callable[[], T], end: T) -> T:
        try:
            if self._until is not None:
                self._shorten(self._until - monotonic())
            return step()
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error)) from error
        except ssl.SSLEOFError:
            self.torn = True
            return end
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    def _shorten(self, left: float) -> None:
        if left <= 0:
            raise TimeoutError("the answer came too slowly")
        wait = self.socket.gettimeout()
        self.socket.settimeout(left if wait is None else min(wait, left))


class DirectBody(Iterator[bytes]):
    """The body of an answer, as pieces, or put where it shall lie if its length is known.

    Args:
        connection: what it is received from.
        framing: what has read its head, and a part of it with that.

    Raises:
        httpx.TransportError: from either way of receiving, when its end is missing.
    """

    def __init__(self, connection: DirectConnection, framing: Framing) -> None:
        self._connection = connection
        self._framing = framing
        self.sized = framing.sized

    def __next__(self) -> bytes:
        """The next bytes."""
        if piece := self._connection.run(self._framing.piece()):
            return piece
        if self._connection.torn:
            raise httpx.RemoteProtocolError(TORN)
        self._connection.reusable = self._framing.reusable
        raise StopIteration

    def receive_into(self, space: memoryview) -> int:
        """Put the next bytes at the beginning of some memory; gives their number, 0 at the end."""
        framing = self._framing
        if not framing.left:
            return 0
        size = framing.put(space) or self._connection.receive_into(space[: framing.left])
        framing.took(size)
        return size


def has_news(descriptor: int) -> bool:
    """Whether a socket can be read at once: something came on it, or its end."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _after(begun: float, wait: float | None) -> float | None:
    return None if wait is None else begun + wait
