"""HTTP on the wire, where there is no request yet: a head that is too long or none at all.

uvicorn reads the head of a request, its first line and its headers, before it calls the
application, without a limit and with an answer of its own to what it cannot read. Here the
head has a limit, and the answer has the shape of all others.
"""

import asyncio
from uuid import uuid4

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

# What other servers take is 8 to 64 KiB. Two reads of the socket may come on top of it.
MOST_HEAD_BYTES = 64 * 1024
# What is between the parts of a header and behind it: a colon, a space and the end of the line.
_BETWEEN_HEADERS = len(": \r\n")
# For a whole request, head and body, of which the largest has a mebibyte; also for its first
# byte on a new connection. Between two requests it is uvicorn that waits, for 5 s.
MOST_SECONDS = 60.0
# The extension in the scope of a request that holds the transport of its connection.
CONNECTION = "adanalytics.connection"

_TOO_LONG = (431, "Request Header Fields Too Large")
_NOT_ONE_HOST = (400, "A request needs exactly one Host header")
_TOO_SLOW = (408, "Request Timeout")


class RefusedHead(ValueError):
    """The head of a request is longer than :data:`MOST_HEAD_BYTES`, or has no one ``Host``."""


class StrictProtocol(HttpToolsProtocol):
    """uvicorn's protocol with bounded heads, a time limit for requests, and errors as JSON."""

    _in_head = False
    _head_bytes = 0
    _refusal: tuple[int, str] | None = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # only TCP, as in uvicorn
        """Give a new connection time for its first request."""
        super().connection_made(transport)
        self._begin_to_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limit."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to count bytes and seconds."""
        super().on_message_begin()
        # The place that ASGI has for what a server offers beyond it.
        self.scope["extensions"] = {CONNECTION: {"transport": self.transport}}
        self._in_head = True
        self._head_bytes = 0
        self._begin_to_wait()

    def on_message_complete(self) -> None:
        """Take as long as it takes to answer."""
        self._stop_waiting()
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        """Refuse a head that is too long or leaves open where it goes, or start the application."""
        self._in_head = False
        size = len(self.url) + sum(
            len(name) + len(value) + _BETWEEN_HEADERS for name, value in self.headers
        )
        if size > MOST_HEAD_BYTES:
            self._refusal = _TOO_LONG
            raise RefusedHead
        # RFC 9112, section 3.2: of two, a proxy in front may have looked at the other one.
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts != 1 and self.parser.get_http_version() == "1.1":
            self._refusal = _NOT_ONE_HOST
            raise RefusedHead
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read on; a head that does not end is refused while it is still coming."""
        goes_on = self._in_head
        super().data_received(data)
        if goes_on and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                self._refusal = _TOO_LONG
                self.send_400_response("The head of a request is too long.")

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request: 400 with ``msg``, or what was noted before."""
        status, text = self._refusal or (400, msg)
        body = msgspec.json.encode({"error": text})
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\n"
            b"x-request-id: %b\r\nconnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], len(body), uuid4().hex.encode(), body)
        )
        self.transport.close()

    def _begin_to_wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(MOST_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """End a connection whose request does not come to its end."""
        if self.pipeline:
            # It is the server that does not read on, busy with the request before.
            self._begin_to_wait()
        elif self._in_head:
            self._refusal = _TOO_SLOW
            self.send_400_response("")
        else:
            # Nothing was asked yet, or the application is in the middle of the body.
            self.transport.close()
