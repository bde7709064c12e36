"""Locks between processes, of open files and of folders, until the process that has them ends."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from .logs import LOG

POSIX = find_spec("fcntl") is not None
"""Whether a folder can be opened, and an open file renamed and removed. Windows does neither."""

# The answers of file systems without locks: NFS without lockd, SMB, FUSE, Lustre. EBADF is that of
# NFS for a folder, which cannot be opened for writing.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF}
_FOLDERS_WITHOUT_LOCKS: set[Path] = set()

if TYPE_CHECKING or POSIX:
    import fcntl

    def take_lock(file: BinaryIO | int, *, wait: bool) -> None:
        """Lock an open file, or folder, until it is closed; see `lock`."""
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release_lock(file: BinaryIO) -> None:
        """Unlock an open file, also for forked children that have it open, too."""
        fcntl.flock(file, fcntl.LOCK_UN)

else:
    import msvcrt

    # A locked byte cannot be read by others, so it is one that a file seldom has: the last but one
    # at which `_locking` can begin, whose positions have 32 bits.
    # https://learn.microsoft.com/en-us/cpp/c-runtime-library/reference/locking
    _LOCKED_BYTE = 0x7FFF_FFFE

    def take_lock(file: BinaryIO | int, *, wait: bool) -> None:
        while True:
            try:
                return _lock_byte(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK)
            except OSError as error:
                if not wait and error.errno == errno.EACCES:
                    raise BlockingIOError(error.errno, error.strerror) from None
                # Waiting ends after ten seconds, with this.
                if error.errno != errno.EDEADLK:
                    raise

    def release_lock(file: BinaryIO) -> None:
        _lock_byte(file, msvcrt.LK_UNLCK)

    def _lock_byte(file: BinaryIO | int, mode: int) -> None:
        descriptor = file if isinstance(file, int) else file.fileno()
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)


def lock(file: BinaryIO | int, folder: Path, *, wait: bool) -> None:
    """Lock an open file, or folder, in `folder` until it is closed.

    Without locks in the file system the work goes on, with one warning for each folder.

    Raises:
        BlockingIOError: when another process has the lock, unless it is to `wait`.
    """
    try:
        take_lock(file, wait=wait)
    except OSError as error:
        # Some network file systems have no locks: better no lock than no work.
        if error.errno not in _NO_LOCKS:
            raise
        if (folder := folder.absolute()) not in _FOLDERS_WITHOUT_LOCKS:
            _FOLDERS_WITHOUT_LOCKS.add(folder)
            LOG.warning(
                "The file system of %s has no locks (%s): let only one program at a time write "
                "there.",
                folder,
                error.strerror,
            )


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from locking a folder meanwhile; wait for those that have."""
    # A folder cannot be opened on Windows.
    flags = os.O_RDONLY if POSIX else os.O_RDWR | os.O_CREAT
    descriptor = os.open(folder if POSIX else folder / ".lock", flags, 0o600)
    try:
        lock(descriptor, folder, wait=True)
        yield
    finally:
        os.close(descriptor)
