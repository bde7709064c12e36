"""Files that appear whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

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


def check_target(path: Path) -> None:
    """See that a file can have this name, before anything is fetched for it.

    Raises:
        ConfigurationError: when it is a folder, a device or a pipe, when its folder does not exist,
            or when it is no name.
    """
    check_name(path)
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; name a file in it.")
    check_place(path)


def check_place(path: Path) -> None:
    """See that files can appear at a path, which may be that of a folder for them.

    Raises:
        ConfigurationError: when a device or a pipe is there, when the folder around does not exist,
            or when it is no name.
    """
    check_name(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ConfigurationError(f"{path} is a device or a pipe; name a file.")
    if not (folder := real_path(path).parent).is_dir():
        raise ConfigurationError(f"The folder {folder} does not exist; make it first.")


def check_name(path: Path) -> None:
    """See that a path can be looked up.

    Raises:
        ConfigurationError: when it is too long, leads in a circle, or holds a zero character.
    """
    if "\0" in str(path):
        raise ConfigurationError(f"{path!r} holds a zero character, which no name of a file can.")
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            shown = f"{path.name[:_REPEATED]}..., {len(os.fsencode(path.name))} bytes in its name,"
            raise ConfigurationError(
                f"{shown} is longer than the file system takes; choose a shorter name."
            ) from None
        if error.errno == errno.ELOOP:
            raise ConfigurationError(
                f"{path} is a link that leads back to itself; remove it or name another file."
            ) from None


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
