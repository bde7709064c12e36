"""``state.db``: the small database beside the events, with users, keys, partners and exports."""

import asyncio
import logging
import os
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import aiosqlite

from adanalytics_server.storage.schema import STATE_STEPS, migrate

_SECRET_BYTES = 32


class State:
    """An open ``state.db``. One connection writes; its statements run one after the other."""

    def __init__(self, connection: aiosqlite.Connection, reader: sqlite3.Connection) -> None:
        self.connection = connection
        self._reader = reader
        self._writing = asyncio.Lock()

    async def row(self, query: str, *values: object) -> sqlite3.Row | None:
        """Return the committed row of a query by a key or an index, or ``None``.

        It does not wait: each request asks for two such rows, which are in memory and take ten
        microseconds. The way to a thread and back takes ten times that.
        """
        found: sqlite3.Row | None = self._reader.execute(query, values).fetchone()
        return found

    async def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """Return all rows of a query; only for tables that people fill by hand."""
        return list(await self.connection.execute_fetchall(query, values))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[aiosqlite.Connection]:
        """Run a block in a write transaction: commit at the end, roll back on any exception."""
        async with self._writing:
            await self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                await self.connection.execute("ROLLBACK")
                raise
            await self.connection.execute("COMMIT")

    async def secret(self, name: str) -> bytes:
        """Return the random secret of a purpose; it is made on first use and then stays."""
        query = "SELECT value FROM secrets WHERE name = ?"
        row = await self.row(query, name)
        if row is None:
            async with self.writing() as connection:
                await connection.execute(
                    "INSERT OR IGNORE INTO secrets VALUES (?, ?)",
                    (name, secrets.token_bytes(_SECRET_BYTES)),
                )
            row = await self.row(query, name)
        if row is None:
            raise LookupError(f"the secret {name!r} could not be kept")
        return bytes(row["value"])


@asynccontextmanager
async def open_state(data: Path) -> AsyncIterator[State]:
    """Open the ``state.db`` of a data folder, making both when they are missing.

    The file is readable by its owner only: it holds the key that signs tokens.
    """
    path = data / "state.db"
    await asyncio.to_thread(_prepare, path)
    logging.getLogger("aiosqlite").addFilter(_above_debug)
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        with closing(_open_for_reading(path)) as reader:
            connection.row_factory = sqlite3.Row
            await connection.execute("PRAGMA busy_timeout = 10000")
            await connection.execute("PRAGMA foreign_keys = ON")
            await connection.execute("PRAGMA synchronous = NORMAL")
            yield State(connection, reader)


def _open_for_reading(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA query_only = ON")
    return connection


def _above_debug(record: logging.LogRecord) -> bool:
    """Keep the statements out of the log: aiosqlite shows their values, hashes and secrets too."""
    return record.levelno > logging.DEBUG


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        # A copy that was put back may be readable by others; whose it is not cannot change that.
        with suppress(PermissionError):
            os.fchmod(file, 0o600)
    finally:
        os.close(file)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, STATE_STEPS)
