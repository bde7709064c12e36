"""Errors of files that are no fault of the code: which went bad, and a disk that is full."""

import errno
import sqlite3
from pathlib import Path


class DamagedFile(sqlite3.DatabaseError):
    """A file of a partner cannot be read any more; the others can."""

    def __init__(self, path: Path, reason: str) -> None:
        # Without the folders above: the text may end up in the answer to a client.
        name = f"partners/{path.parent.name}/{path.name}"
        super().__init__(
            f"{name} is damaged ({reason}): put its folder back from a backup, or remove the"
            " folder and load its files again"
        )


def is_damage(error: BaseException) -> bool:
    """Tell whether SQLite found that a file is none of its own, or no longer whole."""
    code = getattr(error, "sqlite_errorcode", None)
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_no_room(error: BaseException) -> bool:
    """Tell whether a file could not be written because the disk, or the user's part, is full.

    >>> is_no_room(OSError(errno.ENOSPC, "No space left on device"))
    True
    """
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
