"""Errors of damaged files and full disks, which are not bugs."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DamagedFile(sqlite3.DatabaseError):
    """A file of a partner is unreadable; the others are not affected."""

    def __init__(self, path: Path, reason: str) -> None:
        # A relative path: the text may end up in the response to a client.
        super().__init__(
            f"partners/{path.parent.name}/{path.name} is damaged ({reason}): restore its folder"
            " from a backup, or delete the folder and load its files again"
        )


class DiskFull(OSError):
    """A file cannot grow: the disk or the user's quota is full. Nothing was changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOSPC, "no room on the disk", f"{path.parent.name}/{path.name}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about damage and a full disk into errors that name the file.

    Raises:
        DamagedFile: the file is not a database, or is damaged.
        DiskFull: the disk is full.
    """
    try:
        with room_for(path):
            yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        # Other errors of SQLite are mistakes of ours, and no damage.
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise DamagedFile(path, str(error)) from error
        raise


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Name the file that SQLite has no room to write.

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
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    # The second code: the index of the write-ahead log, which readers need too, cannot grow.
    no_room = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}
    return getattr(error, "sqlite_errorcode", None) in no_room
