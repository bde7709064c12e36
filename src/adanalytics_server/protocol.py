"""HTTP on the wire, where there is no request yet: a head that is too long or none at all.

uvicorn reads the head of a request, its first line and its headers, before it calls the
application, without a limit and with an answer of its own to what it cannot read. Here the
head has a limit, and the answer has the shape of all others.
"""

from uuid import uuid4

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

# What other servers take is 8 to 64 KiB. Two reads of the socket may come on top of it.
MOST_HEAD_BYTES = 64 * 1024


class HeadTooLong(ValueError):
    """The head of a request is longer than :data:`MOST_HEAD_BYTES`."""


class StrictProtocol(HttpToolsProtocol):
    """uvicorn's protocol with bounded heads and errors as JSON."""

    _in_head = False
    _head_bytes = 0
    _too_long = False

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Refuse a head that is too long, or start the application."""
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_HEAD_BYTES:
            self._too_long = True
            raise HeadTooLong
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read on; a head that does not end is refused while it is still coming."""
        goes_on = self._in_head
        super().data_received(data)
        if goes_on and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                self._too_long = True
                self.send_400_response("The head of a request is too long.")

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request: 400 with ``msg``, or 431 to a head that is too long."""
        status, text = (431, "Request Header Fields Too Large") if self._too_long else (400, msg)
        body = msgspec.json.encode({"error": text})
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\n"
            b"x-request-id: %b\r\nconnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], len(body), uuid4().hex.encode(), body)
        )
        self.transport.close()
