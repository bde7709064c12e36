"""The files of one partner: their places, and how to open them.

A partner has ``ledger.db`` (the visible rows of each hour, ids, rollups) and ``YYYY-MM.db`` for
each month (rows in chunks). Readers see only the rows that the ledger counts: one commit of the
ledger makes a complete load visible, however many months it touches.
"""

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from adanalytics_server.clock import MILLISECONDS_PER_HOUR

from .damage import is_no_room, naming
from .durable import make_folder
from .schema import LEDGER, MONTH, prepare

# Idle read connections kept for each file.
MOST_IDLE = 8


# Called for every record of a load; a thousand hours are six weeks.
@lru_cache(maxsize=1024)
def month_of_hour(hour: int) -> str:
    """Return the month, ``YYYY-MM``, of an hour since 1970."""
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m}"


def hour_of_time(milliseconds: int) -> int:
    """Return the hour since 1970 of an instant, which may be before 1970."""
    return milliseconds // MILLISECONDS_PER_HOUR


def first_key(hour: int, sequence: int) -> int:
    """Return the key of the ``sequence``-th row ever written to an hour."""
    return hour << 32 | sequence


class PartnerStore:
    """The folder of one partner's events; safe to share between threads.

    Readers take read-only connections from a small pool and return them before a response is sent.
    Writers open their own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._idle: defaultdict[str, list[sqlite3.Connection]] = defaultdict(list)
        self._closed = False
        self._lock = threading.Lock()
        self._names: set[str] = set()

    @contextmanager
    def reading(self, name: str) -> Iterator[sqlite3.Connection]:
        """Lend a read-only connection to ``ledger`` or a month (``YYYY-MM``), made if missing."""
        idle = self._idle[name]
        with naming(self._path(name)):
            try:
                # Opening a database costs more than most queries.
                connection, lasts = idle.pop(), True
            except IndexError:
                connection, lasts = self._open_for_reading(name)
            try:
                yield connection
            # A connection in the middle of a failed read is not lent again.
            except BaseException:
                connection.close()
                raise
        if lasts and not self._closed and len(idle) < MOST_IDLE:
            idle.append(connection)
        else:
            connection.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[sqlite3.Connection]:
        """Open ``ledger`` or a month inside a write transaction: commit at the end, or roll back.

        The ledger's transaction goes around those of the months. It is also the lock between
        writers of all processes: a second writer waits for ten seconds and then fails with
        ``sqlite3.OperationalError``.
        """
        with (
            naming(self._path(name)),
            closing(self._open_for_writing(name)) as connection,
            transaction(connection),
        ):
            yield connection

    def close(self) -> None:
        self._closed = True
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def _open_for_reading(self, name: str) -> tuple[sqlite3.Connection, bool]:
        """Return a connection, and whether it sees what is written later."""
        mode = "mode=ro"
        with self._lock:
            # Create a missing file before the first read.
            if name not in self._names:
                try:
                    self._open_for_writing(name).close()
                    self._names.add(name)
                except (OSError, sqlite3.OperationalError) as error:
                    log = self.folder / f"{name}.db-wal"
                    if not is_no_room(error) or (log.exists() and log.stat().st_size > 0):
                        raise
                    # SQLite has no room for the index of its log. Nobody else has either, so
                    # the file does not change during this read.
                    mode = "immutable=1"
        connection = sqlite3.Connection(
            f"{self._path(name).absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = bytes
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA query_only = ON")
        # No mmap: it is no faster here, and the mapped file would count as memory in use.
        return connection, mode == "mode=ro"

    def _open_for_writing(self, name: str) -> sqlite3.Connection:
        make_folder(self.folder)
        connection = sqlite3.Connection(self._path(name), isolation_level=None)
        try:
            # Applies to a new file only: a chunk of 80 KB on fewer pages reads a third faster.
            connection.execute("PRAGMA page_size = 16384")
            prepare(connection, LEDGER if name == "ledger" else MONTH)
            # FULL, because the ledger must never be newer on disk than the bodies.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection


class Stores:
    """One store per partner; the folder's name is the partner's number, never its id."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "partners"
        self._lock = threading.Lock()
        self._open: dict[int, PartnerStore] = {}

    def of(self, partner: int) -> PartnerStore:
        with self._lock:
            store = self._open.get(partner)
            if store is None:
                store = self._open[partner] = PartnerStore(self._folder / str(partner))
            return store

    def drop(self, partner: int) -> None:
        """Close the store of a partner whose files are about to be removed."""
        with self._lock:
            store = self._open.pop(partner, None)
        if store is not None:
            store.close()

    def close(self) -> None:
        with self._lock:
            stores, self._open = list(self._open.values()), {}
        for store in stores:
            store.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block inside ``BEGIN IMMEDIATE``: commit at the end, roll back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # A full disk has already ended the transaction.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
