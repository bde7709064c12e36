"""Errors of files that are no fault of the code: which went bad, and a disk that is full."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DamagedFile(sqlite3.DatabaseError):
    """A file of a partner cannot be read any more; the others can."""

    def __init__(self, path: Path, reason: str) -> None:
        # Without the folders above: the text may end up in the answer to a client.
        super().__init__(
            f"partners/{path.parent.name}/{path.name} is damaged ({reason}): restore its folder"
            " from a backup, or delete the folder and load its files again"
        )


class DiskFull(OSError):
    """A file cannot grow: the disk, or the user's part of it, is full. Nothing was changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOSPC, "no room on the disk", f"{path.parent.name}/{path.name}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file, damaged or without room to grow, into errors that name it.

    Raises:
        DamagedFile: the file is no database, or no longer a whole one.
        DiskFull: the disk is full.
    """
    try:
        with room_for(path):
            yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise DamagedFile(path, str(error)) from error
        raise


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Name the file when SQLite has no room to write it.

    Raises:
        DiskFull: the disk is full.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_no_room(error):
            raise DiskFull(path) from error
        raise


def is_no_room(error: BaseException) -> bool:
    """Tell whether a file could not be written because the disk, or the user's part, is full.

    >>> is_no_room(OSError(errno.ENOSPC, "No space left on device"))
    True
    """
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    # The second one: the index of the write-ahead log, which readers need too, cannot grow.
    no_room = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
    return getattr(error, "sqlite_errorcode", None) in no_room
