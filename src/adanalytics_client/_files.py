"""Files that appear whole or not at all."""

import errno
import io
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from adanalytics_client.errors import ConfigurationError

Rewrite = Callable[[BinaryIO, BinaryIO], None]
"""Reads what was written, from its start, and writes what takes its place."""

# Characters of a name that a temporary one repeats: the longest that a file system takes is taken.
_REPEATED = 40


class Target(Protocol):
    """Where an output goes: a file that appears at the end, or a stream as it is written."""

    @property
    def file(self) -> BinaryIO:
        """What to write to."""

    @property
    def lasting(self) -> bool:
        """Whether what was written can still be rewritten."""

    def rewrite(self, change: Rewrite) -> None:
        """Put other content in place of what was written; `file` is behind it afterwards."""

    def commit(self) -> None:
        """Make what was written visible."""

    def abort(self) -> None:
        """Leave no trace of what was written, as far as possible."""


class AtomicFile:
    """A file written beside its target and renamed over it once it is on the disk.

    Whoever reads the target sees the old content or the new, also after a crash. A link stays a
    link, and a file that is replaced keeps its permissions.

    Raises:
        ConfigurationError: when the target is a folder or lies in none.
        OSError: when the folder cannot be written.
    """

    lasting = True

    def __init__(self, path: Path) -> None:
        check_target(path)
        self._path = real_path(path)
        self._beside, self.file = open_beside(self._path)

    def rewrite(self, change: Rewrite) -> None:
        """Start another file and let `change` fill it from the present one."""
        beside, file = open_beside(self._path)
        try:
            self.file.flush()
            self.file.seek(0)
            change(self.file, file)
        except BaseException:
            file.close()
            beside.unlink(missing_ok=True)
            raise
        self.abort()
        self._beside, self.file = beside, file

    def commit(self) -> None:
        """Bring the content to the disk, then put it under its name."""
        try:
            self.file.flush()
            keep_permissions(self.file, self._path)
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
        """Flush."""
        self.file.flush()

    def abort(self) -> None:
        """Nothing can be taken back."""


class Device(Stream):
    """A pipe or a device that has a name, such as `/dev/null`; opened here and so closed here."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("wb"))

    def commit(self) -> None:
        """Flush and close."""
        self.file.close()

    def abort(self) -> None:
        """Close; nothing can be taken back."""
        with suppress(OSError):
            self.file.close()


def open_target(path: Path) -> Target:
    """The target for a name: a file that appears whole, or what is there and is no file.

    Raises:
        ConfigurationError: when it is a folder or lies in none.
        OSError: when it cannot be written.
    """
    special = path.exists() and not path.is_file() and not path.is_dir()
    return Device(path) if special else AtomicFile(path)


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
        ConfigurationError: when it is a folder, a device or a pipe, when its folder does not exist,
            or when it is no name.
    """
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file in it.")
    check_place(path)


def check_place(path: Path) -> None:
    """See that files can appear at a path, which may be that of a folder for them.

    Raises:
        ConfigurationError: when a device or a pipe is there, when the folder around does not exist,
            or when it is no name.
    """
    if "\0" in str(path):
        raise ConfigurationError(f"{path!r} holds a zero character, which no name of a file can.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ConfigurationError(f"{path} is a device or a pipe; name a file.")
    if not (folder := real_path(path).parent).is_dir():
        raise ConfigurationError(f"The folder {folder} does not exist; make it first.")


def real_path(path: Path) -> Path:
    """Where a file of this name lies: a link stays a link, and what it leads to is written."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def permissions_of(path: Path) -> int | None:
    """The permissions of a file that is there, for the one that replaces it."""
    return stat.S_IMODE(path.stat().st_mode) if path.is_file() else None


def keep_permissions(file: BinaryIO, target: Path) -> None:
    """Give a file those of the one that it is to replace, where they are others."""
    permissions = permissions_of(target)
    # Only its owner may set them, and a file in a shared folder may be somebody else's.
    if permissions not in {None, stat.S_IMODE(os.fstat(file.fileno()).st_mode)}:
        os.fchmod(file.fileno(), permissions)


def sync_folder(path: Path) -> None:
    """Bring the name of a new file to the disk, so that a power cut does not lose it."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def open_beside(path: Path) -> tuple[Path, BinaryIO]:
    """A new file in the folder of `path`, with the permissions of what is there."""
    # Opened by hand instead of with tempfile, whose files only the owner may read.
    beside = path.with_name(f".{path.name[:_REPEATED]}.{secrets.token_hex(6)}.tmp")
    file = beside.open("x+b")
    keep_permissions(file, path)
    return beside, file
