"""HTTP before there is a request: a limited head, and errors in the API's shape.

uvicorn limits the size of a head (``h11_max_incomplete_event_size``) only with h11, its slower
parser. The parser used here keeps an endless header in memory and copies it with every read: 200
MiB kept the event loop busy for more than 100 s.
"""

from uuid import uuid4

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

# Other servers accept 8 to 64 KiB. One read of the socket, at most 256 KiB, precedes the check.
MOST_HEAD_BYTES = 64 * 1024
# The extension of a request's scope that holds its transport.
CONNECTION = "adanalytics.connection"


class StrictProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a 431 for a long head, and with errors as JSON."""

    access_log: bool
    _head_bytes: int | None = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        # uvicorn's own setting is lost when its logger has a handler, such as one of pytest.
        self.access_log = False
        # ASGI's place for a server's own features.
        self.scope["extensions"] = {CONNECTION: {"transport": self.transport}}

    def on_headers_complete(self) -> None:
        self._head_bytes = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        size = self._head_bytes
        super().data_received(data)
        if size is not None and self._head_bytes is not None and not self.transport.is_closing():
            # The parser keeps a head that has not ended, whatever its size.
            self._head_bytes = size + len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(431, "Request Header Fields Too Large")

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _refuse(self, status: int, text: str) -> None:
        body = msgspec.json.encode({"error": text})
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\n"
            b"x-request-id: %b\r\nconnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], len(body), uuid4().hex.encode(), body)
        )
        self.transport.close()
