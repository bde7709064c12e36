"""What the process counts about its requests, for a monitoring system to collect.

Everything is counted on the event loop, so there is no lock. The memory is bounded by the
number of operations times methods times statuses: no label comes from outside.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

# Upper bounds in seconds: from a page of the cache to an export that is done within its request.
DURATION_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class RequestKind:
    """What requests are told apart by; ``status`` is ``aborted`` where no answer was sent."""

    operation: str
    method: str
    status: str


@dataclass(slots=True)
class Durations:
    """How long the requests of an operation took, in seconds.

    ``counts`` has one number for each of :data:`DURATION_BOUNDS` and one for what took longer;
    they are not cumulative.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one request."""
        self.counts[bisect_left(DURATION_BOUNDS, seconds)] += 1
        self.total += seconds


class Metrics:
    """Counts of one running server; they begin at zero with the process."""

    def __init__(self) -> None:
        self._requests: Counter[RequestKind] = Counter()
        self._durations: dict[str, Durations] = {}
        self._sent_bytes: Counter[str] = Counter()
        self._in_progress = 0

    @property
    def requests(self) -> Mapping[RequestKind, int]:
        """Requests that were answered."""
        return self._requests

    @property
    def durations(self) -> Mapping[str, Durations]:
        """Durations by operation."""
        return self._durations

    @property
    def sent_bytes(self) -> Mapping[str, int]:
        """Bytes of the bodies of answers by operation."""
        return self._sent_bytes

    @property
    def in_progress(self) -> int:
        """Requests that are being answered now."""
        return self._in_progress

    def begin(self) -> None:
        """Count a request that came in."""
        self._in_progress += 1

    def end(
        self, operation: str, *, method: str, status: int | None, seconds: float, sent_bytes: int
    ) -> None:
        """Count a request that is over."""
        self._in_progress -= 1
        kind = RequestKind(
            operation,
            method if method in _METHODS else "other",
            "aborted" if status is None else str(status),
        )
        self._requests[kind] += 1
        self._durations.setdefault(operation, Durations()).add(seconds)
        self._sent_bytes[operation] += sent_bytes
