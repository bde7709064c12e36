"""Files that only their owner can read: refused when they are not, replaced as a whole."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adanalytics_cli.core.errors import UnsafeFile

_OTHERS = 0o077


def read_private(path: Path) -> bytes | None:
    """The content of `path`, or None when there is no such file.

    Raises UnsafeFile for a symbolic link, for anything but a plain file, and for a file that
    belongs to or can be read by somebody else.
    """
    try:
        # Without O_NONBLOCK a named pipe in this place would be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _unsafe(path, "is a symbolic link") from error
        raise
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _unsafe(path, "is not a plain file")
        if found.st_uid != os.geteuid():
            raise _unsafe(path, "belongs to another user")
        if found.st_mode & _OTHERS:
            raise UnsafeFile(
                f"{path} can be read or changed by other users", remedy=f"Run: chmod 600 {path}"
            )
        return file.read()


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` as a whole; call it inside `private_folder(path.parent)`."""
    # mkstemp makes a new file with mode 0600; replacing puts it in the place of a
    # symbolic link and never writes through one.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def private_folder(path: Path) -> Iterator[None]:
    """Make `path` a folder of mode 0700 and keep other processes of ours out of it meanwhile.

    Raises UnsafeFile when it is a symbolic link or belongs to somebody else.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unsafe(path, "is a symbolic link") from error
        raise
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid():
            raise _unsafe(path, "belongs to another user")
        if found.st_mode & _OTHERS:
            os.fchmod(handle, 0o700)
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _unsafe(path: Path, what: str) -> UnsafeFile:
    return UnsafeFile(f"{path} {what}, so no secret is kept there", remedy=f"Remove {path}.")
