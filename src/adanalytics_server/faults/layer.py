"""The faults of a running server, and the layer that applies them; only with test controls."""

import asyncio
import copy
import math
import random
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.clock import MILLISECONDS_PER_HOUR, Clock
from adanalytics_server.dialect import Dialect

from .effects import Exchange, apply_fault
from .fault import Fault, parse_fault
from .journal import Entry, Journal

# Distinct requests that a fault "per request" remembers; the oldest goes first.
MOST_REQUESTS = 10_000
CONTROL_PREFIX = "/_control/"


@dataclass(slots=True)
class _Armed:
    """A fault with its counters; ``first_strike`` is the first strike of the current hour."""

    fault: Fault
    dice: random.Random
    matched: int = 0
    struck: int = 0
    first_strike: int | None = None
    # The strikes per request for a fault "per request", else under one name.
    strikes: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def hits(self, request: Entry, now: int) -> bool:
        fault = self.fault
        self.matched += 1
        # An hour begins with a strike, also when a test moves the clock back.
        if self.first_strike is None or not 0 <= now - self.first_strike < MILLISECONDS_PER_HOUR:
            self.first_strike = None
            if fault.per == "hour":
                self.strikes.clear()
        name = (request.method, request.path, request.query) if fault.per == "request" else ()
        if self.matched <= fault.after or self.strikes[name] >= (fault.times or math.inf):
            return False
        # The dice fall only for requests that may be struck, so that a seed repeats the run.
        if fault.probability < 1 and self.dice.random() >= fault.probability:
            return False
        self.struck += 1
        self.first_strike = now if self.first_strike is None else self.first_strike
        self.strikes[name] += 1
        # A server that runs for weeks must not remember every request.
        if len(self.strikes) > MOST_REQUESTS:
            self.strikes.pop(next(iter(self.strikes)))
        return True


@dataclass(frozen=True, slots=True)
class FaultCount:
    """How often a fault matched a request, and how often it took effect."""

    fault: Fault
    matched: int
    struck: int


class Faults:
    """The armed faults, which are checked in order; at most one of them affects a request."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []
        self._pauses: set[asyncio.Future[None]] = set()

    def add(self, *faults: str | Fault) -> None:
        """Arm faults, to be checked after those already armed; at most one affects a request.

        Raises:
            FaultError: a string does not describe a valid fault; in that case, no fault is armed.
        """
        additions = [parse_fault(fault) if isinstance(fault, str) else fault for fault in faults]
        with self._lock:
            self._armed += [_Armed(fault, random.Random(fault.seed)) for fault in additions]  # noqa: S311  # dice, not secrets

    def clear(self) -> None:
        """Disarm all faults; requests that a fault is delaying continue at once."""
        with self._lock:
            self._armed = []
        self.release()

    def counts(self) -> list[FaultCount]:
        """List the armed faults with their counters."""
        with self._lock:
            return [FaultCount(armed.fault, armed.matched, armed.struck) for armed in self._armed]

    def strike(self, request: Entry) -> Fault | None:
        """Return the fault that strikes a request, and count the strike."""
        now = self._clock.milliseconds()
        with self._lock:
            for armed in self._armed:
                if armed.fault.fits(request) and armed.hits(request, now):
                    return armed.fault
        return None

    async def pause(self, seconds: float) -> None:
        """Delay a request by ``seconds`` of real time, or until ``release`` is called."""
        pause = asyncio.get_running_loop().create_future()
        with self._lock:
            self._pauses.add(pause)
        try:
            await asyncio.wait([pause], timeout=seconds)
        finally:
            with self._lock:
                self._pauses.discard(pause)

    def release(self) -> None:
        """Let all delayed requests continue; this method may be called from any thread."""
        with self._lock:
            pauses, self._pauses = self._pauses, set()
        for future in pauses:
            future.get_loop().call_soon_threadsafe(future.cancel)

    def capture(self) -> list[_Armed]:
        """Return the current state, including that of the random generators, for ``restore``."""
        with self._lock:
            return copy.deepcopy(self._armed)

    def restore(self, armed: Iterable[_Armed]) -> None:
        with self._lock:
            self._armed = copy.deepcopy(list(armed))


@dataclass
class FaultLayer:
    """ASGI middleware that applies a fault to a request and records it in the journal."""

    app: ASGIApp
    faults: Faults
    journal: Journal
    dialect: Dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; faults never strike the control API."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL_PREFIX):
            await self.app(scope, receive, send)
            return
        entry = self.journal.begin(Request(scope))
        fault = self.faults.strike(entry)
        label = fault.label if fault else None
        is_recorded = False

        def record(status: int | None) -> None:
            nonlocal is_recorded
            if not is_recorded:
                self.journal.add(replace(entry, status=status, fault=label))
            is_recorded = True

        async def send_recorded(message: Message) -> None:
            # Before the first byte, so that a client with the response finds the entry.
            if message["type"] == "http.response.start":
                record(message["status"])
            await send(message)

        pause = self.faults.pause
        exchange = Exchange(self.app, scope, receive, send_recorded, pause, self.dialect)
        if fault and fault.effect in ("reset", "empty_reply"):
            record(None)
        try:
            await (apply_fault(fault, exchange) if fault else exchange.run())
        except Exception:
            # The layer around this one answers 500.
            record(500)
            raise
