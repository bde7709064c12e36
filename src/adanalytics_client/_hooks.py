"""What an observer is told while the client works."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RequestDue:
    """One request, first or repeated, is about to be sent."""

    method: str
    url: str


@dataclass(frozen=True, slots=True)
class RequestSent:
    """One request was answered or failed.

    Attributes:
        method: the HTTP method.
        url: the address, without the values of a signed query.
        status: the HTTP status, or None when no whole answer arrived.
        seconds: from before it was sent to the end of the body.
        request_id: the service's name for the exchange.
        resends: how many requests of the same call went before, repeats and redirects.
        failure: why no whole answer arrived, in one word such as `timeout`; else None.
    """

    method: str
    url: str
    status: int | None
    seconds: float
    request_id: str | None
    resends: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """A request will be sent again after `seconds`; `attempt` counts from 1."""

    url: str
    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class WaitStarted:
    """The client waits `seconds` until `resumes_at` (UTC); `reason` is text for people."""

    reason: str
    seconds: float
    resumes_at: datetime


@dataclass(frozen=True, slots=True)
class PageReceived:
    """Page `number`, from 1, of a `slice` of the plan arrived with so many `events`."""

    slice: str
    number: int
    events: int


@dataclass(frozen=True, slots=True)
class PageDrift:
    """The pages of a slice moved while they were read, so events may be missing.

    Attributes:
        slice: the query.
        number: the page, from 1, that showed it.
        repeated: events of this page that had come before; they were left out.
        distinct: events of the slice so far, each counted once.
        total: events that the service counts in the slice, where it says so.
        last: whether this is the last page; then `distinct` should be `total`.
    """

    slice: str
    number: int
    repeated: int
    distinct: int
    total: int | None
    last: bool

    def __str__(self) -> str:
        told = f"Page {self.number} of {self.slice}"
        if self.repeated:
            events = "an event" if self.repeated == 1 else f"{self.repeated} events"
            told += f" brought {events} again, left out here;"
        if self.last and self.total is not None and self.total != self.distinct:
            counted = f"the service counts {self.total} events and {self.distinct} came"
            told += f" is the last, but {counted};" if not self.repeated else f" {counted};"
        return f"{told} the data changed meanwhile. Pull {self.slice} again to be sure."


@dataclass(frozen=True, slots=True)
class BytesReceived:
    """Bytes of a file arrived: `received` so far, of `expected` where that is known."""

    received: int
    expected: int | None


class Observer:
    """Derive from this and override what is of interest; the rest does nothing.

    Methods are called from whichever thread or task does the work, so they must be quick
    and, with the sync client, thread-safe. What they raise ends the operation.

    Example:
        >>> class Count(Observer):
        ...     requests = 0
        ...     def request(self, info: RequestSent) -> None:
        ...         self.requests += 1
    """

    def due(self, info: RequestDue) -> None:
        """Before each request, also a repeated one; raise to send no more."""

    def request(self, info: RequestSent) -> None:
        """After each answer or failure."""

    def retry(self, info: RetryPlanned) -> None:
        """Before the wait that precedes a repeat."""

    def wait(self, info: WaitStarted) -> None:
        """Before a wait for quota or for an export."""

    def page(self, info: PageReceived) -> None:
        """After each page of events."""

    def drift(self, info: PageDrift) -> None:
        """After a page that shows that pages moved; the log has it as a warning, too."""

    def bytes(self, info: BytesReceived) -> None:
        """After each piece of a file."""
