"""Chance that is the same on every machine: numbers and ids out of SHAKE-256.

``random.Random`` promises its sequence for one method only; a hash function promises every bit.
"""

import hashlib
import struct
from collections.abc import Iterator
from itertools import count

_WORDS = struct.Struct("<4096I")
_IDS_PER_BLOCK = 1024
_DIGIT_POSITIONS = tuple(at for at in range(36) if at not in (8, 13, 18, 23))
# RFC 9562: four bits of version 4 in byte 6, two bits of variant in byte 8.
_VERSION = bytes(byte & 0x0F | 0x40 for byte in range(256))
_VARIANT = bytes(byte & 0x3F | 0x80 for byte in range(256))


def numbers(key: str) -> Iterator[int]:
    """Give an endless sequence of integers from 0 to 2**32 - 1 that depends on ``key`` only."""
    for block in count():
        yield from _WORDS.unpack(_block(f"{key}/number/{block}", _WORDS.size))


def uuids(key: str) -> Iterator[tuple[bytes, str]]:
    """Give an endless sequence of UUIDs, as 16 bytes and as text, that depends on ``key`` only."""
    for block in count():
        raw = bytearray(_block(f"{key}/uuid/{block}", 16 * _IDS_PER_BLOCK))
        raw[6::16] = raw[6::16].translate(_VERSION)
        raw[8::16] = raw[8::16].translate(_VARIANT)
        texts = _texts(raw.hex().encode())
        for number in range(_IDS_PER_BLOCK):
            at = 16 * number
            yield bytes(raw[at : at + 16]), texts[36 * number : 36 * number + 36]


def _texts(digits: bytes) -> str:
    """Put hyphens into 32 digits an id, all ids at once, a column of digits at a time."""
    texts = bytearray(b"-") * (36 * _IDS_PER_BLOCK)
    for source, target in enumerate(_DIGIT_POSITIONS):
        texts[target::36] = digits[source::32]
    return texts.decode()


def _block(name: str, size: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(size)
