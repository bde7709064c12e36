"""The log of sends in SQLite: in a file that all processes of a user share, or in memory."""

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from adanalytics_client._base.files import make_folder, rename, state_folder
from adanalytics_client._base.locks import locked_folder
from adanalytics_client._base.logs import LOG
from adanalytics_client.errors import TransportError

from .policy import QuotaLog

T = TypeVar("T")


# Seconds. Another process holds the file for microseconds; longer only if it is stopped.
_PATIENCE = 10.0

# Times are seconds of the steady clock, except `wall`. A send counts until `until`; its number may
# be that of an expired one. `refusals` are the 429s of the last hour that state no time, and `hold`
# has one row while they hold the key; see hold.py.
#   wall, steady   the last use of the log, by both clocks
#   hold_until     send nothing until then, because of a 429 that states a time
#   stated_until   until then believe `stated_left`, the service's count of requests left
#   full_until     until then all requests count as used up: the earlier log was damaged
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sends (id INTEGER PRIMARY KEY, until REAL);
CREATE INDEX IF NOT EXISTS ends ON sends (until);
CREATE TABLE IF NOT EXISTS state (
    wall REAL DEFAULT 0, steady REAL DEFAULT 0, hold_until REAL DEFAULT 0,
    stated_until REAL DEFAULT 0, stated_left INTEGER DEFAULT 0, full_until REAL DEFAULT 0
);
INSERT OR IGNORE INTO state (rowid) VALUES (1);
CREATE TABLE IF NOT EXISTS refusals (at REAL);
CREATE TABLE IF NOT EXISTS hold (since REAL, refused_at REAL, probe_at REAL, probe_until REAL);
"""
_FILL = "UPDATE state SET full_until = 9e999"

# One transaction at a time in this process, so that a fork can wait for its end.
_TRANSACTION = threading.Lock()
_STORES: "WeakSet[QuotaStore]" = WeakSet()


def open_store(place: QuotaLog | None, name: str, environment: Mapping[str, str]) -> "QuotaStore":
    """Return the store of the key whose file has this name; nothing is read or written yet."""
    folder = None
    if place == "shared":
        try:
            folder = state_folder(environment) / "quota"
        # A container's user may have no home.
        except RuntimeError:
            LOG.warning("No home folder is known; this client counts its requests alone.")
    elif isinstance(place, os.PathLike):
        folder = Path(place).absolute()
    return QuotaStore(folder and folder / f"{name}.sqlite3")


class QuotaStore:
    """The database of one key, locked for the microseconds of a transaction.

    If a file cannot be written, memory replaces it, with its sends. If they cannot be read, or the
    failure may be temporary, it is an error: a client that then counted alone would exceed the
    limit. A damaged file is replaced by one that counts as full.
    """

    def __init__(self, path: Path | None) -> None:
        """`path` is None for memory."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        _STORES.add(self)

    def run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in a transaction; TransportError means that the file may work later."""
        with _TRANSACTION:
            try:
                return self._transaction(action)
            except (sqlite3.DatabaseError, OSError) as error:
                if self._path is None:
                    raise
                self._recover(error, self._path)
            return self._transaction(action)

    def close(self) -> None:
        """Close the file, which the next transaction opens again; a store in memory stays."""
        with _TRANSACTION:
            self._close()

    def _close(self) -> None:
        if self._path is not None and self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _transaction(self, action: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        # Another process may have replaced a damaged file.
        if connection is None or (self._path and _inode(self._path) != self._inode):
            connection = self._open()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            return action(connection)

    def _open(self) -> sqlite3.Connection:
        self._close()
        if self._path is None:
            self._connection = _connect(":memory:")
        else:
            with _locked(self._path.parent):
                if not _inode(self._path):
                    _put_new(self._path)
                self._inode = _inode(self._path)
                if self._path.stat().st_size == 0:
                    # SQLite would accept it as a new one, but a log is always put in place
                    # complete.
                    raise sqlite3.DatabaseError("the file is empty")
                self._connection = _connect(self._path)
        return self._connection

    def _recover(self, error: sqlite3.DatabaseError | OSError, path: Path) -> None:
        """Make the next transaction possible, or raise TransportError if only time can."""
        # Anything else means that the file is no database any more.
        if not isinstance(error, sqlite3.OperationalError | OSError):
            return self._replace(path)
        problem = error.strerror if isinstance(error, OSError) else str(error)
        if _may_pass(error, path) or not self._count_alone(path, problem):
            self._close()
            raise TransportError(
                f"The quota log {path} cannot be used at the moment: {problem}. No request was "
                "sent.",
                remedy="Close files, free some space on the disk, or try later.",
            ) from None
        return None

    def _replace(self, path: Path) -> None:
        """Replace a damaged file by one that counts as full."""
        self._close()
        with _locked(path.parent):
            if _inode(path) != self._inode:
                return
            _put_new(path, _FILL)
        LOG.warning(
            "The quota log %s was damaged; all requests of this hour count as used up.", path
        )

    def _count_alone(self, path: Path, problem: str | None) -> bool:
        """Continue in memory, with the sends of the file; return False if they cannot be read."""
        memory = _bare_connection(":memory:")
        complete = not os.access(path, os.F_OK)
        for source in self._readers(path):
            with closing(source), suppress(sqlite3.Error):
                if not complete:
                    source.backup(memory)
                    complete = True
        if complete:
            # Not before: a log can be copied only to one of its page size, or to none.
            _prepare(memory)
            self._path, self._connection = None, memory
            LOG.warning(
                "The quota log %s cannot be used (%s); this client counts its requests alone, "
                "and other programs with the same key do not see them. "
                "Free some space on its disk, or make it writable.",
                path,
                problem,
            )
        return complete

    def _readers(self, path: Path) -> Iterator[sqlite3.Connection]:
        """Yield the open connection, and one that reads a file which cannot be written."""
        if self._connection is not None:
            yield self._connection
        # A full disk refuses even what readers write: `readonly_shm` and `immutable` write nothing,
        # but `immutable` would leave out the sends in the journal.
        journal = Path(f"{path}-wal")
        mode = "readonly_shm" if journal.exists() and journal.stat().st_size else "immutable"
        with suppress(sqlite3.Error):
            yield sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&{mode}=1", uri=True)


def _connect(database: Path | str) -> sqlite3.Connection:
    connection = _bare_connection(database)
    try:
        _prepare(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _bare_connection(database: Path | str) -> sqlite3.Connection:
    # The store's lock allows any thread to use it.
    return sqlite3.connect(
        database, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )


def _prepare(connection: sqlite3.Connection) -> None:
    """Complete the tables, and set pragmas for a log that may be lost in a power cut.

    A write-ahead log survives the death of a process at any instant, and costs half as much as a
    rollback journal. A change writes whole pages, so those of a new log are small; the journal has
    200 pages. Nothing is synced to the disk: a power cut may lose the last seconds of the log,
    about as many as a restart takes anyway.
    """
    connection.execute("PRAGMA page_size = 1024")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA wal_autocheckpoint = 200")
    # Damage must show before a send, and not as a count that is too low.
    if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("the file is damaged")
    connection.executescript(_SCHEMA)


def _put_new(path: Path, change: str = "") -> None:
    """Put a new file in place, complete at any instant."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    with closing(_connect(new)) as connection:
        connection.executescript(change)
    for journal in ("-wal", "-shm"):
        Path(f"{path}{journal}").unlink(missing_ok=True)
    rename(new, path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from creating, opening or replacing a log in the folder meanwhile.

    If several processes switch one file to a write-ahead log, SQLite itself refuses some of them.
    """
    make_folder(folder, mode=0o700)
    with locked_folder(folder):
        yield


def _inode(path: Path) -> int:
    """Return the number that tells a file from another of its name; 0 without a file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _may_pass(error: sqlite3.DatabaseError | OSError, path: Path) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # SQLite does not state why it cannot open a file; here it is because too many are open.
    existing = [place for place in (path, path.parent) if os.access(place, os.F_OK)]
    can_use = all(os.access(place, os.R_OK | os.W_OK) for place in existing)
    return code == sqlite3.SQLITE_BUSY or (code == sqlite3.SQLITE_CANTOPEN and can_use)


def _before_fork() -> None:
    # A connection must not be carried across a fork (https://sqlite.org/howtocorrupt.html, 2.6).
    _TRANSACTION.acquire()
    for store in list(_STORES):
        store._close()  # noqa: SLF001  # the lock is taken


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_TRANSACTION.release,
        after_in_child=_TRANSACTION.release,
    )
