"""Destinations: files that appear complete or not at all, streams, and both with gzip."""

import errno
import gzip
import io
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from adanalytics_client._base.files import (
    check_target,
    keep_permissions,
    open_beside,
    put_in_place,
    real_path,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Rewrite = Callable[[BinaryIO, BinaryIO], None]
"""Reads the old content from its start, and writes the new content."""


class AtomicFile:
    """A file written beside its target and renamed to it once it is on the disk.

    A reader of the target sees the old content or the new, even after a crash. A link stays a link,
    and a replaced file keeps its permissions.

    Raises:
        ConfigurationError: when the target is a folder, or its folder does not exist.
        OSError: when the folder cannot be written.
    """

    rewritable = True

    def __init__(self, path: Path) -> None:
        check_target(path)
        self._path = real_path(path)
        self._temporary, self.file = open_beside(self._path)

    @property
    def size(self) -> int:
        return self.file.tell()

    def rewrite(self, change: Rewrite) -> None:
        """Start another file and let `change` fill it from the current one."""
        temporary, file = open_beside(self._path)
        try:
            self.file.flush()
            self.file.seek(0)
            change(self.file, file)
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
        self.abort()
        self._temporary, self.file = temporary, file

    def commit(self) -> None:
        try:
            keep_permissions(self.file, self._path)
            put_in_place(self.file, self._temporary, self._path)
            self.file.close()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Remove the new content; the target stays unchanged."""
        # A full disk refuses the buffered rest, and does so again on close.
        with suppress(OSError):
            self.file.close()
        self._temporary.unlink(missing_ok=True)


class Stream:
    """A caller's binary stream, such as standard output; written immediately, never closed."""

    rewritable = False

    def __init__(self, file: BinaryIO) -> None:
        # Raw files accept a part of a piece and leave the rest to the caller.
        raw = isinstance(file, io.RawIOBase)
        self.file = cast("BinaryIO", _WholeWrites(file)) if raw else file

    @property
    def size(self) -> int | None:
        """The bytes written so far; None for a stream without a position, as of a pipe."""
        try:
            return self.file.tell()
        except (AttributeError, OSError):
            return None

    def rewrite(self, _change: Rewrite) -> None:
        """Refuse: the content of a stream is gone."""
        raise io.UnsupportedOperation("a stream is not rewritten")

    def commit(self) -> None:
        if callable(flush := getattr(self.file, "flush", None)):
            flush()

    def abort(self) -> None:
        """Nothing can be taken back."""


class _WholeWrites:
    """Writes to an unbuffered stream until it has accepted all of a piece.

    This is not a file of Python's `io`: those flush when they are garbage-collected, which fails if
    the caller has closed the stream, and Python 3.13 prints that.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw

    def write(self, piece: "ReadableBuffer") -> int:
        view = rest = memoryview(piece).cast("B")
        while rest:
            size: int | None = self._raw.write(rest)
            if size is None:
                raise BlockingIOError(errno.EAGAIN, "the stream is full and does not wait")
            rest = rest[size:]
        return len(view)

    def flush(self) -> None:
        self._raw.flush()


class Device(Stream):
    """A device, such as `/dev/null`, or a named pipe, whose opening waits for a reader."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("wb"))

    def commit(self) -> None:
        self.file.close()

    def abort(self) -> None:
        with suppress(OSError):
            self.file.close()


class GzipTarget:
    """Compresses its content into one gzip member without a name or time (RFC 1952, section 2.3).

    The same data give the same bytes. Only `commit` writes the end, so that an aborted file does
    not look complete.
    """

    def __init__(self, target: "AtomicFile | Device") -> None:
        self._target = target
        self._packer = _Packer(target.file)
        self.rewritable = target.rewritable

    @property
    def file(self) -> BinaryIO:
        return cast("BinaryIO", self._packer)

    @property
    def size(self) -> int | None:
        return self._target.size

    def rewrite(self, change: Rewrite) -> None:

        def repack(old: BinaryIO, new: BinaryIO) -> None:
            self._packer = _Packer(new)
            with gzip.GzipFile(fileobj=old, mode="rb") as plain:
                change(cast("BinaryIO", plain), self.file)

        self._packer.finish()
        self._target.rewrite(repack)

    def commit(self) -> None:
        self._packer.finish()
        self._target.commit()

    def abort(self) -> None:
        self._target.abort()


class _Packer(io.BufferedIOBase):
    """Compresses pieces; closing it, which the interpreter does by itself, writes nothing."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        # The best compression takes several times as long, for a few percent of size.
        self._deflate = zlib.compressobj(level=6, wbits=16 + zlib.MAX_WBITS)

    def writable(self) -> bool:
        return True

    def write(self, piece: "ReadableBuffer") -> int:
        self._target.write(self._deflate.compress(piece))
        return memoryview(piece).nbytes

    def finish(self) -> None:
        """Write the rest, with checksum and length."""
        self._target.write(self._deflate.flush())


Target = AtomicFile | Stream | GzipTarget
"""The destination of an output: a file that appears at the end, or a stream."""
