"""The third driver: processes on virtual time, in an order that the seed fixes."""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from msgspec import Struct

from adanalytics_client._base.effects import (
    Exclusive,
    Failure,
    FailureKind,
    Fanout,
    Operation,
    Send,
    Sleep,
)
from adanalytics_client.errors import AdAnalyticsError
from proof.simulate.choices import Choices

MOST_STEPS = 20_000
"""A world that takes more steps has a loop without a bound."""
LONGEST_SLEEP = 3_901.0
"""An hour, after a request whose fate is unknown for five minutes."""


class Violation(Exception):
    """A promise was broken."""


class Start(Struct, frozen=True):
    """An effect of programs: run an operation beside this one."""

    operation: Operation[Any]
    done: Callable[[object], None]


class Park(Struct, frozen=True):
    """An effect of programs: go on when `Process.wake` is called, or this was so meanwhile."""

    ready: Callable[[], bool]


class Wire(Protocol):
    """Where requests go."""

    def send(self, process: "Process", send: Send, deliver: Callable[[object], None]) -> None:
        """Carry a request; `deliver` its outcome, or an exception of its sink, at some time."""


@dataclass(eq=False, slots=True)
class _Task:
    """An operation under way; on top of the stack is the part that runs exclusively."""

    process: "Process"
    stack: list[Generator[Any, Any, Any]]
    done: Callable[[object], None]
    value: object = None
    ready: Callable[[], bool] | None = None


class World:
    """Virtual time, and everything that runs in it.

    Attributes:
        now: the true time in seconds since 1970.
        booted: when the machine's steady clock began.
        wall_error: how far the machine's wall clock is ahead.
        trace: what happened, for people; None keeps nothing.
    """

    def __init__(self, choices: Choices, now: float) -> None:
        self.choices = choices
        self.began = self.now = now
        self.booted = now - 1_000.0
        self.wall_error = 0.0
        self.trace: list[str] | None = None
        self.steps = 0
        self._tasks: list[_Task] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    # The machine's clock, as the client reads it.

    def time(self) -> float:
        return self.now + self.wall_error

    def monotonic(self) -> float:
        return self.now - self.booted

    def sleeping(self, until: float) -> tuple[float, ...]:  # noqa: ARG002  # of the protocol
        raise AssertionError("the driver sleeps")

    def running(self, change: int) -> None:
        """Do nothing: this clock moves only when nothing can run."""

    # What happens.

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        heappush(self._events, (self.now + seconds, next(self._numbers), event))

    def say(self, text: Callable[[], str]) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.now - self.began:10.2f} s  {text()}")

    def step(self) -> bool:
        """Let one task run to its next effect, or move time to the next event; False at the end."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Violation(f"more than {MOST_STEPS} steps: a loop without an end")
        tasks = self._tasks
        if tasks:
            at = self.choices.below(len(tasks)) if len(tasks) > 1 else 0
            self._advance(tasks.pop(at))
        elif self._events:
            moment, _, event = heappop(self._events)
            self.now = max(self.now, moment)
            event()
        else:
            return False
        return True

    def resume(self, task: _Task, value: object = None) -> None:
        if task.process.alive:
            task.value = value
            self._tasks.append(task)

    def kill(self, process: "Process") -> None:
        """End a process between two effects; what it has sent still arrives."""
        process.alive = False
        self.say(lambda: f"{process.name} is killed")
        self._tasks = [task for task in self._tasks if task.process is not process]
        for task in process.tasks:
            for part in reversed(task.stack):
                # What `finally` does now, no killed process does: the caller undoes it.
                with suppress(RuntimeError, AdAnalyticsError, OSError):
                    part.close()

    def _advance(self, task: _Task) -> None:
        part, value = task.stack[-1], task.value
        task.value = None
        try:
            effect = part.throw(value) if isinstance(value, BaseException) else part.send(value)
        except StopIteration as end:
            self._finish(task, end.value)
        except Violation:
            raise
        except Exception as error:  # noqa: BLE001  # the outcome of the operation
            self._finish(task, error)
        else:
            self._perform(task, effect)

    def _finish(self, task: _Task, outcome: object) -> None:
        task.stack.pop()
        if task.stack:
            task.process.release()
            self.resume(task, outcome)
        else:
            task.process.tasks.discard(task)
            task.done(outcome)

    def _perform(self, task: _Task, effect: object) -> None:
        process = task.process
        if isinstance(effect, Send):
            process.wire.send(process, effect, lambda outcome: self.resume(task, outcome))
        elif isinstance(effect, Sleep):
            seconds = effect.until - self.monotonic()
            if seconds > LONGEST_SLEEP:
                raise Violation(f"a sleep of {seconds:.0f} s")
            self.say(lambda: f"{process.name} sleeps {seconds:.2f} s")
            # A steady clock that began anew would be a new process's.
            self.after(max(0.0, seconds), lambda: self.resume(task))
        elif isinstance(effect, Start):
            process.start(effect.operation, effect.done)
            self.resume(task)
        elif isinstance(effect, Park):
            task.ready = effect.ready
            process.parked.append(task)
            process.wake()
        elif isinstance(effect, Exclusive):
            process.acquire(task, effect)
        else:
            try:
                outcome = effect.action()  # type: ignore[attr-defined]  # Atomic and Offload
            except Exception as error:  # noqa: BLE001  # thrown into the operation
                outcome = error
            self.resume(task, outcome)


@dataclass(eq=False)
class Process:
    """One process of a machine: its tasks, and the lock of its exclusive operations."""

    world: World
    name: str
    wire: Wire
    alive: bool = True
    tasks: set[_Task] = field(default_factory=set)
    parked: list[_Task] = field(default_factory=list)
    _busy: bool = False
    _queue: list[tuple[_Task, Exclusive]] = field(default_factory=list)

    def start(self, operation: Operation[Any], done: Callable[[object], None]) -> None:
        task = _Task(self, [operation], done)
        self.tasks.add(task)
        self.world.resume(task)

    def wake(self) -> None:
        """Let parked tasks go on whose condition holds."""
        for task in [*self.parked]:
            if task.ready is not None and task.ready():
                self.parked.remove(task)
                task.ready = None
                self.world.resume(task)

    def acquire(self, task: _Task, effect: Exclusive) -> None:
        if self._busy:
            self._queue.append((task, effect))
            if effect.deadline is not None:
                seconds = effect.deadline - self.world.monotonic()
                self.world.after(max(0.0, seconds), lambda: self._give_up(task, effect))
            return
        self._busy = True
        task.stack.append(effect.operation())
        self.world.resume(task)

    def _give_up(self, task: _Task, effect: Exclusive) -> None:
        if (task, effect) in self._queue:
            self._queue.remove((task, effect))
            self.world.resume(task, Failure(FailureKind.TIMEOUT, arrived=False))

    def release(self) -> None:
        self._busy = False
        if self._queue:
            self.acquire(*self._queue.pop(0))


def stream(
    process: Process,
    fanout: Fanout[Any, Any, Any],
    fetch: Callable[[Any], Operation[Any]],
    take: Callable[[Any], Operation[None]],
) -> Operation[None]:
    """Run a fan-out as the two real drivers do; `take` receives its pages in order."""
    done: list[tuple[Any, Any]] = []

    def collect(job: Any) -> Callable[[object], None]:  # noqa: ANN401  # of any fan-out
        def collected(outcome: object) -> None:
            done.append((job, outcome))
            process.wake()

        return collected

    while not fanout.finished:
        while (job := fanout.start()) is not None:
            yield Start(fetch(job), collect(job))  # type: ignore[misc]  # of this driver only
        if (page := fanout.ready()) is not None:
            yield from take(page)
        else:
            yield Park(lambda: bool(done))  # type: ignore[misc]
            fanout.receive(*done.pop(0))
        while done:
            fanout.receive(*done.pop(0))
