"""Run operations with threads."""

import copy
import os
import threading
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar
from weakref import WeakSet

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

from .http import AnyHttpClient, BaseDriver, begin_receiving, cancelled_error
from .library import httpx
from .logs import Redact, quiet_logs
from .stop import RUNNING, SECONDS_TO_A_SIGNAL, RunningRequest, Stop

T = TypeVar("T")
Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
Page = TypeVar("Page")


class SyncDriver(BaseDriver[httpx.Client]):
    """Runs effects on the calling thread, and fan-outs on threads of its own.

    Threads are daemons that end with their fan-out, and so do its requests in flight when the
    consumer stops. Stopping does not wait: over a caller's client such a request is left to end by
    itself.
    """

    kind = "Client"

    def __init__(
        self, http: AnyHttpClient | None, base: BaseUrl, *, clock: Clock, redact: Redact
    ) -> None:
        super().__init__(http, base, clock=clock, redact=redact)
        self._make_locks()
        self._closed = Stop()
        self._branches: WeakSet[SyncDriver] = WeakSet()
        _DRIVERS.add(self)

    def _make_locks(self) -> None:
        self._lock = threading.Lock()
        self._atomic = threading.Lock()
        self._exclusive = threading.Lock()
        self._streams: set[Stop] = set()

    def renew(self) -> None:
        """In a forked child, get new locks and connections; a caller's client stays."""
        self._make_locks()
        closed, self._closed = self._closed.is_set(), Stop()
        if closed:
            self._closed.set()
        if self._callers is None:
            # Not closed: its pool may be locked by a thread that exists only in the parent.
            self._http = None

    def close(self) -> None:
        """Wake every wait and close the connections, if they are ours."""
        self._closed.set()
        for stop in list(self._streams):
            stop.set()
        for branch in list(self._branches):
            branch.close()
        # A signal handler may have interrupted httpx in this thread while it held a lock of its
        # pool; the request then ends at once and closes the connections itself.
        if RUNNING.get(None) is None:
            self._close_connections()

    def branch(self) -> "SyncDriver":
        """Return a driver on the same connections; closing it ends only its own operations."""
        connections = self._open()
        branch = copy.copy(self)
        branch._part_from(connections)  # noqa: SLF001  # of the same class
        self._branches.add(branch)
        # From here on, closing this driver closes the branch.
        self._check_usable()
        return branch

    def _part_from(self, connections: httpx.Client) -> None:
        self._callers = connections
        self._closed, self._streams, self._branches = Stop(), set(), WeakSet()

    def _close_connections(self) -> None:
        if self._callers is None and self._http is not None:
            self._http.close()

    def run(self, operation: Operation[T]) -> T:
        return self._run(operation, self._closed)

    def stream(
        self, fanout: Fanout[Job, Outcome, Page], fetch: Callable[[Job], Operation[Outcome]]
    ) -> Generator[Page, None, None]:
        """Run a fan-out on threads and yield its pages as they become ready."""
        stop = Stop()
        jobs: SimpleQueue[tuple[Context, Job] | None] = SimpleQueue()
        done: SimpleQueue[tuple[Job, Outcome | BaseException]] = SimpleQueue()

        def work() -> None:
            while (job := jobs.get()) is not None:
                context, cursor = job
                if stop.is_set():
                    # Closing the client stops this thread, too, but the consumer still waits for a
                    # result.
                    done.put((cursor, cancelled_error()))
                    continue
                try:
                    done.put((cursor, context.run(self._run, fetch(cursor), stop)))
                except BaseException as error:  # noqa: BLE001  # raised again by the consumer
                    done.put((cursor, error))

        threads = 0
        in_flight = 0
        process = os.getpid()
        self._streams.add(stop)
        try:
            while not fanout.finished:
                if os.getpid() != process:
                    raise ConfigurationError(
                        "This iteration began in another process, which holds its requests.",
                        remedy="Start a new one here.",
                    )
                while (cursor := fanout.start()) is not None:
                    in_flight += 1
                    if in_flight > threads:
                        threads += 1
                        threading.Thread(target=work, name="adanalytics", daemon=True).start()
                    # In the consumer's context, as with tasks, so that a trace stays connected.
                    jobs.put((copy_context(), cursor))
                if (page := fanout.ready()) is not None:
                    yield page
                else:
                    fanout.receive(*_next(done))
                    in_flight -= 1
                # No variable holds a received page, so none is kept longer than needed.
                while not done.empty():
                    fanout.receive(*done.get_nowait())
                    in_flight -= 1
        finally:
            stop.set()
            self._streams.discard(stop)
            for _ in range(threads):
                jobs.put(None)

    def _run(self, operation: Operation[T], stop: Stop) -> T:
        self._clock.running(1)
        try:
            self._check_usable()
            effect = next(operation)
            while True:
                try:
                    answer = self._perform(effect, stop)
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
        if self._closed.is_set():
            raise ConfigurationError("The client is closed.", remedy="Make a new one.")
        self._check_open()

    def _perform(self, effect: Effect, stop: Stop) -> object:
        if isinstance(effect, Send):
            return self._send(effect, stop)
        if isinstance(effect, Sleep):
            for seconds in self._clock.sleeping(effect.until):
                if stop.wait(seconds):
                    raise cancelled_error()
            return None
        if isinstance(effect, Atomic):
            with self._atomic:
                return effect.action()
        if isinstance(effect, Exclusive):
            return self._alone(effect, stop)
        # What is left does not wait for anything: this thread performs it.
        return effect.action()

    def _alone(self, effect: Exclusive, stop: Stop) -> object:
        remaining = self._left(effect.deadline)
        seconds = -1.0 if remaining is None else min(max(0.0, remaining), threading.TIMEOUT_MAX)
        # While this thread waits for the lock, a clock of a test must not wait for this thread.
        lock = self._exclusive
        self._clock.running(-1)
        try:
            if not lock.acquire(timeout=seconds):
                return Failure(FailureKind.TIMEOUT, arrived=False)
            try:
                return self._run(effect.operation(), stop)
            finally:
                lock.release()
        finally:
            self._clock.running(1)

    def _send(self, send: Send, stop: Stop) -> Reply | Failure:
        """Send one request and receive its response; `stop` ends it."""
        running = RunningRequest(stop)
        token = RUNNING.set(running)
        try:
            with quiet_logs(self._redact):
                response = self._answer(send, running)
                if isinstance(response, Failure):
                    return response
                with closing(response):
                    return self._receive(send, response, running)
        except KeyboardInterrupt as interrupt:
            # Frames of the HTTP libraries hold the credential.
            raise interrupt.with_traceback(None) from None
        finally:
            RUNNING.reset(token)
            # A client that was closed during this request left its connections open for it.
            if self._closed.is_set():
                self._close_connections()

    def _answer(self, send: Send, running: RunningRequest) -> httpx.Response | Failure:
        """Return the response with its body unread."""
        remaining = self._left(send.deadline)
        to_head = self._seconds_to_head(send.request, remaining)
        running.until = None if to_head is None else monotonic() + to_head
        # httpx raises RuntimeError if the client was closed meanwhile.
        error_types: tuple[type[Exception], ...] = (*self._errors, RuntimeError)
        try:
            request = self._build(send.request, remaining)
            # httpx handles neither authentication nor redirects: the core checks each hop.
            response = self._open().send(request, stream=True, auth=None, follow_redirects=False)
        except error_types as error:
            if running.stop.is_set():
                raise cancelled_error() from None
            if isinstance(error, RuntimeError):
                raise
            return self._failure_of(error, send.request)
        if remaining is None:
            running.until = None
        return response

    def _receive(
        self, send: Send, response: httpx.Response, running: RunningRequest
    ) -> Reply | Failure:
        receiver = begin_receiving(response, send.sink)
        pieces = response.iter_raw()
        # The receiver decides after each piece whether it needs the rest: a caller that only wants
        # to know what came leaves a large file unread.
        while not receiver.unread:
            try:
                piece = next(pieces, None)
            except self._errors as error:
                # An interrupted read looks like a broken connection; the reason is that nobody
                # waits for it.
                if running.stop.is_set():
                    raise cancelled_error() from None
                return self._failure_of(error, send.request, receiver.head)
            if piece is None or not receiver.write(piece):
                break
            if running.stop.is_set():
                raise cancelled_error()
            # The timeouts of httpx begin anew with each piece, so a slow body would never end.
            if (failure := self._too_late(send)) is not None:
                return failure
        return receiver.finish()

    def _open(self) -> httpx.Client:
        """Return the sending client; ours is made at its first use, so that active mocks apply."""
        with self._lock:
            if self._http is None:
                from .transport import open_client

                self._http = open_client(self._proxies)
            return self._http


def _next(queue: SimpleQueue[T]) -> T:
    """Take from a queue.

    If a signal arrives while CPython hands its lock to another thread, it does not end a wait that
    begins right after; without a timeout, Ctrl-C would take effect only at the next item.
    """
    while True:
        with suppress(Empty):
            return queue.get(timeout=SECONDS_TO_A_SIGNAL)


_DRIVERS: WeakSet[SyncDriver] = WeakSet()


def _renew() -> None:
    """Give the drivers in a forked child locks and connections that its parent does not use.

    Two processes that read from one socket each receive parts of the other's responses, and no
    thread in the child releases a lock that another thread of the parent held at the fork.
    """
    for driver in list(_DRIVERS):
        driver.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
