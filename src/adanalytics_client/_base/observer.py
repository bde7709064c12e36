"""The observer, and the reports that the client sends it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import TypeVar

from .quantities import counted

Info = TypeVar("Info")

_TWO_MINUTES = 120


@dataclass(frozen=True, slots=True)
class RequestDue:
    """A request is about to be sent, for the first time or again."""

    method: str
    url: str


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request got a response or failed.

    Attributes:
        method: the HTTP method.
        url: the address, without the values in a signed query string.
        status: the HTTP status, or None when no complete response arrived.
        seconds: the time from just before the request was sent to the end of the response body.
        request_id: the `X-Request-Id` of the response.
        resends: how many requests the same call sent earlier, because of retries and redirects.
        failure: why no complete response arrived, in one word such as `timeout`, or None.
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
    """Attempt number `attempt` (from 1) failed; the request will be sent again after `seconds`."""

    url: str
    attempt: int
    seconds: float
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.url}: attempt {self.attempt} failed, the next one follows in "
            f"{self.seconds:.1f} s. {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class WaitStarted:
    """The client waits for `seconds`, until `resumes_at` (UTC); `reason` is human-readable.

    `asks_again` is True if the service has stated no time: the client then only asks again, and may
    have to wait longer.
    """

    reason: str
    seconds: float
    resumes_at: datetime
    asks_again: bool = False

    def __str__(self) -> str:
        duration = f"{ceil(self.seconds)} s"
        if self.seconds >= _TWO_MINUTES:
            duration = f"{ceil(self.seconds / 60)} min"
        reason = f"{self.reason[:1].upper()}{self.reason[1:]}"
        action = "asking again" if self.asks_again else "resuming"
        return f"{reason}; {action} at {self.resumes_at:%H:%M:%S} UTC (in {duration})"


@dataclass(frozen=True, slots=True)
class PullPlanned:
    """The planned queries of a sync, or of a `split="auto"` pull after its first page.

    Attributes:
        queries: the number of queries still to send.
        requests: the minimum number of requests that the remaining queries take.
        events: about how many events are still to come; None if unknown.
        hours: the number of hours of a dataset to write; 0 for a pull that is no sync.
    """

    queries: int
    requests: int
    events: int | None
    hours: int = 0


@dataclass(frozen=True, slots=True)
class PageReceived:
    """A page of one of the plan's slices arrived.

    Attributes:
        slice: the query.
        number: the page, from 1.
        events: events on this page.
        pages: the number of pages in the slice, `number` on the last page; None while unknown.
    """

    slice: str
    number: int
    events: int
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class PageDrift:
    """A slice's pages shifted during the pull, or have another number of events than they state.

    Attributes:
        slice: the query.
        number: the number of the page that shows the drift, counted from 1.
        repeated: how many of this page's events had already arrived and were left out.
        distinct: the number of distinct events in the slice so far.
        total: the service's count of events in the slice, if it states one.
        last: whether this is the last page; if so, `distinct` should equal `total`.
        moved: whether the page has other events, another order or a smaller count than before.
        unsteady: whether `total` fell and rose, so that new events may be counted for missing ones.
    """

    slice: str
    number: int
    repeated: int
    distinct: int
    total: int | None
    last: bool
    moved: bool = False
    unsteady: bool = False

    def __str__(self) -> str:
        text = f"Page {self.number} of {self.slice}"
        if self.moved:
            text += (
                " has other events, another order or a smaller count when it is requested again,"
            )
            text += " so events of other pages may be missing, or come twice;"
        if self.repeated:
            is_one = self.repeated == 1
            events = "an event, which was" if is_one else f"{self.repeated} events, which were"
            text += f" repeats {events} left out;"
        if self.last and self.total is not None and self.total != self.distinct:
            total = counted(self.total, "event")
            counts = f"the service counts {total}, but {self.distinct:,} arrived"
            text += f" is the last; {counts};" if not self.repeated else f" {counts};"
        if self.unsteady:
            text += " follows a number of events that fell and rose, so some may be missing;"
        return f"{text} the data may have changed meanwhile. Pull {self.slice} again to be sure."


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """A response contains data, and states that they are not the whole or that something failed.

    Events of such a response are accepted only with `on_drift="warn"`.

    Attributes:
        url: the address of the request.
        reason: the statement, such as `success: false`, or the error message.
        request_id: the `X-Request-Id` of the response.
    """

    url: str
    reason: str
    request_id: str | None

    def __str__(self) -> str:
        exchange = f"request id {self.request_id}, {self.url}" if self.request_id else self.url
        reason = self.reason.rstrip(".")
        return (
            f"The response says that its data are not all: {reason}. "
            f"Repeat the request to be sure. ({exchange})"
        )


@dataclass(frozen=True, slots=True)
class BytesReceived:
    """Bytes of a file arrived: `received` is the number so far, `expected` the total, if known."""

    received: int
    expected: int | None


@dataclass(frozen=True, slots=True)
class BytesWritten:
    """The events of a page were written; the output now has `size` bytes, after compression."""

    size: int


@dataclass(frozen=True, slots=True)
class HourWritten:
    """A sync has written the events of an hour to a file, or put that file into the dataset.

    Attributes:
        hour: the hour, such as `2026-01-15T13`.
        events: the number of its events; an hour without events has no file.
        committed: whether the hour is in the dataset now.
    """

    hour: str
    events: int
    committed: bool = False


@dataclass(frozen=True, slots=True)
class HoursVerified:
    """The verification of a dataset has checked `hours` of `total` hours.

    Attributes:
        hours: the number of hours checked so far.
        total: the total number of hours to check.
        deep: True if hours are compared with a bulk export, False if only the files are checked.
    """

    hours: int
    total: int
    deep: bool


class Observer:
    """The base class of observers. Override the methods that you need; the others do nothing.

    Methods are called in the thread or task that does the work, so they must be quick and, with
    `Client`, thread-safe. If a method raises an error, that error ends the client's operation.

    Examples:
        >>> class AtMostTen(Observer):
        ...     sent = 0
        ...     def due(self, info: RequestDue) -> None:
        ...         self.sent += 1
        ...         if self.sent > 10:
        ...             raise RuntimeError(f"no more: {info.method} {info.url}")
        >>> client = Client.from_env(observer=AtMostTen())
    """

    def due(self, info: RequestDue) -> None:
        """Handle a request before it is sent or repeated; raise an error to stop the operation."""

    def send(self, info: RequestDue) -> None:
        """Handle a request after any wait for quota, as the last thing before it is sent.

        An error stops the operation; the request counts in the client's quota all the same.
        """

    def request(self, info: RequestSent) -> None:
        """Handle a response or a failure."""

    def retry(self, info: RetryPlanned) -> None:
        """Handle an upcoming retry; called before the pause that precedes it."""

    def wait(self, info: WaitStarted) -> None:
        """Handle the start of a wait for quota or for an export."""

    def plan(self, info: PullPlanned) -> None:
        """Handle a pull's plan before its queries are sent; to cancel the pull, raise an error."""

    def page(self, info: PageReceived) -> None:
        """Handle the arrival of a page of events."""

    def drift(self, info: PageDrift) -> None:
        """Handle a page that shows drift; the client also logs a warning."""

    def partial(self, info: PartialAnswer) -> None:
        """Handle a response that says its data are not the whole; the client logs a warning."""

    def bytes(self, info: BytesReceived) -> None:
        """Handle the progress of a file download."""

    def output(self, info: BytesWritten) -> None:
        """Handle the progress of `write`; this method is not called if the output is a pipe."""

    def written(self, info: HourWritten) -> None:
        """Handle an hour that a sync has written."""

    def verified(self, info: HoursVerified) -> None:
        """Handle the progress of a verification."""


def notify(hear: Callable[[Info], None], info: Info) -> None:
    """Call a method of an observer and let its errors pass.

    Raises:
        RuntimeError: in place of an error that would end the client's own generator.
    """
    try:
        hear(info)
    except (StopIteration, StopAsyncIteration) as error:
        raise RuntimeError(
            f"The observer raised {type(error).__name__}; catch exceptions in its next()."
        ) from error


Observer.__module__ = "adanalytics_client"
for _class in (
    *(BytesReceived, BytesWritten, HoursVerified, HourWritten, PageDrift, PageReceived),
    *(PartialAnswer, PullPlanned, RequestDue, RequestSent, RetryPlanned, WaitStarted),
):
    _class.__module__ = "adanalytics_client.observers"
