"""One connection to a service, and the exchanges over it, one after the other.

Heads and chunked bodies are h11's business. A body whose length is known goes past it: h11 copies
what it is given three times, and of a page that is more work than the kernel has with it.
"""

import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import TypeVar

import h11
import httpx

from adanalytics_client._wire import HEAD_WAIT, WHOLE_WAIT

AT_ONCE = 256 * 1024
"""The most bytes that one read takes from a socket; a connection holds no more of a body."""

# TLS gives a record at a time (RFC 8446, section 5.1), and takes room for all it is asked for.
_RECORD = 16 * 1024

_HEAD_AT_ONCE = 16 * 1024
_LARGEST_HEAD = 100 * 1024

Waits = Mapping[str, float | None]
"""Seconds for each step, by httpx's names; None is without end."""

T = TypeVar("T")


class DirectConnection:
    """A socket and whether another exchange can follow.

    Args:
        opened: connected, and secured where the address asks for it; ours to close.

    Attributes:
        reusable: whether the last exchange left it ready for the next one.
    """

    def __init__(self, opened: socket.socket) -> None:
        self.reusable = False
        self._socket = opened
        self._until: float | None = None
        self._most = _RECORD if isinstance(opened, ssl.SSLSocket) else AT_ONCE

    @property
    def is_stale(self) -> bool:
        """Whether the other side closed it, or sent what nobody asked for."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            # Decrypted with the end of a body, and so out of the kernel's sight.
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Close the socket; what is under way ends with an error."""
        self.reusable = False
        self._socket.close()

    def ask(
        self, request: httpx.Request, waits: Waits, begun: float
    ) -> tuple[h11.Response, Iterator[bytes]]:
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
        protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        read_wait = waits.get("read")
        self._until = _after(begun, request.extensions.get(HEAD_WAIT))
        self._send(protocol, request, waits.get("write"))
        self._socket.settimeout(read_wait)
        head = self._head(protocol)
        self._until = _after(begun, request.extensions.get(WHOLE_WAIT))
        self._socket.settimeout(read_wait)
        return head, self._body(protocol, request, head)

    def _send(self, protocol: h11.Connection, request: httpx.Request, wait: float | None) -> None:
        target = request.extensions.get("target", request.url.raw_path)
        body = request.read()
        try:
            events: list[h11.Event] = [
                h11.Request(method=request.method, target=target, headers=request.headers.raw)
            ]
            events += [h11.Data(data=body)] if body else []
            events.append(h11.EndOfMessage())
            data = b"".join([protocol.send(each) or b"" for each in events])
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._socket.settimeout(wait)
        try:
            self._socket.sendall(data)
        except TimeoutError as error:
            raise httpx.WriteTimeout(str(error)) from error
        except OSError:
            # Who refuses a request may answer and close before having read all of it.
            return

    def _head(self, protocol: h11.Connection) -> h11.Response:
        while True:
            event = self._event(protocol, _HEAD_AT_ONCE)
            if isinstance(event, h11.Response):
                return event

    def _event(self, protocol: h11.Connection, at_once: int) -> h11.Event:
        while True:
            try:
                event = protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if isinstance(event, h11.Event):
                return event
            data = self.receive(at_once)
            if not data and protocol.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("The server closed the connection unanswered.")
            protocol.receive_data(data)

    def receive(self, at_once: int) -> bytes:
        """The next bytes, up to so many; none when the other side has closed the connection.

        Raises:
            httpx.TransportError: when none come.
        """
        return self._read(lambda: self._socket.recv(min(at_once, self._most)))

    def receive_into(self, space: memoryview) -> int:
        """The same at the beginning of some memory; gives their number."""
        return self._read(lambda: self._socket.recv_into(space))

    def _read(self, step: Callable[[], T]) -> T:
        try:
            if self._until is not None:
                self._shorten(self._until - monotonic())
            return step()
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error

    def _shorten(self, left: float) -> None:
        if left <= 0:
            raise TimeoutError("the answer came too slowly")
        wait = self._socket.gettimeout()
        self._socket.settimeout(left if wait is None else min(wait, left))

    def _body(
        self, protocol: h11.Connection, request: httpx.Request, head: h11.Response
    ) -> Iterator[bytes]:
        size = _size(request, head)
        return self._parsed(protocol) if size is None else SizedBody(self, protocol, size)

    def _parsed(self, protocol: h11.Connection) -> Iterator[bytes]:
        while not isinstance(event := self._event(protocol, AT_ONCE), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)
        done = protocol.our_state is protocol.their_state is h11.DONE
        # What comes behind the body answers nothing that was asked, and an end allows no more.
        self.reusable = done and protocol.trailing_data == (b"", False)


class SizedBody(Iterator[bytes]):
    """A body whose length is known, as pieces or put where it shall lie.

    Args:
        connection: what it is received from.
        protocol: what has read its head, and a part of it with that.
        size: its length.

    Raises:
        httpx.TransportError: from either way of receiving, when its end is missing.
    """

    def __init__(self, connection: DirectConnection, protocol: h11.Connection, size: int) -> None:
        self._connection = connection
        self._size = self._left = size
        self._ahead, _ = protocol.trailing_data
        # It is done only where neither the version nor a header ends the connection.
        self._done = len(self._ahead) <= size and protocol.our_state is h11.DONE

    def __next__(self) -> bytes:
        """The next bytes."""
        if not self._left:
            self._connection.reusable = self._done
            raise StopIteration
        piece = self._ahead[: self._left] or self._connection.receive(min(self._left, AT_ONCE))
        self._took(len(piece))
        return piece

    def receive_into(self, space: memoryview) -> int:
        """Put the next bytes at the beginning of some memory; gives their number, 0 at the end."""
        if not self._left:
            return 0
        if self._ahead:
            piece = self._ahead[: min(self._left, len(space))]
            space[: len(piece)] = piece
            size = len(piece)
        else:
            size = self._connection.receive_into(space[: self._left])
        self._took(size)
        return size

    def _took(self, size: int) -> None:
        if not size:
            told = f"{self._left} of {self._size} bytes of the body are missing."
            raise httpx.RemoteProtocolError(told)
        self._ahead = self._ahead[size:]
        self._left -= size


def _after(begun: float, wait: float | None) -> float | None:
    return None if wait is None else begun + wait


def _size(request: httpx.Request, head: h11.Response) -> int | None:
    """The length of a body that is told beforehand; None for any other, and for none at all."""
    if request.method == "HEAD" or head.status_code in {204, 304}:
        return None
    told = dict(head.headers)
    if b"transfer-encoding" in told or b"content-length" not in told:
        return None
    return int(told[b"content-length"])
