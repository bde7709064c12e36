"""Read a file once more to see that it is the right one and whole."""

import hashlib
import os
import zlib
from typing import BinaryIO

from adanalytics_client._body import GZIP_MAGIC, UNPACKED_AT_ONCE, Gunzip

_CHECKED_AT_ONCE = 65_536


def digest_of(file: BinaryIO) -> str:
    """The sha256 of a whole file, in hex."""
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_CHECKED_AT_ONCE):
        digest.update(piece)
    return digest.hexdigest()


def check_gzip(file: BinaryIO) -> None:
    """Follow a gzip file's own structure, so that a cut without a length is noticed.

    Raises:
        DamagedBody: when it is damaged or its end is missing.
    """
    file.seek(0)
    if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
        file.seek(0)
        inner = Gunzip()
        while piece := file.read(_CHECKED_AT_ONCE):
            for _ in inner.pieces(piece, UNPACKED_AT_ONCE):
                pass
        inner.finish()
    file.seek(0, os.SEEK_END)


def beginning_of(file: BinaryIO, most: int) -> tuple[bytes, bool]:
    """At most `most` bytes from the beginning of what a file holds, and whether these are all.

    Of what is packed with gzip the first member is unpacked.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    found, whole = file.read(most), end <= most
    file.seek(0, os.SEEK_END)
    if not found.startswith(GZIP_MAGIC):
        return found, whole
    member = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        inner = member.decompress(found, most)
    except zlib.error:
        return found, whole
    return inner, whole and member.eof and not member.unused_data
