"""Decompress gzip piece by piece, within a bound, and detect a missing end."""

import zlib
from collections.abc import Iterator

GZIP_MAGIC = b"\x1f\x8b"
"""The first bytes of every gzip file."""

UNPACKED_AT_ONCE = 256 * 1024
"""Bytes decompressed at a time: a file may expand to a thousand times its size."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class DamagedBody(ValueError):
    """The encoding of a body is unknown, broken, or ends too early."""


class OversizedBody(ValueError):
    """A body is larger than the bound that its reader set."""


class Gunzip:
    """Decompress gzip by pieces; several members in a row are one body (RFC 1952, section 2.2).

    Zeros after a member fill up a block, as on tapes and in tar files; gzip ignores them, too.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._fresh = True

    def feed(self, piece: bytes, most: int = 0) -> bytes:
        """Return the bytes that `piece` yields, at most about `most` unless it is 0.

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
        """Yield the same bytes in several pieces, each of at most `most` bytes unless it is 0.

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
