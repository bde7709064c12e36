"""Test controls of a running server: reset and snapshots, the clock, faults and the journal.

What a reset brings back is in one place, ``Controls._capture``. A test compares the whole
server before and after a reset, and names what is missing there.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from adanalytics_server.clock import Clock
from adanalytics_server.context import Context
from adanalytics_server.control.files import DataFiles, Files
from adanalytics_server.faults import Faults, Journal
from adanalytics_server.storage.state import State

# A partner's events up to this size are copied at the start.
MOST_COPIED_BYTES = 64 << 20
# Snapshots of one server; each holds a copy of its events on disk.
MOST_SNAPSHOTS = 10
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)

Tables = dict[str, list[tuple[object, ...]]]


class ControlError(ValueError):
    """Something that the controls cannot do; the text says what to do instead."""


class InMemory(Protocol):
    """A part of the server whose state is taken and brought back without waiting."""

    def capture(self) -> Any:  # noqa: ANN401  # only the part itself knows what it gives
        """Return the state."""

    def restore(self, captured: Any, /) -> None:  # noqa: ANN401  # as above
        """Go back to a captured state."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The state of a whole server."""

    memory: list[tuple[InMemory, Any]]
    sends: list[tuple[str, int]]
    tables: Tables
    files: Files


class Controls:
    """What a tester can do to a server while it runs."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.faults = Faults(clock)
        self.journal = Journal(clock)
        self._turn = asyncio.Lock()
        self._snapshots: dict[str, Captured] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def at_work(self, context: Context, state: State) -> AsyncIterator[None]:
        """Remember the server as it is now, for ``reset``, and serve for a block."""
        self._loop = asyncio.get_running_loop()
        self._context, self._state = context, state
        self._files = DataFiles(context.settings.data, context.stores)
        self._folder = context.settings.data / "snapshots"
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        self._start = await self._capture("at-start", at_most=MOST_COPIED_BYTES)
        try:
            yield
        finally:
            self.faults.release()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            self._loop = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that the controls belong to.

        Raises:
            ControlError: the server does not run.
        """
        if self._loop is None:
            raise ControlError("the server is not running: start it first")
        return self._loop

    async def reset(self) -> None:
        """Bring everything back to how it was when the server had started.

        Raises:
            CannotRestore: events were loaded into a partner whose data were too large to copy.
        """
        async with self._turn:
            await self._restore(self._start)

    async def snapshot(self, name: str) -> None:
        """Remember everything as it is now under a name; an older one of the name is replaced.

        Raises:
            ControlError: the name cannot be one, or there are ``MOST_SNAPSHOTS`` already.
            DiskFull: the disk has no room for the events; there is no snapshot of the name.
        """
        if not _NAME.fullmatch(name):
            raise ControlError(
                f"invalid snapshot name {name!r}: use up to 64 letters, digits, '.', '_' and '-'"
            )
        async with self._turn:
            if name not in self._snapshots and len(self._snapshots) >= MOST_SNAPSHOTS:
                raise ControlError(
                    f"there are already {MOST_SNAPSHOTS} snapshots: reuse one of their names"
                )
            # Its files go first: if the new one fails, there is none of this name.
            self._snapshots.pop(name, None)
            self._snapshots[name] = await self._capture(f"named-{name}", at_most=None)

    async def restore(self, name: str) -> None:
        """Bring everything back to how it was at a snapshot.

        Raises:
            ControlError: there is no snapshot of this name.
            CannotRestore: events have changed, and a damaged file could not be copied then.
        """
        async with self._turn:
            if name not in self._snapshots:
                known = ", ".join(self._snapshots) or "none"
                raise ControlError(f"unknown snapshot {name!r}; known snapshots: {known}")
            await self._restore(self._snapshots[name])

    def snapshots(self) -> list[str]:
        """List the names of the snapshots, oldest first."""
        return list(self._snapshots)

    async def _capture(self, folder: str, *, at_most: int | None) -> Captured:
        """Take the state of everything that changes; ``at_most`` bounds the copy of events."""
        context = self._context
        changing: list[InMemory] = [
            self.clock,
            self.faults,
            self.journal,
            context.sign_ins,
        ]
        memory = [(part, part.capture()) for part in changing]
        sends = await asyncio.to_thread(context.limiter.capture)
        tables: Tables = {}
        for (name,) in await self._state.rows(_TABLES):
            rows = await self._state.rows(f'SELECT * FROM "{name}"')  # noqa: S608  # from the schema
            tables[name] = [tuple(row) for row in rows]
        into = self._folder / folder
        files = await asyncio.to_thread(self._files.capture, into, at_most=at_most)
        return Captured(memory, sends, tables, files)

    async def _restore(self, captured: Captured) -> None:
        # Requests that a fault holds up would otherwise act on the state that is to go.
        self.faults.release()
        for part, state in captured.memory:
            part.restore(state)
        await asyncio.to_thread(self._context.limiter.restore, captured.sends)
        await self._restore_tables(captured.tables)
        await asyncio.to_thread(self._files.restore, captured.files)
        # Exports that were waiting then start again, now that the events are those of then.
        await self._context.exports.take_up()

    async def _restore_tables(self, captured: Tables) -> None:
        async with self._state.writing() as connection:
            # Until the commit, rows may stand without those that they refer to.
            await connection.execute("PRAGMA defer_foreign_keys = ON")
            for name in captured:
                await connection.execute(f'DELETE FROM "{name}"')  # noqa: S608  # from the schema
            for name, rows in captured.items():
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    insert = f'INSERT INTO "{name}" VALUES ({marks})'  # noqa: S608  # from the schema
                    await connection.executemany(insert, rows)
