"""Run operations with threads."""

import os
import threading
from collections.abc import Callable, Generator
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

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
from adanalytics_client._forks import renew_in_children
from adanalytics_client._lent import Defaults, HttpClient, borrowed
from adanalytics_client._problems import given_up
from adanalytics_client._redact import Redact
from adanalytics_client._rooms import Rooms
from adanalytics_client._sending import Sender
from adanalytics_client._sockets import Sockets
from adanalytics_client._stop import Stop
from adanalytics_client._transmitting import Through, own_transmitter
from adanalytics_client._url import BaseUrl
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_client._fanout import Arrived, Fanout, Turned
    from adanalytics_client._pages import Cursor

T = TypeVar("T")

_FORKED = "The events were begun in another process, where their requests are; ask for them here."


class SyncDriver:
    """Answers effects for the calling thread, and runs fan-outs on threads of its own.

    Threads are daemons that end with their fan-out, and so do its requests that are under way when
    the consumer stops. Stopping waits for nobody: over a lent client or through a proxy such a
    request is left to end by itself, or when the client is closed.
    """

    def __init__(
        self,
        http: HttpClient | None,
        base: BaseUrl,
        *,
        clock: Clock,
        timeout: float | None,
        redact: Redact,
    ) -> None:
        self._owned = http is None
        self._sockets = Sockets()
        self._clock = clock
        self._rooms = Rooms()
        if http is None:
            transmitter = own_transmitter(self._sockets)
            defaults = Defaults.of(base, timeout=timeout)
        else:
            copied = borrowed(http)
            transmitter = Through(copied)
            defaults = Defaults.of_lent(copied, base, timeout=timeout, lent=http)
        self._sender = Sender(transmitter, defaults, clock, redact, self._rooms)
        self._atomic = threading.Lock()
        self._exclusive = threading.Lock()
        self._closed = Stop()
        self._streams: set[Stop] = set()
        renew_in_children(self)

    def renew(self) -> None:
        """In a forked child: have locks and connections of our own; a lent client stays."""
        closed = self._closed.is_set()
        self._closed = Stop()
        self._atomic, self._exclusive = threading.Lock(), threading.Lock()
        self._streams = set()
        if closed:
            self._closed.set()
        elif self._owned:
            self._sockets.leave()
            self._sockets = Sockets()
            self._sender.transmitter = own_transmitter(self._sockets)

    def close(self) -> None:
        """Wake every wait and close the connections, if they are ours."""
        self._closed.set()
        for stop in list(self._streams):
            stop.set()
        self._rooms.close()
        if self._owned:
            self._sockets.shut()
            self._sender.transmitter.close()

    def run(self, operation: Operation[T]) -> T:
        """Run an operation in the calling thread."""
        return self._run(operation, self._closed)

    def atomic(self, action: Callable[[], T]) -> T:
        """Run a short function on shared state while no other thread does."""
        with self._atomic:
            return action()

    def stream(
        self, fanout: "Fanout", fetch: "Callable[[Cursor], Operation[Arrived]]"
    ) -> "Generator[Turned, None, None]":
        """Run a fan-out on threads and give its pages as they become ready."""
        stop = Stop()
        jobs: SimpleQueue[tuple[Context, Cursor] | None] = SimpleQueue()
        done: SimpleQueue[tuple[Cursor, Arrived | BaseException]] = SimpleQueue()

        def work() -> None:
            while (job := jobs.get()) is not None:
                context, cursor = job
                if stop.is_set():
                    # Closing the client stops us, too, and then the consumer waits for an answer.
                    done.put((cursor, given_up()))
                    continue
                try:
                    done.put((cursor, context.run(self._run, fetch(cursor), stop)))
                except BaseException as error:  # noqa: BLE001  # raised again by the consumer
                    done.put((cursor, error))

        threads = 0
        flying = 0
        process = os.getpid()
        self._streams.add(stop)
        try:
            while not fanout.finished:
                if os.getpid() != process:
                    raise ConfigurationError(_FORKED)
                while (cursor := fanout.start()) is not None:
                    flying += 1
                    if flying > threads:
                        threads += 1
                        threading.Thread(target=work, name="adanalytics", daemon=True).start()
                    # The consumer's context, as a task would have it: a trace hangs together.
                    jobs.put((copy_context(), cursor))
                if (page := fanout.ready()) is not None:
                    yield page
                else:
                    fanout.settle(*done.get())
                    flying -= 1
                # No name is kept for what arrives, and so no page longer than it is needed.
                while not done.empty():
                    fanout.settle(*done.get_nowait())
                    flying -= 1
        finally:
            stop.set()
            self._streams.discard(stop)
            for _ in range(threads):
                jobs.put(None)

    def _run(self, operation: Operation[T], stop: Stop) -> T:
        if self._closed.is_set():
            operation.close()
            raise ConfigurationError("The client is closed; make a new one.")
        try:
            self._sender.defaults.see_open()
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

    def _perform(self, effect: Effect, stop: Stop) -> object:
        if isinstance(effect, Send):
            return self._sender.send(effect, stop)
        if isinstance(effect, Sleep):
            _wait(self._clock.sleeping(effect.seconds), stop)
            return None
        if isinstance(effect, Atomic):
            with self._atomic:
                return effect.action()
        if isinstance(effect, Exclusive):
            return self._alone(effect, stop)
        return effect.action()

    def _alone(self, effect: Exclusive, stop: Stop) -> object:
        lock, left = self._exclusive, -1.0
        if effect.deadline is not None:
            left = max(0.0, effect.deadline - self._clock.monotonic())
        if not lock.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
            return Failure(Trouble.TIMEOUT, arrived=False)
        try:
            return self._run(effect.operation(), stop)
        finally:
            lock.release()


def _wait(seconds: float, stop: Stop) -> None:
    if stop.wait(seconds):
        raise given_up()
