"""A write to `state.db` that is cancelled, as a stopping server does, leaves nothing behind."""

import asyncio
import threading
from pathlib import Path

import pytest

from adanalytics_server.storage.state import State, open_state


async def write(state: State, name: str) -> None:
    async with state.writing() as connection:
        await connection.execute("INSERT INTO secrets VALUES (?, x'00')", (name,))


async def cancel_at(data: Path, statement: str) -> list[str]:
    """Cancel a write while SQLite runs a statement of it; which names are there after the next."""
    async with open_state(data) as state:
        loop, cancelled = asyncio.get_running_loop(), threading.Event()
        tasks: list[asyncio.Task[None]] = []

        def cancel() -> None:
            tasks.pop().cancel()
            loop.call_soon(cancelled.set)

        def trace(running: str) -> None:
            if running == statement and tasks:
                loop.call_soon_threadsafe(cancel)
                cancelled.wait()

        async with state.writing() as connection:
            await connection.set_trace_callback(trace)
        task = asyncio.create_task(write(state, "first"))
        tasks.append(task)
        with pytest.raises(asyncio.CancelledError):
            await task
        await write(state, "second")
        return [row["name"] for row in await state.rows("SELECT name FROM secrets ORDER BY name")]


@pytest.mark.parametrize(
    ("statement", "names"), [("BEGIN IMMEDIATE", ["second"]), ("COMMIT", ["first", "second"])]
)
def test_a_cancelled_write_ends_its_transaction(
    tmp_path: Path, statement: str, names: list[str]
) -> None:
    assert asyncio.run(cancel_at(tmp_path, statement)) == names
