"""Work in a thread for a task that is cancelled meanwhile."""

import asyncio
import threading
from typing import Any

import pytest

from adanalytics_client._io.async_driver import in_thread
from adanalytics_client.testing import reference_client
from adanalytics_server.local import LocalServer


@pytest.mark.parametrize("cancellations", [1, 3])
def test_a_cancelled_task_waits_for_its_thread(cancellations: int) -> None:
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert end.wait(10)
        ended.set()
        raise ValueError("nobody is there any more")

    async def main() -> list[dict[str, Any]]:
        untold: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: untold.append(told))
        task = asyncio.create_task(in_thread(work))
        assert await asyncio.to_thread(begun.wait, 10)
        for _ in range(cancellations):
            task.cancel()
            # Its own step and the one of what it waits for.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not task.done()
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        return untold

    assert asyncio.run(main()) == []


def test_the_end_of_a_loop_waits_for_it_too() -> None:
    """asyncio.run cancels what is left, and cleans up after it."""
    begun, end, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        begun.set()
        assert end.wait(10)
        ended.set()

    async def worker() -> None:
        try:
            await in_thread(work)
        finally:
            seen.append(ended.is_set())

    async def cancelled_too() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            end.set()

    async def main() -> None:
        tasks = [asyncio.create_task(each) for each in (worker(), cancelled_too())]
        assert await asyncio.to_thread(begun.wait, 10)
        assert not any(each.done() for each in tasks)

    asyncio.run(main())
    assert seen == [True]


def test_what_it_returns_and_raises() -> None:
    async def main() -> None:
        assert await in_thread(lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)

    asyncio.run(main())


def test_a_reference_server_that_was_cancelled_while_it_started_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    before = set(threading.enumerate())
    servers: list[LocalServer] = []
    enter = LocalServer.__enter__

    def slowly(server: LocalServer) -> LocalServer:
        begun.set()
        assert go_on.wait(10)
        servers.append(enter(server))
        return servers[0]

    monkeypatch.setattr(LocalServer, "__enter__", slowly)

    async def use() -> None:
        async with reference_client(events_per_day=10):
            raise AssertionError("it was cancelled before")

    async def main() -> None:
        task = asyncio.create_task(use())
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert servers
    assert not servers[0].settings.data.exists()
    # The server's own workers end a moment after it.
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()
