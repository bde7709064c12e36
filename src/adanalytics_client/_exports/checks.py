"""Tell a file from a response by its head, and undo the encoding of its body."""

import hashlib
from collections.abc import Iterator

from adanalytics_client._base.compression import GZIP_MAGIC, UNPACKED_AT_ONCE, Gunzip
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._base.spelling import fold

_JSON_FORMATS = frozenset({"json", "jsonl", "ndjson", "jsonlines"})


def is_json_format(form: str) -> bool:
    """Return whether files of a format begin like a response of the service."""
    return fold(form) in _JSON_FORMATS


def is_answer(head: ResponseHead, form: str) -> bool:
    """Return whether a media type is of a response of the service or a proxy, not of a file."""
    kind = head.media_type
    is_json = kind in {"application/json", "text/json"} or kind.endswith("+json")
    return kind == "text/html" or (is_json and fold(form) != "json")


class Decoding:
    """Turns a body with `Content-Encoding: gzip` into the bytes of its file.

    A service may store a file compressed and send it so, whatever was requested. For a .gz target
    the body is kept as it is, unless it is gzip inside gzip.
    """

    def __init__(self, *, to_packed: bool) -> None:
        self.size = 0
        self._gunzip = Gunzip()
        self._sha256 = hashlib.sha256()
        # None until the first bytes show whether the body contains a compressed file.
        self._keep_compressed: bool | None = None if to_packed else False
        self._input = self._plain = b""

    @property
    def sha256(self) -> str:
        """The checksum of the decompressed bytes."""
        return self._sha256.hexdigest()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the bytes of the file that `piece` yields, some 256 KiB at a time."""
        if self._keep_compressed is None:
            self._input += piece
        elif self._keep_compressed:
            yield piece
        for plain in self._gunzip.pieces(piece, UNPACKED_AT_ONCE):
            self.size += len(plain)
            self._sha256.update(plain)
            if self._keep_compressed is None:
                self._plain += plain
                if len(self._plain) >= len(GZIP_MAGIC):
                    # Gzip inside gzip: the outer layer is the transfer's, and the inner one is the
                    # file.
                    self._keep_compressed = not self._plain.startswith(GZIP_MAGIC)
                    yield self._input if self._keep_compressed else self._plain
            elif not self._keep_compressed:
                yield plain

    def finish(self) -> bytes:
        """Return the last bytes of the file."""
        self._gunzip.finish()
        return self._input if self._keep_compressed is None else b""
