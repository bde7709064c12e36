"""Run operations with tasks."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, TypeVar

from adanalytics_client._async_sending import AsyncSender
from adanalytics_client._effects import (
    Atomic,
    Clock,
    Effect,
    Exclusive,
    Failure,
    Operation,
    Send,
    Sleep,
    Trouble,
)
from adanalytics_client._in_thread import in_thread
from adanalytics_client._lent import (
    AsyncHttpClient,
    Defaults,
    borrowed_async,
)
from adanalytics_client._problems import given_up
from adanalytics_client._redact import Redact
from adanalytics_client._rooms import Rooms
from adanalytics_client._transmitting import AsyncThrough, own_async_transmitter
from adanalytics_client._url import BaseUrl
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_client._fanout import Arrived, Fanout, Turned
    from adanalytics_client._pages import Cursor

T = TypeVar("T")


class AsyncDriver:
    """Answers effects on the running event loop, and runs fan-outs as tasks of its own.

    Tasks are cancelled and awaited when their fan-out ends, however it ends.
    """

    def __init__(
        self,
        http: AsyncHttpClient | None,
        base: BaseUrl,
        *,
        clock: Clock,
        timeout: float | None,
        redact: Redact,
    ) -> None:
        self._owned = http is None
        self._clock = clock
        self._rooms = Rooms()
        if http is None:
            transmitter = own_async_transmitter()
            defaults = Defaults.of(base, timeout=timeout)
        else:
            copied = borrowed_async(http)
            transmitter = AsyncThrough(copied)
            defaults = Defaults.of_lent(copied, base, timeout=timeout, lent=http)
        self._sender = AsyncSender(transmitter, defaults, clock, redact, self._rooms)
        self._exclusive = asyncio.Lock()
        self._closed = False
        self._home: tuple[asyncio.AbstractEventLoop, int] | None = None
        self._calls: set[asyncio.Timeout] = set()
        self._tasks: set[asyncio.Task[Arrived]] = set()

    async def close(self) -> None:
        """End what is under way and close the connections, if they are ours."""
        self._closed = True
        # What belongs to another loop ended with it.
        if self._home in {None, _here()}:
            for call in self._calls:
                if not call.expired():
                    call.reschedule(0.0)
            await _cancel(self._tasks)
        self._rooms.close()
        # A forked child would end its parent's connections.
        if self._owned and (self._home is None or self._home[1] == os.getpid()):
            try:
                await self._sender.transmitter.aclose()
            except RuntimeError:
                if self._home in {None, _here()}:
                    raise
                raise ConfigurationError(
                    "The client was used in another event loop, where its connections are; "
                    "close it there, such as with `async with` inside one asyncio.run."
                ) from None

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation in the calling task; closing the client ends it."""
        call = asyncio.timeout(None)
        self._calls.add(call)
        try:
            async with call:
                return await self._run(operation)
        except TimeoutError:
            if not call.expired():
                raise
            raise given_up() from None
        finally:
            self._calls.discard(call)

    async def _run(self, operation: Operation[T]) -> T:
        try:
            self._see_usable()
            effect = next(operation)
            while True:
                try:
                    answer = await self._perform(effect)
                except BaseException as error:  # noqa: BLE001  # thrown into the operation
                    effect = operation.throw(error)
                else:
                    effect = operation.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            operation.close()

    def _see_usable(self) -> None:
        if self._closed:
            raise ConfigurationError("The client is closed; make a new one.")
        self._sender.defaults.see_open()
        here = _here()
        if self._home not in {None, here}:
            raise ConfigurationError(
                "The client was used in another event loop or process, where its connections are; "
                "make one for each, such as inside each asyncio.run."
            )
        self._home = here

    def atomic(self, action: Callable[[], T]) -> T:
        """Run a short function on shared state; on one event loop nothing can interfere.

        It may wait for the lock of the quota's log, which others hold for microseconds: less than
        a hop to a thread would cost the loop.
        """
        return action()

    async def stream(
        self, fanout: "Fanout", fetch: "Callable[[Cursor], Operation[Arrived]]"
    ) -> "AsyncGenerator[Turned, None]":
        """Run a fan-out as tasks and give its pages as they become ready."""
        done: asyncio.Queue[tuple[Cursor, Arrived | BaseException]] = asyncio.Queue()
        tasks: set[asyncio.Task[Arrived]] = set()

        def launch(cursor: "Cursor") -> None:
            task = asyncio.create_task(self._run(fetch(cursor)))
            # Called also for a task that was cancelled before its first step.
            task.add_done_callback(lambda ended: done.put_nowait((cursor, _outcome(ended))))
            for group in (tasks, self._tasks):
                group.add(task)
                task.add_done_callback(group.discard)

        try:
            while not fanout.finished:
                while (cursor := fanout.start()) is not None:
                    launch(cursor)
                if (page := fanout.ready()) is not None:
                    yield page
                else:
                    fanout.settle(*await done.get())
                # No name is kept for what arrives, and so no page longer than it is needed.
                while not done.empty():
                    fanout.settle(*done.get_nowait())
        finally:
            await _cancel(tasks)

    async def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Send):
            return await self._sender.send(effect)
        if isinstance(effect, Sleep):
            await asyncio.sleep(self._clock.sleeping(effect.seconds))
            return None
        if isinstance(effect, Atomic):
            return effect.action()
        if isinstance(effect, Exclusive):
            return await self._alone(effect)
        return await in_thread(effect.action)

    async def _alone(self, effect: Exclusive) -> object:
        left = None
        if effect.deadline is not None:
            left = max(0.0, effect.deadline - self._clock.monotonic())
        try:
            async with asyncio.timeout(left):
                await self._exclusive.acquire()
        except TimeoutError:
            return Failure(Trouble.TIMEOUT, arrived=False)
        try:
            return await self._run(effect.operation())
        finally:
            self._exclusive.release()


def _here() -> tuple[asyncio.AbstractEventLoop, int]:
    return asyncio.get_running_loop(), os.getpid()


def _outcome(ended: "asyncio.Task[Arrived]") -> "Arrived | BaseException":
    if ended.cancelled():
        return given_up()
    return ended.exception() or ended.result()


async def _cancel(tasks: "set[asyncio.Task[Arrived]]") -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
