"""Rows as stored and served: JSON texts of events, in chunks of up to 128, each chunk one BLOB.

A chunk holds rows separated by commas, as on a page, under the key of its first row. So a page is a
range of keys, and no event is decoded to be served.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

# Rows of one chunk, which is read and cut if a page begins or ends within it.
CHUNK_ROWS = 128

# Occurs between two events and nowhere else: in a JSON string a backslash comes before each quote,
# and no field of an event is a list. The name of the first field is there only because a longer
# separator is faster to find.
BEGIN = b'{"event_id":"'
END = b"}"
_BETWEEN = b"}," + BEGIN


def split_rows(text: bytes) -> list[bytes]:
    parts = text.split(_BETWEEN)
    if len(parts) == 1:
        return parts if text else []
    rows = [b'{"event_id":"%b}' % row for row in parts]
    rows[0], rows[-1] = parts[0] + b"}", BEGIN + parts[-1]
    return rows


def count_rows(text: bytes) -> int:
    """Count joined rows, at least one."""
    return text.count(_BETWEEN) + 1


def some_rows(text: bytes, skip: int, take: int) -> bytes:
    """Return ``take`` joined rows after the first ``skip``, still joined."""
    if skip:
        text = BEGIN + text.split(_BETWEEN, skip)[-1]
    rest = text.split(_BETWEEN, take)[take:]
    return text[: -len(_BETWEEN) - len(rest[0])] + END if rest else text


def split_pieces(pieces: Iterable[bytes]) -> list[bytes]:
    return [row for piece in pieces for row in split_rows(piece)]


def decode_rows(pieces: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the events of joined rows, as JSON has them."""
    rows: list[dict[str, Any]] = msgspec.json.decode(b"[" + b",".join(pieces) + b"]")
    return rows


def append_rows(connection: sqlite3.Connection, first: int, key: int, rows: list[bytes]) -> None:
    """Store rows of one hour under consecutive keys, starting at ``key``.

    The last chunk is filled before a new one starts, so many small loads leave no more chunks than
    one large load. Chunks before the key ``first`` hold rows that are about to be removed.
    """
    last = connection.execute(
        "SELECT key, n, texts FROM chunks WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1",
        (first, key),
    ).fetchone()
    # Hours grow in small loads: the last chunk is filled up, so that a page reads few chunks.
    if last is not None and rows:
        start, n, texts = last
        additions, rows = rows[: CHUNK_ROWS - n], rows[CHUNK_ROWS - n :]
        text = b",".join([texts, *additions])
        connection.execute(
            "UPDATE chunks SET n = ?, texts = ? WHERE key = ?", (n + len(additions), text, start)
        )
        key += len(additions)
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[start : start + CHUNK_ROWS]
        values = (key + start, len(chunk), b",".join(chunk))
        connection.execute("INSERT INTO chunks VALUES (?, ?, ?)", values)


def remove_rows(connection: sqlite3.Connection, low: int, high: int) -> None:
    """Remove the rows of an hour with keys from ``low`` to below ``high``.

    Only rows of a killed load can share a chunk with rows that stay, which come before them.
    """
    last = connection.execute(
        "SELECT key, texts FROM chunks"
        " WHERE key = (SELECT MAX(key) FROM chunks WHERE key < ?) AND key + n > ?",
        (low, low),
    ).fetchone()
    if last is not None:
        key, texts = last
        values = (low - key, some_rows(texts, 0, low - key), key)
        connection.execute("UPDATE chunks SET n = ?, texts = ? WHERE key = ?", values)
    connection.execute("DELETE FROM chunks WHERE key >= ? AND key < ?", (low, high))
