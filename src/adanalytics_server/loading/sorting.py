"""Sort any number of records in bounded memory: a temporary table of SQLite, which has no name."""

import sqlite3
from collections.abc import Iterator

import msgspec

from adanalytics_server.storage.events import Record

# The memory of the table and of the sort; the rest goes to temporary files.
MOST_BYTES = 64 << 20

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, tuple[int | None, ...], int, int | None, bool]).decode


class RecordSorter:
    """Takes records in any order and yields them sorted by time, id and body.

    Nothing is left of the temporary files of a killed process.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._table = sqlite3.Connection("", isolation_level=None)
        self._table.execute(f"PRAGMA cache_size = {-most_bytes // 1024}")
        self._table.execute("CREATE TABLE records (time INTEGER, id BLOB, body BLOB, facts BLOB)")
        self._table.execute("BEGIN")

    def close(self) -> None:
        self._table.close()

    def add(self, record: Record) -> None:
        time, event_id, body, *facts = record
        row = time, event_id, body, _encode(facts)
        self._table.execute("INSERT INTO records VALUES (?, ?, ?, ?)", row)

    def __iter__(self) -> Iterator[Record]:
        rows = self._table.execute("SELECT * FROM records ORDER BY time, id, body")
        return (Record._make((*row[:3], *_decode(row[3]))) for row in rows)
