"""The tables of the four kinds of SQLite file, and the migration steps between versions.

``PRAGMA user_version`` counts the steps that a file has gone through. Never edit a released step;
add a new step at the end.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path

from adanalytics_server.storage.damage import DamagedFile

COUNTERS = (
    "ad_requests",
    "impressions",
    "starts",
    "first_quartiles",
    "midpoints",
    "third_quartiles",
    "completions",
    "clicks",
    "skips",
    "errors",
)
# Units and nanos in separate columns: neither can overflow 64 bits.
MONEY = ("revenue_units", "revenue_nanos", "cost_units", "cost_nanos")
MEASURES = COUNTERS + MONEY

_STATE = """
CREATE TABLE partners (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    currency TEXT NOT NULL
) STRICT;
CREATE TABLE users (
    number INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'partner')),
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
"""

_WEB_SESSIONS = """
CREATE TABLE web_sessions (
    digest BLOB PRIMARY KEY,
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX web_sessions_by_user ON web_sessions (user, expires_at);
"""

_LEDGER = """
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
    ad_requests INTEGER NOT NULL,
    impressions INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    first_quartiles INTEGER NOT NULL,
    midpoints INTEGER NOT NULL,
    third_quartiles INTEGER NOT NULL,
    completions INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    skips INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    revenue_units INTEGER NOT NULL,
    revenue_nanos INTEGER NOT NULL,
    cost_units INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (dimension, day, id_is_null, id)
) STRICT, WITHOUT ROWID;
"""

_MONTH = """
CREATE TABLE events (
    key INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
"""

_LIMITS = """
CREATE TABLE sends (
    credential TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX sends_by_credential ON sends (credential, at);
"""

# SQL, or a function, which runs inside the transaction of its step.
Step = str | Callable[[sqlite3.Connection], None]
Steps = tuple[Step, ...]


def text_files(month: Path) -> list[Path]:
    """List the text files that the second layout of a month kept beside its database."""
    return sorted(month.parent.glob(f"{month.stem}.*.events"))


def _text_file(month: sqlite3.Connection, generation: int) -> Path:
    (_, _, name) = month.execute("PRAGMA database_list").fetchone()
    return Path(name).parent / f"{Path(name).stem}.{generation}.events"


def _move_texts_out(month: sqlite3.Connection) -> None:
    """Migrate the first layout of a month, a row per event, to a text file and offsets."""
    month.execute(
        "CREATE TABLE chunks (\n    key INTEGER PRIMARY KEY,\n    n INTEGER NOT NULL,\n"
        "    position INTEGER NOT NULL,\n    length INTEGER NOT NULL\n) STRICT"
    )
    month.execute("CREATE TABLE text_file (generation INTEGER NOT NULL) STRICT")
    month.execute("INSERT INTO text_file VALUES (1)")
    if month.execute("SELECT COUNT(*) FROM events").fetchone() != (0,):
        rows = month.execute("SELECT key, CAST(body AS BLOB) FROM events")
        with closing(rows), _text_file(month, 1).open("wb") as file:
            for key, body in rows:
                place = (key, 1, file.tell(), len(body))
                month.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", place)
                file.write(body + b",")
            file.flush()
            os.fsync(file.fileno())
    month.execute("DROP TABLE events")


def _move_texts_in(month: sqlite3.Connection) -> None:
    """Migrate the second layout of a month, a text file, to chunks that contain their texts.

    The file stays, because nothing else has the data before the commit. The code that opens the
    month removes it.

    Raises:
        DamagedFile: the text file is too short.
    """
    (generation,) = month.execute("SELECT generation FROM text_file").fetchone()
    month.execute("ALTER TABLE chunks RENAME TO places")
    month.execute(
        "CREATE TABLE chunks (\n    key INTEGER PRIMARY KEY,\n    n INTEGER NOT NULL,\n"
        "    texts BLOB NOT NULL\n) STRICT"
    )
    path = _text_file(month, generation)
    places = month.execute("SELECT key, n, position, length FROM places")
    with closing(places), path.open("rb") if path.exists() else BytesIO() as file:
        for key, n, position, length in places:
            file.seek(position)
            texts = file.read(length)
            if len(texts) < length:
                raise DamagedFile(path, "its end is missing")
            month.execute("INSERT INTO chunks VALUES (?, ?, ?)", (key, n, texts))
    month.execute("DROP TABLE places")
    month.execute("DROP TABLE text_file")


STATE_STEPS: Steps = (_STATE, _WEB_SESSIONS)
LIMITS_STEPS: Steps = (_LIMITS,)
LEDGER_STEPS: Steps = (_LEDGER,)
MONTH_STEPS: Steps = (_MONTH, _move_texts_out, _move_texts_in)


class NewerSchema(RuntimeError):
    """A later version of the server wrote the file."""


def migrate(connection: sqlite3.Connection, steps: Steps) -> None:
    """Migrate a file to the newest layout, one transaction per step.

    Raises:
        NewerSchema: the file has gone through more steps than this version knows.
    """
    connection.execute("PRAGMA busy_timeout = 10000")
    if _version(connection) == len(steps):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    while True:
        connection.execute("BEGIN IMMEDIATE")
        # Read again inside the transaction: another process may have migrated the file.
        version = _version(connection)
        if version >= len(steps):
            connection.execute("ROLLBACK")
            break
        _take_step(connection, steps[version])
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    if version > len(steps):
        raise NewerSchema(
            f"layout {version} is newer than this version of adanalytics knows ({len(steps)});"
            " upgrade adanalytics"
        )


def _take_step(connection: sqlite3.Connection, step: Step) -> None:
    if not isinstance(step, str):
        step(connection)
        return
    for statement in step.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
