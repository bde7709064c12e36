"""The files of one partner: where they are and how they are opened.

A partner has ``ledger.db`` (which rows of which hour are visible, the ids, the rollups) and per
month ``YYYY-MM.db``, the rows in chunks. A row exists for readers only when the ledger says so:
one commit of the ledger makes a whole load visible, however many months it touches.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from adanalytics_server.clock import MILLISECONDS_PER_HOUR
from adanalytics_server.storage.damage import naming
from adanalytics_server.storage.schema import LEDGER_STEPS, MONTH_STEPS, migrate, text_files

# Idle connections kept for reading, over all files of a partner.
MOST_IDLE = 32


# Asked for every single record of a load; a thousand hours are six weeks of them.
@lru_cache(maxsize=1024)
def month_of_hour(hour: int) -> str:
    """Name the month, ``YYYY-MM``, that an hour since 1970 belongs to."""
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m}"


def hour_of_time(milliseconds: int) -> int:
    """Number the hour since 1970 that an instant belongs to; also before 1970."""
    return milliseconds // MILLISECONDS_PER_HOUR


def first_key(hour: int, sequence: int) -> int:
    """Return the key of the ``sequence``-th row ever written into an hour."""
    return hour << 32 | sequence


class PartnerStore:
    """The folder of one partner's events; safe to share between threads.

    Readers get connections that cannot write, from a small pool, and give them back before an
    answer is sent. Writers open their own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[str, sqlite3.Connection]] = OrderedDict()
        self._closed = False
        self._preparing = threading.Lock()
        self._prepared: set[str] = set()

    @contextmanager
    def reading_ledger(self) -> Iterator[sqlite3.Connection]:
        """Yield a read-only connection to the ledger, which is made when it is missing."""
        with self._reading("ledger") as connection:
            yield connection

    @contextmanager
    def reading_month(self, month: str) -> Iterator[sqlite3.Connection]:
        """Yield a read-only connection to the rows of a month (``YYYY-MM``)."""
        with self._reading(month) as connection:
            yield connection

    @contextmanager
    def writing_ledger(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger inside a write transaction: commit at the end, or roll back.

        It is also the lock between writers, of this process and of others: the second one
        waits for ten seconds and then fails with ``sqlite3.OperationalError``.
        """
        with self._writing("ledger") as connection:
            yield connection

    @contextmanager
    def writing_month(self, month: str) -> Iterator[sqlite3.Connection]:
        """Open a month's rows inside a write transaction; only under the ledger's."""
        with self._writing(month) as connection:
            yield connection

    def close(self) -> None:
        """Close the idle connections; one in use is closed when it is given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, OrderedDict()
        for _, connection in idle.values():
            connection.close()

    @contextmanager
    def _writing(self, name: str) -> Iterator[sqlite3.Connection]:
        with (
            naming(self._path(name)),
            closing(self._open_for_writing(name)) as connection,
            transaction(connection),
        ):
            yield connection

    @contextmanager
    def _reading(self, name: str) -> Iterator[sqlite3.Connection]:
        with naming(self._path(name)):
            connection = self._take(name) or self._open_for_reading(name)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        self._give_back(name, connection)

    def _take(self, name: str) -> sqlite3.Connection | None:
        with self._lock:
            for number in reversed(self._idle):
                if self._idle[number][0] == name:
                    return self._idle.pop(number)[1]
        return None

    def _give_back(self, name: str, connection: sqlite3.Connection) -> None:
        surplus: sqlite3.Connection | None = None
        with self._lock:
            if self._closed:
                surplus = connection
            else:
                self._idle[id(connection)] = (name, connection)
                if len(self._idle) > MOST_IDLE:
                    surplus = self._idle.popitem(last=False)[1][1]
        if surplus is not None:
            surplus.close()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def _open_for_reading(self, name: str) -> sqlite3.Connection:
        with self._preparing:
            # A file is brought to the newest layout before anybody reads it.
            if name not in self._prepared:
                self._open_for_writing(name).close()
                self._prepared.add(name)
        connection = sqlite3.connect(
            f"{self._path(name).absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = bytes
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA query_only = ON")
        # No mmap: it reads no faster here, and the mapped file would count as memory in use.
        return connection

    def _open_for_writing(self, name: str) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path(name), isolation_level=None)
        try:
            # Of a new file only: a chunk of 80 KB on fewer pages is read a third faster.
            connection.execute("PRAGMA page_size = 16384")
            migrate(connection, LEDGER_STEPS if name == "ledger" else MONTH_STEPS)
            for texts in text_files(self._path(name)):
                texts.unlink()
            # FULL, because the ledger must never be newer on disk than the bodies it names.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection


class Stores:
    """Hands out one store per partner; the folder's name is the partner's number, never its id."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "partners"
        self._lock = threading.Lock()
        self._open: dict[int, PartnerStore] = {}

    def of(self, partner: int) -> PartnerStore:
        """Return the store of the partner with this number."""
        with self._lock:
            store = self._open.get(partner)
            if store is None:
                store = self._open[partner] = PartnerStore(self._folder / str(partner))
            return store

    def drop(self, partner: int) -> None:
        """Close the store of a partner, whose files are about to go."""
        with self._lock:
            store = self._open.pop(partner, None)
        if store is not None:
            store.close()

    def close(self) -> None:
        """Close all stores."""
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
        # A full disk has ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
