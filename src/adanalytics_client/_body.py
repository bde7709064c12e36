"""Collect a body and undo its gzip encoding, noticing when the end is missing.

httpx hands over what it could decode of a damaged gzip body without an error, so bodies are taken
raw and decoded here.
"""

import zlib
from collections.abc import Iterator

from adanalytics_client._rooms import LARGEST_ROOM, Rooms

LARGEST_BODY = 256 * 1024 * 1024
"""The most bytes of one JSON answer held in memory, after decoding."""

ACCEPT_ENCODING = "gzip"

_MOST_DIGITS = 18

GZIP_MAGIC = b"\x1f\x8b"
"""What every gzip file begins with."""

UNPACKED_AT_ONCE = 256 * 1024
"""Bytes that are unpacked at a time: a packed file may hold a thousand times as many as it has."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class DamagedBody(ValueError):
    """The encoding of a body is unknown, broken, or ends too early."""


class OversizedBody(ValueError):
    """A body is larger than `LARGEST_BODY`."""


class Gunzip:
    """Undo gzip piece by piece; several members in a row are one body (RFC 1952, section 2.2).

    Zeros behind a member fill up a block, as on tapes and in tar files; gzip overlooks them, too.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._fresh = True

    def feed(self, piece: bytes, most: int = 0) -> bytes:
        """The bytes that `piece` yields, at most about `most` when it is not 0.

        Raises:
            DamagedBody: when the bytes are not gzip.
            OversizedBody: when there are more than `most`.
        """
        out: list[bytes] = []
        for plain in self.pieces(piece, most):
            out.append(plain)
            if self._member.unconsumed_tail:
                raise OversizedBody
        return b"".join(out)

    def pieces(self, packed: bytes, most: int) -> Iterator[bytes]:
        """The same one after the other, each of at most `most` bytes when that is not 0.

        Raises:
            DamagedBody: when the bytes are not gzip.
        """
        while packed:
            if self._member.eof:
                if not (packed := packed.lstrip(b"\0")):
                    break
                self._member, self._fresh = zlib.decompressobj(_GZIP_WINDOW), True
            try:
                plain = self._member.decompress(packed, most)
            except zlib.error as error:
                raise DamagedBody(f"gzip: {error}") from None
            self._fresh = False
            yield plain
            packed = self._member.unconsumed_tail or self._member.unused_data

    def finish(self) -> None:
        """Check that the last member is complete.

        Raises:
            DamagedBody: when the stream stops in the middle, or never began.
        """
        if self._fresh or not self._member.eof:
            raise DamagedBody("gzip: the end is missing")


class Body:
    """Collects one answer in memory.

    Args:
        encoding: the answer's `Content-Encoding`.
        length: the answer's `Content-Length`; a body that grows is copied from place to place.
        rooms: where its memory comes from; by default it is new.
        largest: bytes after which to give up.

    Raises:
        DamagedBody: for an encoding that was not asked for.
    """

    def __init__(
        self,
        encoding: str | None,
        length: str | None = None,
        rooms: Rooms | None = None,
        largest: int = LARGEST_BODY,
    ) -> None:
        name = (encoding or "identity").strip().lower()
        if name not in {"identity", "gzip", "x-gzip", ""}:
            # As it came: who takes secrets out of texts looks for them as they are.
            raise DamagedBody(f"content encoding '{encoding}' was not asked for")
        self._gunzip = Gunzip() if name.endswith("gzip") else None
        self._content = (rooms or Rooms()).take(0 if self._gunzip else _room(length))
        self._in_room = True
        self._size = 0
        self._begun = False
        self._largest = largest

    def write(self, piece: bytes) -> None:
        """Take one raw piece.

        Raises:
            DamagedBody: when it cannot be decoded.
            OversizedBody: when the body has become too large.
        """
        self._begun = True
        plain = self._gunzip.feed(piece, self._largest + 1) if self._gunzip else piece
        begin, self._size = self._size, self._size + len(plain)
        if self._size > self._largest:
            raise OversizedBody
        if self._size <= len(self._content):
            # A slice of the bytearray itself would copy twice.
            memoryview(self._content)[begin : self._size] = plain
        else:
            if self._in_room:
                # A room that grew would be kept as large as that.
                self._content, self._in_room = self._content[:begin], False
            self._content[begin:] = plain

    def space(self) -> memoryview:
        """The rest of the room that was made for it; empty where pieces have to be written."""
        return memoryview(self._content)[self._size :]

    def filled(self, size: int) -> None:
        """So many bytes were put where `space` begins, and every view of it is released."""
        self._begun = True
        self._size += size

    def finish(self) -> bytearray:
        """The whole decoded body, for its reader to keep and to change.

        Raises:
            DamagedBody: when its end is missing.
        """
        if self._gunzip and self._begun:
            self._gunzip.finish()
        del self._content[self._size :]
        return self._content


def _room(length: str | None) -> int:
    if length is None or not length.isdecimal() or len(length) > _MOST_DIGITS:
        return 0
    return min(int(length), LARGEST_ROOM)
