"""Test controls of a running server: reset, the clock, faults and the journal.

``Controls._capture`` is the single list of what a reset restores. A test compares the complete
server before and after a reset, and names whatever the list lacks.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from adanalytics_server.clock import Clock
from adanalytics_server.context import Context
from adanalytics_server.faults import Faults, Journal
from adanalytics_server.storage.state import State

from .files import DataFiles, Files

_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)

Tables = dict[str, list[tuple[object, ...]]]


class ControlError(ValueError):
    """The test controls cannot do what was requested; the message says what to do instead."""


class Captured(NamedTuple):
    """The complete state of a server; ``parts`` has objects with what their ``capture`` gave."""

    parts: list[tuple[Any, Any]]
    tables: Tables
    files: Files


class Controls:
    """Controls a running server for a test."""

    # Made by `at_work`, before the server answers anybody.
    context: Context
    _state: State
    _files: DataFiles
    _folder: Path
    _start: Captured
    _baseline: Captured | None = None

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.faults = Faults(clock)
        self.journal = Journal(clock)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def at_work(self, context: Context, state: State) -> AsyncIterator[None]:
        """Save the current state for ``reset``, and offer the controls during a block."""
        self.context, self._state = context, state
        self._files = DataFiles(context.settings.data, context.stores)
        self._folder = context.settings.data / "captures"
        self._baseline = None
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        await self.begin()
        try:
            yield
        finally:
            self.faults.release()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def begin(self) -> None:
        """Let ``reset`` and ``forget`` restore the current state, if no other was kept."""
        async with self._turn:
            self._start = await self._capture("at-start")

    async def reset(self) -> None:
        """Restore the state after the start, or the one that was kept later.

        Raises:
            CannotRestore: events were loaded into a partner whose data was too large to copy.
        """
        async with self._turn:
            await self._restore(self._baseline or self._start)

    async def keep(self) -> None:
        """Let ``reset`` restore the current state from now on."""
        async with self._turn:
            self._baseline = await self._capture("kept")

    async def forget(self) -> None:
        """Restore the state after the start, also at later resets."""
        async with self._turn:
            self._baseline = None
            await self._restore(self._start)

    async def _capture(self, folder: str) -> Captured:
        """Save everything that can change."""
        context = self.context
        sources: list[Any] = [self.clock, self.faults, self.journal]
        # What is in memory only, beside the tables and the files.
        sources += [context.sign_ins, context.limiter]
        parts = [(part, await asyncio.to_thread(part.capture)) for part in sources]
        tables = {}
        for (name,) in await self._state.rows(_TABLES):
            rows = await self._state.rows(f'SELECT * FROM "{name}"')  # noqa: S608  # from the schema
            tables[name] = [tuple(row) for row in rows]
        target = self._folder / folder
        files = await asyncio.to_thread(self._files.capture, target)
        return Captured(parts, tables, files)

    async def _restore(self, capture: Captured) -> None:
        # Otherwise requests that a fault delays would act on the old state.
        self.faults.release()
        for part, state in capture.parts:
            await asyncio.to_thread(part.restore, state)
        await self._restore_tables(capture.tables)
        await asyncio.to_thread(self._files.restore, capture.files)
        # Restart the exports that were waiting, now that the events are restored.
        await self.context.exports.requeue_unfinished()

    async def _restore_tables(self, tables: Tables) -> None:
        async with self._state.writing() as connection:
            # Until the commit, rows may refer to missing ones.
            await connection.execute("PRAGMA defer_foreign_keys = ON")
            for name in tables:
                await connection.execute(f'DELETE FROM "{name}"')  # noqa: S608  # from the schema
            for name, rows in tables.items():
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    insert = f'INSERT INTO "{name}" VALUES ({marks})'  # noqa: S608  # from the schema
                    await connection.executemany(insert, rows)
