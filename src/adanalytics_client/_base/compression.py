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


class Gunzip:
    """Decompress gzip by pieces; several members in a row are one body (RFC 1952, section 2.2).

    Zeros after a member fill up a block, as on tapes and in tar files; gzip ignores them, too.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._is_new = True

    def pieces(self, data: bytes, limit: int) -> Iterator[bytes]:
        """Yield the decompressed bytes, in pieces of at most `limit` bytes unless it is 0."""
        while data:
            if self._member.eof:
                # Tape archivers pad the end of a file with zeros.
                if not (data := data.lstrip(b"\0")):
                    break
                self._member, self._is_new = zlib.decompressobj(_GZIP_WINDOW), True
            try:
                plain = self._member.decompress(data, limit)
            except zlib.error as error:
                raise DamagedBody(f"gzip: {error}") from None
            self._is_new = False
            yield plain
            data = self._member.unconsumed_tail or self._member.unused_data

    def finish(self) -> None:
        """Check that the last member is complete."""
        if self._is_new or not self._member.eof:
            raise DamagedBody("gzip: the end is missing")
