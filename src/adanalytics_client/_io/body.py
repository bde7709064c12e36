"""Read the body of a response into bounded memory, or into the sink of its request.

httpx decodes a damaged gzip body as far as it can, without an error, so bodies are read raw and
decoded here.
"""

from adanalytics_client._base.compression import UNPACKED_AT_ONCE, DamagedBody, Gunzip
from adanalytics_client._base.effects import (
    LARGEST_BODY,
    Failure,
    FailureKind,
    Reply,
    ResponseHead,
    Sink,
)

ACCEPT_ENCODING = "gzip"


class Receiver:
    """Receives the body of a response, piece by piece: decoded in memory, or unchanged in a sink.

    In memory it holds at most `LARGEST_BODY` bytes, even while it decompresses.

    Attributes:
        head: the beginning of the response.
        unread: True if none of the body is wanted.
    """

    def __init__(self, head: ResponseHead, sink: Sink | None) -> None:
        self.head = head
        self._content = bytearray()
        self._size = 0
        self._empty = True
        self._gunzip: Gunzip | None = None
        self._failure: Failure | None = None
        is_accepted = False if sink is None else sink.accept(head)
        self._sink = sink if is_accepted else None
        self.unread = is_accepted is None
        if is_accepted is not False:
            return
        if not head.encoding:
            # A growing buffer is copied.
            size = head.length or 0
            self._content = bytearray(size if size <= LARGEST_BODY else 0)
        elif head.encoding in {"gzip", "x-gzip"}:
            self._gunzip = Gunzip()
        else:
            # Not decoded, and named as sent, so that a secret in it is found and redacted.
            detail = f"content encoding '{head.get('content-encoding')}' was not asked for"
            self._fail(FailureKind.UNREADABLE, detail)

    def write(self, piece: bytes) -> bool:
        """Receive one raw piece; return whether more is wanted."""
        if self._sink is not None:
            return self._sink.write(piece)
        self._empty = False
        pieces = [piece] if self._gunzip is None else self._gunzip.pieces(piece, UNPACKED_AT_ONCE)
        try:
            for plain in pieces:
                end = self._size + len(plain)
                if end > LARGEST_BODY:
                    return self._fail(FailureKind.TOO_LARGE)
                # Past the end of the buffer this appends.
                self._content[self._size : end] = plain
                self._size = end
        except DamagedBody as error:
            return self._fail(FailureKind.UNREADABLE, str(error))
        return True

    def finish(self) -> Reply | Failure:
        """Return the reply, with a body that its reader may change, or the failure."""
        if self._failure is None and self._gunzip is not None and not self._empty:
            try:
                self._gunzip.finish()
            except DamagedBody as error:
                self._fail(FailureKind.TRUNCATED, str(error))
        del self._content[self._size :]
        return self._failure or Reply(self.head, self._content)

    def _fail(self, kind: FailureKind, detail: str = "") -> bool:
        self._failure, self.unread = Failure(kind, True, detail, head=self.head), True
        return False
