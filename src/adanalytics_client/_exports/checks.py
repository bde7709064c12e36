"""Check the bytes of a file: its format, its checksum, its gzip structure."""

import hashlib
import os
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from adanalytics_client._base.compression import GZIP_MAGIC, UNPACKED_AT_ONCE, Gunzip
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._json.rows import fold

_READ_AT_ONCE = 65_536
# Bytes that are enough to recognise a format, even after some white space.
_BEGINNING = 4096
_JSON_FORMATS = frozenset({"json", "jsonl", "ndjson", "jsonlines"})


def is_json_format(form: str) -> bool:
    """Return whether files of a format begin like a response of the service."""
    return fold(form) in _JSON_FORMATS


def is_answer(head: ResponseHead, form: str) -> bool:
    """Return whether a media type is of a response of the service or a proxy, not of a file."""
    kind = head.media_type
    is_json = kind in {"application/json", "text/json"} or kind.endswith("+json")
    return kind == "text/html" or (is_json and fold(form) != "json")


def is_like(form: str, file: BinaryIO) -> bool:
    """Return whether a file, maybe compressed, begins as its format does.

    CSV begins neither like JSON nor like an HTML page; other formats may be anything.
    """
    file.seek(0)
    begin = file.read(_BEGINNING)
    file.seek(0, os.SEEK_END)
    if begin.startswith(GZIP_MAGIC):
        with suppress(zlib.error):
            begin = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(begin, _BEGINNING)
    if fold(form) == "parquet":
        # https://parquet.apache.org/docs/file-format/
        return begin.startswith(b"PAR1")
    first = begin.removeprefix(BOM_UTF8).lstrip()[:1]
    if is_json_format(form):
        return first in {b"", b"{", b"["}
    return fold(form) != "csv" or first not in {b"{", b"[", b"<"}


def check_gzip(file: BinaryIO) -> None:
    """Read a gzip file to its end; raise DamagedBody if that is missing."""
    file.seek(0)
    if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
        file.seek(0)
        inner = Gunzip()
        while piece := file.read(_READ_AT_ONCE):
            for _ in inner.pieces(piece, UNPACKED_AT_ONCE):
                pass
        inner.finish()
    file.seek(0, os.SEEK_END)


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
        self._packed = self._plain = b""

    @property
    def sha256(self) -> str:
        """The checksum of the decompressed bytes."""
        return self._sha256.hexdigest()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the bytes of the file that `piece` yields, some 256 KiB at a time."""
        if self._keep_compressed is None:
            self._packed += piece
        elif self._keep_compressed:
            yield piece
        for plain in self._gunzip.pieces(piece, UNPACKED_AT_ONCE):
            self.size += len(plain)
            self._sha256.update(plain)
            if self._keep_compressed is None:
                self._plain += plain
                if len(self._plain) >= len(GZIP_MAGIC):
                    self._keep_compressed = not self._plain.startswith(GZIP_MAGIC)
                    yield self._packed if self._keep_compressed else self._plain
            elif not self._keep_compressed:
                yield plain

    def finish(self) -> bytes:
        """Return the last bytes of the file."""
        self._gunzip.finish()
        return self._packed if self._keep_compressed is None else b""
