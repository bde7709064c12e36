"""Test controls of a running server: reset, snapshots, and the levers of clock and faults."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adanalytics_server.clock import Clock
from adanalytics_server.context import Context
from adanalytics_server.control.files import MOST_COPIED_BYTES
from adanalytics_server.control.state import Resettable, resettables
from adanalytics_server.faults.armed import Faults
from adanalytics_server.faults.journal import Journal
from adanalytics_server.faults.layer import Levers
from adanalytics_server.faults.pauses import Pauses
from adanalytics_server.storage.state import State

# Snapshots of one server; each holds a copy of its events on disk.
MOST_SNAPSHOTS = 10
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

Captured = list[tuple[Resettable, Any]]


class ControlError(ValueError):
    """Something that the controls cannot do; the text says what to do instead."""


class Controls:
    """What a tester can do to a server while it runs."""

    def __init__(self, clock: Clock) -> None:
        self.levers = Levers(clock, Faults(clock), Journal(), Pauses())
        self._turn = asyncio.Lock()
        self._snapshots: dict[str, Captured] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def at_work(self, context: Context, state: State) -> AsyncIterator[None]:
        """Remember the server as it is now, for :meth:`reset`, and serve for a block."""
        self._loop = asyncio.get_running_loop()
        self._folder = context.settings.data / "snapshots"
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        self._parts = resettables(context, self.levers, state, at_most=None)
        start = resettables(context, self.levers, state, at_most=MOST_COPIED_BYTES)
        self._start = await self._capture(start, "at-start")
        try:
            yield
        finally:
            self.levers.pauses.end()
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
            ControlError: the name cannot be one, or there are :data:`MOST_SNAPSHOTS` already.
        """
        if not _NAME.fullmatch(name):
            raise ControlError(
                f"{name!r} cannot name a snapshot: use up to 64 letters, digits, '.', '_' and '-'"
            )
        async with self._turn:
            if name not in self._snapshots and len(self._snapshots) >= MOST_SNAPSHOTS:
                raise ControlError(
                    f"there are {MOST_SNAPSHOTS} snapshots already: use one of their names again"
                )
            self._snapshots[name] = await self._capture(self._parts, f"named-{name}")

    async def restore(self, name: str) -> None:
        """Bring everything back to how it was at a snapshot.

        Raises:
            ControlError: there is no snapshot of this name.
        """
        async with self._turn:
            if name not in self._snapshots:
                known = ", ".join(self._snapshots) or "none"
                raise ControlError(f"there is no snapshot {name!r}; there is: {known}")
            await self._restore(self._snapshots[name])

    def snapshots(self) -> list[str]:
        """List the names of the snapshots, oldest first."""
        return list(self._snapshots)

    async def _capture(self, parts: list[Resettable], folder: str) -> Captured:
        into = self._folder / folder
        await asyncio.to_thread(_empty, into)
        return [(part, await part.capture(into)) for part in parts]

    async def _restore(self, captured: Captured) -> None:
        # Who is held up by a fault would otherwise act on the state that is to go.
        self.levers.pauses.end()
        for part, state in captured:
            await part.restore(state)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
