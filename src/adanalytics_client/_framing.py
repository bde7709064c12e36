"""The framing of one exchange in HTTP/1.1, whoever sends and receives its bytes.

Heads and chunked bodies are h11's business. A body whose length is known goes past it: h11 copies
what it is given three times, and of a page that is more work than the kernel has with it.
"""

from collections.abc import Generator
from typing import TypeVar

import h11
import httpx

AT_ONCE = 256 * 1024
"""The most bytes that one read takes from a connection, which holds no more of a body."""

TORN = "The connection ended without the end of TLS, so the body may be cut."
"""What is told of a body that only its connection ends, where TLS does not vouch for that end.

Anybody on the way could have cut it (RFC 9112, section 9.8).
"""

_HEAD_AT_ONCE = 16 * 1024
_LARGEST_HEAD = 100 * 1024

T = TypeVar("T")

Steps = Generator[int, bytes, T]
"""Each step yields how many bytes it takes at most and is sent what came: none at the end."""


class Framing:
    """Turns a request into bytes, and bytes into the head and the body of its answer.

    The request itself is not kept: what is under way holds no credential.

    Example:
        >>> framing = Framing()
        >>> framing.sent(httpx.Request("GET", "http://a.example/x"), b"").splitlines()[0]
        b'GET /x HTTP/1.1'
        >>> steps = framing.head()
        >>> next(steps)
        16384
    """

    def __init__(self) -> None:
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._method = ""
        self._whole = False
        self._size: int | None = None
        self._left = 0
        self._ahead = b""

    @property
    def sized(self) -> bool:
        """Whether the length of the body is known, once there is a head."""
        return self._size is not None

    @property
    def left(self) -> int:
        """Bytes that are missing of a body whose length is known."""
        return self._left

    @property
    def reusable(self) -> bool:
        """Whether the answer is whole, nothing came behind it, and another request may follow.

        What comes behind a body answers nothing that was asked.
        """
        if self._size is not None:
            # It is done only where neither the version nor a header ends the connection.
            return not self._left and not self._ahead and self._protocol.our_state is h11.DONE
        done = self._protocol.our_state is self._protocol.their_state is h11.DONE
        return self._whole and done and self._protocol.trailing_data == (b"", False)

    def sent(self, request: httpx.Request, body: bytes) -> bytes:
        """The bytes of a request.

        Raises:
            httpx.LocalProtocolError: when it can be none.
        """
        self._method = request.method
        target = request.extensions.get("target", request.url.raw_path)
        try:
            events: list[h11.Event] = [
                h11.Request(method=request.method, target=target, headers=request.headers.raw)
            ]
            events += [h11.Data(data=body)] if body else []
            events.append(h11.EndOfMessage())
            return b"".join([self._protocol.send(each) or b"" for each in events])
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def head(self) -> Steps[h11.Response]:
        """The head of the answer.

        Raises:
            httpx.RemoteProtocolError: when none comes, or what is none.
        """
        while not isinstance(event := (yield from self._event(_HEAD_AT_ONCE)), h11.Response):
            pass
        self._size = _size(self._method, event)
        if self._size is not None:
            self._left = self._size
            self._ahead, _ = self._protocol.trailing_data
        return event

    def piece(self) -> Steps[bytes]:
        """The next bytes of the body; none behind its end.

        Raises:
            httpx.RemoteProtocolError: when its end is missing, or its chunks are damaged.
        """
        if self._size is None:
            return (yield from self._parsed())
        if not self._left:
            return b""
        piece = self._ahead[: self._left]
        if piece:
            self._ahead = self._ahead[len(piece) :]
        else:
            piece = yield min(self._left, AT_ONCE)
        self.took(len(piece))
        return piece

    def put(self, space: memoryview) -> int:
        """Put what came with the head at the beginning of some memory; gives how many bytes."""
        piece = self._ahead[: min(self._left, len(space))]
        space[: len(piece)] = piece
        self._ahead = self._ahead[len(piece) :]
        return len(piece)

    def took(self, size: int) -> None:
        """Count bytes of a body whose length is known.

        Raises:
            httpx.RemoteProtocolError: when there are none: more were promised.
        """
        if not size:
            told = f"{self._left} of {self._size} bytes of the body are missing."
            raise httpx.RemoteProtocolError(told)
        self._left -= size

    def _parsed(self) -> Steps[bytes]:
        while not self._whole:
            event = yield from self._event(AT_ONCE)
            if isinstance(event, h11.Data) and event.data:
                return bytes(event.data)
            self._whole = isinstance(event, h11.EndOfMessage)
        return b""

    def _event(self, at_once: int) -> Steps[h11.Event]:
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if isinstance(event, h11.Event):
                return event
            data = yield at_once
            if not data and self._protocol.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("The server closed the connection unanswered.")
            self._protocol.receive_data(data)


def _size(method: str, head: h11.Response) -> int | None:
    """The length of a body that is told beforehand; None for any other, and for none at all."""
    if method == "HEAD" or head.status_code in {204, 304}:
        return None
    told = dict(head.headers)
    if b"transfer-encoding" in told or b"content-length" not in told:
        return None
    return int(told[b"content-length"])
