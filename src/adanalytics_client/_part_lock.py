"""Open a file that only one process at a time may write."""

import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

from adanalytics_client.errors import ConfigurationError, DownloadError

_ANYBODY = 0o666
_OWNER = 0o600


def open_locked(path: Path, *, within: int | None) -> BinaryIO:
    """The file for reading and writing, made when it is not there; the lock ends with it.

    Args:
        path: the file itself; nothing behind a link is ever written.
        within: permissions that it may not go beyond, except that its owner writes it, or None.

    Raises:
        ConfigurationError: when a link, a device or a pipe is there.
        DownloadError: when another process, or another download of this one, has it.
        OSError: when it cannot be written.
    """
    mode = _ANYBODY if within is None else within & _ANYBODY | _OWNER
    while True:
        file = os.fdopen(_open(path, mode), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between open and lock another process may have renamed it to its target.
            if is_at(path, file):
                _narrow(file, mode)
                return file
        except BlockingIOError:
            file.close()
            raise DownloadError(
                f"Another process is downloading to {path}; wait for it or take another name."
            ) from None
        except BaseException:
            file.close()
            raise
        file.close()


def unlock(file: BinaryIO) -> None:
    """End the lock, for which closing the file is not enough: a forked child may have it, too.

    Nothing may be written behind this; what waits in the file's buffer would be.

    Raises:
        OSError: when the buffer cannot be written, and the file is still locked.
    """
    file.flush()
    fcntl.flock(file, fcntl.LOCK_UN)


def is_at(path: Path, file: BinaryIO) -> bool:
    """Whether a name is that of this very file, and not of a link or of another one."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(found, os.fstat(file.fileno()))


def _open(path: Path, mode: int) -> int:
    if path.is_symlink():
        raise ConfigurationError(
            f"{path} is a link, and a download would overwrite what it leads to; remove it."
        )
    # Whoever puts a link here now gets an error, too, and a pipe is not waited for.
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise ConfigurationError(f"{path} is a device or a pipe; remove it.")
    return opened


def _narrow(file: BinaryIO, mode: int) -> None:
    """Take back the permissions beyond `mode` that an earlier run gave."""
    found = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    if found & ~mode:
        os.fchmod(file.fileno(), found & mode)
