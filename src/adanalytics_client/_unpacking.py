"""A file that came in the encoding gzip: unpacked, or left as it is stored."""

import hashlib
from collections.abc import Iterator

from adanalytics_client._body import GZIP_MAGIC, UNPACKED_AT_ONCE, Gunzip
from adanalytics_client._effects import Head


class Unpacking:
    """Takes a body in the encoding gzip and gives the bytes of its file.

    A service that stores a file packed may send it so, whatever was asked. Then the body is the
    file, unless there is a packed file inside it.

    Args:
        to_packed: whether the file is to be a packed one.
    """

    def __init__(self, *, to_packed: bool) -> None:
        self.size = 0
        self._gunzip = Gunzip()
        self._sha256 = hashlib.sha256()
        self._stays: bool | None = None if to_packed else False
        self._packed = self._plain = b""

    @property
    def sha256(self) -> str:
        """The checksum of what was in the body."""
        return self._sha256.hexdigest()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The bytes of the file that `piece` yields, never many at a time.

        Raises:
            DamagedBody: when the bytes are not gzip.
        """
        if self._stays is None:
            self._packed += piece
        elif self._stays:
            yield piece
        for plain in self._gunzip.pieces(piece, UNPACKED_AT_ONCE):
            self.size += len(plain)
            self._sha256.update(plain)
            if self._stays is None:
                self._plain += plain
                if len(self._plain) >= len(GZIP_MAGIC):
                    self._stays = not self._plain.startswith(GZIP_MAGIC)
                    yield self._packed if self._stays else self._plain
            elif not self._stays:
                yield plain

    def finish(self) -> bytes:
        """The last bytes of the file.

        Raises:
            DamagedBody: when the end of the body is missing.
        """
        self._gunzip.finish()
        return self._packed if self._stays is None else b""


def encoding_of(head: Head) -> str | None:
    """The encoding that an answer came in, or None when it came as it is."""
    name = (head.get("content-encoding") or "").strip().lower()
    return None if name in {"", "identity"} else name
