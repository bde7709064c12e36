"""Files that appear whole or not at all."""

import errno
import io
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from adanalytics_client.errors import ConfigurationError


class Target(Protocol):
    """Where an output goes: a file that appears at the end, or a stream as it is written."""

    @property
    def file(self) -> BinaryIO:
        """What to write to."""

    def rewrite(self, pieces: Iterable[bytes]) -> bool:
        """Put other content in place of what was written; False when it is gone already."""

    def commit(self) -> None:
        """Make what was written visible."""

    def abort(self) -> None:
        """Leave no trace of what was written, as far as possible."""


class AtomicFile:
    """A file written beside its target and renamed over it once it is on the disk.

    Whoever reads the target sees the old content or the new, also after a crash.

    Raises:
        ConfigurationError: when the target is a folder or lies in none.
        OSError: when the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        check_target(path)
        self._path = path
        self._beside, self.file = _open_beside(path)

    def rewrite(self, pieces: Iterable[bytes]) -> bool:
        """Write `pieces`, which may be read from the present content, in its place."""
        beside, file = _open_beside(self._path)
        try:
            file.writelines(pieces)
        except BaseException:
            file.close()
            beside.unlink(missing_ok=True)
            raise
        self.abort()
        self._beside, self.file = beside, file
        return True

    def commit(self) -> None:
        """Bring the content to the disk, then put it under its name."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            self._beside.replace(self._path)
        except BaseException:
            self.abort()
            raise
        sync_folder(self._path)

    def abort(self) -> None:
        """Remove what was written; the target stays as it was."""
        # A full disk refuses the buffered rest once more on close.
        with suppress(OSError):
            self.file.close()
        self._beside.unlink(missing_ok=True)


class Stream:
    """A binary stream of the caller, such as standard output; written as it comes, never closed."""

    def __init__(self, file: BinaryIO) -> None:
        # Raw files take a part of a piece and leave the rest to the caller.
        raw = isinstance(file, io.RawIOBase)
        self.file = cast("BinaryIO", _WholeWrites(file)) if raw else file

    def rewrite(self, _pieces: Iterable[bytes]) -> bool:
        """What was written to a stream is gone."""
        return False

    def commit(self) -> None:
        """Flush."""
        self.file.flush()

    def abort(self) -> None:
        """Nothing can be taken back."""


class _WholeWrites(io.BufferedIOBase):
    """Writes to an unbuffered stream until all of a piece is taken; never closes it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw

    def write(self, piece: bytes) -> int:  # type: ignore[override]  # only bytes are written here
        """Write all of `piece`.

        Raises:
            BlockingIOError: when the stream does not wait and is full.
            OSError: from the stream.
        """
        rest = memoryview(piece)
        while rest:
            taken: int | None = self._raw.write(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, "the stream is full and does not wait")
            rest = rest[taken:]
        return len(piece)

    def flush(self) -> None:
        """Flush the stream below."""
        self._raw.flush()


def check_target(path: Path) -> None:
    """See that a file can have this name, before anything is fetched for it.

    Raises:
        ConfigurationError: when it is a folder or its folder does not exist.
    """
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file in it.")
    check_folder(path)


def check_folder(path: Path) -> None:
    """See that the folder of a path exists.

    Raises:
        ConfigurationError: when it does not.
    """
    if not path.parent.is_dir():
        raise ConfigurationError(f"The folder {path.parent} does not exist; make it first.")


def sync_folder(path: Path) -> None:
    """Bring the name of a new file to the disk, so that a power cut does not lose it."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_beside(path: Path) -> tuple[Path, BinaryIO]:
    # Opened by hand instead of with tempfile, whose files only the owner may read.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    return beside, beside.open("x+b")
