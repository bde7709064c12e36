"""The error of a file that went bad: which one it is, and what can be done."""

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
