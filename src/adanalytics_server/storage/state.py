"""``state.db``: the small database of users, keys, partners and exports."""

import asyncio
import logging
import os
import secrets
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import aiosqlite

from .damage import room_for
from .durable import POSIX, make_folder
from .schema import STATE, prepare

_SECRET_BYTES = 32


@dataclass
class State:
    """An open ``state.db``: one connection writes, another reads committed rows."""

    _path: Path
    _writer: aiosqlite.Connection
    _reader: aiosqlite.Connection
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def row(self, query: str, *values: object) -> sqlite3.Row | None:
        """Return the first committed row of a query, or ``None``."""
        return next(iter(await self.rows(query, *values)), None)

    async def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """Return all committed rows of a query; for small tables only."""
        return list(await self._reader.execute_fetchall(query, values))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[aiosqlite.Connection]:
        """Run a block in a write transaction: commit at the end, roll back on any exception.

        Raises:
            DiskFull: the disk is full.
        """
        async with self._writing:
            with room_for(self._path):
                try:
                    await self._writer.execute("BEGIN IMMEDIATE")
                    yield self._writer
                    await self._writer.execute("COMMIT")
                except BaseException:
                    # A full disk has already ended the transaction, or a COMMIT has: SQLite
                    # finishes a statement whose wait was cancelled.
                    with suppress(sqlite3.OperationalError):
                        await self._writer.execute("ROLLBACK")
                    raise

    async def write(self, statement: str, *values: object) -> None:
        """Run one statement in a write transaction; raises ``DiskFull`` as ``writing``."""
        async with self.writing() as connection:
            await connection.execute(statement, values)

    async def secret(self, name: str) -> bytes:
        """Return the random secret for a purpose, created on first use."""
        query = "SELECT value FROM secrets WHERE name = ?"
        if await self.row(query, name) is None:
            value = secrets.token_bytes(_SECRET_BYTES)
            await self.write("INSERT OR IGNORE INTO secrets VALUES (?, ?)", name, value)
        (row,) = await self.rows(query, name)
        return bytes(row["value"])


@asynccontextmanager
async def open_state(data: Path) -> AsyncIterator[State]:
    """Open the ``state.db`` of a data folder, creating both if missing.

    Only its owner can read the file, because it holds the key that signs tokens.

    Raises:
        DiskFull: the disk is full.
    """
    path = data / "state.db"
    await asyncio.to_thread(_prepare, path)
    logging.getLogger("aiosqlite").addFilter(_above_debug)
    # Connection, not connect, which a tracer of the program around this server may have replaced.
    connect = partial(sqlite3.Connection, path, isolation_level=None)
    async with (
        aiosqlite.Connection(connect, 64) as writer,
        aiosqlite.Connection(connect, 64) as reader,
    ):
        for connection in (writer, reader):
            connection.row_factory = sqlite3.Row
            await connection.execute("PRAGMA busy_timeout = 10000")
        await writer.execute("PRAGMA foreign_keys = ON")
        await writer.execute("PRAGMA synchronous = NORMAL")
        await reader.execute("PRAGMA query_only = ON")
        yield State(path, writer, reader)


def _above_debug(record: logging.LogRecord) -> bool:
    """Keep statements out of the log: aiosqlite logs their values, hashes and secrets too."""
    return record.levelno > logging.DEBUG


def _prepare(path: Path) -> None:
    make_folder(path.parent)
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        # Others may be able to read a restored copy; only its owner can change that.
        with suppress(PermissionError):
            path.chmod(0o600)
    finally:
        os.close(file)
    with room_for(path), closing(sqlite3.Connection(path, isolation_level=None)) as connection:
        prepare(connection, STATE)


if TYPE_CHECKING or POSIX:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

else:
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


class FolderInUse(RuntimeError):
    """Another server uses the data folder."""


@contextmanager
def folder_lock(data: Path) -> Iterator[None]:
    """Lock a data folder during a block: two servers would process the same exports.

    The kernel releases the lock when the process dies.

    Raises:
        FolderInUse: another server, in this process or another, has locked it.
    """
    make_folder(data)
    with (data / "server.lock").open("ab") as file:
        try:
            _lock(file)
        except (BlockingIOError, PermissionError) as error:
            raise FolderInUse(
                f"another server is running on {data}: stop it first, or use another folder"
            ) from error
        yield
