"""The tables of the four kinds of SQLite file.

Each is made in one step. ``PRAGMA user_version`` holds the version of the layout; a file with
another one is refused, because a test loads its data anew sooner than it migrates them.
"""

import sqlite3

from .dimensions import DIMENSIONS
from .events import COUNTER_OF

COUNTERS = tuple(COUNTER_OF.values())
# Units and nanos in separate columns: neither can overflow 64 bits.
MEASURES = (*COUNTERS, "revenue_units", "revenue_nanos", "cost_units", "cost_nanos")

# Raise it when a table changes. A new dimension, whose sums older files lack, raises it by itself.
VERSION = 3 + len(DIMENSIONS)

STATE = """
CREATE TABLE partners (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    currency TEXT NOT NULL
) STRICT;
CREATE TABLE users (
    number INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'analyst', 'viewer')),
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE user_partners (
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    partner INTEGER NOT NULL REFERENCES partners (number) ON DELETE CASCADE,
    PRIMARY KEY (user, partner)
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE exports (
    id TEXT PRIMARY KEY,
    partner INTEGER NOT NULL REFERENCES partners (number) ON DELETE CASCADE,
    status TEXT NOT NULL,
    format TEXT NOT NULL,
    compression TEXT NOT NULL,
    start_date TEXT NOT NULL,
    end_date TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    row_count INTEGER,
    size_bytes INTEGER,
    sha256 TEXT,
    error TEXT
) STRICT;
CREATE INDEX exports_by_request
    ON exports (partner, start_date, end_date, format, compression, created_at);
CREATE TABLE web_sessions (
    digest BLOB PRIMARY KEY,
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_sessions_by_user ON web_sessions (user, expires_at);
"""

LEDGER = f"""
CREATE TABLE revision (
    number INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (0);
CREATE TABLE hours (
    hour INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    n INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE TABLE event_ids (
    event_id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE names (
    dimension INTEGER NOT NULL,
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (dimension, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE rollups (
    dimension INTEGER NOT NULL,
    day INTEGER NOT NULL,
    id_is_null INTEGER NOT NULL,
    id INTEGER NOT NULL,
    {", ".join(f"{measure} INTEGER NOT NULL" for measure in MEASURES)},
    PRIMARY KEY (dimension, day, id_is_null, id)
) STRICT, WITHOUT ROWID;
"""  # noqa: S608  # column names only

MONTH = """
CREATE TABLE chunks (
    key INTEGER PRIMARY KEY,
    n INTEGER NOT NULL,
    texts BLOB NOT NULL
) STRICT;
"""

LIMITS = """
CREATE TABLE sends (
    credential TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX sends_by_credential ON sends (credential, at);
"""


class OtherSchema(RuntimeError):
    """Another version of the server wrote the file."""


def prepare(connection: sqlite3.Connection, tables: str) -> None:
    """Create the tables in an empty file, in one step; another layout is ``OtherSchema``."""
    connection.execute("PRAGMA busy_timeout = 10000")
    if _version(connection) == 0:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        # Read again inside the transaction: another process may have created them.
        if _version(connection) == 0:
            for statement in tables.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    if (version := _version(connection)) != VERSION:
        raise OtherSchema(
            f"the data folder has layout {version}, and this version of adanalytics reads layout"
            f" {VERSION}: use the version that wrote it, or load the events into a new folder"
        )


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
