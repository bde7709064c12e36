"""Streams of the caller, and pipes and devices that have a name: what is written is gone."""

import errno
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from adanalytics_client._files import Rewrite

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Stream:
    """A binary stream of the caller, such as standard output; written as it comes, never closed."""

    lasting = False

    def __init__(self, file: BinaryIO) -> None:
        # Raw files take a part of a piece and leave the rest to the caller.
        raw = isinstance(file, io.RawIOBase)
        self.file = cast("BinaryIO", _WholeWrites(file)) if raw else file

    def rewrite(self, _change: Rewrite) -> None:
        """What was written to a stream is gone.

        Raises:
            io.UnsupportedOperation: always.
        """
        raise io.UnsupportedOperation("a stream is not rewritten")

    def commit(self) -> None:
        """Flush, where the stream can."""
        if callable(flush := getattr(self.file, "flush", None)):
            flush()

    def abort(self) -> None:
        """Nothing can be taken back."""


class NoReader(Exception):
    """Nobody has opened the pipe for reading yet."""


class Device(Stream):
    """A pipe or a device that has a name, such as `/dev/null`; opened here and so closed here.

    Raises:
        NoReader: for a pipe that nobody reads, unless it `waits` for somebody.
    """

    def __init__(self, path: Path, *, waits: bool = True) -> None:
        super().__init__(path.open("wb") if waits else _opened_at_once(path))

    def commit(self) -> None:
        """Flush and close."""
        self.file.close()

    def abort(self) -> None:
        """Close; nothing can be taken back."""
        with suppress(OSError):
            self.file.close()


class _WholeWrites(io.BufferedIOBase):
    """Writes to an unbuffered stream until all of a piece is taken; never closes it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw

    def write(self, piece: "ReadableBuffer") -> int:
        """Write all of `piece`.

        Raises:
            BlockingIOError: when the stream does not wait and is full.
            OSError: from the stream.
        """
        whole = rest = memoryview(piece).cast("B")
        while rest:
            taken: int | None = self._raw.write(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, "the stream is full and does not wait")
            rest = rest[taken:]
        return len(whole)

    def flush(self) -> None:
        """Flush the stream below."""
        self._raw.flush()


def _opened_at_once(path: Path) -> BinaryIO:
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            raise NoReader from None
        raise
    # Writing waits again, until the reader has taken what was written.
    os.set_blocking(opened, True)
    return os.fdopen(opened, "wb")
