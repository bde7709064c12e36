"""Everything that changes while a server runs, in one list: what a reset brings back.

A part of the server that keeps state has ``capture`` and ``restore``, and a line here. A test
compares the whole server before and after a reset and names the part that has no line.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from adanalytics_server.context import Context
from adanalytics_server.control.files import EventFiles, ExportFiles
from adanalytics_server.control.tables import StateTables, Table
from adanalytics_server.faults.layer import Levers
from adanalytics_server.storage.state import State


@dataclass(frozen=True, slots=True)
class Resettable:
    """One part: how to take its state, given a folder for files, and how to bring it back."""

    name: str
    capture: Callable[[Path], Awaitable[Any]]
    restore: Callable[[Any], Awaitable[None]]


class InMemory(Protocol):
    """A part whose state is taken and brought back without waiting for anything."""

    def capture(self) -> Any:  # noqa: ANN401  # only the part itself knows what it gives
        """Return the state."""

    def restore(self, captured: Any, /) -> None:  # noqa: ANN401  # as above
        """Go back to a captured state."""


def resettables(
    context: Context, levers: Levers, state: State, *, at_most: int | None
) -> list[Resettable]:
    """List every part of a server that keeps state, in the order in which it is brought back.

    Args:
        context: the parts that the endpoints share.
        levers: clock, faults and journal.
        state: the open ``state.db``.
        at_most: bytes of events to copy for each partner; ``None`` for all of them.
    """
    tables = StateTables(state)
    files = ExportFiles(context.settings.data)
    events = EventFiles(context.settings.data, context.stores, at_most=at_most)

    async def restore_tables(captured: list[Table]) -> None:
        await tables.restore(captured)
        await context.exports.take_up()

    return [
        _in_memory("clock", levers.clock),
        _in_memory("faults", levers.faults),
        _in_memory("journal", levers.journal),
        _in_memory("limits", context.limiter),
        _in_memory("wrong passwords", context.sign_ins),
        Resettable("tables", lambda _folder: tables.capture(), restore_tables),
        _in_files("export files", files.capture, files.restore),
        _in_files("events", events.capture, events.restore),
    ]


def _in_memory(name: str, part: InMemory) -> Resettable:
    async def capture(_folder: Path) -> object:
        return part.capture()

    async def restore(captured: object) -> None:
        part.restore(captured)

    return Resettable(name, capture, restore)


def _in_files(
    name: str, capture: Callable[[Path], Any], restore: Callable[[Any], None]
) -> Resettable:
    """Keep the event loop free of file work."""

    async def capture_in_thread(folder: Path) -> object:
        return await asyncio.to_thread(capture, folder)

    async def restore_in_thread(captured: object) -> None:
        await asyncio.to_thread(restore, captured)

    return Resettable(name, capture_in_thread, restore_in_thread)
