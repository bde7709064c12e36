"""Text outputs packed with gzip on their way out."""

import gzip
import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from adanalytics_client._files import Rewrite, Target

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# The densest level costs several times the time of this one for a few percent of size.
_LEVEL = 6
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class GzipTarget:
    """Packs what is written into one gzip member without a name or time (RFC 1952, section 2.3).

    The same data give the same bytes. The end is written by `commit` only: what was given up does
    not look complete.
    """

    def __init__(self, inner: Target) -> None:
        self._inner = inner
        self._packer = _Packer(inner.file)

    @property
    def file(self) -> BinaryIO:
        """Takes bytes that are not packed yet."""
        return cast("BinaryIO", self._packer)

    @property
    def lasting(self) -> bool:
        """As for the file behind it."""
        return self._inner.lasting

    def rewrite(self, change: Rewrite) -> None:
        """Unpack what was written and pack what takes its place."""

        def repack(old: BinaryIO, new: BinaryIO) -> None:
            packer = _Packer(new)
            with gzip.GzipFile(fileobj=old, mode="rb") as plain:
                change(cast("BinaryIO", plain), cast("BinaryIO", packer))
            self._packer = packer

        self._packer.finish()
        self._inner.rewrite(repack)

    def commit(self) -> None:
        """Write the end of the member, then make the file visible."""
        self._packer.finish()
        self._inner.commit()

    def abort(self) -> None:
        """Give up without an end."""
        self._inner.abort()


class _Packer(io.BufferedIOBase):
    """Packs pieces; closing it, which the interpreter does by itself, writes nothing."""

    def __init__(self, to: BinaryIO) -> None:
        self._to = to
        self._deflate = zlib.compressobj(_LEVEL, wbits=_GZIP_WINDOW)

    def writable(self) -> bool:
        """As every target's file."""
        return True

    def write(self, piece: "ReadableBuffer") -> int:
        """Pack a piece."""
        self._to.write(self._deflate.compress(piece))
        return memoryview(piece).nbytes

    def finish(self) -> None:
        """Write what is left, with checksum and length."""
        self._to.write(self._deflate.flush())
