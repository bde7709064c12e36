"""The armed faults of a running server: which of them strikes a request, if any."""

import copy
import hashlib
import random
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from adanalytics_server.clock import MILLISECONDS_PER_HOUR, Clock
from adanalytics_server.faults.fault import Fault
from adanalytics_server.faults.text import parse_fault

# Distinct requests that a fault "per request" remembers; the one seen longest ago goes first.
MOST_REQUESTS = 10_000


@dataclass(frozen=True, slots=True)
class Incoming:
    """What of a request faults are matched on; ``key`` is the credential's last four."""

    method: str
    path: str
    query: bytes
    operation: str | None
    key: str | None


@dataclass(slots=True)
class _Armed:
    """A fault with its counters."""

    fault: Fault
    dice: random.Random
    matched: int = 0
    struck: int = 0
    # How often it struck in the period that counts: ever, this hour, or for this request.
    in_period: int = 0
    period_began: int | None = None
    by_request: OrderedDict[bytes, int] = field(default_factory=OrderedDict)

    def strikes(self, request: Incoming, now: int) -> bool:
        self.matched += 1
        fault = self.fault
        if self.matched <= fault.after or self._is_used_up(request, now):
            return False
        if fault.probability < 1 and self.dice.random() >= fault.probability:
            return False
        self.struck += 1
        self._count(request, now)
        return True

    def _is_used_up(self, request: Incoming, now: int) -> bool:
        if self.fault.times is None:
            return False
        if self.fault.per == "request":
            return self.by_request.get(_name(request), 0) >= self.fault.times
        if self.fault.per == "hour" and not self._is_same_hour(now):
            self.in_period, self.period_began = 0, None
        return self.in_period >= self.fault.times

    def _is_same_hour(self, now: int) -> bool:
        began = self.period_began
        return began is None or 0 <= now - began < MILLISECONDS_PER_HOUR

    def _count(self, request: Incoming, now: int) -> None:
        if self.fault.per == "request":
            name = _name(request)
            self.by_request[name] = self.by_request.get(name, 0) + 1
            self.by_request.move_to_end(name)
            if len(self.by_request) > MOST_REQUESTS:
                self.by_request.popitem(last=False)
            return
        self.in_period += 1
        if self.period_began is None:
            self.period_began = now


@dataclass(frozen=True, slots=True)
class FaultCount:
    """How often a fault matched a request and how often it struck one."""

    fault: Fault
    matched: int
    struck: int


class Faults:
    """Armed faults in their order; the first that strikes a request has it to itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []

    def add(self, *faults: str | Fault) -> None:
        """Arm faults behind those that are there.

        Raises:
            FaultError: a text that is no fault; then none of them is armed.
        """
        parsed = [parse_fault(fault) if isinstance(fault, str) else fault for fault in faults]
        with self._lock:
            self._armed += [_Armed(fault, random.Random(fault.seed)) for fault in parsed]  # noqa: S311  # dice, not secrets

    def clear(self) -> None:
        """Disarm all."""
        with self._lock:
            self._armed = []

    def counts(self) -> list[FaultCount]:
        """List the armed faults with their counters."""
        with self._lock:
            return [FaultCount(armed.fault, armed.matched, armed.struck) for armed in self._armed]

    def strike(self, request: Incoming) -> Fault | None:
        """Return the fault that strikes a request, and count it."""
        now = self._clock.now()
        with self._lock:
            for armed in self._armed:
                if armed.fault.fits(
                    method=request.method,
                    path=request.path,
                    operation=request.operation,
                    key=request.key,
                ) and armed.strikes(request, now):
                    return armed.fault
        return None

    def capture(self) -> list[_Armed]:
        """Return what :meth:`restore` needs to come back to this state, dice included."""
        with self._lock:
            return copy.deepcopy(self._armed)

    def restore(self, captured: Iterable[_Armed]) -> None:
        """Go back to a captured state."""
        with self._lock:
            self._armed = copy.deepcopy(list(captured))


def _name(request: Incoming) -> bytes:
    """Name a request in a few bytes, however long its address is."""
    text = b"\n".join((request.method.encode(), request.path.encode(), request.query))
    return hashlib.blake2b(text, digest_size=16).digest()
