"""Whatever pages a service gives, both drivers read them as a careful person would.

The pages of each day are drawn: their sizes, what they say about the end (also wrongly), events
that come again because pages moved, and failures before a page is there.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import httpx
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adanalytics_client import AsyncClient, Client, QuotaPolicy, RetryPolicy, errors

FIRST = date(2026, 1, 15)
ATTEMPTS = 3
RIGHT = -1
FAILURES: dict[str, tuple[Callable[[httpx.Request], httpx.Response], type[Exception]]] = {}


def failure(error: type[Exception]) -> Callable[[Any], Any]:
    """Register a way in which a request fails, and what it is called when it stays so."""

    def take(fail: Callable[[httpx.Request], httpx.Response]) -> Any:
        FAILURES[fail.__name__] = (fail, error)
        return fail

    return take


@failure(errors.ServerError)
def unavailable(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(503, json={"error": "Service Unavailable"})


@failure(errors.RateLimited)
def hurried(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(429, headers={"Retry-After": "2"}, json={"error": "Too Many Requests"})


@failure(errors.ProtocolError)
def html(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, html="<h1>Back soon</h1>")


@failure(errors.ProtocolError)
def half(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=b'{"events": [{"event_id": "half"')


@failure(errors.TransportError)
def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


@failure(errors.TransportError)
def dropped(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("reset", request=request)


@dataclass(frozen=True)
class Drawn:
    """One page: so many new events, behind some of the last page's, and what it says.

    A number of pages or events that is `RIGHT` is counted.
    """

    new: int
    again: int = 0
    more: bool | None = None
    pages: int | None = None
    total: int | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """The same with the events it has."""

    ids: tuple[str, ...]
    drawn: Drawn


def pages_of(day: int, drawn: list[Drawn]) -> list[Given]:
    made: list[Given] = []
    for number, each in enumerate(drawn):
        before = made[-1].ids if made else ()
        again = before[max(0, len(before) - each.again) :] if each.again else ()
        new = tuple(f"{day}-{number}-{at}" for at in range(each.new))
        made.append(Given(again + new, each))
    pages, total = len(made), sum(len(page.ids) for page in made)
    return [Given(page.ids, _counted(page.drawn, pages, total)) for page in made]


def _counted(drawn: Drawn, pages: int, total: int) -> Drawn:
    return replace(
        drawn,
        pages=pages if drawn.pages == RIGHT else drawn.pages,
        total=total if drawn.total == RIGHT else drawn.total,
    )


@dataclass
class Read:
    """What came of a pull: its events, the pages that were asked for, how it ended."""

    ids: list[str] = field(default_factory=list)
    asked: list[tuple[int, int]] = field(default_factory=list)
    error: type[Exception] | None = None


def by_hand(days: list[list[Given]]) -> Read:
    """One page after the other, by the rules: a sign of another page, a total, else the length.

    Two statements that contradict each other are an error, and so are more events than the total.
    """
    read = Read()
    for day, pages in enumerate(days):
        known: list[str] = []
        total: int | None = None
        for attempt in range(3):
            total = _attempt(read, day, pages, known, attempt, total)
            if read.error is not None:
                return read
            if total is None or total <= len(known):
                break
        else:
            # Pages state more events than came, each time.
            read.error = errors.ProtocolError
            return read
    return read


def _attempt(
    read: Read, day: int, pages: list[Given], known: list[str], attempt: int, total: int | None
) -> int | None:
    """Read the pages of a day; gives the largest total that they state, else the one before."""
    seen, first, stale, stated = 0, 0, 0, False
    recent: list[tuple[str, ...]] = []
    met = set[str]()
    for number in range(1, len(pages) + 2):
        page = pages[number - 1] if number <= len(pages) else Given((), Drawn(0))
        says, failures = page.drawn, page.drawn.failures[:ATTEMPTS] if attempt == 0 else ()
        read.asked += [(day, number)] * min(len(failures) + 1, ATTEMPTS)
        if len(failures) == ATTEMPTS:
            read.error = FAILURES[failures[-1]][1]
            return None
        sign = says.more or (says.pages or 0) > number
        contradicts = says.more is False and sign
        hides = not page.ids and sign and not (says.total or total)
        stale = stale + 1 if page.ids and met >= {*page.ids} else 0
        totals = [each for each in (total, says.total) if each is not None]
        if says.total is not None:
            total = max(says.total, total or 0) if stated or not attempt else says.total
            stated = True
        new = [each for each in page.ids if each not in known]
        too_many = total is not None and len(known) + len(new) > total
        if contradicts or hides or page.ids in recent or stale == 3 or too_many:
            read.error = errors.ProtocolError
            return None
        read.ids += new
        known += new
        met |= {*page.ids}
        recent, seen, first = [*recent, page.ids], seen + len(page.ids), first or len(page.ids)
        # Without a total a page shorter than the first one is the last.
        follows = sign or (seen < max(totals) if totals else len(page.ids) >= first)
        if not page.ids or not follows:
            return total
    return total


class Service:
    """Gives the drawn pages, each after its failures."""

    def __init__(self, days: list[list[Given]]) -> None:
        self.days = days
        self.asked: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def answer(self, request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        day = (date.fromisoformat(query["start_date"]) - FIRST).days
        number = int(query["page"])
        with self.lock:
            tried = self.asked.count((day, number))
            self.asked.append((day, number))
        pages = self.days[day]
        page = pages[number - 1] if number <= len(pages) else Given((), Drawn(0))
        if tried < len(page.drawn.failures):
            return FAILURES[page.drawn.failures[tried]][0](request)
        says = {"has_more": page.drawn.more, "total_pages": page.drawn.pages}
        says |= {"total": page.drawn.total}
        body: dict[str, Any] = {"events": [{"event_id": each} for each in page.ids]}
        body |= {name: value for name, value in says.items() if value is not None}
        return httpx.Response(200, content=json.dumps(body).encode())


class NoWait:
    """A clock that moves when somebody sleeps, and lets nobody."""

    def __init__(self) -> None:
        self.now = 1_768_478_400.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleeping(self, until: float) -> tuple[float, ...]:
        self.now = max(self.now, until)
        return ()

    def running(self, change: int) -> None: ...


def read(days: list[list[Given]], concurrency: int, *, tasks: bool) -> Read:
    """The same pull through either driver."""
    service, came = Service(days), Read()
    options: dict[str, Any] = {
        "api_key": "k",
        "partner": "acme",
        "quota": QuotaPolicy(log="memory"),
    }
    # Without patience, which counts seconds, so that the model need only count attempts.
    retry = RetryPolicy(attempts=ATTEMPTS, budget=1e9, patience=0)
    options |= {"retry": retry, "clock": NoWait()}
    last = FIRST + timedelta(days=len(days) - 1)
    # Without the count of the days, which the pages of its slices do not decide.
    query: dict[str, Any] = {"split": "daily", "concurrency": concurrency, "check": "none"}
    transport = httpx.MockTransport(service.answer)

    def ordinary() -> None:
        with httpx.Client(transport=transport) as http:
            client = Client("http://service.example", http=http, **options)
            for row in client.events(FIRST, last, **query).rows():
                came.ids.append(str(row["event_id"]))

    async def asynchronous() -> None:
        async with httpx.AsyncClient(transport=transport) as http:
            client = AsyncClient("http://service.example", http=http, **options)
            async for row in client.events(FIRST, last, **query).rows():
                came.ids.append(str(row["event_id"]))

    try:
        asyncio.run(asynchronous()) if tasks else ordinary()
    except errors.AdAnalyticsError as error:
        came.error = type(error)
    came.asked = service.asked
    return came


MAYBE = st.none() | st.just(RIGHT) | st.integers(0, 12)
FAILING = st.just(()) | st.lists(st.sampled_from(sorted(FAILURES)), max_size=ATTEMPTS).map(tuple)


def drawn(*, flags: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Drawn]]]:
    sizes = {"new": st.integers(0, 4), "again": st.integers(0, 2)}
    page = st.builds(Drawn, **sizes, more=flags, pages=MAYBE, total=MAYBE, failures=FAILING)
    return st.lists(st.lists(page, min_size=1, max_size=4), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(script=drawn(flags=st.none() | st.booleans()))
@example(script=[[Drawn(2, total=RIGHT), Drawn(2, total=RIGHT)], [Drawn(1, total=RIGHT)]])
@example(script=[[Drawn(2), Drawn(2, again=2), Drawn(1)], [Drawn(0)], [Drawn(3, total=1)]])
@example(script=[[Drawn(4)], [Drawn(3), Drawn(3), Drawn(2)], [Drawn(2), Drawn(4), Drawn(3)]])
def test_pages_one_by_one(script: list[list[Drawn]]) -> None:
    """Also those that say nothing, or something wrong: then their lengths and order count."""
    days = [pages_of(day, pages) for day, pages in enumerate(script)]
    expected = by_hand(days)
    for tasks in (False, True):
        assert read(days, 1, tasks=tasks) == expected


@settings(max_examples=40, deadline=None)
@given(script=drawn(flags=st.booleans()), concurrency=st.integers(2, 4))
def test_pages_at_the_same_time(script: list[list[Drawn]], concurrency: int) -> None:
    """Where every page says whether another follows, nothing depends on who comes first."""
    days = [pages_of(day, pages) for day, pages in enumerate(script)]
    expected = by_hand(days)
    for tasks in (False, True):
        came = read(days, concurrency, tasks=tasks)
        assert (came.ids, came.error) == (expected.ids, expected.error)
        # Behind an error some may have been on their way.
        asked, needed = Counter(came.asked), Counter(expected.asked)
        assert asked == needed if expected.error is None else asked >= needed
