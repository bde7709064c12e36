"""Run operations with tasks."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from adanalytics_client._base.clock import Clock
from adanalytics_client._base.effects import (
    Atomic,
    Effect,
    Exclusive,
    Failure,
    FailureKind,
    Fanout,
    Operation,
    Reply,
    Send,
    Sleep,
)
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client.errors import ConfigurationError

from .http import SLOW_BODY, AnyHttpClient, BaseDriver, begin_receiving, cancelled_error
from .library import httpx
from .logs import Redact, quiet_logs

T = TypeVar("T")
Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
Page = TypeVar("Page")


async def in_thread(action: Callable[[], T]) -> T:
    """Return the result of a function that runs in a thread, in the context of this task.

    A thread cannot be cancelled, and its files must not be cleaned up while it still writes them.
    So a cancelled task waits for the end of its thread, however often it is cancelled meanwhile.
    """
    # Not a task, which asyncio.run would cancel with all others at its end.
    loop = asyncio.get_running_loop()
    work = loop.run_in_executor(None, partial(copy_context().run, action))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            # Retrieved, or the event loop would report that nobody retrieved it.
            work.exception()
        raise


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(
            "AsyncClient needs the event loop of asyncio, and none runs here.",
            remedy="Start it with asyncio.run; with anyio, choose the backend asyncio.",
        ) from None


class AsyncDriver(BaseDriver[httpx.AsyncClient]):
    """Runs effects on the running event loop, and fan-outs as tasks of its own.

    Tasks are cancelled and awaited when their fan-out ends, however it ends.
    """

    kind = "AsyncClient"

    def __init__(
        self, http: AnyHttpClient | None, base: BaseUrl, *, clock: Clock, redact: Redact
    ) -> None:
        super().__init__(http, base, clock=clock, redact=redact)
        self._exclusive = asyncio.Lock()
        self._closed = False
        self._home: tuple[asyncio.AbstractEventLoop, int] | None = None
        self._calls: set[asyncio.Timeout] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """End everything under way and close the connections, if they are ours."""
        self._closed = True
        # Calls and tasks of another event loop ended with it.
        if self._home is None or self._home == _here():
            for call in self._calls:
                if not call.expired():
                    call.reschedule(0.0)
            if self._tasks:
                await _cancel(self._tasks)
        # A forked child would end its parent's connections.
        is_own = self._home is not None and self._home[1] == os.getpid()
        if is_own and self._callers is None and self._http is not None:
            try:
                await self._http.aclose()
            except RuntimeError:
                if self._home == _here():
                    raise
                raise ConfigurationError(
                    "The client was used in another event loop, which holds its connections.",
                    remedy="Close it there, for example with `async with` inside one asyncio.run.",
                ) from None

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation in the calling task; closing the client ends it."""
        _check_loop()
        call = asyncio.timeout(None)
        self._calls.add(call)
        try:
            async with call:
                return await self._run(operation)
        except TimeoutError:
            if not call.expired():
                raise
            raise cancelled_error() from None
        finally:
            self._calls.discard(call)

    async def stream(
        self, fanout: Fanout[Job, Outcome, Page], fetch: Callable[[Job], Operation[Outcome]]
    ) -> AsyncGenerator[Page, None]:
        """Run a fan-out as tasks and yield its pages as they become ready."""
        _check_loop()
        done: asyncio.Queue[tuple[Job, Outcome | BaseException]] = asyncio.Queue()
        tasks: set[asyncio.Task[Outcome]] = set()

        def launch(cursor: Job) -> None:
            task = asyncio.create_task(self._run(fetch(cursor)))
            # Also called for a task that was cancelled before its first step.
            task.add_done_callback(lambda done_task: done.put_nowait((cursor, _outcome(done_task))))
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
                    fanout.receive(*await done.get())
                # No variable holds a received page, so none is kept longer than needed.
                while not done.empty():
                    fanout.receive(*done.get_nowait())
        finally:
            await _cancel(tasks)

    async def _run(self, operation: Operation[T]) -> T:
        self._clock.running(1)
        try:
            self._check_usable()
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
            self._clock.running(-1)

    def _check_usable(self) -> None:
        if self._closed:
            raise ConfigurationError("The client is closed.", remedy="Make a new one.")
        self._check_open()
        home = _here()
        if self._home not in {None, home}:
            raise ConfigurationError(
                "The client was used in another event loop or process, which holds its "
                "connections.",
                remedy="Make a client for each, such as inside each asyncio.run.",
            )
        self._home = home

    async def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Send):
            return await self._send(effect)
        if isinstance(effect, Sleep):
            for seconds in self._clock.sleeping(effect.until):
                await asyncio.sleep(seconds)
            return None
        if isinstance(effect, Atomic):
            # It may wait for the lock of the quota's log, which other processes hold for
            # microseconds: a hop to a thread would take longer.
            return effect.action()
        if isinstance(effect, Exclusive):
            return await self._alone(effect)
        return await in_thread(effect.action)

    async def _alone(self, effect: Exclusive) -> object:
        self._clock.running(-1)
        try:
            try:
                async with asyncio.timeout(self._left(effect.deadline)):
                    await self._exclusive.acquire()
            except TimeoutError:
                return Failure(FailureKind.TIMEOUT, arrived=False)
            try:
                return await self._run(effect.operation())
            finally:
                self._exclusive.release()
        finally:
            self._clock.running(1)

    async def _send(self, send: Send) -> Reply | Failure:
        """Send one request and receive its response; a cancellation ends it."""
        limit, has_head = asyncio.timeout(None), False
        try:
            with quiet_logs(self._redact):
                async with limit:
                    response = await self._answer(send, limit)
                    if isinstance(response, Failure):
                        return response
                    has_head = True
                    async with aclosing(response):
                        return await self._receive(send, response)
        except TimeoutError:
            if not limit.expired():
                raise
            detail, proxy = SLOW_BODY if has_head else "", self._proxies.of(send.request.url)
            return Failure(FailureKind.TIMEOUT, arrived=True, detail=detail, proxy=proxy)
        except (asyncio.CancelledError, KeyboardInterrupt) as interrupt:
            # Frames of the HTTP libraries hold the credential.
            raise interrupt.with_traceback(None) from None

    async def _answer(self, send: Send, limit: asyncio.Timeout) -> httpx.Response | Failure:
        """Return the response, its body unread; move `limit` to the end of the complete one."""
        remaining = self._left(send.deadline)
        to_head = self._seconds_to_head(send.request, remaining)
        now = asyncio.get_running_loop().time()
        limit.reschedule(None if to_head is None else now + to_head)
        try:
            request = self._build(send.request, remaining)
            # httpx handles neither authentication nor redirects: the core checks each hop.
            response = await self._open().send(
                request, stream=True, auth=None, follow_redirects=False
            )
        except self._errors as error:
            return self._failure_of(error, send.request)
        if remaining is None:
            limit.reschedule(None)
        return response

    async def _receive(self, send: Send, response: httpx.Response) -> Reply | Failure:
        receiver = begin_receiving(response, send.sink)
        pieces = response.aiter_raw()
        while not receiver.unread:
            try:
                piece = await anext(pieces, None)
            except self._errors as error:
                return self._failure_of(error, send.request, receiver.head)
            # A sink's write to the page cache costs less than a hop to a thread.
            if piece is None or not receiver.write(piece):
                break
            if (failure := self._too_late(send)) is not None:
                return failure
        return receiver.finish()

    def _open(self) -> httpx.AsyncClient:
        """Return the sending client; ours is made at its first use, so that active mocks apply."""
        if self._http is None:
            from .transport import open_async_client

            self._http = open_async_client(self._proxies)
        return self._http


def _here() -> tuple[asyncio.AbstractEventLoop, int]:
    return asyncio.get_running_loop(), os.getpid()


def _outcome(task: asyncio.Task[T]) -> T | BaseException:
    if task.cancelled():
        return cancelled_error()
    return task.exception() or task.result()


async def _cancel(tasks: "set[asyncio.Task[T]]") -> None:
    open_tasks = list(tasks)
    for task in open_tasks:
        task.cancel()
    await asyncio.gather(*open_tasks, return_exceptions=True)
